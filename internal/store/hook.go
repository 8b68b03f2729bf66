package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"aldis/internal/hub"
)

// A Hook is a webhook as it is kept.
type Hook struct {
	Name    string
	Agent   hub.AgentID
	Preset  string
	Secret  string   // what callers sign with; empty: they need the shared token
	Only    []string // events; empty: all
	Created time.Time
}

// AddHook keeps h, and says when it was created. It fails with Conflict if
// there is one of that name.
func (s *Store) AddHook(ctx context.Context, h Hook) (created time.Time, err error) {
	only, err := json.Marshal(append([]string{}, h.Only...))
	if err != nil {
		return created, fmt.Errorf("encode the events of hook %s: %w", h.Name, err)
	}
	return write(ctx, s, func(tx *txn) (time.Time, error) {
		n, err := tx.exec(`INSERT INTO hooks (name, agent, preset, secret, only, created) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (name) DO NOTHING`, h.Name, string(h.Agent), h.Preset, h.Secret, string(only), tx.now)
		if err == nil && n == 0 {
			err = hub.Errorf(hub.Conflict, "there is a hook %s already: remove it first, or choose another name", h.Name)
		}
		return time.UnixMicro(tx.now).UTC(), err
	})
}

// RemoveHook forgets a hook, or fails with NotFound.
func (s *Store) RemoveHook(ctx context.Context, name string) error {
	return s.change(ctx, func(tx *txn) error {
		n, err := tx.exec("DELETE FROM hooks WHERE name = $1", name)
		if err == nil && n == 0 {
			err = noHook(name)
		}
		return err
	})
}

func noHook(name string) error { return hub.Errorf(hub.NotFound, "no hook %.64q", name) }

const selectHooks = "SELECT name, agent, preset, secret, only, created FROM hooks "

// Hook returns the hook of that name, or NotFound.
func (s *Store) Hook(ctx context.Context, name string) (Hook, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (Hook, error) {
		h, ok, err := one(ctx, q, scanHook, selectHooks+"WHERE name = $1", name)
		if err == nil && !ok {
			err = noHook(name)
		}
		return h, err
	})
}

// Hooks returns all hooks, by name.
func (s *Store) Hooks(ctx context.Context) ([]Hook, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]Hook, error) {
		return all(ctx, q, scanHook, selectHooks+"ORDER BY name")
	})
}

func scanHook(rows *sql.Rows) (h Hook, err error) {
	var only []byte
	var created int64
	if err := rows.Scan(&h.Name, &h.Agent, &h.Preset, &h.Secret, &only, &created); err != nil {
		return h, err
	}
	h.Created = time.UnixMicro(created).UTC()
	if err := json.Unmarshal(only, &h.Only); err != nil {
		return h, fmt.Errorf("decode the events of hook %s: %w", h.Name, err)
	}
	return h, nil
}

// Once returns the id of the message that is to stand for all that come with
// one of keys within 24 h: the one that it returned for such a key before, else
// id. Whoever uses the id that it returns needs no other care that a message is
// taken in once: the record has room for one of an id, see [Store.Append], and
// an attempt that failed leaves the id to the next.
func (s *Store) Once(ctx context.Context, keys []string, id hub.MessageID) (hub.MessageID, error) {
	return write(ctx, s, func(tx *txn) (hub.MessageID, error) {
		id, since := id, tx.now-onceFor.Microseconds()
		for _, key := range keys {
			first, ok, err := one(context.Background(), tx, column[hub.MessageID],
				"SELECT message FROM seen WHERE key = $1 AND at >= $2", key, since)
			if err != nil {
				return "", err
			}
			if ok {
				id = first
				break
			}
		}
		for _, key := range keys {
			_, err := tx.exec(`INSERT INTO seen (key, message, at) VALUES ($1, $2, $3)
				ON CONFLICT (key) DO UPDATE SET message = excluded.message, at = excluded.at WHERE seen.at < $4`,
				key, string(id), tx.now, since)
			if err != nil {
				return "", err
			}
		}
		return id, nil
	})
}
