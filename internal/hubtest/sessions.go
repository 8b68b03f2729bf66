package hubtest

import (
	"slices"
	"sync"

	"aldis/internal/hub"
)

// Sessions are agents with one session each, that take what they are offered.
// It is a [hub.Sessions].
type Sessions struct {
	mu      sync.Mutex
	present []hub.AgentID
	got     map[hub.AgentID][]hub.Offer
	gone    []hub.MessageID // withdrawn
	decided []hub.Verdict
}

// Connect brings agents online.
func (s *Sessions) Connect(agents ...hub.AgentID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = append(s.present, agents...)
	slices.Sort(s.present)
}

// Disconnect takes agents offline. What they got they have got.
func (s *Sessions) Disconnect(agents ...hub.AgentID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = slices.DeleteFunc(s.present, func(a hub.AgentID) bool { return slices.Contains(agents, a) })
}

// Present implements [hub.Sessions].
func (s *Sessions) Present(a hub.AgentID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.present, a)
}

// Everybody implements [hub.Sessions].
func (s *Sessions) Everybody() []hub.AgentID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.present)
}

// Deliver implements [hub.Sessions].
func (s *Sessions) Deliver(o hub.Offer) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = make(map[hub.AgentID][]hub.Offer)
	}
	for _, a := range o.Decision.To {
		if slices.Contains(s.present, a) {
			s.got[a] = append(s.got[a], o)
			n++
		}
	}
	return n
}

// Withdraw implements [hub.Sessions].
func (s *Sessions) Withdraw(_ hub.AgentID, ids []hub.MessageID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, ids...)
}

// Decide implements [hub.Sessions]. The verdict waits for the test to call its Done.
func (s *Sessions) Decide(v hub.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided = append(s.decided, v)
}

// Decided returns the verdicts that sessions were to be told, in order.
func (s *Sessions) Decided() []hub.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.decided)
}

// Got returns what agent a was offered, in order.
func (s *Sessions) Got(a hub.AgentID) []hub.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got[a])
}
