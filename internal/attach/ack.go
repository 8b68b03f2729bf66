package attach

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	proofAfter = time.Second // how long the line must outlive a write for it to count
	acksMost   = 1024        // ids of events without a number that wait to be acknowledged; past them the oldest come again
)

// acks are what a session has to acknowledge: what was written to the agent,
// and the line still ran a second later.
type acks struct {
	mu    sync.Mutex
	fresh []mark // written, in order, less than a second ago
	due   handed
	news  int // counts what has become due
	told  int // the count that the hub has heard of
}

// A mark says when an event was written.
type mark struct {
	at  time.Time
	seq uint64 // zero: it came without a number
	id  string // what it is acknowledged by then
}

// handed are the params of notifications/aldis/handed.
type handed struct {
	Last uint64   `json:"last"`          // the highest number
	IDs  []string `json:"ids,omitempty"` // of what came without one
}

// note notes an event that was written.
func (a *acks) note(m mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settle(m.at)
	a.fresh = append(a.fresh, m)
}

// take returns what is due now; news is for heard. It reports false when the
// hub has heard all of it.
func (a *acks) take(now time.Time) (h handed, news int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settle(now)
	return handed{a.due.Last, slices.Clone(a.due.IDs)}, a.news, a.news > a.told
}

// settle makes due what was written long enough ago. a.mu is held.
func (a *acks) settle(now time.Time) {
	n := 0
	for ; n < len(a.fresh) && now.Sub(a.fresh[n].at) >= proofAfter; n++ {
		if m := a.fresh[n]; m.seq != 0 {
			a.due.Last = max(a.due.Last, m.seq)
		} else {
			a.due.IDs = append(a.due.IDs, m.id)
		}
	}
	a.fresh = slices.Delete(a.fresh, 0, n)
	a.due.IDs = slices.Delete(a.due.IDs, 0, max(0, len(a.due.IDs)-acksMost))
	a.news += n
}

// heard notes that the hub has heard h.
func (a *acks) heard(h handed, news int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = news
	a.due.IDs = slices.DeleteFunc(a.due.IDs, func(id string) bool { return slices.Contains(h.IDs, id) })
}

// acknowledge tells the hub, about once a second, what the agent has.
func (u *uplink) acknowledge(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if state, _, _ := u.look(); state.up {
			u.flush(ctx)
		}
	}
}

// flush acknowledges what is due. What the hub does not hear is told with the next.
func (u *uplink) flush(ctx context.Context) {
	_, s, _ := u.look()
	if s == nil {
		return
	}
	h, news, ok := s.acks.take(time.Now())
	if !ok {
		return
	}
	if err := u.notify(ctx, s, "notifications/aldis/handed", h); err != nil {
		u.log.Debug("acknowledge", "err", err)
		return
	}
	s.acks.heard(h, news)
}
