package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

// said adds a message to the record that source sent to target, empty: to all.
func said(t testing.TB, s *Store, id, source, target, text string) {
	t.Helper()
	add(t, s, hub.Message{
		ID: hub.MessageID(id), Via: hub.ViaTool, Kind: hub.Text,
		Agent: hub.AgentID(source), To: hub.AgentID(target), Text: text,
	}, to())
}

// logged returns the ids that Log returns, and a plus when there are more.
func logged(t testing.TB, s *Store, f hub.LogFilter) string {
	t.Helper()
	entries, more, err := s.Log(t.Context(), f)
	must(t, err)
	var ids []string
	for _, e := range entries {
		ids = append(ids, string(e.ID))
	}
	if more {
		ids = append(ids, "+")
	}
	return strings.Join(ids, " ")
}

// The filters mean what hub.LogFilter and seed agent-salon.md say.
func TestLogFilters(t *testing.T) {
	start := newClock().Now()
	after := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	tests := []struct {
		name string
		f    hub.LogFilter
		want string
	}{
		{"everything, newest first", hub.LogFilter{}, "7 6 5 4 3 2 1 0"},
		{"source", hub.LogFilter{Source: "a"}, "4 3 0"},
		{"target", hub.LogFilter{Target: "a"}, "7 1"},
		{"source and target", hub.LogFilter{Source: "a", Target: "b"}, "0"},
		{"nobody", hub.LogFilter{Source: "x"}, ""},
		{"a participant", hub.LogFilter{ParticipantA: "a"}, "7 4 3 1 0"},
		{"the other participant alone", hub.LogFilter{ParticipantB: "c"}, "5 4 2"},
		{"two participants", hub.LogFilter{ParticipantA: "b", ParticipantB: "a"}, "1 0"},
		{"two participants who are one", hub.LogFilter{ParticipantA: "a", ParticipantB: "a"}, "7 4 3 1 0"},
		{"a participant and a source", hub.LogFilter{ParticipantA: "a", Source: "b"}, "1"},
		{"a participant who is the source", hub.LogFilter{ParticipantA: "a", Source: "a"}, "4 3 0"},
		{"two participants of whom neither is the source", hub.LogFilter{ParticipantA: "a", ParticipantB: "b", Source: "c"}, ""},
		{"excluded, as a source or a target", hub.LogFilter{Exclude: []string{"b"}}, "7 5 4 3"},
		{"a broadcast is excluded by its source alone", hub.LogFilter{Exclude: []string{"c"}}, "7 6 3 1 0"},
		{"several excluded", hub.LogFilter{Exclude: []string{"b", "ci", ""}}, "5 4 3"},
		{"excluded and a participant", hub.LogFilter{ParticipantA: "a", Exclude: []string{"c"}}, "7 3 1 0"},
		{"since, inclusive", hub.LogFilter{Since: after(6)}, "7 6"},
		{"until, inclusive", hub.LogFilter{Until: after(1)}, "1 0"},
		{"between", hub.LogFilter{Since: after(2), Until: after(4)}, "4 3 2"},
		{"via", hub.LogFilter{Via: hub.ViaNotify}, "7"},
		{"a page", hub.LogFilter{Limit: 3}, "7 6 5 +"},
		{"the second page", hub.LogFilter{Limit: 3, Skip: 3}, "4 3 2 +"},
		{"past the last page", hub.LogFilter{Limit: 3, Skip: 9}, ""},
		{"before", hub.LogFilter{Before: "3", Limit: 2}, "2 1 +"},
		{"before the first", hub.LogFilter{Before: "0"}, ""},
		{"after", hub.LogFilter{After: "2", Limit: 2}, "4 3 +"},
		{"after the last", hub.LogFilter{After: "7"}, ""},
		{"before, of a participant", hub.LogFilter{Before: "4", ParticipantA: "a", Limit: 2}, "3 1 +"},
		{"after, of a participant", hub.LogFilter{After: "0", ParticipantA: "a", Limit: 2}, "3 1 +"},
	}
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		for i, m := range []struct{ source, target string }{
			{"a", "b"}, {"b", "a"}, {"c", "b"}, {"a", ""}, {"a", "c"}, {"c", ""}, {"b", "d"},
		} {
			said(t, s, fmt.Sprint(i), m.source, m.target, "")
			c.Add(time.Minute)
		}
		add(t, s, hub.Message{ID: "7", Via: hub.ViaNotify, Kind: hub.Text, Agent: "ci", To: "a"}, to("a"))
		for _, tt := range tests {
			expect(t, tt.name, logged(t, s, tt.f), tt.want)
		}
		sources, targets, err := s.Names(t.Context())
		must(t, err)
		expect(t, "sources", sources, []string{"a", "b", "c", "ci"})
		expect(t, "targets", targets, []string{"a", "b", "c", "d"})

		_, _, err = s.Log(t.Context(), hub.LogFilter{Before: "1", After: "2"})
		expectKind(t, "before and after", err, hub.Invalid)
		_, _, err = s.Log(t.Context(), hub.LogFilter{Before: "x"})
		expectKind(t, "before a message that is not there", err, hub.NotFound)
		_, err = s.Entry(t.Context(), "x")
		expectKind(t, "a message that is not there", err, hub.NotFound)
	})
}

