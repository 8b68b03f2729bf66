package store

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"testing"

	"aldis/internal/hub"
)

// A token is one agent's until it is revoked, over restarts, and its secret
// is in no file.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	s := open(t, Options{Path: path, Now: c.Now, Rand: bytes.NewReader(bytes.Repeat([]byte{0xab}, 36))})
	id, secret, err := s.AddToken(t.Context(), "a")
	must(t, err)
	expect(t, "id", id, "abababab")
	expect(t, "secret", secret, "aldis_"+strings.Repeat("ab", 32))
	_, _, err = s.AddToken(t.Context(), "a")
	if err == nil || hub.KindOf(err) != hub.Internal {
		t.Errorf("without randomness: %v, want an error", err)
	}
	_, _, err = s.AddToken(t.Context(), "")
	expectKind(t, "without an agent", err, hub.Invalid)

	check := func(when string, s *Store, want bool) {
		t.Helper()
		agent, ok := s.TokenAgent(sha256.Sum256([]byte(secret)))
		if ok != want || (agent == "a") != want {
			t.Errorf("%s: %q, %v, want %v", when, agent, ok, want)
		}
		known, err := s.Known(t.Context(), "a")
		if must(t, err); known != want {
			t.Errorf("%s: known %v, want %v", when, known, want)
		}
	}
	check("when made", s, true)
	must(t, s.Close())

	s = open(t, Options{Path: path, Now: c.Now})
	check("after a restart", s, true)
	list, err := s.Tokens(t.Context())
	must(t, err)
	expect(t, "list", list, []Token{{ID: id, Agent: "a", Created: c.Now()}})

	_, err = s.RevokeToken(t.Context(), "nonsense")
	expectKind(t, "no such token", err, hub.NotFound)
	agent, err := s.RevokeToken(t.Context(), id)
	must(t, err)
	expect(t, "revoked", agent, hub.AgentID("a"))
	check("when revoked", s, false)
}
