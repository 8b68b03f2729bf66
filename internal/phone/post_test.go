package phone

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aldis/internal/hub"
)

// png is the start of one, which is all that is looked at.
var png = []byte("\x89PNG\r\n\x1a\n0000")

// conversation is what the posts below are about: an agent's question (key 0)
// and the operator's answer, which quotes it (key 1).
func conversation(t *testing.T, p *Phone) {
	t.Helper()
	say(t, p, "deploy-bot", "Roll out?")
	if err := p.pass(t.Context(), post{ID: "p1", Chat: operator, Kind: hub.Text, Text: "Yes", Quote: key(0)}); err != nil {
		t.Fatal(err)
	}
}

func TestPostsReachTheHubAsMessages(t *testing.T) {
	question := hub.Quote{Ref: ref(operator, key(0)), Ours: true, From: us}
	withText := question
	withText.Text = "Roll out?"
	for _, tt := range []struct {
		name string
		post post
		want hub.Message
	}{
		{
			"a text",
			post{Kind: hub.Text, Text: "hello"},
			hub.Message{Kind: hub.Text, Text: "hello", Receipt: true},
		},
		{
			"a reply to an agent",
			post{Kind: hub.Text, Text: "yes", Quote: key(0)},
			hub.Message{Kind: hub.Text, Text: "yes", Quote: &withText, Addressed: true, Receipt: true},
		},
		{
			"a reply to oneself",
			post{Kind: hub.Text, Text: "and", Quote: key(1)},
			hub.Message{Kind: hub.Text, Text: "and", Quote: &hub.Quote{Ref: ref(operator, key(1)), From: operator, Text: "Yes"}, Receipt: true},
		},
		{
			"a reaction has no words of what it is to, and wants no receipt",
			post{Kind: hub.Reaction, Text: "👍", Quote: key(0)},
			hub.Message{Kind: hub.Reaction, Text: "👍", Quote: &question, Addressed: true},
		},
		{
			"a reaction that is taken back",
			post{Kind: hub.Reaction, Text: "👍", Quote: key(0), Removed: true},
			hub.Message{Kind: hub.Reaction, Text: "👍", Quote: &question, Removed: true, Addressed: true},
		},
		{
			"an edit answers what the text answered",
			post{Kind: hub.Edit, Text: "Yes!", Target: key(1)},
			hub.Message{Kind: hub.Edit, Text: "Yes!", Target: ref(operator, key(1)), Quote: &withText, Addressed: true},
		},
		{
			"a deletion",
			post{Kind: hub.Deletion, Target: key(1)},
			hub.Message{Kind: hub.Deletion, Target: ref(operator, key(1))},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r := newPhone(t, ""), &recorder{}
			run(t, p, r)
			conversation(t, p)
			tt.post.ID, tt.post.Chat = "p2", operator
			if err := p.pass(t.Context(), tt.post); err != nil {
				t.Fatal(err)
			}
			tt.want.Via, tt.want.Ref, tt.want.Dedup = hub.ViaPlatform, ref(operator, key(2)), "web|operator|p2"
			tt.want.From, tt.want.Time = hub.Sender{ID: operator, Name: "Operator"}, noon
			if d := cmp.Diff(tt.want, r.last(t), cmpopts.IgnoreFields(hub.Message{}, "ID")); d != "" {
				t.Errorf("message (-want +got):\n%s", d)
			}
		})
	}
}

func TestPicturesComeAsFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p, r := newPhone(t, path), &recorder{}
	run(t, p, r)
	w := post{ID: "p1", Chat: operator, Kind: hub.Text, Pictures: []upload{{Name: "graph\u202e.png", Data: png}}}
	if err := p.pass(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	want := []hub.Attachment{{Name: "graph\uFFFD.png", Type: "image/png", Size: int64(len(png)), Path: path + ".pictures/" + key(0) + "-0.png"}}
	if d := cmp.Diff(want, r.last(t).Attachments); d != "" {
		t.Errorf("attachments (-want +got):\n%s", d)
	}
	if b, err := os.ReadFile(want[0].Path); err != nil || string(b) != string(png) {
		t.Errorf("the file has %q, %v", b, err)
	}
}

func TestPostsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		post post
		want hub.Kind
	}{
		{"without an id", post{Chat: operator, Kind: hub.Text, Text: "x"}, hub.Invalid},
		{"with an endless id", post{ID: strings.Repeat("x", 65), Chat: operator, Kind: hub.Text, Text: "x"}, hub.Invalid},
		{"from a third phone", post{ID: "p", Chat: "admin", Kind: hub.Text, Text: "x"}, hub.Invalid},
		{"of no kind", post{ID: "p", Chat: operator, Text: "x"}, hub.Invalid},
		{"without words", post{ID: "p", Chat: operator, Kind: hub.Text, Text: " \n"}, hub.Invalid},
		{"with endless words", post{ID: "p", Chat: operator, Kind: hub.Text, Text: strings.Repeat("x", maxText+1)}, hub.Invalid},
		{"an endless emoji", post{ID: "p", Chat: operator, Kind: hub.Reaction, Text: strings.Repeat("👍", 20), Quote: key(0)}, hub.Invalid},
		{"a reaction to nothing", post{ID: "p", Chat: operator, Kind: hub.Reaction, Text: "👍"}, hub.Invalid},
		{"an edit to no words", post{ID: "p", Chat: operator, Kind: hub.Edit, Target: key(1)}, hub.Invalid},
		{"a deletion of nothing", post{ID: "p", Chat: operator, Kind: hub.Deletion}, hub.Invalid},
		{"too many pictures", post{ID: "p", Chat: operator, Kind: hub.Text, Pictures: make([]upload, 5)}, hub.Invalid},
		{"a script as a picture", post{ID: "p", Chat: operator, Kind: hub.Text, Pictures: []upload{{Data: []byte("<svg onload=…>")}}}, hub.Invalid},
		{"an edit of an agent's words", post{ID: "p", Chat: operator, Kind: hub.Edit, Text: "x", Target: key(0)}, hub.Denied},
		{"a deletion of an agent's words", post{ID: "p", Chat: operator, Kind: hub.Deletion, Target: key(0)}, hub.Denied},
		{"a reply to what is not there", post{ID: "p", Chat: operator, Kind: hub.Text, Text: "x", Quote: "1"}, hub.NotFound},
		{"an edit across phones", post{ID: "p", Chat: stranger, Kind: hub.Edit, Text: "x", Target: key(1)}, hub.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r := newPhone(t, ""), &recorder{}
			run(t, p, r)
			conversation(t, p)
			w, err := tt.post.check()
			if err == nil {
				err = p.pass(t.Context(), w)
			}
			if hub.KindOf(err) != tt.want {
				t.Errorf("got %v, want an error of kind %s", err, tt.want)
			}
			if len(r.got) != 1 {
				t.Errorf("the hub received %d messages, want that of the conversation alone", len(r.got))
			}
		})
	}
}

func TestTicksRise(t *testing.T) {
	p := newPhone(t, "")
	r := &recorder{answer: func(m hub.Message) (hub.Receipt, error) {
		if b, _ := p.state.find(operator, m.Ref.Key); b.Ticks != 0 {
			t.Errorf("%d ticks before the hub has answered", b.Ticks)
		}
		if m.Text == "quick" { // an agent that is handed it before Receive returns
			return hub.Receipt{}, p.SendReceipt(t.Context(), m)
		}
		return hub.Receipt{}, nil
	}}
	run(t, p, r)
	for i, text := range []string{"slow", "quick"} {
		if err := p.pass(t.Context(), post{ID: text, Chat: operator, Kind: hub.Text, Text: text}); err != nil {
			t.Fatal(err)
		}
		if got := shown(t, p, operator, key(int64(i))).Ticks; got != i+1 {
			t.Errorf("%s: %d ticks, want %d", text, got, i+1)
		}
	}
	if err := p.SendReceipt(t.Context(), hub.Message{Ref: ref(operator, key(0))}); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, p, operator, key(0)).Ticks; got != handed {
		t.Errorf("%d ticks after the receipt, want %d", got, handed)
	}
}

