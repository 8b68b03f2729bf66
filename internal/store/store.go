package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"aldis/internal/hub"
)

// Keep says what is kept of a message once it has left every inbox.
type Keep string

// What can be kept.
const (
	KeepPreview Keep = "preview" // 256 bytes of what platforms carry; what agents and scripts say, whole
	KeepFull    Keep = "full"    // everything
	KeepOff     Keep = "off"     // as preview, but in memory alone
)

// Bounds of what waits, and of how long it is remembered.
const (
	maxInbox     = 1000    // messages in an agent's inbox
	maxHeld      = 1000    // messages held for an absent agent
	maxHeldBytes = 4 << 20 // and their bytes
	sessionAge   = 7 * 24 * time.Hour
)

// Options are the settings of a record. The zero value keeps it in memory.
type Options struct {
	Path string // of the database; empty: in memory, gone with the process
	Keep Keep   // empty: KeepPreview

	// Messages that nothing is to be done about are deleted when they are so
	// old, or, the oldest first, when the record has so many bytes. 0: never.
	Retain      time.Duration
	RetainBytes int64

	Now  func() time.Time // nil: time.Now
	Rand io.Reader        // where tokens come from; nil: crypto/rand
	Log  *slog.Logger     // of migrations, and of what the writer does by itself; nil: none

	Watch hub.Watchers // hear Settled, after the commit
}

func (o Options) retains() bool { return o.Retain > 0 || o.RetainBytes > 0 }

// A Store is the record. It implements hub.Record, hub.Mail, hub.Log and
// hub.SessionStore. Its methods may be called from several goroutines; a
// context that ends ends the waiting, not what was asked for.
type Store struct {
	// set by Open
	opts    Options
	writer  *sql.DB // one connection
	readers *sql.DB // nil: in memory, where the writer reads too
	ops     chan op
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended
	last    atomic.Uint64 // the highest Seq in a finished transaction
	changes atomic.Uint64 // messages that were taken in or settled
	closing sync.Once
	tokens  tokenTable
	broken  atomic.Bool // the last transaction met a fault of the disk
	stored  atomic.Uint64
}

var (
	_ hub.Record       = (*Store)(nil)
	_ hub.Mail         = (*Store)(nil)
	_ hub.SessionStore = (*Store)(nil)
)

// Healthy returns nil if the record can be written, as far as is known. After a
// fault of the disk it finds out by writing.
func (s *Store) Healthy(ctx context.Context) error {
	if !s.broken.Load() {
		return nil
	}
	return s.change(ctx, (*txn).reserve)
}

// Open opens the record, and makes or migrates it first where that is needed.
// It fails with Invalid if the file is not a record, or one of a newer
// version of the program. Close must be called.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts.Keep = cmp.Or(opts.Keep, KeepPreview)
	if opts.Keep == KeepOff {
		opts.Path = ""
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		opts: opts,
		ops:  make(chan op, maxBatch),
		quit: make(chan struct{}),
		done: make(chan struct{}),
	}
	if err := s.open(ctx); err != nil {
		s.closeDBs()
		return nil, err
	}
	return s, nil
}

// Close finishes what is being written and closes the record. What is asked
// for from then on fails with Unavailable.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.quit)
		<-s.done
		err = s.closeDBs()
	})
	return err
}

// Last implements [hub.Mail].
func (s *Store) Last() hub.Seq { return hub.Seq(s.last.Load()) }

func micros(t time.Time) int64 { return t.UnixMicro() }
