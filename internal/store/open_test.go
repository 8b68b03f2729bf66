package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

// runSQL runs statements on the database at path, past the record.
func runSQL(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	must(t, err)
	defer db.Close()
	for _, st := range statements {
		if _, err := db.Exec(st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
}

// A file that is not a record is refused, and left as it is.
func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		says string
	}{
		{"a foreign database", func(t *testing.T, path string) { runSQL(t, path, "CREATE TABLE x (y)") }, "not a record"},
		{"one with another id", func(t *testing.T, path string) {
			runSQL(t, path, "PRAGMA application_id = 7", "CREATE TABLE x (y)")
		}, "not a record"},
		{"no database", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(strings.Repeat("mail ", 100)), 0o600))
		}, "not a record"},
		{"a short file", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, "not a record"},
		{"a database of agent-salon", makeSalon, "aldis import salon "},
		{"a newer version", func(t *testing.T, path string) {
			must(t, open(t, Options{Path: path}).Close())
			runSQL(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		}, "newer program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			tt.make(t, path)
			must(t, os.Chmod(path, 0o640))
			before, err := os.ReadFile(path)
			must(t, err)
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				s.Close()
			}
			expectKind(t, "open", err, hub.Invalid)
			if err != nil && (!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path)) {
				t.Errorf("the error %q does not say %q and the path", err, tt.says)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if string(before) != string(after) {
				t.Error("the file has changed")
			}
			if info, err := os.Stat(path); err != nil || tt.says == "not a record" && info.Mode().Perm() != 0o640 {
				t.Errorf("its mode has changed: %v, %v", info.Mode(), err)
			}
		})
	}
	_, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "no", "a.db")})
	expectKind(t, "no such folder", err, hub.Unavailable)
}

// A record that does not say so is ours by its tables, and says so from then on.
func TestOpenMarksARecordThatIsOurs(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"one of an earlier program", func(t *testing.T, path string) {
			makeVersion(t, path, "00001_record.sql", "00002_channel.sql")
			runSQL(t, path, "PRAGMA application_id = 0")
		}},
		{"a database with nothing in it", func(t *testing.T, path string) {
			runSQL(t, path, "CREATE TABLE x (y)", "DROP TABLE x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			tt.make(t, path)
			s := open(t, Options{Path: path})
			add(t, s, person(1), to("a"))
			must(t, s.Close())
			text, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Contains(text[:100], []byte("Alds")) {
				t.Error("it does not say that it is ours")
			}
		})
	}
}

// A record is made where there is none, for its owner's eyes only, whatever
// its name.
func TestOpenMakesARecord(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"relative.db", filepath.Join(t.TempDir(), "with space?and#more%20.db")} {
		name := filepath.Base(path)
		s := open(t, Options{Path: path})
		add(t, s, person(1), to("a"))
		text, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Contains(text[:100], []byte("Alds")) {
			t.Errorf("%s does not say that it is ours: after a kill it would be refused", name)
		}
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(path + suffix)
			must(t, err)
			if perm := info.Mode().Perm(); perm != 0o600 {
				t.Errorf("%s%s has mode %o, want 600", name, suffix, perm)
			}
		}
	}
}

// A record of version 1 opens in every later version. Rows are written as
// version 1 wrote them: this test does not change when the code does.
func TestOpenVersion1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	makeVersion(t, path, "00001_record.sql")
	runSQL(t, path,
		`UPDATE counter SET reserved = 9000000000000000`,
		`INSERT INTO messages VALUES (7, 'p1', 1, 'signal', '1', 'd', '', NULL, 'routed', 'a', 2, TRUE,
			'{"id":"p1","via":"platform","kind":"text","time":"2026-03-01T11:00:00Z","ref":{"Platform":"signal","Chat":"c","Key":"1"},"dedup":"d","from":{"ID":"friend","Aliases":null,"Name":"F"},"text":"hi","quote":{"Ref":{"Platform":"signal","Chat":"c","Key":"0"},"Ours":true,"From":"us","Aliases":null,"Text":"q","Untrusted":false},"receipt":true}')`,
		`INSERT INTO deliveries VALUES ('p1', 'a', 7, 2, '', NULL, TRUE, 100, 1)`,
		`INSERT INTO sessions VALUES ('x', 'a', TRUE, FALSE, 'main', 'c', '2025-06-18', 1, 7, 0, TRUE, FALSE, FALSE, 1)`)

	s := open(t, Options{Path: path})
	want := hub.Message{
		ID: "p1", Via: hub.ViaPlatform, Kind: hub.Text, Time: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		Ref: hub.Ref{Platform: "signal", Chat: "c", Key: "1"}, Dedup: "d", From: hub.Sender{ID: "friend", Name: "F"}, Text: "hi",
		Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: "c", Key: "0"}, Ours: true, From: "us", Text: "q"}, Receipt: true,
	}
	due, err := s.DueReceipts(t.Context(), 10)
	must(t, err)
	expect(t, "due", due, []hub.Message{want})
	expect(t, "inbox", inbox(t, s, "a"), []string{"p1*"})
	if seq := add(t, s, script(1), to("a")); seq != 9000000000000001 {
		t.Errorf("Seq %d, want one past the counter", seq)
	}
}

