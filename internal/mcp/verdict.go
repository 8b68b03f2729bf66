package mcp

import (
	"slices"

	"aldis/internal/hub"
)

const methodVerdict = "notifications/claude/channel/permission"

// A verdict waits with a session until a stream of it has proved that the
// session was handed it. There are never many: what asks for one is bounded.
type verdict struct {
	hub.Verdict
	line []byte
	on   *stream // that it was last written on; nil: none
}

// Decide implements [hub.Sessions].
func (t *Table) Decide(v hub.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(&verdict{Verdict: v, line: verdictLine(v)})
}

// verdictLine returns v as one line of JSON-RPC.
func verdictLine(v hub.Verdict) []byte {
	behavior := "deny"
	if v.Allow {
		behavior = "allow"
	}
	b := []byte(`{"jsonrpc":"2.0","method":"` + methodVerdict + `","params":{"request_id":`)
	b = appendString(b, v.Request)
	return append(b, `,"behavior":"`+behavior+`"}}`...)
}

// place leaves v with the session that asked, else with its successor, else
// with nobody. t.mu is held.
func (t *Table) place(v *verdict) {
	s := t.sessions[v.Session]
	if s == nil || s.state == gone {
		s = t.successor(v)
	}
	if s == nil {
		t.later(func() { v.Done(false) })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts = append(s.verdicts, v)
	if s.stream != nil {
		s.stream.wake()
	}
}

// successor returns the one session that may be told v in place of the one
// that asked; nil if there is none, or more than one. t.mu is held.
func (t *Table) successor(v *verdict) (heir *session) {
	b := t.boxes[v.Agent]
	if b == nil {
		return nil
	}
	for _, s := range b.sessions {
		if s.saved.ID == v.Session || s.state == gone || s.saved.Subject != v.Subject || !s.saved.Begun.After(v.Begun) {
			continue
		}
		if heir != nil {
			return nil
		}
		heir = s
	}
	return heir
}

// bequeath finds another place for the verdicts of s, which is gone. t.mu is
// held.
func (t *Table) bequeath(s *session) {
	s.mu.Lock()
	left := s.verdicts
	s.verdicts = nil
	s.mu.Unlock()
	for _, v := range left {
		t.place(v)
	}
}

// unsaid returns the verdicts that were not yet written on st, to be written
// now. They stand in no queue: one that is cut for its length loses none.
// s.mu is held.
func (s *session) unsaid(st *stream) (batch []*event) {
	for _, v := range s.verdicts {
		if v.on != st {
			v.on = st
			batch = append(batch, &event{id: hub.MessageID(v.Request), line: v.line, taken: func(hub.AgentID, hub.SessionID) { s.proved(v) }})
		}
	}
	return batch
}

// proved notes that s was handed v. One that has found another place meanwhile
// is settled there.
func (s *session) proved(v *verdict) {
	s.mu.Lock()
	i := slices.Index(s.verdicts, v)
	if i >= 0 {
		s.verdicts = slices.Delete(s.verdicts, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		v.Done(true)
	}
}
