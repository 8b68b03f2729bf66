package relay

import (
	"fmt"
	"sync"
	"time"

	"aldis/internal/hub"
)

// Agents that answer each other could do so all night. These bound how much two
// of them may say before a person is asked to look.
const (
	pairWindow = 5 * time.Minute
	maxHops    = 6
	pairsMost  = 1000 // that are remembered, unless more are at it at the same time
)

// loops counts what pairs of agents have sent each other.
type loops struct {
	mu    sync.Mutex
	pairs map[pair]*exchange
}

// A pair is two agents, in order; the second is empty for what one sends to all.
type pair struct{ a, b hub.AgentID }

func pairOf(m hub.Message) pair {
	if m.To != "" && m.To < m.Agent {
		return pair{m.To, m.Agent}
	}
	return pair{m.Agent, m.To}
}

// An exchange is what a pair has sent in the window.
type exchange struct {
	times []time.Time // at most the rate
	over  time.Time   // when it last was too much
}

// goesRound reports whether m is one too many between two agents. The operator
// is told once.
func (r *Relay) goesRound(m hub.Message) bool {
	over, tell := r.loops.add(pairOf(m), m.Hops > maxHops, r.PairRate, r.Now())
	switch {
	case tell && m.To == "":
		r.tell(r.Operator, fmt.Sprintf("%s keeps writing to all agents. What it sends them now waits in their inboxes and wakes none.", m.Agent))
	case tell:
		r.tell(r.Operator, fmt.Sprintf("%s and %s keep answering each other. What they send now waits in their inboxes and wakes neither; tell one of them to go on, or to stop.", m.Agent, m.To))
	}
	return over
}

// add counts a message, and reports whether it is too many, and whether that is
// news: it was not so for a whole window. What is too many does not count for the next.
func (l *loops) add(p pair, tooFar bool, rate int, now time.Time) (over, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.exchange(p, now)
	over = tooFar || rate > 0 && len(x.times) >= rate
	switch {
	case over:
		tell = now.Sub(x.over) >= pairWindow
		x.over = now
	case rate > 0:
		x.times = append(x.times, now)
	}
	return over, tell
}

// exchange returns that of p, without what has left the window. l.mu is held.
func (l *loops) exchange(p pair, now time.Time) *exchange {
	if l.pairs == nil || len(l.pairs) > pairsMost {
		l.forget(now)
	}
	x := l.pairs[p]
	if x == nil {
		x = &exchange{}
		l.pairs[p] = x
	}
	x.trim(now)
	return x
}

// forget lets go of pairs that have been quiet. l.mu is held.
func (l *loops) forget(now time.Time) {
	busy := make(map[pair]*exchange)
	for p, x := range l.pairs {
		if x.trim(now); len(x.times) > 0 || now.Sub(x.over) < pairWindow {
			busy[p] = x
		}
	}
	l.pairs = busy
}

func (x *exchange) trim(now time.Time) {
	n := 0
	for n < len(x.times) && now.Sub(x.times[n]) >= pairWindow {
		n++
	}
	x.times = x.times[n:]
}