// makeVersion makes an empty record as the program had it after these steps.
func makeVersion(t *testing.T, path string, steps ...string) {
	t.Helper()
	runSQL(t, path, fmt.Sprint("PRAGMA application_id = ", applicationID),
		`CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
	for i, step := range steps {
		text, err := migrations.ReadFile("migrations/" + step)
		must(t, err)
		runSQL(t, path, string(text), fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)`, i+1))
	}
}

// The log has what was in the record before there was a log, in its order.
func TestOpenVersion2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	makeVersion(t, path, "00001_record.sql", "00002_channel.sql")
	insert := func(seq, ts int, id, platform, meant, body string) {
		runSQL(t, path, fmt.Sprintf(`INSERT INTO messages VALUES (%d, '%s', %d, '%s', NULL, NULL, '', NULL, '', '%s', 0, TRUE, '%s')`, seq, id, ts, platform, meant, body))
	}
	insert(7, 5000, "in", "signal", "a", `{"id":"in","via":"platform","from":{"ID":"+1"},"ref":{"Platform":"signal","Chat":"+1"}}`)
	insert(8, 5000, "out", "signal", "", `{"id":"out","via":"tool","agent":"a","ref":{"Platform":"signal","Chat":"+1"}}`)
	insert(9, 4000, "notice", "signal", "", `{"id":"notice","via":"tool","ref":{"Platform":"signal","Chat":"+1"}}`)
	insert(6000, 8000, "salon", "", "", `{"id":"salon","via":"notify","agent":"ci","to":"a"}`)
	insert(6001, 8000, "all", "", "", `{"id":"all","via":"notify","agent":"ci"}`)
	runSQL(t, path, `INSERT INTO deliveries VALUES ('salon', 'a', 6000, 2, '', NULL, TRUE, 100, 1)`)

	s := open(t, Options{Path: path})
	entries, _, err := s.Log(t.Context(), hub.LogFilter{})
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s %d: %s %s to %s, %d", e.ID, e.Time.UnixMicro(), e.Via, e.Source, e.Target, len(e.Deliveries)))
	}
	expect(t, "log", got, []string{
		"all 8000: notify ci to , 0", "salon 8000: notify ci to a, 1", "notice 4000: tool aldis to +1, 0",
		"out 5000: tool a to +1, 0", "in 5000: platform +1 to a, 0",
	})
	expect(t, "inbox", inbox(t, s, "a"), []string{"salon*"})
	expect(t, "since", logged(t, s, hub.LogFilter{Since: time.UnixMicro(8000)}), "all salon")
	expect(t, "until", logged(t, s, hub.LogFilter{Until: time.UnixMicro(5000)}), "notice out in")
}

// Seqs grow over restarts, though the clock goes back.
func TestSeqsGrowOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	var last hub.Seq
	for range 3 {
		s := open(t, Options{Path: path, Now: c.Now})
		if s.Last() < last {
			t.Errorf("the last Seq is %d after a restart, was %d", s.Last(), last)
		}
		m := script(0)
		m.ID = hub.MessageID(fmt.Sprint(last))
		seq := add(t, s, m, to("a"))
		if seq <= last || seq != s.Last() {
			t.Errorf("Seq %d after %d", seq, last)
		}
		last = seq
		must(t, s.Close())
		c.Add(-time.Hour)
	}
}

// What was acknowledged survives a kill at any time, in order, and is found by
// its words.
func TestKill(t *testing.T) {
	if path := os.Getenv("STORE_TEST_KILL"); path != "" {
		appendForEver(path)
		return
	}
	path := filepath.Join(t.TempDir(), "a.db")
	var acked []string
	for round := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "STORE_TEST_KILL="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for left := 50 + rand.IntN(100); lines.Scan(); left-- {
			acked = append(acked, lines.Text())
			if left == 0 {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // it was killed

		s := open(t, Options{Path: path})
		offers, err := s.Since(t.Context(), "a", "", 0, 0, s.Last(), 1<<20)
		must(t, err)
		place := make(map[string]int, len(offers))
		for i, o := range offers {
			place[string(o.Message.ID)] = i
		}
		before := -1
		for _, id := range acked {
			at, ok := place[id]
			if !ok || at < before {
				t.Fatalf("round %d: %s is at %d (found: %v), the one before at %d", round, id, at, ok, before)
			}
			before = at
		}
		indexed(t, s)
		missing, _, err := one(t.Context(), s.readers, column[int],
			"SELECT count(*) FROM (SELECT seq FROM record EXCEPT SELECT rowid FROM search WHERE search MATCH 'built')")
		must(t, err)
		expect(t, "messages that are not in the index", missing, 0)
		must(t, s.Close())
	}
}

// appendForEver is the child of TestKill: four goroutines append, and what
// was acknowledged is printed in the order of the offers.
func appendForEver(path string) {
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				m := script(0)
				m.ID = hub.MessageID(fmt.Sprint(os.Getpid(), "-", g, "-", n))
				if _, err := s.Append(context.Background(), m, to("a"), func(o hub.Offer) { fmt.Println(o.Message.ID) }); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
}
