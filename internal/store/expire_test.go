package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// expire runs Expire as the hub does: a day for what is held, a week for
// inboxes.
func expire(t *testing.T, s *Store, c *clock) int {
	t.Helper()
	n, err := s.Expire(context.Background(), c.Now().Add(-24*time.Hour), c.Now().Add(-7*24*time.Hour))
	must(t, err)
	return n
}

func TestExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		add(t, s, script(1), held("a"))
		add(t, s, person(1), nil)
		add(t, s, script(2), to("a"))
		add(t, s, script(3), to("a", "b"))
		settle(t, s, hub.Settlement{Agent: "a", Message: "s3", State: hub.HandedOver})
		steps := []struct {
			after time.Duration
			ended int
			inbox []string
		}{
			{24 * time.Hour, 0, []string{"s1", "s2", "s3*"}},
			{time.Second, 2, []string{"s2", "s3*"}}, // what was held, and what was undecided
			{6 * 24 * time.Hour, 2, nil},            // s2 for a, s3 for b
			{time.Hour, 0, nil},
		}
		for _, step := range steps {
			c.Add(step.after)
			if n := expire(t, s, c); n != step.ended {
				t.Errorf("after %v: %d ended, want %d", step.after, n, step.ended)
			}
			expect(t, "inbox", inbox(t, s, "a"), step.inbox)
		}
		if s.readers == nil {
			return // in memory they are gone
		}
		expect(t, "held", fates(t, s, "s1"), []string{"a failed expired"})
		expect(t, "undecided", fates(t, s, "p1"), []string{"failed expired"})
		expect(t, "handed over to one", fates(t, s, "s3"), []string{"a handed_over", "b failed expired"})
	})
}

// What has left every inbox is cut to what is kept, and not before.
func TestCut(t *testing.T) {
	long := strings.Repeat("ä", 200)
	tests := []struct {
		name string
		keep Keep
		m    hub.Message
		text string
		path string
	}{
		{"a person's words", KeepPreview, person(1), long[:256], ""},
		{"a script's words", KeepPreview, script(1), long, ""},
		{"everything", KeepFull, person(1), long, "/secret"},
		{"in memory alone", KeepOff, person(1), long[:256], ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClock()
			s := open(t, Options{Path: t.TempDir() + "/a.db", Keep: tt.keep, Now: c.Now})
			tt.m.Text, tt.m.Attachments = long, []hub.Attachment{{Name: "x", Path: "/secret"}}
			add(t, s, tt.m, to("a", "b"))
			check := func(when, text, path string) {
				t.Helper()
				expire(t, s, c)
				m, err := s.Message(t.Context(), "a", tt.m.ID)
				must(t, err)
				if m.Text != text || m.Attachments[0].Path != path || m.Attachments[0].Name != "x" {
					t.Errorf("%s: %d bytes %+v, want %d bytes and path %q", when, len(m.Text), m.Attachments, len(text), path)
				}
			}
			settle(t, s, hub.Settlement{Agent: "a", Message: tt.m.ID, State: hub.Acknowledged})
			check("in the inbox of b", long, "/secret")
			settle(t, s, hub.Settlement{Agent: "b", Message: tt.m.ID, State: hub.Acknowledged})
			check("in no inbox", tt.text, tt.path)
		})
	}
}

// An inbox has a bound; what was handed over leaves it first.
func TestInboxIsBounded(t *testing.T) {
	c := newClock()
	s := open(t, Options{Now: c.Now})
	for n := range maxInbox + 30 {
		add(t, s, script(n), to("a"))
	}
	settle(t, s,
		hub.Settlement{Agent: "a", Message: "s1", State: hub.HandedOver},
		hub.Settlement{Agent: "a", Message: "s500", State: hub.HandedOver})
	if n := expire(t, s, c); n != 28 {
		t.Errorf("%d ended, want 28", n)
	}
	if ids := inbox(t, s, "a"); len(ids) != maxInbox || ids[0] != "s29" {
		t.Errorf("%d are left, from %s on, want %d from s29", len(ids), ids[0], maxInbox)
	}
	expect(t, "the oldest", fates(t, s, "s0"), []string{"a failed " + reasonTooMuch})
	expect(t, "one handed over", fates(t, s, "s500"), []string{"a handed_over"})
}

