package signaldesktop

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesComeBackAsTheyWere(t *testing.T) {
	w := Start(t)
	w.Create(t.TempDir(), Options{Schema: 1830})
	w.Exec("CREATE TABLE t (a, b, c, d, e, f, g)")
	want := [][]any{{int64(1) << 60, int64(-1), 2.0, 0.1, "a\x00'ж\u2028🎉", []byte{0, 255}, nil}}
	w.Exec("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", want[0]...)
	if diff := cmp.Diff(want, w.Rows("SELECT * FROM t")); diff != "" {
		t.Error(diff)
	}
}

func TestADatabaseOutlivesItsWriter(t *testing.T) {
	dir := t.TempDir()
	w := Start(t)
	w.Create(dir, Options{Schema: 1330})
	w.Exec("CREATE TABLE t (a)")
	w.Kill()
	w = Start(t)
	w.Open(dir)
	w.Exec("INSERT INTO t VALUES (?)", true)
	w.Close()
	w.Open(dir)
	if diff := cmp.Diff([][]any{{int64(1)}}, w.Rows("SELECT a FROM t")); diff != "" {
		t.Error(diff)
	}
}
