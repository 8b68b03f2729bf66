package mcp_test

import (
	"net/http"
	"testing"
	"time"
)

// A client known to start afresh by itself is told 404 once, in answer to a
// request, when it had a stream and has been without for 15 s: it would stay
// deaf otherwise. Other clients never are.
func TestWhoLostItsStreamIsToldOnceToStartAfresh(t *testing.T) {
	for _, tt := range []struct {
		name     string
		client   string
		streamed bool
		without  time.Duration // since its stream ended
		want     int
	}{
		{"claude-code, 16 s without", "claude-code", true, 16 * time.Second, http.StatusNotFound},
		{"claude-code, 14 s without", "claude-code", true, 14 * time.Second, http.StatusOK},
		{"claude-code, never had one", "claude-code", false, time.Minute, http.StatusOK},
		{"another client", "crush", true, time.Minute, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.client()
				c.Agent, c.Name = "alice", tt.client
				c.Connect()
				if tt.streamed {
					s := c.Open("")
					pass(0)
					s.Close()
				}
				pass(tt.without)
				if status := c.Notify("notifications/x", nil); status != http.StatusAccepted {
					t.Errorf("notification: %d", status)
				}
				if r := c.Call("tools/list", nil); r.Status != tt.want {
					t.Errorf("first request: %d, want %d", r.Status, tt.want)
				}
				if r := c.Call("tools/list", nil); r.Status != http.StatusOK {
					t.Errorf("second request: %d", r.Status)
				}
				if s := c.Open(""); s.Status != http.StatusOK {
					t.Errorf("GET: %d", s.Status)
				}
			})
		})
	}
}

func TestSuccessorGetsWhatWasQueued(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.client()
		c.Agent, c.Name = "alice", "claude-code"
		s := c.Connect().Open("")
		pass(0)
		h.script("alice", "cut")
		pass(100 * time.Millisecond)
		wantPushes(t, "the first session", s, "cut")
		s.Abort()
		pass(time.Second)
		h.script("alice", "queued")
		pass(20 * time.Second)
		if r := c.Call("tools/list", nil); r.Status != http.StatusNotFound {
			t.Fatalf("request: %d", r.Status)
		}
		s = c.Connect().Open("")
		pass(2 * time.Second)
		wantPushes(t, "its successor", s, "cut", "queued")
	})
}

// The deaf session counts as present while it calls; what came for it goes to
// its successor as well.
func TestSuccessorOfADeafSessionGetsWhatWasQueued(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.client()
		c.Agent, c.Name = "alice", "claude-code"
		s := c.Connect().Open("")
		pass(0)
		s.Close()
		pass(time.Second)
		c.Tool("list_chats", map[string]any{}) // away, and deaf once that is over
		pass(16 * time.Second)
		h.script("alice", "for the deaf")
		h.says("to whom it may concern")
		pass(0)
		if r := c.Call("tools/list", nil); r.Status != http.StatusNotFound {
			t.Fatalf("request: %d", r.Status)
		}
		s = c.Connect().Open("")
		pass(2 * time.Second)
		wantPushes(t, "its successor", s, "for the deaf", "to whom it may concern")
	})
}
