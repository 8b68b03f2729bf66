package mcp

import (
	"context"
	"log/slog"
	"time"

	"aldis/internal/hub"
)

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
		t.tell(func(log *slog.Logger) {
			log.Info("seat taken", "agent", b.agent, "session", s.saved.ID, "from", old.saved.ID)
		})
		if old.state.present() {
			t.report(old, "evicted")
		}
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
	select {
	case <-ctx.Done():
		return
	case <-time.After(seatAfter):
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
