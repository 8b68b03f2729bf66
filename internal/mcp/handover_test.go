package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// The rules of INTERFACE, Delivery: (a) a stream that outlives the write by a
// second, and a peer that has acknowledged the bytes.
func TestHandedOverOneSecondAfterTheWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		s := h.mailbox("alice").Open("")
		pass(0)
		r := h.says("hello")
		pass(900 * time.Millisecond)
		wantPushes(t, "alice", s, "hello")
		if got := h.fate(r.ID, "alice"); got != "waiting" {
			t.Errorf("after 0.9 s: %s", got)
		}
		if got := h.platform.Receipts(); len(got) > 0 {
			t.Errorf("a read receipt before the hand-over: %v", got)
		}
		pass(200 * time.Millisecond)
		if got := h.fate(r.ID, "alice"); got != "handed_over" {
			t.Errorf("after 1.1 s: %s", got)
		}
		if got := h.platform.Receipts(); !slices.Equal(got, []hub.MessageID{r.ID}) {
			t.Errorf("read receipts %v, want one for %s", got, r.ID)
		}
	})
}

func TestStreamThatEndsWithinASecondProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		r := h.says("hello")
		pass(500 * time.Millisecond)
		first := wantPushes(t, "alice", s, "hello")[0]
		s.Abort()
		pass(5 * time.Second)
		if got := h.fate(r.ID, "alice"); got != "waiting" {
			t.Errorf("after the stream was cut: %s", got)
		}
		s = c.Open("") // a client that lost it knows no id
		pass(0)
		again := wantPushes(t, "alice once more", s, "hello")[0]
		if again.Meta["id"] != first.Meta["id"] {
			t.Errorf("offered again as %s, was %s", again.Meta["id"], first.Meta["id"])
		}
		pass(2 * time.Second)
		if got := h.fate(r.ID, "alice"); got != "handed_over" {
			t.Errorf("in the end: %s", got)
		}
		if got := h.platform.Receipts(); len(got) != 1 {
			t.Errorf("read receipts %v, want one", got)
		}
	})
}

// (b)
func TestLastEventIDProves(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		one, two := h.says("one"), h.says("two")
		pass(100 * time.Millisecond)
		got := wantPushes(t, "alice", s, "one", "two")
		s.Close()
		pass(0)
		s = c.Open(got[0].ID)
		pass(100 * time.Millisecond)
		if got := h.fate(one.ID, "alice"); got != "handed_over" {
			t.Errorf("named as the last: %s", got)
		}
		if got := h.fate(two.ID, "alice"); got != "waiting" {
			t.Errorf("after the last: %s", got)
		}
		wantPushes(t, "alice", s, "two")
	})
}

// (c)
func TestNamingAMessageProvesIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		tool string
		args func(hubtest.Push) map[string]any
		want string
	}{
		{"inbox ack", "inbox", func(p hubtest.Push) map[string]any { return map[string]any{"ack": []string{p.Meta["id"]}} }, "acknowledged"},
		{"a reply that quotes it", "reply", func(p hubtest.Push) map[string]any {
			return map[string]any{"chat_id": p.Meta["chat_id"], "reply_to": p.Meta["message_id"], "text": "ok"}
		}, "acknowledged"},
		{"a reaction", "react", func(p hubtest.Push) map[string]any {
			return map[string]any{"chat_id": p.Meta["chat_id"], "message_id": p.Meta["message_id"], "emoji": "👍"}
		}, "acknowledged"},
		// A request on another connection proves nothing.
		{"another call", "list_chats", func(hubtest.Push) map[string]any { return map[string]any{} }, "waiting"},
		{"a reply without a quote", "reply", func(p hubtest.Push) map[string]any {
			return map[string]any{"chat_id": p.Meta["chat_id"], "text": "ok"}
		}, "waiting"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.mailbox("alice")
				s := c.Open("")
				pass(0)
				r := h.says("hello")
				pass(100 * time.Millisecond)
				p := wantPushes(t, "alice", s, "hello")[0]
				s.Close()
				pass(0)
				if out := c.Tool(tt.tool, tt.args(p)); out.IsError {
					t.Fatal(out.Text)
				}
				pass(0)
				if got := h.fate(r.ID, "alice"); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				s = c.Open("")
				pass(2 * time.Second)
				if again := len(s.Pushes()); again != 0 && tt.want == "acknowledged" || again != 1 && tt.want == "waiting" {
					t.Errorf("offered again %d times", again)
				}
				if got := h.platform.Receipts(); !slices.Equal(got, []hub.MessageID{r.ID}) {
					t.Errorf("read receipts %v, want one", got)
				}
			})
		})
	}
}

