package mcp_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// The words of INTERFACE: live, away for 15 s, then deaf or gone; pull without
// a stream.
func TestPresenceFollowsTheStreamAndTheCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		want := func(when, state string, present bool) {
			t.Helper()
			if got := h.states("alice"); !slices.Equal(got, []string{state}) {
				t.Errorf("%s: %v, want %s", when, got, state)
			}
			if got := h.table.Present("alice"); got != present {
				t.Errorf("%s: present %v, want %v", when, got, present)
			}
			if got := slices.Contains(h.table.Everybody(), "alice"); got != present {
				t.Errorf("%s: among everybody %v, want %v", when, got, present)
			}
		}
		want("initialize alone", "new", false)

		c.Tool("inbox", map[string]any{})
		want("a call before any stream", "pull", true)
		pass(59 * time.Second)
		want("59 s after the call", "pull", true)
		pass(2 * time.Second)
		want("61 s after the call", "gone", false)

		s := c.Open("")
		pass(0)
		want("stream open", "live", true)
		pass(10 * time.Minute)
		want("stream open for long", "live", true)
		s.Close()
		pass(0)
		want("stream closed", "away", true)
		pass(14 * time.Second)
		want("14 s without a stream", "away", true)
		pass(2 * time.Second)
		want("16 s without a stream", "gone", false)

		c.Tool("inbox", map[string]any{})
		want("a call after a lost stream", "deaf", true)
		pass(61 * time.Second)
		want("61 s after that call", "gone", false)

		go c.Tool("inbox", map[string]any{"wait_seconds": 50})
		pass(45 * time.Second)
		want("inbox waits", "deaf", true)
		pass(60 * time.Second)
		want("55 s after it ended", "deaf", true)
		pass(10 * time.Second)
		want("65 s after it ended", "gone", false)

		s = c.Open("")
		pass(0)
		want("stream open again", "live", true)
		if a := c.Do(t.Context(), "DELETE", ""); a.Status != 204 {
			t.Errorf("DELETE: %d", a.Status)
		}
		if !s.Ended(time.Second) {
			t.Error("the stream of a deleted session is open")
		}
		pass(0)
		if h.table.Present("alice") {
			t.Error("present after DELETE")
		}
	})
}

func TestPresenceIsToldOncePerChange(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		told := func(when string, want ...string) {
			t.Helper()
			pass(0)
			if d := cmp.Diff(want, h.presence.took()); d != "" {
				t.Errorf("%s (-want +got):\n%s", when, d)
			}
		}
		c, other := h.mailbox("alice"), h.mailbox("alice")
		told("initialize")
		s := c.Open("")
		told("first stream", "arrived alice")
		other.Open("")
		told("a second session")
		s.Close()
		pass(20 * time.Second)
		told("one of two gone")
		other.Do(t.Context(), "DELETE", "")
		told("the other deleted", "departed alice")
		c.Open(s.LastID())
		told("back", "arrived alice")
	})
}

func TestSessionIsForgottenInMemoryAndFoundInTheRecord(t *testing.T) {
	for _, who := range []struct {
		name    string
		connect func(*testHub) *hubtest.Client
	}{
		{"a mailbox", func(h *testHub) *hubtest.Client { return h.mailbox("alice") }},
		{"the holder of a seat", func(h *testHub) *hubtest.Client { return h.label("alice") }},
	} {
		inBubble(t, func(t *testing.T, h *testHub) {
			c := who.connect(h)
			s := c.Open("")
			s.Close()
			pass(3 * time.Hour)
			if got := h.states("alice"); got != nil {
				t.Errorf("%s, in memory after 3 h: %v", who.name, got)
			}
			h.script("alice", "held")
			if s = c.Open(""); s.Status != 200 {
				t.Errorf("%s: GET of a forgotten session: %d", who.name, s.Status)
			}
			pass(time.Second)
			wantPushes(t, who.name, s, "held")
		})
	}
}

// A slowStore saves no session before it is let go.
type slowStore struct {
	hub.SessionStore
	saves chan struct{}
}

func (s slowStore) SaveSession(ctx context.Context, v hub.SavedSession) error {
	<-s.saves
	return s.SessionStore.SaveSession(ctx, v)
}

func TestSessionDeletedWhileItIsSavedStaysDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		saves := make(chan struct{})
		h.table.Store = slowStore{h.table.Store, saves}
		c.Open("")
		pass(0)
		if a := c.Do(t.Context(), "DELETE", ""); a.Status != http.StatusNoContent {
			t.Fatalf("DELETE: %d", a.Status)
		}
		close(saves)
		pass(0)
		if r := c.Call("ping", nil); r.Status != http.StatusNotFound {
			t.Errorf("POST after DELETE: %d", r.Status)
		}
	})
}
