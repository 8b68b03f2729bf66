package relay

import (
	"context"
	"sync"

	"aldis/internal/hub"
)

// unsavedMost bounds what is kept in memory while the record can't be written.
const unsavedMost = 1024

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
	taken    bool
}

func (u *unsaved) reason() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// add notes a message and why it was not recorded. It reports whether it is
// the first one since all was well; nil if it was offered before.
func (u *unsaved) add(m hub.Message, d *hub.Decision, err error) (x *unsavedMessage, first bool) {
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
	x = &unsavedMessage{message: m, decision: d}
	if len(u.list) < unsavedMost {
		u.list = append(u.list, x)
		u.dedup[m.Dedup] = true
	}
	return x, first
}

func (u *unsaved) take(x *unsavedMessage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x.taken = true
}

// next returns the oldest message, whether it was handed over, and false if
// there is none.
func (u *unsaved) next() (x *unsavedMessage, taken, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == 0 {
		u.err = nil
		return nil, false, false
	}
	return u.list[0], u.list[0].taken, true
}

func (u *unsaved) shift() {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.dedup, u.list[0].message.Dedup)
	u.list = u.list[1:]
}

// deliverUnsaved delivers m though it could not be recorded, because of err.
func (r *Relay) deliverUnsaved(m hub.Message, d *hub.Decision, err error) {
	if d == nil {
		if again := r.route(m, nil); len(again.To) > 0 {
			d = &again
		}
	}
	x, first := r.unsaved.add(m, d, err)
	if x == nil {
		return
	}
	if first {
		r.Log.Error("the record cannot be written: messages are delivered from memory", "err", err)
		r.notify("The hub cannot write its record (is the disk full?). Messages are delivered, but would not survive a restart.")
	}
	if d != nil {
		r.Sessions.Deliver(hub.Offer{Message: m, Decision: *d, Taken: func() { r.unsaved.take(x) }})
	}
}

// saveUnsaved records what could not be, as soon as that works again.
func (r *Relay) saveUnsaved(ctx context.Context) {
	every(ctx, unsavedEvery, nil, func() {
		for {
			x, taken, ok := r.unsaved.next()
			if !ok || r.saveOne(ctx, x, taken) != nil {
				return
			}
			r.unsaved.shift()
		}
	})
}

// saveOne records a message. If it was handed over meanwhile, it is not
// offered again.
func (r *Relay) saveOne(ctx context.Context, x *unsavedMessage, taken bool) error {
	deliver := func(o hub.Offer) { r.Sessions.Deliver(o) }
	if taken {
		deliver = func(hub.Offer) {}
	}
	if _, err := r.Record.Append(ctx, x.message, x.decision, deliver); err != nil {
		return err
	}
	if x.decision == nil {
		r.waiting.Add(1)
		nudge(r.decide)
		return nil
	}
	if taken {
		for _, agent := range x.decision.To {
			r.Settled(hub.Settlement{Agent: agent, Message: x.message.ID, State: hub.HandedOver})
		}
	}
	return nil
}
