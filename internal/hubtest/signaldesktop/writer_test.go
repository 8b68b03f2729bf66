package signaldesktop

import (
	"fmt"
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

func TestEachSchemaHasItsContent(t *testing.T) {
	for _, schema := range []int{50, 1330, 1460, 1830, 9999} {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) {
			w := Start(t)
			w.Create(t.TempDir(), Options{Schema: schema, Content: true})
			if got := w.Rows("PRAGMA integrity_check")[0][0]; got != "ok" {
				t.Error(got)
			}
			got := w.Rows("SELECT id FROM messages ORDER BY received_at, sent_at, rowid")
			for i, m := range contents {
				if i >= len(got) || got[i][0] != m.id {
					t.Fatalf("message %d of %d is not %s", i, len(got), m.id)
				}
			}
			if schema < 77 {
				return
			}
			found := w.Rows(`SELECT m.id FROM messages_fts f JOIN messages m ON m.rowid = f.rowid WHERE messages_fts MATCH '"привет" OR "TOP" OR "pizza"'`)
			want := [][]any{{Cyrillic}, {CyrillicUpper}}
			if schema >= 1500 {
				want = append(want, []any{Poll})
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("the index of texts finds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesAreOlderThanTheContent(t *testing.T) {
	for _, schema := range []int{50, 1330, 1830} {
		w := Start(t)
		w.Create(t.TempDir(), Options{Schema: schema, Content: true, Messages: 3_000})
		got := w.Rows(`SELECT count(*) AS n, sum(body LIKE '%' || ? || '%') AS rare, sum(body LIKE '%' || ? || '%') AS common, max(received_at) AS last, max(sent_at) AS sent
			FROM messages WHERE id LIKE 'random-%'`, RareNeedle, CommonNeedle)
		want := [][]any{{int64(3_000), int64(1), int64(1_000), firstCounter - 1, firstTime - apart - late}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("schema %d: %s", schema, diff)
		}
	}
}
