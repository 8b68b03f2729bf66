package mcp

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

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
	if sent {
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
	s.stream, s.queue, s.queued = st, nil, 0
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
	t.Log.Info("session changed", "session", s.saved.ID, "agent", s.saved.Agent, "state", to.String())
	if to.present() != s.saved.Present {
		s.saved.Present = to.present()
		t.save(s)
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
			if now.Sub(s.saved.Used) > forgetAfter && now.Sub(s.left) > forgetAfter && s.box.holder != s {
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

// save and change leave work for herald. t.mu is held.
func (t *Table) save(s *session) { t.unsaved[s] = struct{}{}; t.nudge() }
func (t *Table) change(b *box)   { t.changed[b] = struct{}{}; t.nudge() }

func (t *Table) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// herald writes down what changed and tells Presence, which may take a while:
// what changes meanwhile is told as it is then. What it has begun it ends: a
// change is lost if it is not written down.
func (t *Table) herald(ctx context.Context) {
	whole := context.WithoutCancel(ctx)
	for {
		select {
		case <-ctx.Done():
			t.flush(whole)
			return
		case <-t.wake:
			t.flush(whole)
			t.announce(whole)
		}
	}
}

// flush saves the sessions whose row has changed.
func (t *Table) flush(ctx context.Context) {
	t.mu.Lock()
	rows := make([]hub.SavedSession, 0, len(t.unsaved))
	for s := range t.unsaved {
		rows = append(rows, s.saved)
		s.kept = s.saved.Used
	}
	clear(t.unsaved)
	t.mu.Unlock()
	var each errgroup.Group
	each.SetLimit(64) // together, so that the record can group them
	for _, sv := range rows {
		each.Go(func() error {
			if err := t.Store.SaveSession(ctx, sv); err != nil {
				t.Log.Error("save session", "session", sv.ID, "err", err)
			}
			return nil
		})
	}
	_ = each.Wait() // each has had its say
}

// announce tells Presence who has come and gone.
func (t *Table) announce(ctx context.Context) {
	t.mu.Lock()
	boxes := make([]*box, 0, len(t.changed))
	for b := range t.changed {
		boxes = append(boxes, b)
	}
	clear(t.changed)
	t.mu.Unlock()
	for _, b := range boxes {
		t.mu.Lock()
		is, was, missed := b.present() > 0, b.told, b.missed
		b.told, b.missed = is, false
		birth, pushed := b.oldest()
		if len(b.sessions) == 0 && !is && t.boxes[b.agent] == b {
			delete(t.boxes, b.agent)
		}
		t.mu.Unlock()
		if is && !was {
			t.Presence.Arrived(ctx, b.agent)
		}
		if !is && (was || missed) {
			t.Presence.Departed(ctx, b.agent)
		}
		if pushed {
			t.Presence.Orphaned(ctx, b.agent, birth)
		}
	}
}

// claim gives a newcomer the seat. One that has held it before never retakes
// it. t.mu is held.
func (t *Table) claim(s *session) {
	b := s.box
	if s.closed || !s.saved.Seat || b.holder == s || s.saved.Order > 0 {
		return
	}
	t.seat(b, s)
}

// seat makes s the holder. t.mu is held.
func (t *Table) seat(b *box, s *session) {
	if old := b.holder; old != nil {
		t.Log.Info("seat taken", "agent", b.agent, "session", s.saved.ID, "from", old.saved.ID)
		old.mu.Lock()
		old.queue, old.queued = nil, 0
		old.mu.Unlock()
		if old.state == fresh { // it was never there: it may still come for the seat
			old.saved.Order = 0
		}
		t.save(old)
	}
	t.order = max(t.order+1, t.Now().UnixMicro())
	b.holder, s.saved.Order = s, t.order
	s.start(t.delivered) // what is older is offered again
	t.save(s)
	t.change(b)
}

// start makes offers up to birth none of the session's business. Table.mu is
// held.
func (s *session) start(birth hub.Seq) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved.Birth = birth
	s.cursor = max(s.cursor, birth)
}

func (s *session) birth() hub.Seq {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved.Birth
}

// passSeat gives the seat of a holder that is gone to the last one evicted
// that is not, else to whoever waits for it. t.mu is held.
func (t *Table) passSeat(b *box) {
	if b.holder != nil && b.holder.state.present() {
		return
	}
	var heir *session
	for _, s := range b.sessions {
		if s.saved.Seat && s != b.holder && s.state.present() && (heir == nil || s.saved.Order > heir.saved.Order) {
			heir = s
		}
	}
	if heir != nil {
		t.seat(b, heir)
	}
}

// claimLater gives s the seat once its stream has been open for a second.
func (t *Table) claimLater(ctx context.Context, s *session, st *stream) {
	timer := time.NewTimer(seatAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !st.ended.Load() && s.hasStream() {
		t.claim(s)
	}
}

// waitsForSeat reports whether the session would take the seat.
func (t *Table) waitsForSeat(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.saved.Seat && s.saved.Order == 0 && s.box.holder != s
}
