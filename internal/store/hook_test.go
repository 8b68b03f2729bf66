package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// A hook makes its agent known, and stays over restarts.
func TestHooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	s := open(t, Options{Path: path, Now: c.Now})
	h := Hook{Name: "ci", Agent: "a", Preset: "github", Secret: "s", Only: []string{"push"}}
	created, err := s.AddHook(t.Context(), h)
	must(t, err)
	expect(t, "created", created, c.Now())
	_, err = s.AddHook(t.Context(), Hook{Name: "ci", Agent: "b"})
	expectKind(t, "the same name", err, hub.Conflict)
	_, err = s.AddHook(t.Context(), Hook{Name: "any", Agent: "a"})
	must(t, err)
	must(t, s.Close())

	s = open(t, Options{Path: path, Now: c.Now})
	h.Created = created
	got, err := s.Hook(t.Context(), "ci")
	must(t, err)
	expect(t, "hook", got, h)
	all, err := s.Hooks(t.Context())
	must(t, err)
	expect(t, "hooks", all, []Hook{{Name: "any", Agent: "a", Only: []string{}, Created: created}, h})
	for agent, want := range map[hub.AgentID]bool{"a": true, "b": false, "ci": false} {
		known, err := s.Known(t.Context(), agent)
		must(t, err)
		expect(t, "known "+string(agent), known, want)
	}
	n, err := s.Agents(t.Context())
	must(t, err)
	expect(t, "known agents", n, 1)

	must(t, s.RemoveHook(t.Context(), "ci"))
	expectKind(t, "removed twice", s.RemoveHook(t.Context(), "ci"), hub.NotFound)
	_, err = s.Hook(t.Context(), "ci")
	expectKind(t, "removed", err, hub.NotFound)
}

// once asks which message stands for keys, and may do so for id.
func once(t *testing.T, s *Store, id hub.MessageID, keys ...string) string {
	t.Helper()
	got, err := s.Once(t.Context(), keys, id)
	must(t, err)
	return string(got)
}

func TestOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		expect(t, "the first", once(t, s, "1", "a", "b"), "1")
		expect(t, "the same keys", once(t, s, "2", "a", "b"), "1")
		expect(t, "one of them", once(t, s, "3", "new", "b"), "1")
		expect(t, "a key that came along", once(t, s, "4", "new"), "1")
		expect(t, "another", once(t, s, "5", "other"), "5")
		c.Add(23 * time.Hour)
		expire(t, s, c)
		expect(t, "within 24 h", once(t, s, "6", "a"), "1")
		c.Add(time.Hour + time.Second)
		expect(t, "after 24 h, before anybody has tidied up", once(t, s, "7", "a"), "7")
		expect(t, "and from then on", once(t, s, "8", "a"), "7")
		expire(t, s, c)
		expect(t, "what was used again is kept", once(t, s, "9", "a"), "7")
	})
}

func TestOnceOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, Options{Path: path})
	once(t, s, "1", "a")
	must(t, s.Close())
	expect(t, "after a restart", once(t, open(t, Options{Path: path}), "2", "a"), "1")
}

func TestKeysAreForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		call, other := script(1), script(2)
		call.Dedup, other.Dedup = "call|k", "signal|k"
		add(t, s, call, to("a"))
		add(t, s, other, to("a"))
		_, _, err := s.BeginCall(t.Context(), "k")
		must(t, err)
		c.Add(23 * time.Hour)
		expire(t, s, c)
		_, again, err := s.BeginCall(t.Context(), "k")
		must(t, err)
		expect(t, "a call is remembered for 24 h", again, true)
		_, err = s.First(t.Context(), "call|k")
		must(t, err)

		c.Add(time.Hour + time.Second)
		expire(t, s, c)
		_, again, err = s.BeginCall(t.Context(), "k")
		must(t, err)
		expect(t, "and no longer", again, false)
		_, err = s.First(t.Context(), "call|k")
		expectKind(t, "the message that it sent", err, hub.NotFound)
		_, err = s.First(t.Context(), "signal|k")
		must(t, err)
	})
}

func TestPromptsAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		begun := c.Now()
		must(t, s.SavePrompt(t.Context(), hub.Prompt{ID: "1", Opened: c.Now(), State: hub.Answered, Settled: true, By: "+1", Allow: true}))
		must(t, s.SavePrompt(t.Context(), hub.Prompt{ID: "2", Opened: c.Now(), State: hub.Answered}))
		ids := func(since time.Time) (ids []hub.MessageID) {
			ps, err := s.Prompts(t.Context(), since)
			must(t, err)
			for _, p := range ps {
				ids = append(ids, p.ID)
			}
			return ids
		}
		c.Add(90 * 24 * time.Hour)
		expire(t, s, c)
		expect(t, "all", ids(begun), []hub.MessageID{"1", "2"})
		expect(t, "what somebody has yet to be told", ids(c.Now()), []hub.MessageID{"2"})
	})
}

// What is done each minute must not read the whole record.
func TestForgettingUsesIndexes(t *testing.T) {
	s := open(t, Options{})
	for _, tt := range []struct{ query, index string }{
		{"DELETE FROM seen WHERE at < $1", "seen_at"},
		{"DELETE FROM calls WHERE begun < $1", "calls_begun"},
		{"UPDATE record SET dedup = NULL WHERE dedup >= 'call|' AND dedup < 'call}' AND ts BETWEEN 0 AND $1", "record_call"},
	} {
		plan, err := read(t.Context(), s, func(ctx context.Context, q querier) ([]string, error) {
			return all(ctx, q, func(rows *sql.Rows) (detail string, err error) {
				var n int
				err = rows.Scan(&n, &n, &n, &detail)
				return detail, err
			}, "EXPLAIN QUERY PLAN "+tt.query, 1)
		})
		must(t, err)
		if !strings.Contains(strings.Join(plan, "; "), "INDEX "+tt.index) {
			t.Errorf("%s: %q, want the index %s", tt.query, plan, tt.index)
		}
	}
}
