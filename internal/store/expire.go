package store

import (
	"context"
	"database/sql"
	"time"

	"aldis/internal/hub"
)

// expireStep is how many messages are looked at in one transaction, so that
// what else is written does not wait long.
const expireStep = 200

// Expire implements [hub.Record]. It also lets go of sessions that were
// unused for 7 days, of keys after 24 h, of what is older, or more, than is to be
// kept, and, where the record is in memory, of messages that are older than an
// inbox keeps them. Prompts stay for as long as what is kept by age: who allowed
// what is worth knowing later.
func (s *Store) Expire(ctx context.Context, held, inbox time.Time) (ended int, err error) {
	if ended, err = s.expireHeld(ctx, micros(held)); err != nil {
		return ended, err
	}
	n, err := s.takeOut(ctx, reasonExpired, `SELECT d.message, d.agent FROM record m JOIN deliveries d ON d.message = m.id
		WHERE m.live AND m.ts < $1 AND d.open LIMIT $2`, micros(inbox), expireStep)
	if ended += n; err != nil {
		return ended, err
	}
	// What was handed over goes first, then the oldest.
	n, err = s.takeOut(ctx, reasonTooMuch, `SELECT message, agent FROM
		(SELECT message, agent, row_number() OVER (PARTITION BY agent ORDER BY state >= 2, seq DESC) AS place
			FROM deliveries WHERE open AND agent IN
				(SELECT agent FROM deliveries WHERE open GROUP BY agent HAVING count(*) > $1)) AS inboxes
		WHERE place > $1 LIMIT $2`, maxInbox, expireStep)
	if ended += n; err != nil {
		return ended, err
	}
	if err := s.cut(ctx); err != nil {
		return ended, err
	}
	if err := s.forget(ctx, micros(inbox)); err != nil {
		return ended, err
	}
	return ended, s.retain(ctx)
}

// expireHeld ends what was held, or waited for a decision, since before a time.
func (s *Store) expireHeld(ctx context.Context, before int64) (int, error) {
	return write(ctx, s, func(tx *txn) (int, error) {
		held, err := all(context.Background(), tx, scanEnd, `UPDATE deliveries SET state = 4, reason = $2, held = NULL, open = FALSE, changed = $3
			WHERE held < $1 RETURNING message, agent, changed`, before, reasonExpired, tx.now)
		if err != nil {
			return 0, err
		}
		undecided, err := all(context.Background(), tx, scanEnd, `INSERT INTO deliveries (message, agent, seq, state, reason, open, size, changed)
			SELECT id, '', 0, 4, $2, FALSE, 0, $3 FROM record WHERE waiting < $1
			ON CONFLICT (message, agent) DO UPDATE SET state = 4, reason = excluded.reason, changed = excluded.changed
			RETURNING message, agent, changed`,
			before, reasonExpired, tx.now)
		if err != nil {
			return 0, err
		}
		ended := append(held, undecided...)
		for _, e := range ended {
			tx.tell(e, hub.Failed, reasonExpired)
		}
		tx.changed += int64(len(ended))
		_, err = tx.exec("UPDATE record SET waiting = NULL WHERE waiting < $1", before)
		return len(ended), err
	})
}

// takeOut takes deliveries out of their inboxes. What was not handed over ends
// as failed, and is counted. The query returns which they are, some at a time.
func (s *Store) takeOut(ctx context.Context, reason, query string, args ...any) (ended int, err error) {
	type delivery struct{ message, agent string }
	for {
		ds, err := read(ctx, s, func(ctx context.Context, q querier) ([]delivery, error) {
			return all(ctx, q, func(rows *sql.Rows) (d delivery, err error) {
				err = rows.Scan(&d.message, &d.agent)
				return d, err
			}, query, args...)
		})
		if err != nil || len(ds) == 0 {
			return ended, err
		}
		n, err := write(ctx, s, func(tx *txn) (ended int64, err error) {
			for _, d := range ds {
				n, err := tx.fail(hub.MessageID(d.message), hub.AgentID(d.agent), reason)
				if err != nil {
					return 0, err
				}
				ended += n
				if _, err := tx.exec("UPDATE deliveries SET open = FALSE WHERE message = $1 AND agent = $2 AND open", d.message, d.agent); err != nil {
					return 0, err
				}
			}
			return ended, nil
		})
		if ended += int(n); err != nil {
			return ended, err
		}
	}
}

// idle are the messages, whole yet, that no inbox has and no decision needs.
const idle = `live AND waiting IS NULL AND NOT EXISTS
	(SELECT 1 FROM deliveries d WHERE d.message = record.id AND d.open)`

// cut reduces messages that have left every inbox to what is to be kept.
func (s *Store) cut(ctx context.Context) error {
	for {
		ids, err := read(ctx, s, func(ctx context.Context, q querier) ([]string, error) {
			return all(ctx, q, column[string], "SELECT id FROM record WHERE "+idle+" LIMIT $1", expireStep)
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		err = s.change(ctx, func(tx *txn) error {
			for _, id := range ids {
				if err := tx.cut(id, s.opts.Keep); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// cut reduces one message, if it is still idle.
func (tx *txn) cut(id string, keep Keep) error {
	m, ok, err := one(context.Background(), tx, scanMessage, "SELECT body FROM record WHERE id = $1 AND "+idle, id)
	if err != nil || !ok {
		return err
	}
	kept := m
	if keep != KeepFull {
		kept = preview(m)
	}
	text, err := encode(kept)
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE record SET live = FALSE, body = $2 WHERE id = $1", id, text)
	if err == nil && kept.Text != m.Text { // more of it may have been kept when it was indexed
		_, err = tx.exec("UPDATE search SET text = $2 WHERE rowid = (SELECT seq FROM record WHERE id = $1)", id, kept.Text)
	}
	return err
}

// onceFor is how long keys are remembered, and calls that came with one.
const onceFor = 24 * time.Hour

// forgetKeys lets go of what is to happen once: the same key may be used again.
func (s *Store) forgetKeys(ctx context.Context) error {
	before := micros(s.opts.Now().Add(-onceFor))
	return s.change(ctx, func(tx *txn) error {
		for _, query := range []string{
			"DELETE FROM seen WHERE at < $1",
			"DELETE FROM calls WHERE begun < $1",
			// BETWEEN, because with one bound SQLite takes the index of all keys.
			"UPDATE record SET dedup = NULL WHERE dedup >= 'call|' AND dedup < 'call}' AND ts BETWEEN 0 AND $1",
		} {
			if _, err := tx.exec(query, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget deletes what is of no use any more.
func (s *Store) forget(ctx context.Context, before int64) error {
	if err := s.forgetKeys(ctx); err != nil {
		return err
	}
	return s.change(ctx, func(tx *txn) error {
		if _, err := tx.exec("DELETE FROM sessions WHERE used < $1", s.oldest()); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM handed WHERE NOT EXISTS (SELECT 1 FROM sessions s JOIN deliveries d ON d.agent = s.agent
			WHERE s.id = handed.session AND s.cursor < handed.seq AND d.seq = handed.seq AND d.open)`)
		if err != nil {
			return err
		}
		_, err = tx.exec(`DELETE FROM former WHERE NOT EXISTS
			(SELECT 1 FROM deliveries d WHERE d.message = former.message AND d.agent = former.agent AND d.open)`)
		if err != nil || s.readers != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM record WHERE NOT live AND ts < $1", before)
		return err
	})
}
