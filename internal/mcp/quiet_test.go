package mcp_test

import (
	"testing"
	"time"

	"aldis/internal/hub"
)

// salon has an agent say something to another.
func (h *testHub) salon(from, to hub.AgentID, text string) hub.Receipt {
	h.t.Helper()
	r, err := h.relay.Receive(h.t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: from, Subject: "main", To: to, Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// What is too much between two agents is pushed to nobody, whatever happens,
// and waits until they look.
func TestWhatIsTooMuchWaitsInTheInbox(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		h.relay.PairRate = 1
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		h.salon("bob", "alice", "loud")
		quiet := h.salon("bob", "alice", "quiet").ID
		second := h.salon("bob", "alice", "quiet 2").ID
		h.salon("bob", "alice", "quiet 3")
		h.script("alice", "then")
		pass(2 * time.Second)
		wantPushes(t, "alice", s, "loud", "then")
		if got := h.fate(quiet, "alice"); got != "waiting" {
			t.Errorf("after a range was handed over: %s", got)
		}
		s.Close()
		pass(0)
		h.script("alice", "owed")
		s = c.Open("")
		pass(2 * time.Second)
		wantPushes(t, "alice, back", s, "owed")
		s.Close()
		pass(0)
		h.script("alice", "orphan")
		c.Do(t.Context(), "DELETE", "")
		pass(2 * time.Second)
		c = h.mailbox("alice") // a newcomer is offered what no session has
		s = c.Open("")
		pass(2 * time.Second)
		wantPushes(t, "alice, anew", s, "orphan")
		h = again(time.Second)
		c.Dial = h.dial
		pass(20 * time.Second)
		s = c.Open("")
		pass(2 * time.Second)
		wantPushes(t, "alice, after a restart", s)
		if r := c.Tool("list_chats", map[string]any{"query": "nobody"}); r.Text != "No chat may be written to that matches." {
			t.Errorf("hint: %q", r.Text)
		}
		a := inbox(t, c, nil)
		wantInbox(t, a, false, "quiet", "quiet 2", "quiet 3", "loud", "then", "owed", "orphan")
		pass(0)
		a = inbox(t, c, map[string]any{"ack": []string{string(second)}})
		wantInbox(t, a, false, "quiet", "quiet 3", "loud", "then", "owed", "orphan")
		if got := h.fate(quiet, "alice") + ", " + h.fate(second, "alice"); got != "handed_over, acknowledged" {
			t.Errorf("after inbox, and an acknowledgement: %s", got)
		}
	})
}
