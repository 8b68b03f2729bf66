package mcp

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"aldis/internal/hub"
)

// newsMost bounds what waits to be logged. What is past it is not logged.
const newsMost = 10_000

// tell leaves a line for the log to herald: a log may be slow, and t.mu, which
// is held, is everybody's.
func (t *Table) tell(line func(*slog.Logger)) {
	if len(t.news) < newsMost {
		t.news = append(t.news, line)
	}
	nudge(t.wake)
}

// report tells Watch, by herald too, what a session has come to. t.mu is held.
func (t *Table) report(s *session, state string) {
	if len(t.Watch) > 0 {
		t.tell(func(*slog.Logger) { t.Watch.Session(s.saved.ID, s.saved.Agent, s.named(), state) })
	}
}

// later leaves a call to herald that must not be made while t.mu is held, as it
// is now.
func (t *Table) later(f func()) { t.dones = append(t.dones, f); nudge(t.wake) }

// save and change leave work for herald. t.mu is held.
func (t *Table) save(s *session) { t.unsaved[s] = struct{}{}; nudge(t.wake) }
func (t *Table) change(b *box)   { t.changed[b] = struct{}{}; nudge(t.wake) }

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

// flush logs and calls what there is to tell, and saves the sessions whose row has changed.
func (t *Table) flush(ctx context.Context) {
	t.mu.Lock()
	rows := make(map[*session]hub.SavedSession, len(t.unsaved))
	for s := range t.unsaved {
		rows[s] = s.saved
		s.kept = s.saved.Used
	}
	clear(t.unsaved)
	lines, dones := t.news, t.dones
	t.news, t.dones = nil, nil
	t.mu.Unlock()
	for _, line := range lines {
		line(t.Log)
	}
	for _, done := range dones {
		done()
	}
	var each errgroup.Group
	each.SetLimit(64) // together, so that the record can group them
	for s, sv := range rows {
		each.Go(func() error {
			if err := t.write(ctx, s, sv); err != nil {
				t.Log.Error("save session", "session", sv.ID, "err", err)
			}
			return nil
		})
	}
	_ = each.Wait() // each has had its say
}

// write saves the row of s, and deletes it again if s was ended meanwhile: whoever
// ended it may have been there first.
func (t *Table) write(ctx context.Context, s *session, sv hub.SavedSession) error {
	if err := t.Store.SaveSession(ctx, sv); err != nil {
		return err
	}
	t.mu.Lock()
	closed := s.closed
	t.mu.Unlock()
	if closed {
		return t.Store.DeleteSession(ctx, sv.ID)
	}
	return nil
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
