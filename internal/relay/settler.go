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

// writtenAfter is how long at least it is not written down that a message was
// written to a stream: by then it is mostly handed over, which says more.
const writtenAfter = 2 * time.Second

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

	mu    sync.Mutex
	list  []hub.Settlement
	last  map[settled]int                // where in list a session's newest one is
	young map[hub.AgentID]hub.Settlement // of messages written to streams since
	old   map[hub.AgentID]hub.Settlement // and before
	since time.Time                      // that there are young ones
}

type settled struct {
	agent   hub.AgentID
	session hub.SessionID
	state   hub.State
}

func (s *settler) add(x hub.Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.State == hub.Written {
		s.wrote(x)
		return
	}
	for _, written := range []map[hub.AgentID]hub.Settlement{s.young, s.old} {
		outdo(written, x)
	}
	s.append(x)
	nudge(s.wake)
}

// wrote keeps for later that messages were written to a stream.
func (s *settler) wrote(x hub.Settlement) {
	was, ok := s.young[x.Agent]
	switch {
	case s.young == nil:
		s.young = make(map[hub.AgentID]hub.Settlement)
	case ok && x.First <= was.Last+1 && was.First <= x.Last+1:
		x.First, x.Last = min(x.First, was.First), max(x.Last, was.Last)
	case ok:
		s.append(was)
	}
	s.young[x.Agent] = x
}

// outdo takes from what was written to streams the beginning that x says more of.
func outdo(written map[hub.AgentID]hub.Settlement, x hub.Settlement) {
	w, ok := written[x.Agent]
	if !ok || x.Message != "" || x.First > w.First {
		return
	}
	if w.First = max(w.First, x.Last+1); w.First > w.Last {
		delete(written, x.Agent)
	} else {
		written[x.Agent] = w
	}
}

// append adds x to what is written down next.
func (s *settler) append(x hub.Settlement) {
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
}

// take returns what is to be written down by now.
func (s *settler) take(now time.Time) []hub.Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= writtenAfter {
		for _, x := range s.old {
			s.append(x)
		}
		s.old, s.young, s.since = s.young, nil, now
	}
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
		if list = append(list, r.settler.take(r.Now())...); len(list) == 0 {
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
	// Twice, so that nothing is left that was written to a stream.
	list = append(list, r.settler.take(r.Now().Add(writtenAfter))...)
	if list = append(list, r.settler.take(r.Now().Add(2*writtenAfter))...); len(list) > 0 {
		if _, err := r.Record.Settle(context.WithoutCancel(ctx), list); err != nil {
			r.Log.Error("settle", "err", err)
		}
	}
}

// settleNow writes down what there is to settle, before somebody goes by what
// the record says: an agent may leave in the moment that it was handed something.
func (r *Relay) settleNow(ctx context.Context) {
	list := r.settler.take(r.Now())
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
