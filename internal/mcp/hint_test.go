package mcp_test

import (
	"strings"
	"testing"
	"time"
)

func TestResultsTellWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		want := func(when, want string) {
			t.Helper()
			r := c.Tool("list_chats", map[string]any{"query": "nobody"})
			if got := strings.TrimPrefix(r.Text, "No chat may be written to that matches."); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		want("at first", "")
		h.script("alice", "one")
		want("with one", "\n1 message waits for you: call inbox.")
		h.script("alice", "two")
		h.script("alice", "three")
		h.script("bob", "another's")
		want("with three", "\n3 messages wait for you: call inbox.")
		if r := c.Tool("inbox", nil); strings.Contains(r.Text, "call inbox") {
			t.Errorf("inbox: %s", r.Text)
		}
		want("after inbox", "")

		s := c.Open("")
		pass(2 * time.Second)
		h.script("alice", "four")
		pass(0)
		want("what was written on a stream", "")
		s.Close()
		pass(0)
		want("what no stream has proved", "\n1 message waits for you: call inbox.")
		if r := c.Tool("reply", map[string]any{"chat_id": "+9", "text": "x"}); !r.IsError || strings.Contains(r.Text, "call inbox") {
			t.Errorf("a failure: %+v", r)
		}
	})
}

// A session that is new and opens no stream is told of what was there before it,
// but not of what another one has.
func TestResultsTellANewcomerWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		old := h.mailbox("alice")
		old.Open("")
		pass(0)
		h.script("alice", "handed over")
		pass(2 * time.Second)
		old.Do(t.Context(), "DELETE", "")
		pass(0)
		h.script("alice", "held")
		h.script("alice", "held too")
		pass(0)
		c := h.mailbox("alice")
		for _, want := range []string{"\n2 messages wait for you: call inbox.", ""} {
			r := c.Tool("list_chats", map[string]any{"query": "nobody"})
			if got := strings.TrimPrefix(r.Text, "No chat may be written to that matches."); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			c.Tool("inbox", nil)
			pass(0)
		}
	})
}

// What is another's is not told to a session that lost its name.
func TestResultsTellNothingToAnEvictedSession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.label("alice")
		c.Open("").Close()
		pass(2 * time.Second)
		h.label("alice").Open("")
		pass(2 * time.Second)
		h.script("alice", "one")
		if r := c.Tool("list_chats", nil); strings.Contains(r.Text, "call inbox") {
			t.Errorf("told %q", r.Text)
		}
	})
}
