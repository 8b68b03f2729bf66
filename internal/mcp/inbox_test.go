package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func (a inboxAnswer) contents() []string {
	out := []string{}
	for _, ev := range a.Events {
		out = append(out, ev.Content)
	}
	return out
}

func (a inboxAnswer) ids() []string {
	out := []string{}
	for _, ev := range a.Events {
		out = append(out, ev.Meta["id"])
	}
	return out
}

func wantInbox(t *testing.T, a inboxAnswer, more bool, want ...string) {
	t.Helper()
	if !slices.Equal(a.contents(), want) || a.More != more {
		t.Errorf("inbox %q, more %v; want %q, %v", a.contents(), a.More, want, more)
	}
}

func TestInboxListsNewBeforeSeenUntilAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		c.Open("")
		pass(0)
		h.script("alice", "seen 1")
		h.script("alice", "seen 2")
		pass(2 * time.Second)
		c.Stall() // from here on nothing is handed over
		pass(0)
		h.script("alice", "new 1")
		h.script("alice", "new 2")
		pass(0)
		a := inbox(t, c, nil)
		wantInbox(t, a, false, "new 1", "new 2", "seen 1", "seen 2")
		if a.Events[1].Seen || !a.Events[2].Seen {
			t.Errorf("seen: %+v", a.Events)
		}
		ids := a.ids()
		a = inbox(t, c, map[string]any{"ack": []string{ids[0], ids[3], "no-such"}})
		wantInbox(t, a, false, "seen 1", "new 2")
		if !slices.Equal(a.Unknown, []hub.MessageID{"no-such"}) {
			t.Errorf("unknown %v", a.Unknown)
		}
		wantInbox(t, inbox(t, h.mailbox("alice"), nil), false, "seen 1", "new 2") // an ack clears for the agent
		wantInbox(t, inbox(t, h.mailbox("bob"), nil), false)
	})
}

func TestInboxHoldsTwentyAnd40KB(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		inbox(t, c, nil)
		var want []string
		for i := range 25 {
			want = append(want, fmt.Sprint("n", i))
			h.script("alice", want[i])
		}
		a := inbox(t, c, nil)
		wantInbox(t, a, true, want[:20]...)
		wantInbox(t, inbox(t, c, map[string]any{"ack": a.ids()}), false, want[20:]...)

		big := h.mailbox("bob")
		inbox(t, big, nil)
		for range 10 {
			h.script("bob", strings.Repeat("é", 10<<10))
		}
		a = inbox(t, big, nil) // which checks the size of the whole
		if n := len(a.Events); n < 4 || n >= 10 || !a.More {
			t.Errorf("%d of 10 large ones, more %v", n, a.More)
		}
		text := a.Events[0].Content
		if !utf8.ValidString(text) || !strings.HasSuffix(text, "[cut: get_message "+a.Events[0].Meta["id"]+" has all]") {
			t.Errorf("a large one ends with %q", text[len(text)-80:])
		}
	})
}

func TestInboxWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		begin := time.Now()
		wantInbox(t, inbox(t, c, map[string]any{"wait_seconds": 3}), false)
		if d := time.Since(begin); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("waited %s for nothing, want 3 s", d)
		}
		time.AfterFunc(10*time.Second, func() { h.script("alice", "hello") })
		begin = time.Now()
		wantInbox(t, inbox(t, c, map[string]any{"wait_seconds": 50}), false, "hello")
		if d := time.Since(begin); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("waited %s, want 10 s", d)
		}
		begin = time.Now()
		wantInbox(t, inbox(t, c, map[string]any{"wait_seconds": 2}), false, "hello") // what was seen is no reason to stop
		if d := time.Since(begin); d < 2*time.Second {
			t.Errorf("waited %s, want 2 s", d)
		}
	})
}

func TestCancelledInboxEndsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		answer := make(chan hubtest.Reply, 1)
		go func() {
			answer <- c.Call("tools/call", map[string]any{"name": "inbox", "arguments": map[string]any{"wait_seconds": 50}})
		}()
		pass(time.Second)
		begin := time.Now()
		if status := c.Notify("notifications/cancelled", map[string]any{"requestId": c.LastRequest() + 1}); status != 202 {
			t.Errorf("cancel another request: %d", status)
		}
		if status := c.Notify("notifications/cancelled", map[string]any{"requestId": c.LastRequest()}); status != 202 {
			t.Errorf("cancel: %d", status)
		}
		if r := <-answer; r.Error == nil {
			t.Errorf("answer %+v", r)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("ended after %s", d)
		}
		pass(61 * time.Second)
		if got := h.states("alice"); !slices.Equal(got, []string{"gone"}) {
			t.Errorf("state %v: the call is still counted", got)
		}
	})
}

func TestWaitingInboxEndsWithTheHub(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		answer := make(chan hubtest.ToolResult, 1)
		go func() { answer <- c.Tool("inbox", map[string]any{"wait_seconds": 50}) }()
		pass(time.Second)
		begin := time.Now()
		h.stop()
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the hub stopped after %s", d)
		}
		if r := <-answer; !r.IsError || !strings.Contains(r.Text, "stopping") {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestGetMessagePagesOnWholeCharacters(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		inbox(t, c, nil)
		text := "a" + strings.Repeat("é👍", 15_000) + "</channel>"
		id := h.script("alice", text).ID
		inbox(t, c, nil) // or each page would tell that it waits
		var got strings.Builder
		offset, pages := 0, 0
		for pages < 10 {
			r := c.Tool("get_message", map[string]any{"id": id, "offset": offset})
			if r.IsError || !utf8.ValidString(r.Text) || len(r.Text) > 33<<10 {
				t.Fatalf("page %d: error %v, %d bytes", pages, r.IsError, len(r.Text))
			}
			pages++
			part, note, more := strings.Cut(r.Text, "\n[")
			got.WriteString(part)
			if !more {
				break
			}
			var of int
			if _, err := fmt.Sscanf(note, "%d of %d bytes: go on with offset", &offset, &of); err != nil || of != len(text) {
				t.Fatalf("page %d ends with %q: %v", pages, note, err)
			}
		}
		if want := strings.Replace(text, "</channel>", "&lt;/channel>", 1); got.String() != want {
			t.Errorf("%d bytes in %d pages, want %d", got.Len(), pages, len(want))
		}
		if r := c.Tool("get_message", map[string]any{"id": id, "offset": len(text) + 1}); !r.IsError || !strings.Contains(r.Text, "past the end") {
			t.Errorf("past the end: %+v", r)
		}
		if r := h.mailbox("bob").Tool("get_message", map[string]any{"id": id}); !r.IsError {
			t.Errorf("another agent reads it: %+v", r)
		}
	})
}

func TestGetMessageHasTheWholeBodyOfAWebhook(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		r, err := h.relay.Receive(t.Context(), hub.Message{
			Via: hub.ViaHook, Kind: hub.Text, Agent: "repo", Subject: "hook:repo", To: "alice", Text: "a digest", Raw: `{"whole":"body"}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := inbox(t, c, nil).Events; len(got) != 1 || got[0].Content != "a digest" {
			t.Errorf("inbox: %+v", got)
		}
		if got := c.Tool("get_message", map[string]any{"id": r.ID}); got.Text != `{"whole":"body"}` {
			t.Errorf("get_message: %+v", got)
		}
	})
}
