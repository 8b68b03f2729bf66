package sqlcipher_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hubtest/signaldesktop"
)

// How often one reader ended how.
type count struct {
	valid, discarded int
	mixed            int // of those discarded: not of one state, or not readable
	busy             int
}

// A writer changes 700 rows and a counter in each transaction, and copies and
// begins its WAL again, closes the database and opens it, dies and is recovered,
// as quickly as it can. What a valid snapshot shows has to be the work of whole
// transactions. One reader takes a snapshot for each query, the other keeps it.
func TestTorture(t *testing.T) {
	signaldesktop.Start(t) // else skipped here: its parts that are skipped prove nothing
	long := 20 * time.Second
	if testing.Short() {
		long = 3 * time.Second
	}
	var all count
	for _, c := range []struct {
		name string
		step func(d *desktop, i int)
	}{
		{"checkpoints by themselves", func(d *desktop, i int) {
			if i == 0 {
				d.Exec(`PRAGMA wal_autocheckpoint = 50`)
			}
		}},
		{"checkpoints of all kinds", func(d *desktop, i int) {
			d.Checkpoint([]string{"PASSIVE", "RESTART", "TRUNCATE"}[i%3])
		}},
		{"a writer that comes and goes", func(d *desktop, i int) {
			if i%4 == 3 {
				d.Close()
				d.Open(d.dir)
			}
		}},
		{"a writer that dies", func(d *desktop, i int) {
			if i%8 == 7 {
				d.Kill()
				d.Writer = signaldesktop.Start(d.t)
				d.Open(d.dir)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesktop(t, signaldesktop.Options{Schema: 1830})
			d.Exec(`CREATE TABLE clock (at INTEGER)`)
			d.Exec(`INSERT INTO clock VALUES (0)`)
			d.Exec(`CREATE TABLE hand (id INTEGER PRIMARY KEY, at INTEGER, pad BLOB)`)
			d.Exec(`INSERT INTO hand WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) SELECT i, 0, zeroblob(700) FROM n`)
			d.Exec(`CREATE INDEX hand_at ON hand (at, id)`)
			var counts [2]count
			var wg sync.WaitGroup
			stop := make(chan struct{})
			for i := range counts {
				wg.Go(func() { counts[i] = readUntil(t, d.path, i == 1, stop) })
			}
			for i, end := 0, time.Now().Add(long/4); time.Now().Before(end); i++ {
				d.Exec(`BEGIN IMMEDIATE; UPDATE clock SET at = at + 1; UPDATE hand SET at = at + 1; COMMIT`)
				c.step(&d, i)
			}
			close(stop)
			wg.Wait()
			for _, n := range counts {
				t.Logf("%+v", n)
				all = count{all.valid + n.valid, all.discarded + n.discarded, all.mixed + n.mixed, all.busy + n.busy}
			}
		})
	}
	t.Logf("together %+v", all)
	if all.valid == 0 || all.discarded == 0 {
		t.Error("the files never changed under a reader, or always: this proves nothing")
	}
}

// readUntil reads, each time from a new snapshot, or from the last as long as it
// is valid.
func readUntil(t *testing.T, path string, keep bool, stop <-chan struct{}) (n count) {
	db, err := open(path)
	if err != nil {
		t.Error(err)
		return n
	}
	defer db.Close()
	for {
		s, err := db.Snapshot(t.Context())
		switch {
		case errors.Is(err, sqlcipher.ErrBusy):
			n.busy++
			continue
		case err != nil:
			t.Error(err)
			return n
		}
		for again := true; again; again = again && keep {
			again = n.read(t, s)
			select {
			case <-stop:
				_ = s.Close()
				return n
			default:
			}
		}
		_ = s.Close()
	}
}

// read reports whether the snapshot is valid.
func (n *count) read(t *testing.T, s *sqlcipher.Snapshot) bool {
	mixed := query(s, whole)
	valid, err := s.Valid()
	switch {
	case err != nil:
		t.Error(err)
	case valid && mixed != nil:
		t.Errorf("a valid snapshot is not of one state: %v", mixed)
	case valid:
		n.valid++
	case mixed != nil:
		n.mixed++
		n.discarded++
	default:
		n.discarded++
	}
	return valid
}

// whole checks that all rows are as the last transaction left them, by the table
// and by its index.
func whole(db *sql.DB) error {
	var clock, least, most, rows, indexed, bytes int
	err := db.QueryRow(`SELECT (SELECT at FROM clock), min(at), max(at), count(*), total(length(pad)),
		(SELECT count(*) FROM hand INDEXED BY hand_at WHERE at = (SELECT at FROM clock)) FROM hand NOT INDEXED`).
		Scan(&clock, &least, &most, &rows, &bytes, &indexed)
	if err == nil && (least != clock || most != clock || rows != 700 || indexed != 700 || bytes != 700*700) {
		err = fmt.Errorf("the clock says %d, %d rows are from %d to %d, %d of them in the index, with %d bytes", clock, rows, least, most, indexed, bytes)
	}
	return err
}