// Who said something, to whom, is named as people know them.
func TestLogParties(t *testing.T) {
	tool := hub.Message{Via: hub.ViaTool, Agent: "a"}
	toChat := hub.Ref{Platform: "signal", Chat: "+1"}
	tests := []struct {
		name           string
		m              hub.Message
		d              *hub.Decision
		source, target string
	}{
		{"a person, answering nobody", person(1), to("a", "b"), "friend", ""},
		{"a person, answering an agent", person(1), &hub.Decision{Status: hub.Routed, Meant: "a", To: []hub.AgentID{"a"}}, "friend", "a"},
		{"a person, answering one who is gone", person(1), &hub.Decision{Status: hub.AgentOffline, Meant: "a", To: []hub.AgentID{"b"}}, "friend", "a"},
		{"an agent, to a chat", hub.Message{Via: hub.ViaTool, Agent: "a", Ref: toChat}, &hub.Decision{}, "a", "+1"},
		{"an agent, asking a person", hub.Message{Via: hub.ViaPrompt, Agent: "a", Ref: toChat}, &hub.Decision{}, "a", "+1"},
		{"the hub itself", hub.Message{Via: hub.ViaTool, Ref: toChat}, &hub.Decision{}, "aldis", "+1"},
		{"an agent, to all", tool, to("b"), "a", ""},
		{"a script, to an agent", hub.Message{Via: hub.ViaNotify, Agent: "ci", To: "a"}, held("a"), "ci", "a"},
		{"a hook", hub.Message{Via: hub.ViaHook, Agent: "github", To: "a"}, to("a"), "github", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store, _ *clock) {
				tt.m.ID = "m"
				add(t, s, tt.m, tt.d)
				e, err := s.Entry(t.Context(), "m")
				must(t, err)
				expect(t, "source and target", []string{e.Source, e.Target}, []string{tt.source, tt.target})
			})
		})
	}
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		add(t, s, person(1), nil)
		must(t, s.Decide(t.Context(), "p1", nil, "", &hub.Decision{Status: hub.Routed, Meant: "a", To: []hub.AgentID{"a"}}, nil))
		expect(t, "decided later", logged(t, s, hub.LogFilter{Target: "a"}), "p1")
		must(t, s.Decide(t.Context(), "p1", []hub.AgentID{"a"}, "left", nil, nil))
		expect(t, "undecided again", logged(t, s, hub.LogFilter{Target: "a"}), "")
	})
}

// An entry has what is known of a message, and what became of it.
func TestLogEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		add(t, s, person(1), to("b", "a"))
		m := script(1)
		m.Session, m.Addr, m.Raw, m.Meta, m.To = "session", "127.0.0.1:9", "{}", map[string]string{"commit": "abc"}, "a"
		add(t, s, m, to("a"))
		c.Add(time.Second)
		settle(t, s, hub.Settlement{Agent: "a", Message: "s1", State: hub.Failed, Reason: "left"})
		at, later := newClock().Now(), c.Now()
		want := []hub.LogEntry{
			{
				ID: "s1", Time: at, Via: hub.ViaNotify, Kind: hub.Text, Source: "ci", Target: "a", Text: "built 1", Raw: "{}",
				Meta: m.Meta, Status: hub.Unrouted, Addr: m.Addr, Session: "session",
				Deliveries: []hub.Delivery{{Agent: "a", State: hub.Failed, Reason: "left", Time: later}},
			},
			{
				ID: "p1", Time: at, Via: hub.ViaPlatform, Kind: hub.Text, Platform: "signal", Source: "friend", Name: "A Friend",
				Text: "words 1", Status: hub.Unrouted, Deliveries: []hub.Delivery{{Agent: "a", Time: at}, {Agent: "b", Time: at}},
			},
		}
		got, _, err := s.Log(t.Context(), hub.LogFilter{})
		must(t, err)
		expect(t, "log", got, want)
		e, err := s.Entry(t.Context(), "p1")
		must(t, err)
		expect(t, "one of them", e, want[1])
	})
}