func TestTheGateShowsOnThePhone(t *testing.T) {
	p := newPhone(t, "")
	run(t, p, &recorder{answer: func(hub.Message) (hub.Receipt, error) { return hub.Receipt{Dropped: "stranger"}, nil }})
	if err := p.pass(t.Context(), post{ID: "p", Chat: stranger, Kind: hub.Text, Text: "let me in"}); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, p, stranger, key(0)).Dropped; got != "stranger" {
		t.Errorf("dropped is %q", got)
	}
}

func TestAPostIsTakenOnce(t *testing.T) {
	p, r := newPhone(t, ""), &recorder{}
	run(t, p, r)
	for range 3 {
		if err := p.pass(t.Context(), post{ID: "p", Chat: operator, Kind: hub.Text, Text: "once"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.pass(t.Context(), post{ID: "p", Chat: stranger, Kind: hub.Text, Text: "another phone's"}); err != nil {
		t.Fatal(err)
	}
	if len(r.got) != 2 || len(p.state.chats[operator]) != 1 {
		t.Errorf("received %d times, %d bubbles", len(r.got), len(p.state.chats[operator]))
	}
}

// A hub that was killed within Receive may have recorded the message. The
// second try must be the same message to it.
func TestAPostKeepsItsNameOverAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	w := post{ID: "p", Chat: operator, Kind: hub.Text, Text: "hello", Pictures: []upload{{Name: "a", Data: png}}}
	p, killed := newPhone(t, path), &recorder{answer: func(hub.Message) (hub.Receipt, error) { return hub.Receipt{}, errors.New("killed") }}
	stop := run(t, p, killed)
	if err := p.pass(t.Context(), w); hub.KindOf(err) != hub.Unavailable {
		t.Fatalf("got %v, want an Unavailable error", err)
	}
	stop()
	if err := p.pass(t.Context(), w); hub.KindOf(err) != hub.Unavailable {
		t.Fatalf("without Run: got %v, want an Unavailable error", err)
	}
	again, r := newPhone(t, path), &recorder{}
	say(t, again, "a", "meanwhile")
	run(t, again, r)
	if err := again.pass(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(killed.last(t), r.last(t), cmpopts.IgnoreFields(hub.Message{}, "ID")); d != "" {
		t.Errorf("the second try (-first +second):\n%s", d)
	}
	if list := again.state.chats[operator]; len(list) != 2 || list[0].Ticks != recorded || len(list[0].Pictures) != 1 {
		t.Errorf("bubbles: %+v", list)
	}
}

func FuzzPost(f *testing.F) {
	f.Add([]byte(`{"id":"p","chat":"operator","kind":"text","text":"x","quote":"1","pictures":[{"name":"a","data":"iVBORw0KGgo="}]}`))
	f.Add([]byte(`{"id":"p","chat":"stranger","kind":"reaction","text":"👍","quote":"1","removed":true}`))
	f.Add([]byte(`{"id":"p","chat":"operator","kind":"edit","text":"x","target":"2"}`))
	var s state
	s.putBubble(bubble{Key: "1", Chat: operator, Agent: "a", Text: "question"})
	s.putBubble(bubble{Key: "2", Chat: operator, Mine: true, Text: "answer", Quote: &quote{Key: "1"}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var w post
		if json.Unmarshal(raw, &w) != nil {
			return
		}
		w, err := w.check()
		if err != nil {
			return
		}
		m, err := s.message(w, "3")
		if err != nil {
			return
		}
		if !utf8.ValidString(m.Text) || m.From.ID == "" || m.Receipt != (m.Kind == hub.Text) {
			t.Errorf("bad message %+v", m)
		}
		if _, err := s.after(m); err != nil {
			t.Errorf("a message that was taken can't be shown: %v", err)
		}
	})
}
