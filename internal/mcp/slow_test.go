package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

func TestStalledAgentDelaysNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		stalled := h.mailbox("alice")
		stalled.Stall() // a pipe: not one byte is taken
		s := h.mailbox("bob").Open("")
		var want []string
		for i := range 100 {
			h.script("alice", strings.Repeat("x", 10<<10))
			want = append(want, fmt.Sprint("n", i))
			h.script("bob", want[i])
		}
		pass(0) // less than any deadline
		wantPushes(t, "bob", s, want...)
	})
}

// On real sockets: while a write to a stalled agent is under way, what others
// were sent is proved as ever.
func TestStalledWriteDelaysNoHandOver(t *testing.T) {
	t.Parallel()
	h := startHub(t, setup{})
	h.mailbox("alice").Stall()
	s := h.mailbox("bob").Open("")
	for range 200 { // 6 MB: more than the system takes, and less than that and a full queue
		h.script("alice", strings.Repeat("x", 30<<10))
	}
	r := h.script("bob", "hello")
	s.Push()
	begin := time.Now()
	h.wantFate(r.ID, "bob", "handed_over")
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("handed over after %s, want a second", d)
	}
	if got := h.states("alice"); !slices.Equal(got, []string{"live"}) {
		t.Errorf("the stalled session is %v by now: this test has shown nothing", got)
	}
}

func TestWriteThatTakesTooLongEndsTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		c.Stall()
		pass(0)
		r := h.says("hello")
		pass(9 * time.Second)
		if got := h.states("alice"); !slices.Equal(got, []string{"live"}) {
			t.Errorf("after 9 s: %v", got)
		}
		pass(2 * time.Second)
		if got := h.states("alice"); !slices.Equal(got, []string{"away"}) {
			t.Errorf("after 11 s: %v", got)
		}
		s := c.Open("")
		pass(0)
		if p := wantPushes(t, "alice", s, "hello")[0]; p.Meta["id"] != string(r.ID) {
			t.Errorf("id %s, want %s", p.Meta["id"], r.ID)
		}
	})
}

func TestQueueIsBoundedAndLosesNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count int
		size  int
	}{
		{"1,024 events", 1500, 10}, // the first batch, under way, does not count
		{"4 MiB", 200, 30 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.mailbox("alice")
				c.Stall()
				pass(0)
				body := strings.Repeat("x", tt.size)
				// Within a moment: the write deadline has no part in this. An
				// inbox is bounded too, so as many as it holds.
				n := min(tt.count, 1000)
				for i := range tt.count {
					h.script("alice", fmt.Sprint(i, " ", body))
				}
				pass(0)
				if got := h.states("alice"); !slices.Equal(got, []string{"away"}) {
					t.Errorf("%v, want the stream cut", got)
				}
				s := c.Open("")
				pass(0)
				got := s.Pushes()
				if len(got) < n {
					t.Fatalf("%d of %d came on the next stream", len(got), n)
				}
				for i, p := range got {
					if want := fmt.Sprint(tt.count-len(got)+i, " "); !strings.HasPrefix(p.Content, want) {
						t.Fatalf("event %d is %.20q, want %q", i, p.Content, want)
					}
				}
			})
		})
	}
}

// A peer that is gone without a word leaves its connection half open: nothing
// is handed over on it, and the new one gets all.
func TestHalfOpenStreamIsReplacedByTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		c.Stall()
		pass(0)
		var ids []hub.MessageID
		for i := range 5 {
			ids = append(ids, h.script("alice", fmt.Sprint("n", i)).ID)
		}
		pass(3 * time.Second)
		for _, id := range ids {
			if got := h.fate(id, "alice"); got != "waiting" {
				t.Errorf("on a half-open stream: %s", got)
			}
		}
		s := c.Open("")
		pass(2 * time.Second)
		wantPushes(t, "alice", s, "n0", "n1", "n2", "n3", "n4")
		for _, id := range ids {
			if got := h.fate(id, "alice"); got != "handed_over" {
				t.Errorf("on the next stream: %s", got)
			}
		}
	})
}

// Once one session of the agent has taken an event, the copy that waits for
// another is that one's alone.
func TestTakenEventIsOfferedToNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		gone, unopened := h.mailbox("alice"), h.mailbox("alice")
		s, g := h.mailbox("alice").Open(""), gone.Open("")
		pass(0)
		g.Close()
		pass(20 * time.Second)
		r := h.says("hello")
		pass(2 * time.Second)
		wantPushes(t, "the live session", s, "hello")
		if got := h.fate(r.ID, "alice"); got != "handed_over" {
			t.Fatalf("%s", got)
		}
		late := h.mailbox("alice").Open("")
		pass(2 * time.Second)
		wantPushes(t, "a session that began later", late)
		g, n := gone.Open(""), unopened.Open("")
		pass(2 * time.Second)
		wantPushes(t, "the session that was gone", g, "hello")
		wantPushes(t, "the session that had no stream yet", n, "hello")
		wantPushes(t, "the live session", s)
		wantPushes(t, "a session that began later", late)
		if got := h.platform.Receipts(); len(got) != 1 {
			t.Errorf("read receipts %v, want one", got)
		}
	})
}
