package mcp

import (
	"encoding/json"
	"slices"

	"aldis/internal/hub"
)

// A session of aldis attach is a line to an agent that is further away than
// the hub can see. It says so at initialize, and then itself what it was
// handed: neither its connection nor Last-Event-ID proves anything.
const (
	capabilityAttach = "aldis/attach"
	methodHanded     = "notifications/aldis/handed"
)

// handed takes a session's word for what it was handed: everything up to the
// id last of its stream, and what came without one, there or in an answer of
// inbox, by the id in an event's meta or a verdict's request_id.
func (t *Table) handed(s *session, params json.RawMessage) {
	var p struct {
		Last hub.Seq  `json:"last"`
		IDs  []string `json:"ids"`
	}
	if !s.saved.Acks || json.Unmarshal(params, &p) != nil {
		t.Log.Debug("acknowledgement ignored", "session", s.saved.ID)
		return
	}
	last, taken := s.acked(p.Last, p.IDs)
	t.handOver(s, last)
	t.take(s, taken)
}

// expect notes what is about to be written to a session that acknowledges. Of
// what has no id on the stream it keeps the last: what it forgets is offered
// again.
func (s *session) expect(batch []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range batch {
		s.reach = max(s.reach, ev.seq)
		if ev.taken != nil {
			s.unacked = append(s.unacked, ev)
		}
	}
	s.unacked = slices.Delete(s.unacked, 0, max(0, len(s.unacked)-queueEvents))
}

// acked returns what the session can be believed to have: no more than it was
// sent.
func (s *session) acked(last hub.Seq, ids []string) (hub.Seq, []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []*event
	s.unacked = slices.DeleteFunc(s.unacked, func(ev *event) bool {
		is := slices.Contains(ids, string(ev.id))
		if is {
			taken = append(taken, ev)
		}
		return is
	})
	return min(last, s.reach), taken
}
