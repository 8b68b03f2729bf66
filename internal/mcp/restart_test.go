package mcp_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// restarting runs f with a hub that can be started again on the same record.
// again stops it, waits, and starts it; clients have to be pointed at it.
func restarting(t *testing.T, f func(t *testing.T, h *testHub, again func(time.Duration) *testHub)) {
	t.Helper()
	path := recordIn(t)
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		h := startHub(t, setup{path: path, inPipes: true})
		f(t, h, func(d time.Duration) *testHub {
			t.Helper()
			h.stop()
			time.Sleep(d)
			next := startHub(t, setup{path: path, inPipes: true})
			next.key = h.key
			h = next
			return next
		})
	})
}

func TestSessionSurvivesARestart(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		h.script("alice", "before, handed over")
		pass(2 * time.Second)
		h.script("alice", "before, seen")
		h.script("alice", "before, not seen")
		pass(100 * time.Millisecond)
		seen := wantPushes(t, "alice", s, "before, handed over", "before, seen", "before, not seen")[1].ID

		h = again(time.Second)
		c.Dial = h.dial
		if got := h.states("alice"); len(got) != 1 || got[0] != "away" {
			t.Errorf("after the start: %v", got)
		}
		h.script("alice", "after")
		pass(0)
		if r := c.Call("ping", nil); r.Status != http.StatusOK {
			t.Errorf("POST with an id of before: %d", r.Status)
		}
		s = c.Open(seen)
		pass(0)
		wantPushes(t, "alice, who names the last she has", s, "before, not seen", "after")
		if a := c.Do(t.Context(), "DELETE", ""); a.Status != http.StatusNoContent {
			t.Errorf("DELETE: %d", a.Status)
		}
	})
}

func TestReplayWithoutLastEventIDBeginsAtTheCursor(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		h.script("alice", "handed over")
		pass(2 * time.Second)
		id := h.script("alice", "not handed over").ID
		pass(100 * time.Millisecond)
		wantPushes(t, "alice", s, "handed over", "not handed over")

		h = again(time.Second)
		c.Dial = h.dial
		s = c.Open("")
		pass(0)
		if p := wantPushes(t, "alice", s, "not handed over")[0]; p.Meta["id"] != string(id) {
			t.Errorf("offered again as %s, was %s", p.Meta["id"], id)
		}
	})
}

func TestSessionThatDoesNotComeBackDeparts(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		h.mailbox("alice").Open("")
		pass(0)
		h.says("for alice")
		pass(100 * time.Millisecond)
		h = again(time.Second)
		bob := h.mailbox("bob").Open("")
		pass(10 * time.Second)
		if !h.table.Present("alice") {
			t.Error("alice does not count 10 s after the start")
		}
		wantPushes(t, "bob, while alice may come back", bob)
		pass(6 * time.Second)
		if h.table.Present("alice") {
			t.Error("alice counts 16 s after the start")
		}
		if p := wantPushes(t, "bob, when she has not", bob, "for alice")[0]; p.Meta["route_status"] != "unrouted" {
			t.Errorf("meta %v", p.Meta)
		}
	})
}

func TestSessionIDIsGoodFor7Days(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, tt := range []struct {
		unused time.Duration
		status int
	}{
		{week - time.Hour, http.StatusOK},
		{week + time.Hour, http.StatusNotFound},
	} {
		restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
			c := h.mailbox("alice")
			h = again(tt.unused)
			c.Dial = h.dial
			if r := c.Call("ping", nil); r.Status != tt.status {
				t.Errorf("POST after %s: %d, want %d", tt.unused, r.Status, tt.status)
			}
			if a := c.Do(t.Context(), "GET", "", "Mcp-Protocol-Version", "x"); a.Status != http.StatusBadRequest {
				t.Errorf("GET in a wrong version: %d", a.Status)
			}
			if tt.status == http.StatusNotFound {
				if s := c.Open(""); s.Status != tt.status {
					t.Errorf("GET after %s: %d", tt.unused, s.Status)
				}
			}
		})
	}
}

func TestSeatsAndTheirOrderSurviveARestart(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		first, second, third := h.label("alice"), h.label("alice"), h.label("alice")
		first.Open("")
		pass(2 * time.Second)
		second.Open("")
		pass(2 * time.Second)
		third.Open("")
		pass(2 * time.Second)
		h = again(time.Second)
		first.Dial, second.Dial, third.Dial = h.dial, h.dial, h.dial
		a := first.Open("") // the order in which they come back decides nothing
		pass(3 * time.Second)
		b := second.Open("")
		c := third.Open("")
		pass(3 * time.Second)
		h.says("one")
		pass(2 * time.Second)
		wantPushes(t, "the first", a)
		wantPushes(t, "the second", b)
		wantPushes(t, "the holder", c, "one")
		third.Do(t.Context(), "DELETE", "")
		h.says("two")
		pass(0)
		wantPushes(t, "the first", a)
		wantPushes(t, "the last evicted", b, "two")
	})
}

func TestManyRestartsLoseAndRepeatNothing(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		last, n := "", 0
		got := map[string]int{}
		for range 8 {
			s := c.Open(last)
			for range 3 {
				h.script("alice", fmt.Sprint("n", n))
				n++
				time.Sleep(300 * time.Millisecond)
			}
			h.script("alice", fmt.Sprint("n", n)) // just before the end
			n++
			h = again(time.Second)
			c.Dial = h.dial
			count(got, s)
			last = s.LastID()
		}
		s := c.Open(last)
		pass(3 * time.Second)
		count(got, s)
		for i := range n {
			if times := got[fmt.Sprint("n", i)]; times != 1 {
				t.Errorf("n%d came %d times", i, times)
			}
		}
	})
}
