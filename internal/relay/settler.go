package relay

import (
	"context"
	"sync"
	"time"

	"aldis/internal/hub"
)

// settleAfter is how long settlements are collected, so that many go into one
// transaction.
const settleAfter = 20 * time.Millisecond

// Settled implements [hub.Presence].
func (r *Relay) Settled(s hub.Settlement) { r.settler.add(s) }

// Handed implements [hub.Presence].
func (r *Relay) Handed(ctx context.Context, ss []hub.Settlement) {
	receipts, err := r.Record.Settle(ctx, ss)
	if err != nil {
		r.Log.Error("settle", "err", err)
		return
	}
	if receipts {
		nudge(r.receipts)
	}
}

// A settler collects settlements, so that many go into one transaction. It is
// bounded by the number of sessions: what follows on in one session is merged.
type settler struct {
	wake chan struct{}

	mu   sync.Mutex
	list []hub.Settlement
	last map[settled]int // where in list a session's newest one is
}

type settled struct {
	agent   hub.AgentID
	session hub.SessionID
	state   hub.State
}

func (s *settler) add(x hub.Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := settled{x.Agent, x.Session, x.State}
	if i, ok := s.last[k]; ok && x.Message == "" && s.list[i].Last+1 == x.First {
		s.list[i].Last = x.Last
		return
	}
	if s.last == nil {
		s.last = make(map[settled]int)
	}
	if x.Message == "" {
		s.last[k] = len(s.list)
	}
	s.list = append(s.list, x)
	nudge(s.wake)
}

func (s *settler) take() []hub.Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list, s.last = nil, nil
	return list
}

// settle writes settlements down as they come. What could not be written is
// tried again: until then a restart would offer it once more.
func (r *Relay) settle(ctx context.Context) {
	var list []hub.Settlement
	every(ctx, time.Second, r.settler.wake, func() {
		pause(ctx, settleAfter)
		if list = append(list, r.settler.take()...); len(list) == 0 {
			return
		}
		receipts, err := r.Record.Settle(ctx, list)
		if err != nil {
			if hub.KindOf(err) != hub.Unavailable && ctx.Err() == nil {
				r.Log.Error("settle", "err", err)
				list = nil
			}
			return
		}
		list = nil
		if receipts {
			nudge(r.receipts)
		}
	})
	if list = append(list, r.settler.take()...); len(list) > 0 {
		if _, err := r.Record.Settle(context.WithoutCancel(ctx), list); err != nil {
			r.Log.Error("settle", "err", err)
		}
	}
}

// settleNow writes down what there is to settle, before somebody goes by what
// the record says: an agent may leave in the moment that it was handed something.
func (r *Relay) settleNow(ctx context.Context) {
	list := r.settler.take()
	receipts, err := r.Record.Settle(ctx, list)
	if err != nil { // settle will try
		for _, s := range list {
			r.settler.add(s)
		}
	}
	if receipts {
		nudge(r.receipts)
	}
}