// (d)
func TestInboxAnswerProves(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		c.Tool("inbox", map[string]any{}) // so that it counts
		r := h.says("hello")
		if got := h.fate(r.ID, "alice"); got != "waiting" {
			t.Fatalf("before: %s", got)
		}
		if out := inbox(t, c, nil); len(out.Events) != 1 || out.Events[0].Seen {
			t.Fatalf("inbox: %+v", out)
		}
		s := c.Open("") // at once: the record may not know yet
		pass(0)
		if got := h.fate(r.ID, "alice"); got != "handed_over" {
			t.Errorf("after: %s", got)
		}
		pass(2 * time.Second)
		wantPushes(t, "the stream of a session that has it from inbox", s)
		if got := h.platform.Receipts(); !slices.Equal(got, []hub.MessageID{r.ID}) {
			t.Errorf("read receipts %v, want one", got)
		}
		h.says("next")
		pass(0)
		wantPushes(t, "the same stream", s, "next")
	})
}

// An answer that nobody was there to read hands nothing over.
func TestInboxAnswerToACallerThatHungUpProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		ctx, hangUp := context.WithCancel(t.Context())
		go c.ToolContext(ctx, "inbox", map[string]any{"wait_seconds": 50})
		pass(time.Second)
		hangUp()
		pass(0)
		r := h.says("hello")
		pass(time.Second)
		if got := h.fate(r.ID, "alice"); got != "waiting" {
			t.Errorf("%s", got)
		}
		if out := inbox(t, c, nil); len(out.Events) != 1 || out.Events[0].Seen {
			t.Errorf("inbox: %+v", out)
		}
	})
}

