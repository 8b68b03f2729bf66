package desktop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"aldis/internal/hub"
)

// A view is tried so often on ever new snapshots, with a pause before each
// further try that grows by so much.
const (
	viewTries = 4
	viewPause = 20 * time.Millisecond
)

// keepFor is how long a session is kept that nobody asks for: it has pages in
// the clear, and holds files open that Signal may have deleted since.
const keepFor = time.Minute

// A view is one committed state of the database, for as long as a function
// that is given it runs.
type view struct {
	*session
	reader *Reader
}

// view calls fn with a view of the newest state. fn collects rows and has no
// other effect: what it has read is true only if the files did not change under
// it, which is known afterwards, so fn may be called again, and its error may be
// dropped with what it collected. It returns fn's error, or Unavailable if the
// database changes faster than it can be read.
func (r *Reader) view(ctx context.Context, fn func(context.Context, *view) error) error {
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer func() { <-r.slots }()
	for try := range viewTries {
		if err := pause(ctx, time.Duration(try)*viewPause); err != nil {
			return err
		}
		if valid, err := r.look(ctx, fn); valid {
			return err
		}
	}
	return hub.Errorf(hub.Unavailable, "Signal Desktop changes its database faster than it can be read; try again in a few seconds")
}

// read is view for a function that returns what it has read.
func read[T any](ctx context.Context, r *Reader, fn func(context.Context, *view) (T, error)) (T, error) {
	var val T
	err := r.view(ctx, func(ctx context.Context, v *view) (err error) {
		val, err = fn(ctx, v)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return val, nil
}

// enter waits for one of the few places to read from.
func (r *Reader) enter(ctx context.Context) error {
	select {
	case <-r.closed:
		return errClosed
	default:
	}
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-r.closed:
		return errClosed
	case <-ctx.Done():
		return waiting(ctx)
	}
}

func waiting(ctx context.Context) error {
	return fmt.Errorf("wait to read Signal Desktop's database: %w", ctx.Err())
}

var errClosed = &hub.Error{Kind: hub.Unavailable, Msg: "Signal Desktop's history is closed"}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return waiting(ctx)
	}
}

// look is one try of a view. It reports whether what fn returned, an error too,
// comes from one committed state.
func (r *Reader) look(ctx context.Context, fn func(context.Context, *view) error) (valid bool, err error) {
	s, valid, err := r.session(ctx)
	if s == nil {
		return valid, err
	}
	err = s.explain(ctx, fn(ctx, &view{s, r}))
	valid, verr := s.snap.Valid()
	if verr != nil {
		err = hub.Errorf(hub.Unavailable, "Signal Desktop's database cannot be looked at: %w", verr)
	}
	if valid {
		r.lastKnown.Store(s.schema)
	}
	if !valid || !r.keep(s, err) {
		s.close() // of what was only read; there is nothing to lose
	}
	return valid || verr != nil, err
}

// session returns the session that was kept, if nothing has been committed
// since, or a new one. It returns none if that cannot be had, and whether the
// reason is valid: that it comes from one committed state.
func (r *Reader) session(ctx context.Context) (s *session, valid bool, err error) {
	select {
	case s := <-r.idle:
		if s.snap.Current() {
			return s, true, nil
		}
		if err := s.close(); err != nil {
			return nil, true, err
		}
	default:
	}
	snap, err := r.db.Snapshot(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, true, waiting(ctx)
	case err != nil:
		return nil, true, hub.Errorf(hub.Unavailable, "Signal Desktop's database cannot be read: %w", err)
	}
	s, err = openSession(ctx, snap, r.lastKnown.Load())
	if err == nil {
		return s, true, nil
	}
	valid, verr := snap.Valid()
	return nil, valid && verr == nil, errors.Join(err, snap.Close())
}

// keep keeps s for the next view, unless one is kept already or err may have
// left something behind in it. On Windows none is kept: a file that is open
// there may be deleted, but its name is not free until it is closed, and Signal
// makes its WAL anew when it starts.
func (r *Reader) keep(s *session, err error) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	if kind := hub.KindOf(err); err != nil && kind != hub.NotFound && kind != hub.Invalid {
		return false
	}
	select {
	case r.idle <- s:
		r.drop.Reset(keepFor)
		return true
	default:
		return false
	}
}

// dropIdle closes the session that is kept, if any. Where no slot is free there
// are views, the last of which sees to it.
func (r *Reader) dropIdle() {
	select {
	case r.slots <- struct{}{}:
	default:
		return
	}
	defer func() { <-r.slots }()
	select {
	case s := <-r.idle:
		s.close() // of what was only read; there is nothing to lose
	default:
	}
}
