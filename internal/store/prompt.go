package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"aldis/internal/hub"
)

// Answer implements [hub.Record].
func (s *Store) Answer(ctx context.Context, m hub.Message, d hub.Decision, p hub.Prompt, then func(hub.Offer)) (fresh bool, err error) {
	text, err := encode(m)
	if err != nil {
		return false, err
	}
	return write(ctx, s, func(tx *txn) (bool, error) {
		seq := tx.seq()
		fresh, err := tx.insert(m, &d, text)
		switch {
		case err != nil:
			return false, err
		case fresh:
			err = tx.offer(seq, m, len(text), d, then)
		default:
			fresh, err = tx.answerAgain(seq, m, text, d, then)
		}
		if err != nil || !fresh {
			return false, err
		}
		if len(d.To) == 0 { // the hub itself has taken it
			if _, err := tx.noteReceipts(map[string]struct{}{string(m.ID): {}}); err != nil {
				return false, err
			}
		}
		return true, tx.savePrompt(p)
	})
}

// answerAgain decides a message that waits for that, which is known by now to
// be an answer. It reports false for any other.
func (tx *txn) answerAgain(seq hub.Seq, m hub.Message, text string, d hub.Decision, then func(hub.Offer)) (bool, error) {
	n, err := tx.exec("UPDATE record SET body = $2 WHERE id = $1 AND waiting IS NOT NULL", string(m.ID), text)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.decide(seq, m, len(text), d, then)
}

// SavePrompt implements [hub.Record].
func (s *Store) SavePrompt(ctx context.Context, p hub.Prompt) error {
	return s.change(ctx, func(tx *txn) error { return tx.savePrompt(p) })
}

func (tx *txn) savePrompt(p hub.Prompt) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode prompt %s: %w", p.ID, err)
	}
	_, err = tx.exec(`INSERT INTO prompts (id, rev, opened, pending, body) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, pending = excluded.pending, body = excluded.body WHERE rev < excluded.rev`,
		string(p.ID), p.Rev, micros(p.Opened), p.State == hub.Open || !p.Settled, string(body))
	return err
}

// Prompts implements [hub.Record].
func (s *Store) Prompts(ctx context.Context, since time.Time) ([]hub.Prompt, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Prompt, error) {
		return all(ctx, q, scanPrompt, "SELECT body FROM prompts WHERE pending OR opened >= $1 ORDER BY opened, id", micros(since))
	})
}

func scanPrompt(rows *sql.Rows) (p hub.Prompt, err error) {
	var text sql.RawBytes
	if err := rows.Scan(&text); err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("decode a prompt of the record: %w", err)
	}
	return p, nil
}
