package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"aldis/internal/auth"
	"aldis/internal/gate"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/hubtest"
	"aldis/internal/mcp"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/store"
)

const (
	token    = "shared-token-of-the-test"
	operator = "+100"
)

// A testHub is a whole hub with a platform that remembers what it was sent.
type testHub struct {
	t        *testing.T
	relay    *relay.Relay
	platform *hubtest.Platform
	url      string
}

func startHub(t *testing.T) *testHub {
	t.Helper()
	record, err := store.Open(t.Context(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &testHub{t: t, platform: hubtest.NewPlatform("web")}
	table := mcp.NewTable()
	h.relay = &relay.Relay{
		Gate: &gate.Gate{}, Routes: &route.Table{TTL: time.Hour, Max: 100, Now: time.Now},
		Sessions: table, Record: record, Platforms: []hub.Platform{h.platform}, Operator: hub.Ref{Platform: "web", Chat: operator},
		Labels: relay.LabelNever, HoldFor: time.Hour, PermissionTimeout: time.Hour, NewCode: newRequest, Log: discard, Now: time.Now,
		NewID: func() hub.MessageID { return hub.MessageID(uuid.Must(uuid.NewV7()).String()) },
	}
	h.relay.Gate.Operate("web", operator)
	h.relay.Gate.Approve("web", operator)
	h.relay.Gate.Open("web", operator)
	table.Mail, table.Store, table.Presence, table.Log = record, record, h.relay, discard
	if err := h.relay.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	tokens := auth.Tokens{Shared: []string{token}, Agents: func([32]byte) (hub.AgentID, bool) { return "", false }}
	mux.Handle("/mcp", tokens.Require(httpd.Handle(discard, mcp.NewServer(table, h.relay, "test").ServeHTTP), auth.Shared))
	server := &httpd.Server{Addr: "127.0.0.1:0", Handler: mux, Log: discard, Grace: time.Second}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.url = server.URL()
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for _, run := range []func(context.Context) error{table.Run, server.Serve, h.relay.Run} {
		parts.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		parts.Wait()
		if err := record.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// answer has the operator answer what was sent as the n-th message.
func (h *testHub) answer(n int, text string) {
	h.t.Helper()
	key := fmt.Sprint(time.Now().UnixNano())
	if _, err := h.relay.Receive(h.t.Context(), hub.Message{
		ID: hub.MessageID(uuid.Must(uuid.NewV7()).String()), Via: hub.ViaPlatform, Kind: hub.Text, Time: time.Now(),
		Ref: hub.Ref{Platform: "web", Chat: operator, Key: key}, Dedup: key, From: hub.Sender{ID: operator}, Text: text,
		Quote: &hub.Quote{Ref: hub.Ref{Platform: "web", Chat: operator, Key: fmt.Sprint(1000 + n)}, Ours: true},
	}); err != nil {
		h.t.Fatal(err)
	}
}

// awaitSent waits until the agents have said that, and no more. What they ask
// is another matter, and so is what the hub says.
func (h *testHub) awaitSent(want ...string) {
	h.t.Helper()
	var got []string
	h.await(func(sent []hub.Message) bool {
		got = nil
		for _, m := range sent {
			if m.Agent != "" && m.Asks == nil {
				got = append(got, string(m.Agent)+": "+m.Text)
			}
		}
		return slices.Equal(got, want)
	}, func() { h.t.Fatalf("sent %q, want %q", got, want) })
}

// awaitAsked waits until an agent asks something, and returns as which message
// that was sent.
func (h *testHub) awaitAsked() (n int, m hub.Message) {
	h.t.Helper()
	h.await(func(sent []hub.Message) bool {
		i := slices.IndexFunc(sent, func(m hub.Message) bool { return m.Asks != nil })
		if i >= 0 {
			n, m = i+1, sent[i]
		}
		return i >= 0
	}, func() { h.t.Fatal("nothing was asked") })
	return n, m
}

func (h *testHub) await(ok func([]hub.Message) bool, fail func()) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok(h.platform.Sent()) {
			return
		}
	}
	fail()
}

// agent returns one that does not take its time.
func (h *testHub) agent(name, first string) *Agent {
	return &Agent{Name: name, Hub: h.url, Token: token, First: first, Rule: Echo, Log: discard, Pause: func(context.Context) {}}
}

func TestAgentGreetsOnceAndAnswers(t *testing.T) {
	h := startHub(t)
	ctx, stop := context.WithCancel(t.Context())
	cast := NewCast(ctx, h.agent("alice", "hello"), h.agent("bob", ""))
	cast.Switch("alice", true)
	cast.Switch("alice", true) // it is on already
	cast.Switch("nobody", true)
	h.awaitSent("alice: hello")
	h.answer(1, "hello yourself")
	h.awaitSent("alice: hello", "alice: I got: hello yourself")

	cast.Switch("alice", false)
	if h.relay.Sessions.Present("alice") {
		t.Error("an agent that is switched off should be gone at once")
	}
	cast.Switch("alice", true)
	cast.Switch("bob", true)
	for !h.relay.Sessions.Present("alice") || !h.relay.Sessions.Present("bob") {
		time.Sleep(5 * time.Millisecond)
	}
	h.answer(2, "are you back?")
	h.awaitSent("alice: hello", "alice: I got: hello yourself", "alice: I got: are you back?")
	stop()
	cast.Wait()
}

func TestDeployBotDoesWhatItIsPermittedTo(t *testing.T) {
	for answer, want := range map[string][]string{
		"yes": {"deploy-bot: Roll out?", "deploy-bot: Rolling out build 214 to production …", "deploy-bot: Done: 12 of 12 instances run build 214."},
		"no":  {"deploy-bot: Roll out?", "deploy-bot: You denied the command, so I did not run it. Build 214 stays on staging."},
	} {
		t.Run(answer, func(t *testing.T) {
			h := startHub(t)
			a := h.agent("deploy-bot", "Roll out?")
			a.Rule = DeployBot
			ctx, stop := context.WithCancel(t.Context())
			cast := NewCast(ctx, a)
			cast.Switch("deploy-bot", true)
			h.awaitSent("deploy-bot: Roll out?")
			h.answer(1, "yes")
			n, asked := h.awaitAsked()
			if asked.Asks.Code == "" || !strings.Contains(asked.Text, "Bash") || !strings.Contains(asked.Text, "kubectl") {
				t.Errorf("it asks %q", asked.Text)
			}
			h.answer(n, answer)
			h.awaitSent(want...)
			stop()
			cast.Wait()
		})
	}
}

func TestLogWatcherAsksWhatToWatch(t *testing.T) {
	h := startHub(t)
	a := h.agent("crush-signal", "hello")
	a.Rule = LogWatcher
	ctx, stop := context.WithCancel(t.Context())
	cast := NewCast(ctx, a)
	cast.Switch("crush-signal", true)
	h.awaitSent("crush-signal: hello")
	h.answer(1, "watch a log")
	n, asked := h.awaitAsked()
	if diff := cmp.Diff(logs.Choices, asked.Asks.Choices); diff != "" {
		t.Error(diff)
	}
	h.answer(n, "2")
	h.awaitSent("crush-signal: hello", "crush-signal: I watch postgres from now on. You will hear of its errors.")
	stop()
	cast.Wait()
}

func TestAnAnswerInTheOutcomeOfACallIsFound(t *testing.T) {
	for outcome, want := range map[string]string{
		"Answer: choice 2, postgres": "postgres",
		"Answer: neither, thanks":    "neither, thanks",
		"No answer yet. Ticket 1: the answer arrives as an event with question=\"1\".": "",
	} {
		got := ""
		if m := answered.FindStringSubmatch(outcome); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q has the answer %q, want %q", outcome, got, want)
		}
	}
}

func TestAVerdictCountsOnce(t *testing.T) {
	said := 0
	a := &Agent{Rule: func(Event) Reply { said++; return Reply{} }, asked: map[string]Event{"abcde": {Content: "yes"}}}
	for _, request := range []string{"abcde", "abcde", "fghij"} {
		if err := a.answer(t.Context(), nil, Event{Verdict: &Verdict{request, "allow"}}); err != nil {
			t.Error(err)
		}
	}
	if said != 1 {
		t.Errorf("it acts %d times, want once", said)
	}
}

func TestAgentActsOnceOnWhatItHearsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		a := &Agent{Rule: Echo, Heard: func(context.Context, Event) { heard++ }, seen: map[string]bool{}, work: make(chan Event, 8)}
		events := make(chan Event)
		ctx, stop := context.WithCancel(t.Context())
		var listening sync.WaitGroup
		listening.Go(func() { a.listen(ctx, events) })
		for _, id := range []string{"1", "2", "1"} {
			events <- Event{Meta: map[string]string{"id": id}}
		}
		synctest.Wait()
		stop()
		listening.Wait()
		if heard != 3 || len(a.work) != 2 {
			t.Errorf("it heard %d events and acts on %d, want 3 and 2", heard, len(a.work))
		}
	})
}