// In memory nothing is kept for ever.
func TestMemoryForgets(t *testing.T) {
	c := newClock()
	s := open(t, Options{Now: c.Now})
	add(t, s, person(1), to("a"))
	must(t, s.Outcome(t.Context(), "p1", hub.Sent{Refs: []hub.Ref{{Platform: "signal", Chat: "c", Key: "2"}}}, nil))
	c.Add(8 * 24 * time.Hour)
	expire(t, s, c)
	for _, table := range []string{"record", "deliveries", "refs"} {
		n, err := read(t.Context(), s, func(ctx context.Context, q querier) (int, error) {
			n, _, err := one(ctx, q, column[int], "SELECT count(*) FROM "+table)
			return n, err
		})
		if must(t, err); n != 0 {
			t.Errorf("%s has %d rows, want none", table, n)
		}
	}
}

// A session that opens no stream has everything out of turn, for as long as it
// lives: what has left the inbox is not noted any more.
func TestWhatWasHandedOutOfTurnIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		must(t, s.SaveSession(t.Context(), hub.SavedSession{ID: "x", Agent: "a", Used: c.Now()}))
		for n := range 2 {
			add(t, s, script(n), to("a"))
			settle(t, s, hub.Settlement{Agent: "a", Session: "x", Message: script(n).ID, State: hub.HandedOver, OutOfTurn: true})
		}
		handed := func() int {
			n, err := read(t.Context(), s, func(ctx context.Context, q querier) (int, error) {
				n, _, err := one(ctx, q, column[int], "SELECT count(*) FROM handed")
				return n, err
			})
			must(t, err)
			return n
		}
		expire(t, s, c)
		expect(t, "while both are in the inbox", handed(), 2)
		_, err := s.Acknowledge(t.Context(), "a", []hub.MessageID{"s0"})
		must(t, err)
		expire(t, s, c)
		expect(t, "once one is not", handed(), 1)
	})
}

func TestSessionsAge(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		saved := []hub.SavedSession{
			{ID: "live", Agent: "a", Named: true, Seat: true, Subject: "main", Client: "claude-code", Version: "2025-06-18", Birth: 5, Cursor: 6, Order: 7, Present: true, Streamed: true, Refused: true, Used: c.Now()},
			{ID: "waits", Agent: "b", Named: true, Order: 1, Used: c.Now().Add(time.Second)},
			{ID: "gone", Agent: "gone", Used: c.Now()},
		}
		for _, v := range saved {
			must(t, s.SaveSession(t.Context(), v))
		}
		saved[0].Birth, saved[0].Present = 8, false
		again := saved[0]
		again.Cursor = 2 // is left alone
		must(t, s.SaveSession(t.Context(), again))

		got, err := s.Sessions(t.Context())
		must(t, err)
		expect(t, "those to restore", got, saved[:2])
		one, err := s.Session(t.Context(), "gone")
		must(t, err)
		expect(t, "one of the past", one, saved[2])

		must(t, s.DeleteSession(t.Context(), "gone"))
		_, err = s.Session(t.Context(), "gone")
		expectKind(t, "deleted", err, hub.NotFound)

		c.Add(7*24*time.Hour + 500*time.Millisecond)
		_, err = s.Session(t.Context(), "live")
		expectKind(t, "too old", err, hub.NotFound)
		got, err = s.Sessions(t.Context())
		must(t, err)
		expect(t, "those left", got, saved[1:2])
		known := func() []bool {
			var out []bool
			for _, agent := range []hub.AgentID{"a", "b", "gone"} {
				k, err := s.Known(t.Context(), agent)
				must(t, err)
				out = append(out, k)
			}
			return out
		}
		expect(t, "known", known(), []bool{true, true, false})
		expire(t, s, c)
		expect(t, "known when the row is gone", known(), []bool{false, true, false})
		n, err := s.Agents(t.Context())
		must(t, err)
		expect(t, "agents", n, 1)
	})
}
