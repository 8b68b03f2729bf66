package phone

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// key is the n-th name that a phone gives out whose clock stands at noon.
func key(n int64) string { return strconv.FormatInt(noon.UnixMilli()+n, 10) }

// newPhone returns an open phone whose clock stands at noon. An empty path
// keeps nothing.
func newPhone(t *testing.T, path string) *Phone {
	t.Helper()
	ids := 0
	p := &Phone{
		Path: path, Secret: []byte("secret"), Code: "open sesame",
		Agents: func() []AgentState {
			return []AgentState{{Name: "deploy-bot", State: "live", Sample: true, Online: true}}
		},
		Switch:  func(string, bool) {},
		Restart: func() {},
		Log:     slog.New(slog.DiscardHandler),
		Now:     func() time.Time { return noon },
		NewID:   func() hub.MessageID { ids++; return hub.MessageID(fmt.Sprint("id-", ids)) },
	}
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A recorder is a receiver that remembers what it received.
type recorder struct {
	mu     sync.Mutex
	got    []hub.Message
	answer func(hub.Message) (hub.Receipt, error) // nil: it is all right
}

func (r *recorder) Receive(_ context.Context, m hub.Message) (hub.Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	if r.answer != nil {
		return r.answer(m)
	}
	return hub.Receipt{ID: m.ID}, nil
}

func (*recorder) Late(context.Context, hub.MessageID, hub.Ref) {}

func (r *recorder) last(t *testing.T) hub.Message {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		t.Fatal("nothing was received")
	}
	return r.got[len(r.got)-1]
}

// run has p take posts to r until the returned function is called, or the test
// ends.
func run(t *testing.T, p *Phone, r hub.Receiver) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.Run(ctx, r) })
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	for !p.running() {
		runtime.Gosched()
	}
	return stop
}

func (p *Phone) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended != nil
}

// say has agent send text to the operator, and returns its key.
func say(t *testing.T, p *Phone, agent hub.AgentID, text string) string {
	t.Helper()
	sent, err := p.Send(t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: agent, Text: text, Ref: p.Operator()})
	if err != nil {
		t.Fatal(err)
	}
	return sent.Refs[0].Key
}

func shown(t *testing.T, p *Phone, chat hub.ChatID, key string) bubble {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.state.find(chat, key)
	if !ok {
		t.Fatalf("no bubble %s in %s", key, string(chat))
	}
	return b
}

func TestSendShowsWhatAgentsSay(t *testing.T) {
	target := ref(operator, key(0))
	for _, tt := range []struct {
		name string
		send hub.Message
		want bubble // the first one, after that
	}{
		{
			"a text makes a bubble that names its agent",
			hub.Message{Kind: hub.Text, Text: "second", Label: "crush"},
			bubble{Text: "first"},
		},
		{
			"an edit changes the text",
			hub.Message{Kind: hub.Edit, Text: "better", Target: target},
			bubble{Text: "better", Edited: true},
		},
		{
			"a deletion leaves the place",
			hub.Message{Kind: hub.Deletion, Target: target},
			bubble{Deleted: true},
		},
		{
			"a reaction is put beside it",
			hub.Message{Kind: hub.Reaction, Text: "👍", Quote: &hub.Quote{Ref: target}},
			bubble{Text: "first", Reactions: []reaction{{"deploy-bot", "👍"}}},
		},
		{
			"a reaction is taken back",
			hub.Message{Kind: hub.Reaction, Text: "👍", Removed: true, Quote: &hub.Quote{Ref: target}},
			bubble{Text: "first"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPhone(t, "")
			say(t, p, "deploy-bot", "first")
			tt.send.Via, tt.send.Agent, tt.send.Ref = hub.ViaTool, "deploy-bot", p.Operator()
			sent, err := p.Send(t.Context(), tt.send)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(hub.Sent{Refs: []hub.Ref{ref(operator, key(1))}, Reached: 1}, sent); d != "" {
				t.Errorf("Send (-want +got):\n%s", d)
			}
			tt.want.Key, tt.want.Chat, tt.want.Agent = key(0), operator, "deploy-bot"
			got := shown(t, p, operator, key(0))
			if len(got.Reactions) == 0 {
				got.Reactions = nil
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("bubble (-want +got):\n%s", d)
			}
		})
	}
}

