package store

import (
	"context"
	"database/sql"

	"aldis/internal/hub"
)

// A Waiting says what waits for an agent.
type Waiting struct {
	Agent hub.AgentID
	Count int // messages that it was not handed yet
	Held  int // of these, because it is absent
}

// Waiting returns the agents for whom messages wait, by name.
func (s *Store) Waiting(ctx context.Context) ([]Waiting, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]Waiting, error) {
		return all(ctx, q, func(rows *sql.Rows) (w Waiting, err error) {
			return w, rows.Scan(&w.Agent, &w.Count, &w.Held)
		}, "SELECT agent, count(*), count(held) FROM deliveries WHERE open AND state < 2 AND agent <> '' GROUP BY agent ORDER BY agent")
	})
}
