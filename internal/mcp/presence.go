package mcp

import (
	"log/slog"
	"time"

	"aldis/internal/hub"
)

// present counts the sessions that get the agent's traffic and count when it
// is routed. Table.mu is held.
func (b *box) present() int {
	n := 0
	for _, s := range b.sessions {
		if s.state.present() && s.receives() {
			n++
		}
	}
	return n
}

// attach makes st the session's stream: the newest one wins. last is the id of
// the last event that the client says it has; zero: it says nothing.
func (t *Table) attach(s *session, st *stream, last hub.Seq) (ok bool) {
	t.mu.Lock()
	sent := last <= t.delivered
	t.mu.Unlock()
	if sent && !s.saved.Acks {
		t.handOver(s, last)
	}
	t.mu.Lock()
	if t.closing || s.closed {
		t.mu.Unlock()
		return false
	}
	if !s.saved.Streamed {
		s.saved.Streamed = true
		t.save(s)
	}
	t.setState(s, live) // first: it may bring the seat, and with that another place to begin
	if s.receives() {   // else there is nothing to catch up with: it is another's
		st.replay = t.delivered
	}
	s.mu.Lock()
	old := s.stream
	s.stream, s.queue, s.queued, s.unacked = st, nil, 0, nil
	st.from = s.cursor
	st.upto.Store(uint64(s.cursor))
	st.wake()
	s.mu.Unlock()
	t.mu.Unlock()
	if old != nil {
		old.cut("a newer one was opened")
	}
	return true
}

// leave notes that st has ended.
func (t *Table) leave(st *stream) {
	s := st.session
	t.mu.Lock()
	defer t.mu.Unlock()
	s.unhook(st)
	if t.closing || s.closed || s.state != live || s.hasStream() {
		return
	}
	s.left = t.Now()
	t.setState(s, away)
}

func (s *session) hasStream() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream != nil
}

// call notes that the session calls a tool, which makes it present, and gives
// it the seat that it waits for. The function it returns notes the end.
func (t *Table) call(s *session) (done func()) {
	mark := func(d int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.called, s.calls = t.Now(), s.calls+d
		if d > 0 {
			t.claim(s)
		}
		t.setState(s, t.stateOf(s))
	}
	mark(1)
	return func() { mark(-1) }
}

// stateOf works a session's state out. t.mu is held.
func (t *Table) stateOf(s *session) state {
	now := t.Now()
	switch {
	case s.closed:
		return gone
	case s.state == live:
		return live
	case !s.left.IsZero() && now.Sub(s.left) < awayFor && s.state != gone && s.state != fresh:
		return away
	case s.calls > 0, now.Sub(s.called) < callFor && s.called.After(s.left):
		if s.saved.Streamed {
			return deaf
		}
		return pull
	case s.state == fresh:
		return fresh
	default:
		return gone
	}
}

// setState changes a session's state, and notes who has to hear of it.
// t.mu is held.
func (t *Table) setState(s *session, to state) {
	from := s.state
	if from == to {
		return
	}
	s.state = to
	t.tell(func(log *slog.Logger) {
		log.Info("session changed", "session", s.saved.ID, "agent", s.saved.Agent, "state", to.String())
	})
	t.report(s, to.String())
	if to.present() != s.saved.Present {
		s.saved.Present = to.present()
		t.save(s)
	}
	if to == gone {
		t.bequeath(s)
	}
	t.passSeat(s.box)
	t.change(s.box)
}

// oldest returns the Birth of the oldest session that could be pushed what is
// offered to the agent: what is older is nobody's. It reports false if there
// is none. Table.mu is held.
func (b *box) oldest() (birth hub.Seq, ok bool) {
	for _, s := range b.sessions {
		if (s.state == live || s.state == away) && s.receives() && !s.saved.Refused && (!ok || s.saved.Birth < birth) {
			birth, ok = s.saved.Birth, true
		}
	}
	return birth, ok
}

// sweep ends what has gone on for long enough: states that fade, streams that
// were silent for too long, sessions that nobody has asked for.
func (t *Table) sweep() {
	now := t.Now()
	quiet := now.Add(-keepAlive).UnixMilli()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		switch s.state {
		case live: // for as long as it listens, it is used
			t.use(s, now)
			s.keepAlive(quiet)
		case away, deaf, pull:
			t.setState(s, t.stateOf(s))
		case fresh, gone:
			if now.Sub(s.saved.Used) > forgetAfter && now.Sub(s.left) > forgetAfter {
				t.drop(s)
			}
		}
	}
}

// touch notes a request of the session.
func (t *Table) touch(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.use(s, t.Now())
}

// use notes when the session was last used, and now and then writes it down: a
// session's id is good for 7 days from then. t.mu is held.
func (t *Table) use(s *session, now time.Time) {
	s.saved.Used = now
	if now.Sub(s.kept) > usedEvery {
		t.save(s)
	}
}

// keepAlive has a comment written if nothing was since quiet.
func (s *session) keepAlive(quiet int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stream; st != nil && st.last.Load() < quiet {
		st.comment = true
		st.wake()
	}
}
