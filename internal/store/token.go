package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"aldis/internal/hub"
)

// A Token lets its holder in as one agent. The secret itself is not kept.
type Token struct {
	ID      string      `json:"id"` // to revoke it by
	Agent   hub.AgentID `json:"agent"`
	Created time.Time   `json:"created"`
}

// A tokenTable knows which agent a token is of, for every request that comes.
type tokenTable struct {
	mu     sync.RWMutex
	agents map[[sha256.Size]byte]hub.AgentID
}

// AddToken makes a token for agent. The secret is shown now and never again:
// only its SHA-256 is kept.
func (s *Store) AddToken(ctx context.Context, agent hub.AgentID) (id, secret string, err error) {
	if agent == "" {
		return "", "", hub.Errorf(hub.Invalid, "a token needs the name of an agent")
	}
	var random [4 + 32]byte
	if _, err := io.ReadFull(s.opts.Rand, random[:]); err != nil {
		return "", "", fmt.Errorf("make a token: %w", err)
	}
	id, secret = hex.EncodeToString(random[:4]), "aldis_"+hex.EncodeToString(random[4:])
	hash := sha256.Sum256([]byte(secret))
	err = s.change(ctx, func(tx *txn) error {
		tx.then(func() { s.tokens.set(hash, agent) })
		_, err := tx.exec("INSERT INTO tokens (id, agent, hash, created) VALUES ($1, $2, $3, $4)", id, string(agent), hash[:], tx.now)
		return err
	})
	if err != nil {
		return "", "", err
	}
	return id, secret, nil
}

// RevokeToken makes a token invalid and returns the agent that it was of, or
// NotFound.
func (s *Store) RevokeToken(ctx context.Context, id string) (hub.AgentID, error) {
	return write(ctx, s, func(tx *txn) (hub.AgentID, error) {
		h, ok, err := one(context.Background(), tx, scanHash, "DELETE FROM tokens WHERE id = $1 RETURNING hash, agent", id)
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no token %q", id)
		}
		if err != nil {
			return "", err
		}
		tx.then(func() { s.tokens.set(h.hash, "") })
		return h.agent, nil
	})
}

// TokenAgent returns the agent whose token has this SHA-256; false if there
// is none. It reads memory alone.
func (s *Store) TokenAgent(hash [sha256.Size]byte) (hub.AgentID, bool) {
	s.tokens.mu.RLock()
	defer s.tokens.mu.RUnlock()
	agent, ok := s.tokens.agents[hash]
	return agent, ok
}

// Tokens returns the tokens that are valid, by agent.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]Token, error) {
		return all(ctx, q, func(rows *sql.Rows) (t Token, err error) {
			var created int64
			err = rows.Scan(&t.ID, &t.Agent, &created)
			t.Created = time.UnixMicro(created).UTC()
			return t, err
		}, "SELECT id, agent, created FROM tokens ORDER BY agent, created")
	})
}

// load reads the table from the record.
func (t *tokenTable) load(ctx context.Context, q querier) error {
	hashes, err := all(ctx, q, scanHash, "SELECT hash, agent FROM tokens")
	for _, h := range hashes {
		t.set(h.hash, h.agent)
	}
	return err
}

// set says whose token has a hash; "": nobody's any more.
func (t *tokenTable) set(hash [sha256.Size]byte, agent hub.AgentID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if agent == "" {
		delete(t.agents, hash)
		return
	}
	if t.agents == nil {
		t.agents = make(map[[sha256.Size]byte]hub.AgentID)
	}
	t.agents[hash] = agent
}

// A tokenHash is a row of the table.
type tokenHash struct {
	hash  [sha256.Size]byte
	agent hub.AgentID
}

func scanHash(rows *sql.Rows) (h tokenHash, err error) {
	var hash []byte
	err = rows.Scan(&hash, &h.agent)
	copy(h.hash[:], hash)
	return h, err
}