func TestSendQuotes(t *testing.T) {
	p := newPhone(t, "")
	k := say(t, p, "deploy-bot", "shall I?")
	_, err := p.Send(t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "crush", Text: "do", Ref: p.Operator(), Quote: &hub.Quote{Ref: ref(operator, k), Text: "shall I?"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &quote{Key: k, Who: "deploy-bot", Text: "shall I?"}
	if d := cmp.Diff(want, shown(t, p, operator, key(1)).Quote); d != "" {
		t.Errorf("quote (-want +got):\n%s", d)
	}
}

func TestSendRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    hub.Message
		want hub.Kind
	}{
		{"a chat that is not there", hub.Message{Kind: hub.Text, Text: "x", Ref: hub.Ref{Chat: "+491"}}, hub.Invalid},
		{"a file", hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Attachments: []hub.Attachment{{Path: "/etc/passwd"}}}, hub.Denied},
		{"a text that is too long", hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: strings.Repeat("x", maxText+1)}, hub.Invalid},
		{"an edit of nothing", hub.Message{Kind: hub.Edit, Ref: ref(operator, ""), Text: "x", Target: ref(operator, "1")}, hub.NotFound},
		{"a deletion of nothing", hub.Message{Kind: hub.Deletion, Ref: ref(operator, ""), Target: ref(operator, "1")}, hub.NotFound},
		{"a reaction to nothing", hub.Message{Kind: hub.Reaction, Ref: ref(operator, ""), Text: "👍", Quote: &hub.Quote{Ref: ref(operator, "1")}}, hub.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPhone(t, "")
			if _, err := p.Send(t.Context(), tt.m); hub.KindOf(err) != tt.want {
				t.Errorf("Send = %v, want an error of kind %s", err, tt.want)
			}
		})
	}
}

func TestKeysRiseWhateverTheClockSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p := newPhone(t, path)
	say(t, p, "a", "at noon")
	p.Now = func() time.Time { return noon.Add(-time.Hour) }
	if k := say(t, p, "a", "an hour before"); k != key(1) {
		t.Errorf("key is %s, want %s", k, key(1))
	}
	again := newPhone(t, path)
	if k := say(t, again, "a", "after a restart"); k != key(2) {
		t.Errorf("key is %s, want %s", k, key(2))
	}
}

func TestChats(t *testing.T) {
	p := newPhone(t, "")
	for query, want := range map[string]int{"": 2, "oPer": 1, "STRANGER": 1, "nobody": 0} {
		if got, err := p.Chats(t.Context(), query); err != nil || len(got) != want {
			t.Errorf("Chats(%q) = %v, %v, want %d", query, got, err, want)
		}
	}
	if _, err := p.Chat("somebody"); hub.KindOf(err) != hub.Invalid {
		t.Errorf("Chat = %v, want an Invalid error", err)
	}
	if c, err := p.Chat("stranger"); err != nil || !p.SameChat(c, stranger) {
		t.Errorf("Chat = %q, %v", string(c), err)
	}
}

func TestOldBubblesLeave(t *testing.T) {
	p := newPhone(t, "")
	for i := range maxBubbles + 5 {
		say(t, p, "a", fmt.Sprint(i))
	}
	list := p.state.chats[operator]
	if len(list) != maxBubbles || list[0].Text != "5" {
		t.Errorf("%d bubbles from %q on, want %d from 5 on", len(list), list[0].Text, maxBubbles)
	}
	if err := p.SendReceipt(t.Context(), hub.Message{Ref: ref(operator, key(0))}); err != nil {
		t.Errorf("a receipt for what has left: %v", err)
	}
}
