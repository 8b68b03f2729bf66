package sqlcipher_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hubtest/signaldesktop"
)

// A desktop is a database that the real tool keeps open.
type desktop struct {
	*signaldesktop.Writer
	t    testing.TB
	dir  string // of all files
	path string // of the main file
}

func newDesktop(t testing.TB, o signaldesktop.Options) desktop {
	t.Helper()
	d := desktop{Writer: signaldesktop.Start(t), t: t, dir: t.TempDir()}
	d.path = signaldesktop.Path(d.dir)
	d.Create(d.dir, o)
	d.Exec(`PRAGMA wal_autocheckpoint = 0`)
	return d
}

// same checks that what is read is what the real tool read, and that reading
// leaves no trace.
func (d desktop) same(want map[string]string) {
	d.t.Helper()
	before := trace(d.t, d.dir)
	got, err := read(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Error(diff)
	}
	if diff := cmp.Diff(before, trace(d.t, d.dir)); diff != "" {
		d.t.Errorf("reading left a trace: %s", diff)
	}
}

// write makes rows that are in the WAL alone: new, changed and removed.
func (d desktop) write() {
	d.t.Helper()
	d.Exec(`CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT, kept BLOB) STRICT`)
	d.Exec(`INSERT INTO note (text, kept) SELECT value, zeroblob(value * 20) FROM json_each('[1,2,3,500,4000]')`)
	d.Exec(`UPDATE note SET text = 'changed' WHERE id = 2`)
	d.Exec(`DELETE FROM note WHERE id = 3`)
}

func (d desktop) file(suffix string) []byte {
	d.t.Helper()
	b, err := os.ReadFile(d.path + suffix)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d desktop) put(suffix string, b []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path+suffix, b, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestRealDatabaseThatIsClosed(t *testing.T) {
	for _, schema := range []int{1330, 1460, 1830, 9999} {
		d := newDesktop(t, signaldesktop.Options{Schema: schema, Content: true, Messages: 300})
		want := d.Dump()
		d.Close()
		for _, suffix := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(d.path + suffix); err == nil {
				t.Fatalf("the %s file is still there", suffix)
			}
		}
		d.same(want)
	}
}

func TestRealDatabaseThatIsWrittenTo(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830, Content: true, Messages: 300})
	d.Checkpoint("TRUNCATE")
	d.same(d.Dump()) // an empty WAL
	d.write()
	d.same(d.Dump()) // a generation
	d.Checkpoint("PASSIVE")
	d.same(d.Dump()) // all of it copied
	d.write()
	d.same(d.Dump()) // more behind what was copied
	d.Checkpoint("RESTART")
	d.same(d.Dump()) // a generation at its end
	d.write()
	d.same(d.Dump()) // the next, over a longer one
	d.Checkpoint("TRUNCATE")
	d.same(d.Dump())
}

// SQLite keeps the WAL beside the file that a link leads to.
func TestRealDatabaseBehindALink(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830, Messages: 50})
	d.Checkpoint("TRUNCATE")
	d.write()
	want := d.Dump()
	for name, to := range map[string]string{"link.sqlite": filepath.Base(d.path), "../link.sqlite": d.path} {
		link := filepath.Join(d.dir, "sql", name)
		if err := os.Symlink(to, link); err != nil {
			t.Skipf("no links here: %v", err)
		}
		d.path = link
		d.same(want)
	}
}

// A snapshot that is kept does not hold up the writer, and knows its age.
func TestRealWriterIsNotHeldUp(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.write()
	db, err := open(d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func(when string, wantValid, wantCurrent bool) {
		t.Helper()
		if valid, err := s.Valid(); valid != wantValid || err != nil {
			t.Errorf("%s it is valid: %v, %v", when, valid, err)
		}
		if current := s.Current(); current != wantCurrent {
			t.Errorf("%s it is current: %v", when, current)
		}
	}
	check("at first", true, true)
	d.Exec(`INSERT INTO note (text) VALUES ('one more')`)
	check("after a commit", true, false)
	d.Checkpoint("PASSIVE")
	check("after a checkpoint of that", false, false)
	if s, err = db.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check("anew", true, true)
	d.Checkpoint("PASSIVE")
	check("after a checkpoint of what it has", true, true)
	d.Exec(`INSERT INTO note (text) VALUES ('one more')`)
	check("after a commit in a new generation", false, false)
	d.Close()
	check("after the end of the writer", false, false)
}

func TestRealLeftovers(t *testing.T) {
	for _, c := range []struct {
		name   string
		last   string // a transaction that is not to be seen
		change func(d desktop)
	}{
		{"as they are", ``, func(desktop) {}},
		{"without -shm", ``, func(d desktop) { d.remove("-shm") }},
		{"an index of zeros", ``, func(d desktop) { d.put("-shm", make([]byte, 32<<10)) }},
		{"the last frame cut", `DELETE FROM note`, func(d desktop) {
			d.put("-wal", d.file("-wal")[:len(d.file("-wal"))-1000])
		}},
		{"a flipped byte in the last frame", `DELETE FROM note`, func(d desktop) {
			b := d.file("-wal")
			b[len(b)-2000] ^= 1
			d.put("-wal", b)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesktop(t, signaldesktop.Options{Schema: 1830, Messages: 50})
			d.Checkpoint("TRUNCATE")
			d.write()
			want := d.Dump()
			if c.last != "" {
				d.Exec(c.last)
			}
			d.Kill()
			c.change(d)
			d.same(want)
		})
	}
}

func (d desktop) remove(suffix string) {
	d.t.Helper()
	if err := os.Remove(d.path + suffix); err != nil {
		d.t.Fatal(err)
	}
}

// A transaction that outgrows the cache is in the WAL before its commit.
func TestRealTransactionWithoutItsCommit(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.Checkpoint("TRUNCATE")
	d.write()
	want := d.Dump()
	committed := len(d.file("-wal"))
	d.Exec(`PRAGMA cache_size = 10`)
	d.Exec(`BEGIN`)
	d.Exec(`INSERT INTO note (kept) SELECT zeroblob(3000) FROM json_each('[` + strings.Repeat("1,", 199) + `1]')`)
	if len(d.file("-wal")) == committed {
		t.Fatal("it is not in the WAL")
	}
	d.same(want)
	d.Kill()
	d.same(want)
	d.remove("-shm")
	d.same(want)
}

func TestRealEmptyWAL(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.write()
	want := d.Dump()
	d.Close()
	d.put("-wal", nil)
	d.same(want)
}

func TestRealShorterGeneration(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830, Messages: 50})
	d.Checkpoint("TRUNCATE")
	d.write()
	d.Checkpoint("RESTART")
	long := len(d.file("-wal"))
	d.Exec(`UPDATE note SET text = 'short' WHERE id = 1`)
	if len(d.file("-wal")) != long {
		t.Fatal("the WAL was not begun again")
	}
	want := d.Dump()
	d.same(want)
	d.Kill()
	d.remove("-shm")
	d.same(want)
}

