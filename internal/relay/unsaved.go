package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"aldis/internal/hub"
)

// unsavedMost bounds what is kept in memory while the record can't be written.
// What was offered is given unsavedFor to be handed over, before it is recorded
// and offered to those who were not.
const (
	unsavedMost = 1024
	unsavedFor  = 3 * time.Second
)

// unsaved are messages of a platform that the record did not take. They were
// delivered from memory, and are recorded once that works again.
type unsaved struct {
	mu    sync.Mutex
	err   error
	list  []*unsavedMessage
	dedup map[string]bool
}

type unsavedMessage struct {
	message  hub.Message
	decision *hub.Decision // nil: nobody was present
	since    time.Time
	lost     bool             // there is no room to keep it: it is delivered now or never
	saved    bool             // it is in the record
	taken    []hub.Settlement // by whom it was handed over
}

func (u *unsaved) reason() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// count returns how many messages wait to be recorded.
func (u *unsaved) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.list)
}

// add notes a message and why it was not recorded, and reports whether it is
// the first one since all was well. It returns nil for one that was noted
// before. Past unsavedMost a message is not kept, and so never recorded.
func (u *unsaved) add(m hub.Message, d *hub.Decision, now time.Time, err error) (x *unsavedMessage, first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if m.Dedup != "" && u.dedup[m.Dedup] {
		return nil, false
	}
	if u.dedup == nil {
		u.dedup = make(map[string]bool)
	}
	first = u.err == nil
	u.err = err
	x = &unsavedMessage{message: m, decision: d, since: now}
	if x.lost = len(u.list) >= unsavedMost; !x.lost {
		u.list = append(u.list, x)
		u.dedup[m.Dedup] = true
	}
	return x, first
}

// take notes a hand-over, until the message is in the record: from then on it
// reports false.
func (u *unsaved) take(x *unsavedMessage, st hub.Settlement) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !x.saved {
		x.taken = append(x.taken, st)
	}
	return !x.saved
}

// left returns the agents in to that x was not handed to.
func (u *unsaved) left(x *unsavedMessage, to []hub.AgentID) []hub.AgentID {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(to), func(a hub.AgentID) bool {
		return slices.ContainsFunc(x.taken, func(st hub.Settlement) bool { return st.Agent == a })
	})
}

// next returns the oldest message; nil if there is none.
func (u *unsaved) next() *unsavedMessage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == 0 {
		u.err = nil
		return nil
	}
	return u.list[0]
}

// shift takes the oldest message out, which is in the record now, and returns
// its hand-overs.
func (u *unsaved) shift() []hub.Settlement {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.list[0]
	x.saved = true
	delete(u.dedup, x.message.Dedup)
	u.list = u.list[1:]
	return x.taken
}

// deliverUnsaved delivers m though it could not be recorded, because of err.
func (r *Relay) deliverUnsaved(ctx context.Context, m hub.Message, d *hub.Decision, err error) {
	if d == nil {
		if again := r.route(ctx, m, nil); len(again.To) > 0 {
			d = &again
		}
	}
	x, first := r.unsaved.add(m, d, r.Now(), err)
	if x == nil {
		return
	}
	if first {
		r.Log.Error("the record cannot be written: messages are delivered from memory", "err", err)
		r.tell(r.Operator, "The hub cannot write its record (is the disk full?). Messages are delivered, but would not survive a restart.")
	}
	if x.lost {
		r.Log.Error("too much waits to be recorded: a message is lost, unless an agent takes it now", "message", m.ID, "platform", m.Ref.Platform)
	}
	if d != nil {
		r.Sessions.Deliver(hub.Offer{Message: m, Decision: *d, Taken: func(agent hub.AgentID, session hub.SessionID) {
			st := hub.Settlement{Agent: agent, Session: session, Message: m.ID, State: hub.HandedOver, OutOfTurn: true}
			if !r.unsaved.take(x, st) {
				r.Settled(st)
			}
		}})
	}
}

// saveUnsaved records what could not be, as soon as that works again.
func (r *Relay) saveUnsaved(ctx context.Context) {
	every(ctx, unsavedEvery, nil, func() {
		for {
			x := r.unsaved.next()
			if x == nil || r.Now().Sub(x.since) < unsavedFor || r.saveOne(ctx, x) != nil {
				return
			}
			for _, st := range r.unsaved.shift() {
				r.Settled(st)
			}
		}
	})
}

// saveOne records a message, and offers it to the agents that were not handed
// it meanwhile.
func (r *Relay) saveOne(ctx context.Context, x *unsavedMessage) error {
	_, err := r.Record.Append(ctx, x.message, x.decision, func(o hub.Offer) {
		if o.Decision.To = r.unsaved.left(x, o.Decision.To); len(o.Decision.To) > 0 {
			r.Sessions.Deliver(o)
		}
	})
	if err == nil && x.decision == nil {
		r.waiting.Add(1)
		nudge(r.decide)
	}
	return err
}
