package web

import (
	"database/sql"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"aldis/internal/auth"
	"aldis/internal/hub"
	"aldis/internal/store"
)

var rows = flag.Int("rows", 1_000_000, "messages in the record that BenchmarkList reads")

// BenchmarkList is a page of the list, with the filters that have far to look:
//
//	go test -run NONE -bench List ./internal/web
func BenchmarkList(b *testing.B) {
	record := fill(b, *rows)
	p := &Pages{Tokens: auth.Tokens{Admin: "admin-token"}, Logins: &auth.Logins{}, Record: record, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	h := p.Handler()
	middle := place(b, record, *rows/2)
	for _, bm := range []struct{ name, query string }{
		{"first", ""},
		{"page=200", "?page=200"},
		{"before the middle", "?before=" + middle},
		{"after the middle", "?after=" + middle},
		{"source", "?source=script-7"},
		{"rare source", "?source=rare"},
		{"pair", "?participant_a=script-7&participant_b=agent-7"},
		{"pair that never met", "?participant_a=script-7&participant_b=agent-8"},
		{"participant", "?participant_a=agent-7"},
		{"exclude", "?exclude=script-7,agent-8"},
		{"time", "?since=2026-01-01T01:00:00Z&until=2026-01-01T02:00:00Z"},
		{"via", "?via=hook"},
		{"word", "?q=build"},
		{"rare word", "?q=needle"},
		{"two words", "?q=build+7777"},
		{"source and word", "?source=rare&q=build"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/admin"+bm.query, nil)
				r.Header.Set("Authorization", "Bearer admin-token")
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
}

// fill returns a record of n messages, one a second since the year began, as
// many as a script sends to its agent.
func fill(b *testing.B, n int) *store.Store {
	b.Helper()
	path := filepath.Join(b.TempDir(), "a.db")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(b, path, start)
	m := hub.Message{
		ID: "00000000-0000-7000-8000-000000000000", Via: hub.ViaNotify, Kind: hub.Text, Time: start, Subject: "main",
		Agent: "SOURCE", To: "TARGET", Text: "build NUMBER of the main branch has ended", Meta: map[string]string{"commit": "abc"}, Addr: "127.0.0.1:4711",
	}
	if _, err := s.Append(b.Context(), m, &hub.Decision{To: []hub.AgentID{"TARGET"}}, func(hub.Offer) {}); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Settle(b.Context(), []hub.Settlement{{Agent: "TARGET", Message: m.ID, State: hub.Acknowledged}}); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	multiply(b, path, n)
	s = open(b, path, start)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func open(b *testing.B, path string, now time.Time) *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{Path: path, Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// multiply makes n messages of the one that is in the record.
func multiply(b *testing.B, path string, n int) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // the temporary table is a connection's
	for _, step := range []string{
		`CREATE TEMP TABLE many AS
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT i, printf('00000000-0000-7000-8000-%012d', i) AS id, i * 1000000 AS later, 'agent-' || (i % 100) AS target,
				iif(i % 100000 = 1, 'rare', 'script-' || (i % 100)) AS source, iif(i % 1000 = 0, 'hook', 'notify') AS via FROM n`,
		`INSERT INTO record (seq, id, ts, platform, subject, status, meant, receipt, live, body, via, source, target)
			SELECT seq + later, many.id, ts + later, platform, subject, status, meant, receipt, false,
				replace(replace(replace(replace(replace(body, record.id, many.id), 'SOURCE', many.source), 'TARGET', many.target), 'NUMBER', i),
					'"via":"notify"', '"via":"' || many.via || '"'),
				many.via, many.source, many.target FROM record, many`,
		`INSERT INTO deliveries (message, agent, seq, state, reason, open, size, changed)
			SELECT many.id, many.target, seq + later, state, reason, false, size, changed + later FROM deliveries, many`,
		`UPDATE record SET body = replace(body, 'main branch', 'needle') WHERE seq = (SELECT min(seq) + 1000000 FROM record)`,
		`INSERT INTO search (rowid, text) SELECT seq, body ->> '$.text' FROM record WHERE seq > (SELECT searched FROM counter)`,
		`UPDATE counter SET searched = (SELECT max(seq) FROM record), reserved = (SELECT max(seq) FROM record)`,
		`PRAGMA wal_checkpoint(TRUNCATE)`,
	} {
		var args []any
		if strings.Contains(step, "?") {
			args = append(args, n)
		}
		if _, err := db.ExecContext(b.Context(), step, args...); err != nil {
			b.Fatalf("%v: %s", err, step)
		}
	}
}

// place returns the id of the message that has skip newer ones.
func place(b *testing.B, s *store.Store, skip int) string {
	b.Helper()
	entries, _, err := s.Log(b.Context(), hub.LogFilter{Skip: skip, Limit: 1})
	if err != nil || len(entries) != 1 {
		b.Fatalf("the message in the middle: %v, %v", entries, err)
	}
	return string(entries[0].ID)
}
