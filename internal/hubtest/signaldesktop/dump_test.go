package signaldesktop

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

func TestADumpIsTheSameByAnotherSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w := Start(t)
	w.Create(t.TempDir(), Options{Schema: 1830})
	before := w.Dump()
	for _, statement := range []string{
		`CREATE TABLE kinds (a STRING, b TIMESTAMP, c BOOLEAN, d REAL, e, f AS (a || e))`,
		`CREATE INDEX kinds_all ON kinds (e, d, c, b, a)`, // another order, in which it could be read
		`INSERT INTO kinds VALUES ('007', 1700000000000, 1, 5, NULL), ('x' || char(0) || 'ж', -1, 'no', 0.1, x'00ff'),
			(9223372036854775807, '2026-12-01', 2, -1e300, ''), (NULL, 1.5, NULL, 9e999, 'TRUE')`,
		`CREATE TABLE keyed (a TEXT PRIMARY KEY, b INTEGER) STRICT, WITHOUT ROWID`,
		`INSERT INTO keyed VALUES ('z', 1), ('a', 2)`,
		`CREATE TABLE many AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) SELECT i, i / 7.0 AS part FROM n`,
		`CREATE TABLE none (a)`,
	} {
		w.Exec(statement)
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	got, err := DumpOf(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	want := w.Dump()
	for name := range before {
		delete(want, name)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 4 {
		t.Error(diff)
	}
	w.Exec("UPDATE keyed SET b = 3 WHERE a = 'z'")
	if w.Dump()["keyed"] == want["keyed"] {
		t.Error("the hash of a table stays as it was, though a value has changed")
	}
}
