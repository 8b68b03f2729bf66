package mcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

// A fullRecord takes no message while its disk is full.
type fullRecord struct {
	hub.Record
	full atomic.Bool
}

func (r *fullRecord) Append(ctx context.Context, m hub.Message, d *hub.Decision, then func(hub.Offer)) (bool, error) {
	if r.full.Load() {
		return false, hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.Append(ctx, m, d, then)
}

// What a session was handed from memory it is sent no second time once the
// record can be written again, however soon that is; whoever was not handed it
// gets it then.
func TestHandedFromMemoryIsNotSentAgainFromTheRecord(t *testing.T) {
	for _, full := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			disk := &fullRecord{}
			h := startHub(t, setup{inPipes: true, wrap: func(r hub.Record) hub.Record {
				disk.Record = r
				return disk
			}})
			alice, bob := h.mailbox("alice"), h.mailbox("bob")
			a, b := alice.Open(""), bob.Open("")
			pass(4*time.Second + 900*time.Millisecond) // the record is tried each 5 s
			b.Close()                                  // he is away
			pass(0)
			disk.full.Store(true)
			id := h.says("from memory").ID
			pass(full)
			disk.full.Store(false)
			pass(8 * time.Second) // less than he counts as away for
			wantPushes(t, "alice", a, "from memory")
			if got := h.fate(id, "alice") + ", " + h.fate(id, "bob"); got != "handed_over, waiting" {
				t.Errorf("full for %s: alice and bob: %s", full, got)
			}
			a.Close()
			pass(time.Second)
			h.says("next")
			a, b = alice.Open(""), bob.Open("")
			pass(time.Second)
			wantPushes(t, "alice, back", a, "next")
			wantPushes(t, "bob, back", b, "from memory", "next")
		})
	}
}
