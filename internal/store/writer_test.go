package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

// Offers are made in the order of their Seqs, one at a time, and after the
// commit.
func TestOffersAreMadeInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		var last hub.Seq // not guarded: offers are made one at a time
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				for n := range 10 {
					_, err := s.Append(t.Context(), script(100*g+n), to("a"), func(o hub.Offer) {
						if o.Seq <= last || s.Last() < o.Seq {
							t.Errorf("offer %d after %d; the last in the record is %d", o.Seq, last, s.Last())
						}
						last = o.Seq
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		offers, err := s.Since(t.Context(), "a", "", 0, 0, s.Last(), 1000)
		must(t, err)
		if len(offers) != 640 || offers[639].Seq != last {
			t.Errorf("%d offers in the record up to %d, want 640 up to %d", len(offers), offers[len(offers)-1].Seq, last)
		}
	})
}

// occupy stops the writer until release is called.
func occupy(t *testing.T, s *Store) (release func()) {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.change(context.Background(), func(*txn) error {
			close(busy)
			<-free
			return nil
		})
	}()
	<-busy
	return sync.OnceFunc(func() { close(free) })
}

// wait waits until n operations are queued for the writer.
func wait(s *Store, n int) {
	for len(s.ops) < n {
		runtime.Gosched()
	}
}

// What waits while the writer is busy goes into one transaction.
func TestWritesAreGrouped(t *testing.T) {
	c := newClock()
	tick := func() time.Time { // once a transaction
		c.Add(time.Second)
		return c.Now()
	}
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db"), Now: tick})
	release := occupy(t, s)
	defer release()
	var wg sync.WaitGroup
	for n := range 64 {
		wg.Go(func() { add(t, s, script(n), to("a")) })
	}
	wait(s, 64)
	release()
	wg.Wait()
	times := map[time.Time]int{}
	for n := range 64 {
		ds, err := s.Fate(t.Context(), "", script(n).ID)
		must(t, err)
		times[ds[0].Time]++
	}
	if len(times) != 1 {
		t.Errorf("64 messages in %d transactions, want 1", len(times))
	}
}

// An operation that fails takes nothing and nobody with it.
func TestOneFailureIsItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		broken := errors.New("broken")
		fail := func(n int) {
			err := s.change(t.Context(), func(tx *txn) error {
				tx.then(func() { t.Error("called after a failure") })
				if _, err := tx.insert(script(n), to(), "{}"); err != nil {
					return err
				}
				return broken
			})
			if !errors.Is(err, broken) {
				t.Errorf("error %v, want %v", err, broken)
			}
		}
		fail(0) // alone
		release := occupy(t, s)
		defer release()
		var wg sync.WaitGroup
		for n := range 9 {
			wg.Go(func() {
				if n%3 == 0 {
					fail(n)
				} else {
					add(t, s, script(n), to("a"))
				}
			})
		}
		wait(s, 9)
		release()
		wg.Wait()
		for n := range 9 {
			_, err := s.Fate(t.Context(), "", script(n).ID)
			if (hub.KindOf(err) == hub.NotFound) != (n%3 == 0) {
				t.Errorf("message %d: %v", n, err)
			}
		}
	})
}

// A full disk is an error of kind Unavailable that changes nothing, and is
// over when there is room again.
func TestFullDisk(t *testing.T) {
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db")})
	add(t, s, person(0), to("a"))
	limit := func(pages int) {
		t.Helper()
		must(t, s.change(t.Context(), func(tx *txn) error {
			_, err := tx.exec(fmt.Sprint("PRAGMA max_page_count = ", pages))
			return err
		}))
	}
	limit(1) // SQLite takes it for as many as there are
	var full int
	var last hub.Seq
	for n := 1; ; n++ {
		m := person(n)
		m.Text = string(make([]byte, 4096))
		last = s.Last()
		fresh, err := s.Append(t.Context(), m, to("a"), func(hub.Offer) { full = n })
		if err != nil {
			expectKind(t, "append", err, hub.Unavailable)
			if fresh || full == n {
				t.Errorf("a message that could not be kept: fresh %v, offered %v", fresh, full == n)
			}
			full = n
			break
		}
	}
	expect(t, "the last Seq", s.Last(), last)
	expect(t, "known to be broken", s.broken.Load(), true)
	_, err := s.Fate(t.Context(), "", person(full).ID)
	expectKind(t, "the message", err, hub.NotFound)
	expect(t, "inbox", len(inbox(t, s, "a")), full)

	limit(1 << 20)
	must(t, s.Healthy(t.Context()))
	if seq := add(t, s, person(full), to("a")); seq <= last {
		t.Errorf("Seq %d after %d", seq, last)
	}
}

// A message is in the record already only once that is on the disk: who is told
// so does not send it again.
func TestFailureWaitsForTheCommit(t *testing.T) {
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db")})
	must(t, s.change(t.Context(), func(tx *txn) error {
		pages, _, err := one(t.Context(), tx, column[int], "PRAGMA page_count")
		if err == nil {
			_, err = tx.exec(fmt.Sprint("PRAGMA max_page_count = ", pages+50))
		}
		return err
	}))
	release := occupy(t, s)
	defer release()
	big := script(1)
	big.Text = strings.Repeat("x", 1<<20)
	var errs [3]error
	var wg sync.WaitGroup
	for n, m := range []hub.Message{script(0), script(0), big} {
		wg.Go(func() { _, errs[n] = s.Append(t.Context(), m, to("a"), nil) })
		wait(s, n+1)
	}
	release()
	wg.Wait()
	for n, err := range errs {
		expectKind(t, fmt.Sprint("append ", n), err, hub.Unavailable)
	}
	_, err := s.Fate(t.Context(), "", script(0).ID)
	expectKind(t, "the message", err, hub.NotFound)
}

// Who stops waiting does not stop the writing.
func TestContextEndsTheWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		release := occupy(t, s)
		defer release()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Append(ctx, script(1), to("a"), nil)
			done <- err
		}()
		wait(s, 1)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that the context was canceled", err)
		}
		release()
		must(t, s.ReceiptSent(t.Context(), "s1")) // comes after it
		expect(t, "inbox", inbox(t, s, "a"), []string{"s1"})
	})
}

// Close waits for what was asked for before, and refuses what comes after.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, Options{Path: path})
	release := occupy(t, s)
	done := make(chan error)
	go func() {
		_, err := s.Append(context.Background(), script(1), to("a"), nil)
		done <- err
	}()
	wait(s, 1)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.quit
	release()
	must(t, <-done)
	must(t, <-closed)
	expectKind(t, "after Close", s.ReceiptSent(t.Context(), "s1"), hub.Unavailable)
	expect(t, "inbox", inbox(t, open(t, Options{Path: path}), "a"), []string{"s1"})
}
