package attach

import (
	"context"
	"errors"
	"time"
)

// A state is what is known of the hub.
type state struct {
	up    bool
	since time.Time // when that became so
	err   error     // why it is not up; nil: it was not tried yet
}

// raise notes that the hub is there.
func (u *uplink) raise(s *session) {
	u.set(state{up: true, since: time.Now()})
	u.log.Info("joined the hub", "hub", u.base, "session", s.id)
}

// lower notes why the hub is not there, and reports whether it was until now.
func (u *uplink) lower(err error) (was bool) {
	before, _, _ := u.look()
	now := before
	if now.up {
		now = state{since: time.Now()}
	}
	now.err = err
	u.set(now)
	_, refused := errors.AsType[*refusal](err)
	switch {
	case refused && (before.err == nil || before.err.Error() != err.Error()):
		u.log.Error("the hub refuses this line", "hub", u.base, "err", err)
	case before.err == nil: // it was up, or never tried
		u.log.Warn("the hub is not there", "hub", u.base, "err", err)
	default:
		u.log.Debug("the hub is not there yet", "hub", u.base, "err", err)
	}
	return before.up
}

func (u *uplink) set(s state) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state = s
	close(u.changed)
	u.changed = make(chan struct{})
}

// look returns what is known of the hub, the session if there is one, and what
// is closed when that changes.
func (u *uplink) look() (state, *session, <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.session, u.changed
}

// first waits until the hub was tried, but not longer than wait, and returns the
// session if there is one.
func (u *uplink) first(ctx context.Context, wait time.Duration) *session {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		state, s, changed := u.look()
		if state.up || state.err != nil {
			return s
		}
		select {
		case <-changed:
		case <-timer.C:
			return s
		case <-ctx.Done():
			return s
		}
	}
}

// forget has a session that the hub does not know followed by another.
func (u *uplink) forget(s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session == s {
		u.session = nil
	}
}

// doubt has the stream opened again at once, because of err.
func (u *uplink) doubt(err error) {
	u.mu.Lock()
	u.cut(err)
	u.mu.Unlock()
	u.hurry()
}

// hurry ends the pause between two attempts to reach the hub.
func (u *uplink) hurry() {
	select {
	case u.hasty <- struct{}{}:
	default:
	}
}
