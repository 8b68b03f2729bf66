package mcp

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"aldis/internal/hub"
)

// How long a session counts as present (INTERFACE, words).
const (
	awayFor = 15 * time.Second // after its stream ended without DELETE
	callFor = 60 * time.Second // after it called a tool
)

// The bounds of what waits in memory for one stream. What is past them waits
// in the record.
const (
	queueEvents = 1024
	queueBytes  = 4 << 20
)

// A state is how a session can be reached.
type state uint8

const (
	fresh state = iota // initialized, and no more: counts for nothing yet
	live               // its stream is open
	away               // its stream ended a moment ago
	deaf               // calls tools, has lost its stream
	pull               // calls tools, never had a stream
	gone
)

var stateNames = [...]string{"new", "live", "away", "deaf", "pull", "gone"}

func (s state) String() string { return stateNames[s] }

// present reports whether the session counts when messages are routed.
func (s state) present() bool { return s >= live && s <= pull }

// A session is one connection of an agent, and lives longer than any one
// stream of it.
type session struct {
	saved hub.SavedSession // ID to Version never change; the rest is guarded by Table.mu, Birth by mu too

	// guarded by Table.mu
	box    *box
	state  state
	left   time.Time // when its last stream ended, or the hub began
	called time.Time // when it last called a tool
	calls  int       // tool calls that run
	kept   time.Time // the saved.Used that is written down
	closed bool      // by DELETE, or its token's end

	mu       sync.Mutex
	stream   *stream // nil: none
	cursor   hub.Seq // handed over up to here
	queue    []*event
	queued   int                                 // bytes in queue
	reach    hub.Seq                             // up to where it may say that it was handed offers
	unacked  []*event                            // without a Seq, that it was written and has not acknowledged
	verdicts []*verdict                          // that it was not proved to have, oldest first
	handed   []hub.MessageID                     // by inbox, the last ones: the record may not know yet
	cancel   map[string]*context.CancelCauseFunc // running calls by the client's request id
}

// An event is an offer, made ready once for all who get it.
type event struct {
	seq   hub.Seq
	was   hub.Seq // see hub.Offer.Was
	id    hub.MessageID
	line  []byte                           // JSON-RPC
	taken func(hub.AgentID, hub.SessionID) // see hub.Offer.Taken
}

// named reports whether others can write to the session's agent.
func (s *session) named() bool { return s.saved.Named }

// receives reports whether the session gets its agent's traffic: a label is
// held by one session at a time. Table.mu is held.
func (s *session) receives() bool {
	return !s.closed && (!s.saved.Seat || s.box.holder == s)
}

// evicted reports whether another session took the seat that s once held.
// Table.mu is held.
func (s *session) evicted() bool {
	return s.saved.Seat && s.saved.Order > 0 && s.box.holder != s
}

// offer queues ev for the session's stream, if it has one. A session without
// a stream will find ev in the record. Table.mu is held.
func (s *session) offer(ev *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stream
	if st == nil || s.sentAs(ev.was) || slices.Contains(s.handed, ev.id) {
		return
	}
	if len(s.queue) >= queueEvents || s.queued+len(ev.line) > queueBytes {
		s.queue, s.queued, s.stream = nil, 0, nil
		if st.stop() {
			st.table.tell(func(log *slog.Logger) {
				log.Debug("stream ended", "session", s.saved.ID, "why", "slow")
			})
		}
		return
	}
	s.queue = append(s.queue, ev)
	s.queued += len(ev.line)
	st.wake()
}

// sentAs reports whether the session was sent, or has queued, the offer that
// had the Seq was. One that got its next number while the stream was opened may
// be in neither the replay nor the queue. s.mu is held.
func (s *session) sentAs(was hub.Seq) bool {
	switch st := s.stream; {
	case was <= s.saved.Birth:
		return false
	case was > st.from && was <= st.replay:
		return slices.Contains(st.replayed, was)
	default:
		return was <= st.sent() || slices.ContainsFunc(s.queue, func(ev *event) bool { return ev.seq == was })
	}
}

// next takes what st shall write now: up to max bytes of events, or none of
// them when a comment is due. It reports false when there is nothing, or st is
// not the session's stream any more, and notes in the same step that st has
// stopped writing.
func (s *session) next(st *stream, max int) (batch []*event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == st {
		if batch = s.unsaid(st); len(batch) > 0 {
			return batch, true
		}
	}
	n, size := 0, 0
	for s.stream == st && n < len(s.queue) && (n == 0 || size < max) {
		size += len(s.queue[n].line)
		n++
	}
	if n == 0 {
		due := st.comment && s.stream == st
		st.comment, st.writing = false, due
		return nil, due
	}
	batch = s.queue[:n:n]
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil
	}
	s.queued -= size
	return batch, true
}

// withdraw takes offers out of the queue that the session has been handed in
// another way. The record leaves them out of a replay by itself.
func (s *session) withdraw(ids []hub.MessageID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(ev *event) bool {
		out := slices.Contains(ids, ev.id)
		if out {
			s.queued -= len(ev.line)
		}
		return out
	})
}

// handOut notes that an answer of inbox handed the session these messages.
func (s *session) handOut(ids []hub.MessageID) {
	s.withdraw(ids)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = append(s.handed, ids...)
	s.handed = slices.Clone(s.handed[max(0, len(s.handed)-2*inboxEvents):])
}

// hasFromInbox reports whether an answer of inbox has handed the session the
// message of late.
func (s *session) hasFromInbox(id hub.MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.handed, id)
}

// sent returns the Seq up to which the session was sent, or has been handed,
// everything.
func (s *session) sent() hub.Seq {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil {
		return s.stream.sent()
	}
	return s.cursor
}

// noteReplayed notes what of st's replay the session has.
func (s *session) noteReplayed(st *stream, offers []hub.Offer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range offers {
		st.replayed = append(st.replayed, o.Seq)
	}
}

// advance moves the cursor to last and returns where it was; false if it has
// been there before.
func (s *session) advance(last hub.Seq) (first hub.Seq, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last <= s.cursor {
		return 0, false
	}
	first, s.cursor = s.cursor+1, last
	return first, true
}
