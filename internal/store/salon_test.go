package store

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aldis/internal/hub"
)

// salonTable is the schema of seed agent-salon.md.
const salonTable = `CREATE TABLE messages (id TEXT PRIMARY KEY, ts TEXT NOT NULL, via TEXT NOT NULL, source TEXT NOT NULL, target TEXT,
	content TEXT NOT NULL, meta TEXT NOT NULL, delivered_to TEXT NOT NULL, delivery_errors TEXT NOT NULL, sender_addr TEXT, sender_session_id TEXT)`

// makeSalon makes an empty database of the seed's program.
func makeSalon(t *testing.T, path string) { runSQL(t, path, salonTable) }

func TestImportSalon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent-salon.db")
	makeSalon(t, file)
	runSQL(t, file,
		`INSERT INTO messages VALUES ('019d1', '2026-02-01T10:00:00.123456+00:00', 'tool', 'laptop', 'home', 'Build finished', '{"commit":"abc","n":7}', '["home",null]', '["attic"]', NULL, 'sess')`,
		`INSERT INTO messages VALUES ('019d2', '2026-02-01T19:30:00+09:00', 'notify', 'ci', NULL, 'to all', '{}', '[]', '[]', '10.0.0.1:5', NULL)`,
		`INSERT INTO messages VALUES ('019d3', '2026-02-01T10:30:00Z', 'notify', 'ci', 'home', 'at the same time', 'odd', '["home"]', '["home"]', NULL, NULL)`)
	before, err := os.ReadFile(file)
	must(t, err)
	want := []hub.LogEntry{
		{
			ID: "019d3", Time: time.Date(2026, 2, 1, 10, 30, 0, 0, time.UTC), Via: hub.ViaNotify, Kind: hub.Text, Source: "ci", Target: "home",
			Text: "at the same time", Meta: map[string]string{"meta": "odd"}, Deliveries: []hub.Delivery{{Agent: "home", State: hub.HandedOver}},
		},
		{
			ID: "019d2", Time: time.Date(2026, 2, 1, 10, 30, 0, 0, time.UTC), Via: hub.ViaNotify, Kind: hub.Text, Source: "ci",
			Text: "to all", Addr: "10.0.0.1:5",
		},
		{
			ID: "019d1", Time: time.Date(2026, 2, 1, 10, 0, 0, 123456000, time.UTC), Via: hub.ViaTool, Kind: hub.Text, Source: "laptop", Target: "home",
			Text: "Build finished", Meta: map[string]string{"commit": "abc", "n": "7"}, Session: "sess",
			Deliveries: []hub.Delivery{
				{Agent: "(no label)", State: hub.HandedOver},
				{Agent: "attic", State: hub.Failed, Reason: "its session was gone"},
				{Agent: "home", State: hub.HandedOver},
			},
		},
	}
	for i := range want {
		for j := range want[i].Deliveries {
			want[i].Deliveries[j].Time = want[i].Time
		}
	}
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		said(t, s, "ours", "a", "home", "finished too")
		indexed(t, s)
		for round, added := range []int{3, 0} {
			seen := ""
			n, err := s.ImportSalon(t.Context(), file, func(n, total int) { seen = fmt.Sprint(n, " of ", total) })
			must(t, err)
			if n != added || seen != "3 of 3" {
				t.Errorf("round %d: %d are new of %s, want %d", round, n, seen, added)
			}
		}
		got, _, err := s.Log(t.Context(), hub.LogFilter{Until: c.Now().Add(-time.Hour)})
		must(t, err)
		expect(t, "log", got, want)
		expect(t, "all", logged(t, s, hub.LogFilter{}), "ours 019d3 019d2 019d1")
		expect(t, "search", logged(t, s, hub.LogFilter{Text: "finished"}), "ours 019d1")
		expect(t, "inbox", inbox(t, s, "home"), []string{})
	})
	after, err := os.ReadFile(file)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the file has changed")
	}
}

