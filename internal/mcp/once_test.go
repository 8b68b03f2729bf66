package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// keyed calls a tool under a key. What is no result has the text of the error.
func keyed(ctx context.Context, c *hubtest.Client, key any, tool string, args map[string]any) hubtest.ToolResult {
	r := c.CallContext(ctx, "tools/call", map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{"aldis/key": key}})
	if r.Error != nil {
		return hubtest.ToolResult{Text: "error: " + r.Error.Message, IsError: true}
	}
	var v struct {
		Content []struct{ Text string }
		IsError bool
	}
	if json.Unmarshal(r.Result, &v) != nil || len(v.Content) != 1 {
		return hubtest.ToolResult{}
	}
	return hubtest.ToolResult{Text: v.Content[0].Text, IsError: v.IsError}
}

func TestCallWithAKeyIsCarriedOutOnce(t *testing.T) {
	h := startHub(t, setup{})
	ctx := t.Context()
	c := h.mailbox("alice")
	other := h.client()
	other.Token, other.Agent = aliceToken, "alice"
	sent := func(want int) {
		t.Helper()
		if got := h.platform.Sent(); len(got) != want {
			t.Errorf("sent %d times, want %d", len(got), want)
		}
	}
	hello := map[string]any{"text": "hello"}
	first := keyed(ctx, c, "k1", "send", hello)
	if again := keyed(ctx, c, "k1", "send", hello); again != first || first.IsError || !strings.HasPrefix(first.Text, "Sent.") {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if again := keyed(ctx, h.mailbox("alice"), "k1", "send", hello); again != first {
		t.Errorf("from another session: %+v", again)
	}
	sent(1)
	keyed(ctx, h.mailbox("bob"), "k1", "send", hello)
	sent(2)
	keyed(ctx, other.Connect(), "k1", "send", hello)
	sent(3)
	keyed(ctx, c, "k2", "send", hello)
	sent(4)

	h.platform.Answer(func(hub.Message) (hub.Sent, error) {
		return hub.Sent{}, hub.Errorf(hub.Unavailable, "no connection")
	})
	first = keyed(ctx, c, "k3", "send", hello)
	h.platform.Answer(nil)
	if again := keyed(ctx, c, "k3", "send", hello); again != first || !first.IsError {
		t.Errorf("a failure: first %+v, again %+v", first, again)
	}
	sent(5)

	// What never reached the tool has used no key up.
	if r := keyed(ctx, c, "k4", "send", map[string]any{"text": 7}); !r.IsError {
		t.Errorf("wrong arguments: %+v", r)
	}
	if r := keyed(ctx, c, "k4", "send", hello); r.IsError {
		t.Errorf("right arguments under the same key: %+v", r)
	}
	sent(6)
}

func TestKeysThatCannotBe(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	for _, key := range []any{"", 7, nil, []string{"k"}, strings.Repeat("k", 129)} {
		if r := keyed(t.Context(), c, key, "send", map[string]any{"text": "x"}); !strings.HasPrefix(r.Text, "error: _meta") {
			t.Errorf("key %v: %+v", key, r)
		}
		if r := keyed(t.Context(), c, key, "inbox", nil); r.IsError {
			t.Errorf("key %v for a tool that needs none: %+v", key, r)
		}
	}
	if r := keyed(t.Context(), c, strings.Repeat("k", 128), "send", map[string]any{"text": "x"}); r.IsError {
		t.Errorf("the longest key: %+v", r)
	}
}

// stuck has what is sent to the platform of h wait until the function that it
// returns is called.
func (h *testHub) stuck() (free func()) {
	gate := make(chan struct{})
	h.platform.Answer(func(m hub.Message) (hub.Sent, error) {
		<-gate
		return hub.Sent{Refs: []hub.Ref{{Platform: "signal", Chat: m.Ref.Chat, Key: "7"}}, Reached: 1}, nil
	})
	return func() { close(gate) }
}

// The same call made again while it is carried out waits for its end, whether
// or not the first connection still stands.
func TestSameCallAtTheSameTime(t *testing.T) {
	for _, hangsUp := range []bool{false, true} {
		inBubble(t, func(t *testing.T, h *testHub) {
			c := h.mailbox("alice")
			free := h.stuck()
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			results := make(chan hubtest.ToolResult, 3)
			call := func(ctx context.Context) { results <- keyed(ctx, c, "k", "send", map[string]any{"text": "x"}) }
			go call(ctx)
			pass(0)
			want := 3
			if hangsUp {
				hangUp()
				pass(0)
				<-results
				want = 2
			}
			go call(t.Context())
			go call(t.Context())
			pass(0)
			free()
			pass(0)
			for range want {
				if r := <-results; r.Text != "Sent. chat_id +100, message_id 7" {
					t.Errorf("hangs up %v: %+v", hangsUp, r)
				}
			}
			if sent := h.platform.Sent(); len(sent) != 1 {
				t.Errorf("hangs up %v: sent %d times", hangsUp, len(sent))
			}
		})
	}
}

// An answer that the second of two calls was written is no event.
func TestAnswerToACallMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		ctx, hangUp := context.WithCancel(t.Context())
		question := map[string]any{"question": "Which one?"}
		go keyed(ctx, c, "k", "ask", question)
		pass(0)
		hangUp()
		pass(0)
		result := make(chan hubtest.ToolResult, 1)
		go func() { result <- keyed(t.Context(), c, "k", "ask", question) }()
		pass(0)
		h.quotes("red")
		pass(0)
		if r := <-result; r.Text != "Answer: red" {
			t.Errorf("%+v", r)
		}
		wantPushes(t, "alice", s)
		if sent := h.platform.Sent(); len(sent) != 1 {
			t.Errorf("asked %d times", len(sent))
		}
	})
}

func TestCallWithAKeyCanBeCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		result := make(chan hubtest.ToolResult, 2)
		for range 2 {
			go func() { result <- keyed(t.Context(), c, "k", "ask", map[string]any{"question": "Which one?"}) }()
			pass(0)
		}
		c.Notify("notifications/cancelled", map[string]any{"requestId": c.LastRequest()})
		pass(0)
		if len(result) != 2 {
			t.Fatalf("%d of 2 calls have ended", len(result))
		}
		h.quotes("red")
		pass(0)
		wantPushes(t, "alice", s, "red")
	})
}

// A crash is a record of calls that hears of no end.
type crash struct{ hub.Calls }

func (crash) EndCall(context.Context, string, string) error { return nil }

func TestCallThatAnEarlierProcessBegan(t *testing.T) {
	path := recordIn(t)
	h := startHub(t, setup{path: path, calls: func(c hub.Calls) hub.Calls { return crash{c} }})
	h.mailbox("bob").Open("")
	eventually(t, func() error { return want("bob", h.states("bob"), "live") })
	ctx, c := t.Context(), h.mailbox("alice")
	toBob := map[string]any{"target": "bob", "content": "hello"}
	question := map[string]any{"question": "Which one?", "timeout_seconds": 0}
	keyed(ctx, c, "k1", "send", map[string]any{"text": "x"})
	keyed(ctx, c, "k2", "send_message", toBob)
	ticket := keyed(ctx, c, "k3", "ask", question)
	h.stop()

	platform := h.platform
	h = startHub(t, setup{path: path})
	c.URL = h.url
	if r := keyed(ctx, c, "k1", "send", map[string]any{"text": "x"}); !r.IsError || !strings.HasPrefix(r.Text, "outcome unknown") {
		t.Errorf("send: %+v", r)
	}
	if r := keyed(ctx, c, "k2", "send_message", toBob); r.IsError || !strings.HasPrefix(r.Text, "already sent (id ") {
		t.Errorf("send_message: %+v", r)
	}
	if r := keyed(ctx, c, "k3", "ask", question); r != ticket || !strings.HasPrefix(r.Text, "No answer yet. Ticket ") {
		t.Errorf("ask: %+v, first %+v", r, ticket)
	}
	if before, after := platform.Sent(), h.platform.Sent(); len(before) != 2 || len(after) != 0 {
		t.Errorf("sent %d before and %d after", len(before), len(after))
	}
	// The outcome of the second time is kept.
	if r := keyed(ctx, c, "k2", "send_message", toBob); !strings.HasPrefix(r.Text, "already sent (id ") {
		t.Errorf("send_message once more: %+v", r)
	}
}

// The hub's stop is not the last word on a call: who makes it again is
// answered by the next process.
func TestCallThatTheHubsStopCutsShort(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		question := map[string]any{"question": "Which one?"}
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		go keyed(ctx, c, "k", "ask", question)
		pass(time.Second)
		platform := h.platform
		h = again(time.Second)
		c.Dial = h.dial
		result := make(chan hubtest.ToolResult, 1)
		go func() { result <- keyed(t.Context(), c, "k", "ask", question) }()
		pass(0)
		h.receive(hub.Message{Kind: hub.Text, Text: "red", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		pass(0)
		if r := <-result; r.Text != "Answer: red" {
			t.Errorf("%+v", r)
		}
		if n := len(platform.Sent()) + len(h.platform.Sent()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// full is a record of calls on a full disk.
type full struct{ hub.Calls }

func (full) BeginCall(context.Context, string) (string, bool, error) {
	return "", false, hub.Errorf(hub.Unavailable, "disk full")
}

func TestCallThatCannotBeNotedIsNotCarriedOut(t *testing.T) {
	h := startHub(t, setup{calls: func(c hub.Calls) hub.Calls { return full{c} }})
	c := h.mailbox("alice")
	if r := keyed(t.Context(), c, "k", "send", map[string]any{"text": "x"}); !r.IsError || !strings.Contains(r.Text, "not carried out") {
		t.Errorf("%+v", r)
	}
	if r := keyed(t.Context(), c, "k", "list_chats", nil); r.IsError {
		t.Errorf("a tool that needs no key: %+v", r)
	}
	if sent := h.platform.Sent(); len(sent) > 0 {
		t.Errorf("sent: %v", sent)
	}
}
