package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

// broken is a record that can't decide or offer again while it is full.
type broken struct {
	hub.Record
	is atomic.Bool
}

func (r *broken) Decide(ctx context.Context, id hub.MessageID, from []hub.AgentID, reason string, d *hub.Decision, then func(hub.Offer)) error {
	if r.is.Load() {
		return hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.Decide(ctx, id, from, reason, d, then)
}

func (r *broken) Reoffer(ctx context.Context, agent hub.AgentID, last hub.Seq, then func(hub.Offer)) error {
	if r.is.Load() {
		return hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.Reoffer(ctx, agent, last, then)
}

func TestAgentLeavesWhileTheRecordCannotBeWritten(t *testing.T) {
	disk := &broken{}
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.receive(from("in", quoting(f.sends("ci", "?"))))
		disk.is.Store(true)
		f.sessions.Disconnect("ci")
		f.Departed(f.t.Context(), "ci")
		disk.is.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		f.wantGot(got{"ci": {"routed in"}, "desk": {"agent_offline in"}})
	}, func(f *fixture) {
		disk.Record = f.store
		f.Record = disk
	})
}

func TestMailIsOrphanedWhileTheRecordCannotBeWritten(t *testing.T) {
	disk := &broken{}
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.receive(from("in"))
		disk.is.Store(true)
		f.Orphaned(f.t.Context(), "desk", f.store.Last())
		disk.is.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		f.wantGot(got{"desk": {"unrouted in", "unrouted in"}})
	}, func(f *fixture) {
		disk.Record = f.store
		f.Record = disk
	})
}

// What an agent was handed a moment before it left goes to nobody else.
func TestAgentLeavesJustAfterItWasHandedSomething(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.receive(from("in", quoting(f.sends("ci", "?"))))
		for _, o := range f.sessions.Got("ci") {
			f.Settled(hub.Settlement{Agent: "ci", First: o.Seq, Last: o.Seq, State: hub.HandedOver})
		}
		f.sessions.Disconnect("ci")
		f.Departed(f.t.Context(), "ci")
		time.Sleep(time.Minute)
		synctest.Wait()
		f.wantGot(got{"ci": {"routed in"}})
	})
}
