package relay

import (
	"context"
	"sync"
	"time"

	"aldis/internal/hub"
)

const undoneEvery = 10 * time.Second

// undone are the agents that left, or whose mail was to be offered again, while
// the record could not be written: with the last Seq to offer again, or zero.
type undone struct {
	mu   sync.Mutex
	last map[hub.AgentID]hub.Seq
}

func (u *undone) add(agent hub.AgentID, last hub.Seq) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = make(map[hub.AgentID]hub.Seq)
	}
	u.last[agent] = max(u.last[agent], last)
}

func (u *undone) take() map[hub.AgentID]hub.Seq {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.last
	u.last = nil
	return all
}

// doUndone tries again, once for each agent.
func (r *Relay) doUndone(ctx context.Context) {
	every(ctx, undoneEvery, nil, func() {
		for agent, last := range r.undone.take() {
			if r.Sessions.Present(agent) {
				r.Orphaned(ctx, agent, last)
			} else {
				r.Departed(ctx, agent)
			}
		}
	})
}
