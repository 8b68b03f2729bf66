package mcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestWatchersHearOfSessions(t *testing.T) {
	w := &hubtest.Watcher{}
	inBubble(t, func(t *testing.T, h *testHub) {
		h.table.Watch = hub.Watchers{w}
		first := h.label("alice")
		stream := first.Open("")
		pass(2 * time.Second)
		second := h.label("alice")
		second.Tool("inbox", map[string]any{})
		pass(0)
		stream.Abort()
		pass(20 * time.Second)
		second.Do(t.Context(), "DELETE", "")
		pass(0)
	})
	want := []string{
		`session of "alice" (true) connected`,
		`session of "alice" (true) live`,
		`session of "alice" (true) connected`,
		`session of "alice" (true) evicted`,
		`session of "alice" (true) pull`,
		`session of "alice" (true) away`,
		`session of "alice" (true) gone`,
		`session of "alice" (true) gone`,
		`session of "alice" (true) ended`,
	}
	if d := cmp.Diff(want, w.Heard()); d != "" {
		t.Errorf("heard (-want +got):\n%s", d)
	}
}

func TestQueuedIsWhatStreamsHaveNotTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		h.mailbox("alice").Stall()
		s := h.mailbox("bob").Open("")
		for range 100 {
			h.script("alice", strings.Repeat("x", 10<<10))
			h.script("bob", "hello")
		}
		pass(0)
		s.Push()
		// The first ones are being written.
		if events, bytes := h.table.Queued(); events < 50 || bytes < events*10<<10 {
			t.Errorf("%d events in %d bytes wait, want most of 100", events, bytes)
		}
	})
}