func TestRealDatabaseThatIsDamaged(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830, Messages: 50})
	d.Close()
	whole := d.file("")
	flipped := bytes.Clone(whole)
	flipped[4096+100] ^= 1
	for _, c := range []struct {
		name string
		file []byte
		want error
	}{
		{"a flipped byte", flipped, sqlcipher.ErrDamaged},
		{"cut short", whole[:len(whole)/2], sqlcipher.ErrTruncated},
		{"empty", nil, sqlcipher.ErrEmpty},
	} {
		d.put("", c.file)
		if err := readPages(d.path); !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v, want %v", c.name, err, c.want)
		}
	}
}

// What else the real tool writes is told apart, as far as it can be.
func TestRealFilesOfOtherKinds(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	attach := func(name, key string, pragmas ...string) string {
		path := filepath.Join(d.dir, name)
		for _, p := range pragmas {
			d.Exec(p)
		}
		d.Exec(`ATTACH '` + path + `' AS other KEY "` + key + `"`)
		d.Exec(`PRAGMA other.journal_mode = WAL`)
		d.Exec(`CREATE TABLE other.t AS SELECT zeroblob(20000) AS a`)
		d.Exec(`DETACH other`)
		return path
	}
	good := `x'` + signaldesktop.Key + `'`
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"as Signal writes it", attach("good", good), nil},
		{"another key", attach("key", `x'`+strings.Repeat("00", 32)+`'`), sqlcipher.ErrKey},
		{"a pass phrase", attach("phrase", signaldesktop.Key), sqlcipher.ErrKey},
		{"no encryption", attach("plain", ``), sqlcipher.ErrPlain},
		{"SQLCipher 3", attach("three", good, `PRAGMA cipher_default_compatibility = 3`), sqlcipher.ErrKey},
	} {
		if err := readPages(c.path); !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v, want %v", c.name, err, c.want)
		}
	}
}

// Past 1 GiB there is the page of the lock bytes, which has never been written.
func TestRealDatabaseOfMoreThanAGibibyte(t *testing.T) {
	if os.Getenv("ALDIS_TEST_LARGE") == "" {
		t.Skip("writes 1.1 GB: set ALDIS_TEST_LARGE=1")
	}
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.Exec(`PRAGMA wal_autocheckpoint = 1000`)
	d.Exec(`CREATE TABLE large (id INTEGER PRIMARY KEY, kept BLOB)`)
	for range 44 {
		d.Exec(`INSERT INTO large (kept) VALUES (zeroblob(25000000))`)
	}
	d.Exec(`CREATE TABLE last AS SELECT 'behind it' AS text`)
	db, err := open(d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Size() <= 1<<30+4096 {
		t.Fatalf("the database has %d bytes", s.Size())
	}
	err = query(s, func(db *sql.DB) error {
		var text, check string
		var bytes int
		err := db.QueryRow(`SELECT text, (SELECT sum(length(kept)) FROM large), (SELECT integrity_check FROM pragma_integrity_check('large')) FROM last`).
			Scan(&text, &bytes, &check)
		if text != "behind it" || bytes != 1_100_000_000 || check != "ok" {
			t.Errorf("it reads %q, %d bytes, %s", text, bytes, check)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if valid, err := s.Valid(); !valid || err != nil {
		t.Errorf("valid is %v, %v", valid, err)
	}
}

// readPages reads all pages, without SQLite, whose errors would hide ours.
func readPages(path string) error {
	db, err := open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := db.Snapshot(context.Background())
	if err != nil {
		return err
	}
	defer s.Close()
	page := make([]byte, s.PageSize())
	for n := range uint32(s.Size() / int64(len(page))) {
		if err := s.Page(page, n+1); err != nil {
			return err
		}
	}
	return nil
}
