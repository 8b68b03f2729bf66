package mcp

import (
	"cmp"
	"slices"
	"time"

	"aldis/internal/hub"
)

// A SessionInfo describes a session, for status pages.
type SessionInfo struct {
	Session string      `json:"session"` // the start of its id
	Agent   hub.AgentID `json:"agent"`
	Named   bool        `json:"named"`
	Seat    bool        `json:"seat"`              // it came with a label
	Evicted bool        `json:"evicted,omitempty"` // another session took that label
	State   string      `json:"state"`             // "new", "live", "away", "deaf", "pull", "gone"
	Client  string      `json:"client"`
	Used    time.Time   `json:"used"` // when it last asked something or listened
}

// List returns the sessions that are in memory, by agent.
func (t *Table) List() []SessionInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]SessionInfo, 0, len(t.sessions))
	for _, s := range t.sessions {
		agent := s.saved.Agent
		if !s.named() {
			agent = ""
		}
		list = append(list, SessionInfo{
			Session: s.saved.ID.Short(), Agent: agent, Named: s.named(), Seat: s.saved.Seat,
			Evicted: s.evicted(), State: s.state.String(), Client: s.saved.Client, Used: s.saved.Used.UTC(),
		})
	}
	slices.SortFunc(list, func(a, b SessionInfo) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Session, b.Session))
	})
	return list
}

// Queued returns how many events wait in memory for streams to take them, and
// their bytes.
func (t *Table) Queued() (events, bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		s.mu.Lock()
		events, bytes = events+len(s.queue), bytes+s.queued
		s.mu.Unlock()
	}
	return events, bytes
}