// The program may not have ended well: what it has written last is in its log.
func TestImportSalonWithAWriteAheadLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent-salon.db")
	db, err := sql.Open("sqlite", dsn(file, "journal_mode(WAL)"))
	must(t, err)
	defer db.Close()
	for _, st := range []string{salonTable, `INSERT INTO messages VALUES ('1', '2026-02-01 10:00:00', 'tool', 'a', NULL, '', '{}', '[]', '[]', NULL, NULL)`} {
		_, err := db.Exec(st)
		must(t, err)
	}
	s := open(t, Options{})
	n, err := s.ImportSalon(t.Context(), file, func(int, int) {})
	must(t, err)
	expect(t, "new", n, 1)
}

// A message that claims to be from the future puts nothing off.
func TestImportSalonFromTheFuture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent-salon.db")
	makeSalon(t, file)
	runSQL(t, file, `INSERT INTO messages VALUES ('1', '2099-01-01T10:00:00Z', 'tool', 'a', NULL, '', '{}', '[]', '[]', NULL, NULL)`)
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		_, err := s.ImportSalon(t.Context(), file, func(int, int) {})
		must(t, err)
		said(t, s, "2", "a", "", "")
		expect(t, "all", logged(t, s, hub.LogFilter{}), "2 1")
		expect(t, "until now", logged(t, s, hub.LogFilter{Until: c.Now()}), "2")
	})
}

// What cannot be taken over leaves the record as it is.
func TestImportSalonRefuses(t *testing.T) {
	dir := t.TempDir()
	ours, foreign, odd := filepath.Join(dir, "ours.db"), filepath.Join(dir, "foreign.db"), filepath.Join(dir, "odd.db")
	must(t, open(t, Options{Path: ours}).Close())
	runSQL(t, foreign, "CREATE TABLE messages (id)")
	makeSalon(t, odd)
	runSQL(t, odd, `INSERT INTO messages VALUES ('1', 'yesterday', 'tool', 'a', NULL, '', '{}', '[]', '[]', NULL, NULL)`)
	s := open(t, Options{})
	for path, kind := range map[string]hub.Kind{
		ours: hub.Invalid, foreign: hub.Invalid, odd: hub.Invalid, filepath.Join(dir, "none.db"): hub.NotFound,
	} {
		_, err := s.ImportSalon(t.Context(), path, func(int, int) {})
		expectKind(t, filepath.Base(path), err, kind)
	}
	expect(t, "log", logged(t, s, hub.LogFilter{}), "")
}

// Whatever is in another program's table becomes a message or an error.
func FuzzSalonTexts(f *testing.F) {
	f.Add("2026-02-01T10:00:00Z", `{"a":1}`, `["x",null]`)
	f.Add("2026-02-01 10:00:00+0900", `[]`, `{}`)
	f.Fuzz(func(t *testing.T, ts, meta, names string) {
		if at, err := salonTime(ts); err == nil && at.Location() != time.UTC {
			t.Errorf("time %q is %v", ts, at)
		}
		for _, name := range salonNames(names) {
			if name == "" {
				t.Errorf("names %q: one is empty", names)
			}
		}
		_, err := encode(hub.Message{Meta: salonMeta(meta)})
		must(t, err)
	})
}

// A database is found as it is named, and read whole: also what is only in its
// write-ahead log, which is beside the file and not beside a link to it.
func TestImportSalonByAnyName(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	writer, err := sql.Open("sqlite", dsn(filepath.Join(dir, "real", "salon.db"), "journal_mode(WAL)"))
	must(t, err)
	defer writer.Close()
	for _, query := range []string{
		"CREATE TABLE messages (" + salonColumns + ")",
		"PRAGMA wal_checkpoint(TRUNCATE)",
		"INSERT INTO messages VALUES ('new', '2026-03-01T10:00:00Z', 'notify', 'ci', NULL, 'hi', '{}', '[]', '[]', NULL, NULL)",
	} {
		_, err := writer.Exec(query)
		must(t, err)
	}
	must(t, os.Symlink(filepath.Join("real", "salon.db"), filepath.Join(dir, "link.db")))
	t.Chdir(dir)
	for _, path := range []string{filepath.Join("real", "salon.db"), "link.db", filepath.Join(dir, "link.db")} {
		added, err := open(t, Options{}).ImportSalon(t.Context(), path, func(int, int) {})
		if added != 1 || err != nil {
			t.Errorf("%s: %d messages, error %v, want 1", path, added, err)
		}
	}
}