// Changes tells when a page is to be read anew, and when it is not.
func TestChanges(t *testing.T) {
	tests := []struct {
		name string
		do   func(*testing.T, *Store)
		want bool
	}{
		{"a message", func(t *testing.T, s *Store) { add(t, s, person(2), nil) }, true},
		{"a decision", func(t *testing.T, s *Store) { must(t, s.Decide(t.Context(), "p1", nil, "", to("b"), nil)) }, true},
		{"none any more", func(t *testing.T, s *Store) { must(t, s.Decide(t.Context(), "p1", nil, "", nil, nil)) }, true},
		{"a hand-over", func(t *testing.T, s *Store) {
			settle(t, s, hub.Settlement{Agent: "a", Message: "p1", State: hub.HandedOver})
		}, true},
		{"an outcome", func(t *testing.T, s *Store) { must(t, s.Outcome(t.Context(), "p1", hub.Sent{Reached: 1}, nil)) }, true},
		{"a session", func(t *testing.T, s *Store) { must(t, s.SaveSession(t.Context(), hub.SavedSession{ID: "x"})) }, false},
		{"a message that came before", func(t *testing.T, s *Store) {
			_, err := s.Append(t.Context(), person(1), to("a"), nil)
			must(t, err)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store, _ *clock) {
				add(t, s, person(1), to("a"))
				before := s.Changes()
				tt.do(t, s)
				if got := s.Changes() != before; got != tt.want {
					t.Errorf("changed: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// The order is that of acceptance, and a time range finds what it should, though
// the clock is set back for a while.
func TestLogWhenTheClockGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	noon := c.Now()
	s := open(t, Options{Path: path, Now: c.Now})
	said(t, s, "first", "a", "", "")
	c.Add(-30 * time.Second)
	said(t, s, "second", "a", "", "")
	must(t, s.Close())
	s = open(t, Options{Path: path, Now: c.Now})
	said(t, s, "third", "a", "", "")
	expect(t, "all", logged(t, s, hub.LogFilter{}), "third second first")
	expect(t, "since", logged(t, s, hub.LogFilter{Since: noon}), "first")
	expect(t, "until", logged(t, s, hub.LogFilter{Until: noon.Add(-time.Second)}), "third second")
}

// No page of the log sorts or reads what it does not show: not even of a record
// with a million messages.
func TestLogUsesIndexes(t *testing.T) {
	now := time.Now()
	s := open(t, Options{})
	for _, tt := range []struct {
		name  string
		f     hub.LogFilter
		index string // or the key of the table itself
	}{
		{"the first page", hub.LogFilter{}, "INTEGER PRIMARY KEY"},
		{"a later page", hub.LogFilter{Before: "x"}, "INTEGER PRIMARY KEY"},
		{"an earlier page", hub.LogFilter{After: "x"}, "INTEGER PRIMARY KEY"},
		{"a time", hub.LogFilter{Since: now, Until: now}, "INTEGER PRIMARY KEY"},
		{"excluded", hub.LogFilter{Exclude: []string{"a", "b"}}, "INTEGER PRIMARY KEY"},
		{"source", hub.LogFilter{Source: "a"}, "record_source"},
		{"source, a later page", hub.LogFilter{Source: "a", Before: "x"}, "record_source"},
		{"target", hub.LogFilter{Target: "a", After: "x"}, "record_target"},
		{"source and target", hub.LogFilter{Source: "a", Target: "b"}, "record_pair"},
		{"a participant", hub.LogFilter{ParticipantA: "a"}, "record_source, record_target"},
		{"a participant, a later page", hub.LogFilter{ParticipantA: "a", Before: "x", Since: now}, "record_source, record_target"},
		{"two participants", hub.LogFilter{ParticipantA: "a", ParticipantB: "b", Exclude: []string{"c"}}, "record_pair"},
		{"via", hub.LogFilter{Via: hub.ViaHook}, "record_via"},
		{"words", hub.LogFilter{Text: "a b"}, "search VIRTUAL TABLE INDEX"},
		{"words, a later page, of a participant", hub.LogFilter{Text: "a", Before: "x", ParticipantA: "a"}, "search VIRTUAL TABLE INDEX"},
	} {
		query, args, err := selection(tt.f, 1)
		must(t, err)
		plan := plan(t, s, query+" LIMIT 51", args...)
		for index := range strings.SplitSeq(tt.index, ", ") {
			if !strings.Contains(plan, index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: %s, want %s and nothing sorted", tt.name, plan, index)
			}
		}
	}
}

// Nor does the list of names read each message.
func TestNamesUseIndexes(t *testing.T) {
	s := open(t, Options{})
	for _, col := range []string{"source", "target"} {
		if got := plan(t, s, distinct(col)); strings.Contains(got, "SCAN record") || !strings.Contains(got, "INDEX record_"+col) {
			t.Errorf("%s: %s", col, got)
		}
	}
}

// plan returns how a query is carried out.
func plan(t testing.TB, s *Store, query string, args ...any) string {
	t.Helper()
	steps, err := read(t.Context(), s, func(ctx context.Context, q querier) ([]string, error) {
		return all(ctx, q, func(rows *sql.Rows) (detail string, err error) {
			var n int
			err = rows.Scan(&n, &n, &n, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+query, args...)
	})
	must(t, err)
	return strings.Join(steps, "; ")
}

// Any program reads the record by the names of seed agent-salon.md, while the
// hub writes.
func TestMessagesAsTheSeedHasThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	s := open(t, Options{Path: path, Now: c.Now})
	c.Add(1500 * time.Microsecond)
	m := script(1)
	m.To, m.Addr, m.Session, m.Meta = "a", "10.0.0.1:4", "session", map[string]string{"commit": "abc"}
	add(t, s, m, to("a", "b", "c"))
	settle(t, s,
		hub.Settlement{Agent: "b", Message: "s1", State: hub.HandedOver},
		hub.Settlement{Agent: "a", Message: "s1", State: hub.Acknowledged},
		hub.Settlement{Agent: "c", Message: "s1", State: hub.Failed, Reason: "left"})
	said(t, s, "all", "a", "", "hello")
	out := script(2)
	out.Ref = hub.Ref{Platform: "signal", Chat: "+1"}
	add(t, s, out, &hub.Decision{})
	must(t, s.Outcome(t.Context(), "s2", hub.Sent{Reached: 1}, nil))

	stop, writes := make(chan struct{}), sync.WaitGroup{}
	writes.Go(func() {
		for n := 100; ; n++ {
			select {
			case <-stop:
				return
			default:
				add(t, s, script(n), to("z"))
			}
		}
	})
	db, err := sql.Open("sqlite", dsn(path, "query_only(1)"))
	must(t, err)
	defer db.Close()
	got, err := all(t.Context(), db, func(rows *sql.Rows) (string, error) {
		var col [11]sql.NullString
		var dest []any
		for i := range col {
			dest = append(dest, &col[i])
		}
		err := rows.Scan(dest...)
		var line []string
		for _, c := range col {
			if !c.Valid {
				c.String = "NULL"
			}
			line = append(line, c.String)
		}
		return strings.Join(line, "|"), err
	}, `SELECT id, ts, via, source, target, content, meta, delivered_to, delivery_errors, sender_addr, sender_session_id
		FROM messages WHERE id IN ('s1', 's2', 'all') ORDER BY id`)
	close(stop)
	writes.Wait()
	must(t, err)
	expect(t, "messages", got, []string{
		`all|2026-03-01T12:00:00.001500Z|tool|a|NULL|hello|{}|[]|[]|NULL|NULL`,
		`s1|2026-03-01T12:00:00.001500Z|notify|ci|a|built 1|{"commit":"abc"}|["a","b"]|["c"]|10.0.0.1:4|session`,
		`s2|2026-03-01T12:00:00.001500Z|notify|ci|+1|built 2|{}|["+1"]|[]|NULL|NULL`,
	})
}