// Nor does one that its caller never takes from the connection.
func TestInboxAnswerThatIsNotWrittenProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		inbox(t, c, nil)
		r := h.says("hello")
		conn, err := h.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"inbox","arguments":{}}}`
		_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
			sharedToken, c.Session, len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		_ = conn.Close()
		pass(0)
		if got := h.fate(r.ID, "alice"); got != "waiting" {
			t.Errorf("%s", got)
		}
	})
}

// A peer that takes no more bytes has not got them, however long its
// connection stays open.
func TestUnacknowledgedBytesAreNotHandedOver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a peer's TCP has acknowledged")
	}
	t.Parallel()
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	c.Stall()
	var last hub.Receipt
	for range 40 { // 1.2 MB, more than the peer's window; the hub's end has room for it
		last = h.script("alice", strings.Repeat("x", 30<<10))
	}
	other := h.mailbox("bob").Open("")
	probe := h.script("bob", "probe")
	other.Push()
	h.wantFate(probe.ID, "bob", "handed_over") // so a second has passed
	time.Sleep(200 * time.Millisecond)
	if got := h.fate(last.ID, "alice"); got != "waiting" {
		t.Errorf("what a stalled peer has not taken: %s", got)
	}

	// It comes back on a new connection and gets all that it lacks.
	s := c.Open("")
	var p hubtest.Push
	for p.Meta["id"] != string(last.ID) {
		p = s.Push()
	}
	h.wantFate(last.ID, "alice", "handed_over")
}

type inboxAnswer struct {
	Events []struct {
		hubtest.Push
		Seen bool
	}
	More    bool
	Unknown []hub.MessageID `json:"unknown_ack"`
}

// inbox calls the tool and reads its answer.
func inbox(t *testing.T, c *hubtest.Client, args map[string]any) (out inboxAnswer) {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	r := c.Tool("inbox", args)
	if r.IsError {
		t.Fatalf("inbox: %s", r.Text)
	}
	if len(r.Text) > 45_000 {
		t.Errorf("inbox answered %d bytes", len(r.Text))
	}
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPendingGoesToTheAgentsOtherSessionsWhenItsOwnIsGone(t *testing.T) {
	for _, how := range []string{"deleted", "gone for 15 s"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.mailbox("alice")
				a := c.Open("")
				pass(0)
				r := h.says("hello")
				pass(100 * time.Millisecond)
				wantPushes(t, "the first session", a, "hello")
				b := h.mailbox("alice").Open("") // began after it
				pass(0)
				wantPushes(t, "the second, while the first is there", b)
				if how == "deleted" {
					c.Do(t.Context(), "DELETE", "")
				} else {
					a.Abort()
					pass(14 * time.Second)
					wantPushes(t, "the second, while the first may return", b)
					pass(2 * time.Second)
				}
				pass(0)
				if p := wantPushes(t, "the second", b, "hello")[0]; p.Meta["id"] != string(r.ID) {
					t.Errorf("offered again as %s, was %s", p.Meta["id"], r.ID)
				}
				pass(2 * time.Second)
				if got := h.platform.Receipts(); len(got) != 1 {
					t.Errorf("read receipts %v, want one", got)
				}
			})
		})
	}
}

// With no session of the agent left, its mail is decided again as if it were
// offline; what was addressed to it is held.
func TestPendingIsDecidedAgainWhenTheAgentIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		a := c.Open("")
		pass(0)
		c.Tool("send", map[string]any{"text": "shall I?"})
		h.receive(hub.Message{Kind: hub.Text, Text: "yes", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		h.script("alice", "addressed")
		pass(100 * time.Millisecond)
		wantPushes(t, "alice", a, "yes", "addressed")
		b := h.mailbox("bob").Open("")
		pass(0)
		wantPushes(t, "bob", b)
		c.Do(t.Context(), "DELETE", "")
		pass(0)
		p := wantPushes(t, "bob, when alice has left", b, "yes")[0]
		if p.Meta["route_status"] != "agent_offline" || p.Meta["routed_agent"] != "alice" || p.Meta["in_reply_to_text"] != "shall I?" {
			t.Errorf("meta %v", p.Meta)
		}
		a = h.mailbox("alice").Open("")
		pass(0)
		wantPushes(t, "alice, when she is back", a, "addressed")
	})
}

// A session that calls tools but has no stream counts: what it is sent waits
// for its inbox.
func TestPullSessionGetsItsMailFromInbox(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		inbox(t, c, nil)
		other := h.mailbox("bob").Open("")
		pass(0)
		c.Tool("send", map[string]any{"text": "shall I?"})
		h.receive(hub.Message{Kind: hub.Text, Text: "yes", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		pass(0)
		wantPushes(t, "bob", other)
		wantInbox(t, inbox(t, c, nil), false, "yes")
		// One that stops calling is gone, and what it has not taken is decided again.
		h.receive(hub.Message{Kind: hub.Text, Text: "and now?", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		pass(61 * time.Second)
		wantPushes(t, "bob, when alice is gone", other, "and now?")
	})
}

// What waited because nobody was present reaches the session that comes back,
// though it was offered to that session's agent before.
func TestPendingWaitsForWhoComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		alice := h.mailbox("alice")
		s := alice.Open("")
		h.says("before")
		pass(2 * time.Second)
		last := s.LastID()
		s.Close()
		pass(time.Second)
		id := h.says("while away").ID
		pass(20 * time.Second) // she is gone
		s = alice.Open(last)
		pass(0)
		wantPushes(t, "alice", s, "while away")
		if got := h.fate(id, "alice"); got != "waiting" {
			t.Errorf("delivery is %s at once", got)
		}
		pass(time.Second)
		if got := h.fate(id, "alice"); got != "handed_over" {
			t.Errorf("delivery is %s after a second", got)
		}
	})
}
