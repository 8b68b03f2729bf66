package store

import (
	"context"

	"aldis/internal/hub"
)

var _ hub.Calls = (*Store)(nil)

// BeginCall implements [hub.Calls].
func (s *Store) BeginCall(ctx context.Context, key string) (outcome string, again bool, err error) {
	type call struct {
		outcome string
		again   bool
	}
	c, err := write(ctx, s, func(tx *txn) (c call, err error) {
		c.outcome, c.again, err = one(context.Background(), tx, column[string], "SELECT outcome FROM calls WHERE key = $1", key)
		if err == nil && !c.again {
			_, err = tx.exec("INSERT INTO calls (key, begun, outcome) VALUES ($1, $2, '')", key, tx.now)
		}
		return c, err
	})
	return c.outcome, c.again, err
}

// EndCall implements [hub.Calls].
func (s *Store) EndCall(ctx context.Context, key, outcome string) error {
	return s.change(ctx, func(tx *txn) error {
		_, err := tx.exec("UPDATE calls SET outcome = $2 WHERE key = $1", key, outcome)
		return err
	})
}
