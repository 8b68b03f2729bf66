package desktop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hub"
)

// Bounds of what an answer holds, whatever is asked for.
const (
	maxMessages      = 200
	maxConversations = 100
	maxViews         = 2 // reads at a time; each has a connection and a cache of its own
)

// Options say which database is read, and what of it may be seen.
type Options struct {
	Path   string        // of Signal Desktop's sql/db.sqlite
	Key    sqlcipher.Key // of the database; the reader keeps none
	Grants Grants        // zero: everything may be seen

	MaxMessages      int // in an answer; at most 200, which 0 means too
	MaxConversations int // in an answer; at most 100, which 0 means too
}

// Grants bound what a reader shows at all. What they hide is answered for as
// if it did not exist. A person's name stays visible wherever somebody else's
// message needs it.
type Grants struct {
	Conversations []string // ids; none: all
	Since         int64    // messages, and conversations that were active, at this time or later; Unix milliseconds, 0: all
}

// A Reader answers questions about the history. Its methods may be called from
// several goroutines; past four at a time they wait, until their context ends.
//
// Errors are of kind Invalid for an argument or cursor that cannot be used,
// NotFound for what does not exist or may not be seen, and Unavailable when the
// database cannot be read (now).
type Reader struct {
	// set by Open
	db        *sqlcipher.DB
	grants    Grants
	cursors   sealer
	limits    limits
	slots     chan struct{} // one for each view that runs
	closing   sync.Once
	closed    chan struct{}
	idle      chan *session          // the session that is kept for the next view, if any
	drop      *time.Timer            // when it no longer is
	lastKnown atomic.Pointer[schema] // of the last session
}

type limits struct{ messages, conversations int }

// Open opens the database and reads its schema. It fails with Unavailable,
// saying why, if the key is wrong, if the file is no database of Signal Desktop,
// or if it is one from before 2023. Close must be called.
func Open(ctx context.Context, o Options) (*Reader, error) {
	defer o.Key.Wipe() // our copy of it
	cursors, err := newSealer(o.Key[:])
	if err != nil {
		return nil, err
	}
	db, err := sqlcipher.Open(o.Path, o.Key)
	if err != nil {
		return nil, hub.Errorf(hub.Unavailable, "Signal Desktop's database cannot be opened: %w", err)
	}
	r := &Reader{
		db:      db,
		grants:  Grants{slices.Sorted(slices.Values(o.Grants.Conversations)), o.Grants.Since},
		cursors: cursors,
		limits:  limits{capped(o.MaxMessages, maxMessages), capped(o.MaxConversations, maxConversations)},
		slots:   make(chan struct{}, maxViews),
		closed:  make(chan struct{}),
		idle:    make(chan *session, 1),
	}
	r.drop = time.AfterFunc(keepFor, r.dropIdle)
	if err := r.view(ctx, func(context.Context, *view) error { return nil }); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// capped is n, or most if n is 0, less, or past it.
func capped(n, most int) int {
	if n <= 0 {
		return most
	}
	return min(n, most)
}

// Close waits for the reads that run and closes the database. What is asked
// for from then on fails with Unavailable.
func (r *Reader) Close() error {
	var err error
	r.closing.Do(func() {
		close(r.closed)
		for range maxViews {
			r.slots <- struct{}{}
		}
		r.drop.Stop() // should it go off now, it finds no slot
		select {
		case s := <-r.idle:
			err = s.close()
		default:
		}
		if e := r.db.Close(); err == nil {
			err = e
		}
	})
	return err
}