// stream is what a hub writes to an agent: a first event without data, a
// comment, an answer, two channel events and a verdict.
const stream = "id: 1\ndata: \n\n: alive\n\n" +
	"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n" +
	"event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel\",\"params\":{\"content\":\"one\",\"meta\":{\"id\":\"a\"}}}\n\n" +
	"event: message\nid: 3\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel\",\"params\":{\"content\":\"two\\nlines\"}}\n\n" +
	"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel/permission\",\"params\":{\"request_id\":\"abcde\",\"behavior\":\"deny\"}}\n\n"

// overhear writes the stream in pieces of n bytes and returns what was heard.
func overhear(stream string, n int) (heard []Event) {
	events := make(chan Event, len(stream))
	l := &listener{ctx: context.Background(), events: events}
	for piece := range slices.Chunk([]byte(stream), n) {
		_, _ = l.Write(piece) // it never fails
	}
	close(events)
	for e := range events {
		heard = append(heard, e)
	}
	return heard
}

func TestListenerTakesChannelEventsOutOfAStream(t *testing.T) {
	want := []Event{{Content: "one", Meta: map[string]string{"id": "a"}}, {Content: "two\nlines"}, {Verdict: &Verdict{"abcde", "deny"}}}
	for _, n := range []int{1, 7, len(stream)} {
		if diff := cmp.Diff(want, overhear(stream, n)); diff != "" {
			t.Errorf("in pieces of %d bytes: %s", n, diff)
		}
	}
}

func FuzzListener(f *testing.F) {
	f.Add(stream, 3)
	f.Add(strings.ReplaceAll(stream, "\n", "\r\n"), 5)
	f.Add("data: {\"method\":\"notifications/claude/channel\",\"params\":null}\n", 1)
	f.Fuzz(func(t *testing.T, stream string, n int) {
		if n < 1 || stream == "" {
			t.Skip()
		}
		if diff := cmp.Diff(overhear(stream, len(stream)), overhear(stream, n)); diff != "" {
			t.Errorf("it matters how the stream is cut: %s", diff)
		}
	})
}
