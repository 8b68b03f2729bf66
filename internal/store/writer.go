package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"aldis/internal/hub"
)

// maxBatch is how many operations go into one transaction, and how many may
// wait for the next one; who comes then waits for a place.
const maxBatch = 512

// reserveStep is how many Seqs are set aside at a time, so that the counter
// is not written in each transaction.
const reserveStep = 1 << 20

// An op is something that the writer does in a transaction.
type op interface {
	run(*txn) error // may be called again, if another one made the transaction fail
	end(error)      // called once, after the commit
}

// A job is an op with a result.
type job[T any] struct {
	fn   func(*txn) (T, error)
	done chan struct{}

	// owned by the writer until done is closed
	val T
	err error
}

func (j *job[T]) run(tx *txn) (err error) {
	j.val, err = j.fn(tx)
	return err
}

func (j *job[T]) end(err error) {
	j.err = err
	close(j.done)
}

// write has the writer run fn in a transaction and returns what it returned,
// once that is on the disk. If fn fails nothing of it remains. fn may run
// more than once, and after the caller has gone: it must only read what it
// shares with it.
func write[T any](ctx context.Context, s *Store, fn func(*txn) (T, error)) (val T, err error) {
	j := &job[T]{fn: fn, done: make(chan struct{})}
	select {
	case s.ops <- j:
	case <-s.quit:
		return val, errClosed()
	case <-ctx.Done():
		return val, fmt.Errorf("wait for the record: %w", context.Cause(ctx))
	}
	select {
	case <-j.done:
		return j.val, s.fault("written", j.err)
	case <-ctx.Done():
		return val, fmt.Errorf("wait for the record: %w", context.Cause(ctx))
	case <-s.done:
	}
	select {
	case <-j.done: // as the writer's last
		return j.val, s.fault("written", j.err)
	default:
		return val, errClosed()
	}
}

// change is write for what returns nothing.
func (s *Store) change(ctx context.Context, fn func(*txn) error) error {
	_, err := write(ctx, s, func(tx *txn) (struct{}, error) { return struct{}{}, fn(tx) })
	return err
}

func errClosed() error { return hub.Errorf(hub.Unavailable, "the record is closed") }

// read runs fn on a reader's connection. In memory there is but one
// connection, so there the writer runs it.
func read[T any](ctx context.Context, s *Store, fn func(context.Context, querier) (T, error)) (T, error) {
	if s.readers != nil {
		val, err := fn(ctx, s.readers)
		return val, s.fault("read", err)
	}
	type answer struct {
		val T
		err error
	}
	a, err := write(ctx, s, func(tx *txn) (a answer, _ error) {
		a.val, a.err = fn(context.Background(), tx)
		return a, nil // an answer of "not found" is no reason to roll back
	})
	return a.val, cmp.Or(err, s.fault("read", a.err))
}

// A txn is the writer and its transaction.
type txn struct {
	s        *Store
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt
	chats    map[hub.Ref]bool // that are in the record, without a key
	next     hub.Seq          // the next to give out
	reserved hub.Seq          // the last that may be given out without a write to the counter
	newest   int64            // the highest place in the record
	searched int64            // the messages up to this place are in the index
	now      int64            // microseconds
	changed  int64            // messages that were taken in or settled
	after    []func()         // to call after the commit
}

// run is the writer. It ends when the store is closed and nothing waits.
func (tx *txn) run() {
	defer close(tx.s.done)
	defer tx.close()
	var batch []op
	var index <-chan time.Time
	for {
		if index == nil {
			index = tx.indexDue(0)
		}
		select {
		case first := <-tx.s.ops:
			batch = tx.gather(append(batch[:0], first))
			tx.commit(batch)
			clear(batch)
		case <-index:
			index = tx.indexStep()
		case <-tx.s.quit:
			for batch = tx.gather(nil); len(batch) > 0; batch = tx.gather(nil) {
				tx.commit(batch)
			}
			return
		}
	}
}

// close gives the connection back, with nothing prepared on it: SQLite would not
// let go of the file, nor put the log of what was written into it.
func (tx *txn) close() {
	for _, st := range tx.stmts {
		_ = st.Close()
	}
	_ = tx.conn.Close()
}

// gather adds what is waiting to batch.
func (tx *txn) gather(batch []op) []op {
	for len(batch) < maxBatch {
		select {
		case o := <-tx.s.ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// A failure is an op that failed by itself, and why.
type failure struct {
	op  op
	err error
}

// commit runs batch in one transaction. An op that fails by itself is taken
// out, and the others run again without it; a fault of the disk fails all: what
// an op failed for may be what another one did.
func (tx *txn) commit(batch []op) {
	var failures []failure
	for len(batch) > 0 {
		failed, err := tx.try(batch)
		if err == nil {
			break
		}
		if failed < 0 || diskFault(err) {
			tx.s.broken.Store(true)
			for _, o := range batch {
				o.end(err)
			}
			for _, f := range failures {
				f.op.end(err)
			}
			return
		}
		failures = append(failures, failure{batch[failed], err})
		batch = slices.Delete(batch, failed, failed+1)
	}
	tx.s.broken.Store(false)
	tx.s.last.Store(uint64(tx.next - 1))
	tx.s.changes.Add(uint64(tx.changed))
	for _, fn := range tx.after {
		fn()
	}
	for _, o := range batch {
		o.end(nil)
	}
	for _, f := range failures {
		f.op.end(f.err)
	}
	clear(tx.after)
}

// try runs batch in one transaction. It returns the index of the op that
// failed, or -1 if it was the transaction itself.
func (tx *txn) try(batch []op) (failed int, err error) {
	next, reserved, newest, searched := tx.next, tx.reserved, tx.newest, tx.searched
	tx.after, tx.now, tx.changed = tx.after[:0], micros(tx.s.opts.Now()), 0
	if _, err := tx.exec("BEGIN IMMEDIATE"); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			tx.next, tx.reserved, tx.newest, tx.searched, tx.after = next, reserved, newest, searched, tx.after[:0]
			// SQLite may have rolled back by itself: then this one fails.
			_, _ = tx.exec("ROLLBACK")
		}
	}()
	for i, o := range batch {
		if err := o.run(tx); err != nil {
			return i, err
		}
	}
	if tx.next > tx.reserved {
		if err := tx.reserve(); err != nil {
			return -1, err
		}
	}
	_, err = tx.exec("COMMIT")
	return -1, err
}

// reserve sets the next Seqs aside.
func (tx *txn) reserve() error {
	tx.reserved = tx.next + reserveStep
	_, err := tx.exec("UPDATE counter SET reserved = $1", int64(tx.reserved))
	return err
}

// seq gives out a Seq.
func (tx *txn) seq() hub.Seq {
	tx.next++
	return tx.next - 1
}

// place gives out the next place in the record: the time, or as much more as it
// takes to be past all others.
func (tx *txn) place() int64 {
	tx.newest = max(tx.now, tx.newest+1)
	return tx.newest
}

// then has fn called after the commit, in the writer's goroutine.
func (tx *txn) then(fn func()) { tx.after = append(tx.after, fn) }

// stmt returns query prepared. Queries are constants, so they are kept.
func (tx *txn) stmt(query string) (*sql.Stmt, error) {
	if st := tx.stmts[query]; st != nil {
		return st, nil
	}
	st, err := tx.conn.PrepareContext(context.Background(), query)
	if err == nil {
		tx.stmts[query] = st
	}
	return st, err
}

// exec runs query and returns how many rows it changed.
func (tx *txn) exec(query string, args ...any) (int64, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// QueryContext makes txn a querier.
func (tx *txn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}
