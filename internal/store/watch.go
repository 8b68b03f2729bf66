package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	"aldis/internal/hub"
)

// An end is a delivery that was handed over, or has failed.
type end struct {
	message hub.MessageID
	agent   hub.AgentID
	since   int64 // when the message was recorded
}

func scanEnd(rows *sql.Rows) (e end, err error) {
	err = rows.Scan(&e.message, &e.agent, &e.since)
	return e, err
}

// tell tells who watches, after the commit, that a delivery has ended so.
func (tx *txn) tell(e end, state hub.State, reason string) {
	if len(tx.s.opts.Watch) == 0 {
		return
	}
	d := hub.Delivery{Agent: e.agent, State: state, Reason: reason, Time: time.UnixMicro(tx.now).UTC()}
	after := time.Duration(0)
	if state != hub.Failed {
		after = time.Duration(tx.now-e.since) * time.Microsecond
	}
	tx.then(func() { tx.s.opts.Watch.Settled(e.message, d, after) })
}

// A Measure is how much there is of the record.
type Measure struct {
	Stored uint64 // messages recorded since the hub began
	Held   int    // deliveries that are held for absent agents
	Bytes  int64  // on the disk; 0: it is in memory
}

// Measure measures the record.
func (s *Store) Measure(ctx context.Context) (m Measure, err error) {
	m.Stored = s.stored.Load()
	for _, path := range []string{s.opts.Path, s.opts.Path + "-wal"} {
		if s.opts.Path == "" {
			break
		}
		info, err := os.Stat(path)
		switch {
		case err == nil:
			m.Bytes += info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return m, err
		}
	}
	m.Held, err = read(ctx, s, func(ctx context.Context, q querier) (int, error) {
		n, _, err := one(ctx, q, column[int], "SELECT count(*) FROM deliveries WHERE held IS NOT NULL")
		return n, err
	})
	return m, err
}
