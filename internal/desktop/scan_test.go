package desktop

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// A pageImage is a database in memory.
type pageImage struct {
	data []byte
	size int // of a page
}

func (p pageImage) PageSize() int { return p.size }
func (p pageImage) Size() int64   { return int64(len(p.data)) }

func (p pageImage) Page(dst []byte, n uint32) error {
	from := (int(n) - 1) * p.size
	if n == 0 || from+p.size > len(p.data) {
		return errors.New("there is no such page")
	}
	copy(dst, p.data[from:from+p.size])
	return nil
}

// image makes a database as SQLite writes it, with bytes of each page kept free.
func image(t testing.TB, pageSize, reserve int, fill func(db *sql.DB)) pageImage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db.sqlite")
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		return db
	}
	db := open()
	execute(t, db, fmt.Sprintf("PRAGMA page_size=%d", pageSize))
	execute(t, db, "PRAGMA user_version=1")
	db.Close()
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first[20] = byte(reserve)
	binary.BigEndian.PutUint16(first[105:], uint16(pageSize-reserve)) // where the cells of the empty schema begin
	if err := os.WriteFile(path, first, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open()
	execute(t, db, "PRAGMA synchronous=OFF")
	fill(db)
	db.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return pageImage{data, pageSize}
}

func execute(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// texts are rows of many lengths, with all that may be in a column.
func texts(n int) map[int64]any {
	random := rand.New(rand.NewPCG(1, 2))
	rows := map[int64]any{-5: "below zero", 0: "", 1 << 40: "far", 1<<63 - 1: "last", 7: nil, 8: 12, 9: 1.5, 10: []byte("no text")}
	for i := range n {
		length := random.IntN(200)
		if i%50 == 0 {
			length = 3900 + random.IntN(200) // around what a page holds
		}
		rows[int64(100+3*i)] = strings.Repeat("é", length/2) + fmt.Sprint(i)
	}
	rows[50], rows[51] = strings.Repeat("x", 9_000), strings.Repeat("ж", 50_000)
	return rows
}

// content is a table like the one that Signal's index of words keeps its texts in.
func content(t testing.TB, rows map[int64]any) func(*sql.DB) {
	return func(db *sql.DB) {
		execute(t, db, "CREATE TABLE content (id INTEGER PRIMARY KEY, c0, c1)")
		execute(t, db, "BEGIN")
		for id, text := range rows {
			execute(t, db, "INSERT INTO content (id, c0) VALUES (?, ?)", id, text)
		}
		execute(t, db, "COMMIT")
	}
}

func anything([]byte) bool { return true }

// scanned is what a scan of a table, or of rows of it, finds.
func scanned(ctx context.Context, p pages, root uint32, column int, rows ...int64) (map[int64]string, error) {
	var mu sync.Mutex
	got := map[int64]string{}
	err := scanText(ctx, p, root, column, rows, anything, func(rowid int64, text []byte) error {
		mu.Lock()
		defer mu.Unlock()
		got[rowid] += string(text)
		return nil
	})
	return got, err
}

func TestScanFindsAllTexts(t *testing.T) {
	for _, c := range []struct{ rows, pageSize, reserve int }{
		{0, 4096, 80}, {10, 4096, 80}, {20_000, 4096, 80}, {2_000, 512, 0}, {2_000, 1024, 80}, {2_000, 65536, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rows := texts(c.rows)
			want := maps.Collect(func(yield func(int64, string) bool) {
				for id, v := range rows {
					if s, ok := v.(string); ok && !yield(id, s) {
						return
					}
				}
			})
			got, err := scanned(t.Context(), image(t, c.pageSize, c.reserve, content(t, rows)), 2, 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("texts (-want +got):\n%.2000s", diff)
			}
		})
	}
}

func TestScanOfSomeRowsFindsThemAlone(t *testing.T) {
	all := texts(4_000)
	p := image(t, 1024, 80, content(t, all))
	for _, every := range []int{1, 2, 50, 1_000} {
		var rows []int64
		want := map[int64]string{}
		for i, id := range slices.Sorted(maps.Keys(all)) {
			if i%every == every/2 {
				rows = append(rows, id, id+1) // which may be none
				if s, ok := all[id].(string); ok {
					want[id] = s
				}
				if s, ok := all[id+1].(string); ok {
					want[id+1] = s
				}
			}
		}
		got, err := scanned(t.Context(), p, 2, 1, slices.Compact(rows)...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("texts of one row in %d (-want +got):\n%.2000s", every, diff)
		}
	}
}

func TestScanFindsWhatIsWantedOnAnyPage(t *testing.T) {
	all := texts(4_000)
	p := image(t, 1024, 80, content(t, all))
	for _, part := range []string{"3999", "é77", "xxx", "ж", "below"} {
		holds := func(text []byte) bool { return bytes.Contains(text, []byte(part)) }
		var mu sync.Mutex
		want, got := map[int64]bool{}, map[int64]bool{}
		for id, v := range all {
			if s, ok := v.(string); ok && strings.Contains(s, part) {
				want[id] = true
			}
		}
		err := scanText(t.Context(), p, 2, 1, nil, holds, func(rowid int64, _ []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got[rowid] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows with %s (-want +got):\n%.2000s", part, diff)
		}
	}
}

func TestScanOfRowsOlderThanTheirColumn(t *testing.T) {
	p := image(t, 4096, 80, func(db *sql.DB) {
		execute(t, db, "CREATE TABLE content (id INTEGER PRIMARY KEY)")
		execute(t, db, "INSERT INTO content VALUES (1)")
		execute(t, db, "ALTER TABLE content ADD COLUMN c0")
		execute(t, db, "INSERT INTO content VALUES (2, 'new')")
	})
	got, err := scanned(t.Context(), p, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int64]string{2: "new"}, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestScanRefusesDamage(t *testing.T) {
	whole := image(t, 4096, 80, content(t, texts(20_000)))
	const root, page = 1 * 4096, 4096 // the table begins on page 2
	child := int(binary.BigEndian.Uint32(whole.data[root+int(binary.BigEndian.Uint16(whole.data[root+12:])):])-1) * page
	for _, c := range []struct {
		name   string
		damage func(data []byte)
		want   string
	}{
		{"texts in UTF-16", func(d []byte) { d[59] = 2 }, "not UTF-8"},
		{"root of an index", func(d []byte) { d[root] = 2 }, "page 2 is no interior page"},
		{"page outside the file", func(d []byte) { binary.BigEndian.PutUint32(d[root+8:], 1<<31) }, "is no page of a table"},
		{"page of the schema", func(d []byte) { binary.BigEndian.PutUint32(d[root+8:], 1) }, "page 1 is no page of a table"},
		{"child that is its parent", func(d []byte) { binary.BigEndian.PutUint32(d[root+8:], 2) }, "page"},
		{"tree that is its own leaf", func(d []byte) {
			binary.BigEndian.PutUint32(d[root+int(binary.BigEndian.Uint16(d[root+12:])):], 2)
		}, "too deep"},
		{"leaf of another kind", func(d []byte) { d[child] = 0 }, "is no interior page"},
		{"too many cells", func(d []byte) { binary.BigEndian.PutUint16(d[root+3:], 60_000) }, "too many cells"},
		{"cell past the end", func(d []byte) { binary.BigEndian.PutUint16(d[root+12:], 60_000) }, "past its end"},
		{"too many cells in a leaf", func(d []byte) { binary.BigEndian.PutUint16(d[leafOf(d)+3:], 60_000) }, "too many cells"},
		{"cell past the end of a leaf", func(d []byte) { binary.BigEndian.PutUint16(d[leafOf(d)+8:], 4090) }, "past its end"},
		{"bytes kept free that are in use", func(d []byte) { d[20] = 255 }, "past its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pageImage{append([]byte(nil), whole.data...), page}
			c.damage(p.data)
			if _, err := scanned(t.Context(), p, 2, 1); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// leafOf returns where the left-most leaf of the second page's tree begins.
func leafOf(data []byte) int {
	at := 4096
	for data[at] == interiorPage {
		cell := int(binary.BigEndian.Uint16(data[at+interiorCells:]))
		at = int(binary.BigEndian.Uint32(data[at+cell:])-1) * 4096
	}
	return at
}

func TestScanPassesByTheLockedBytes(t *testing.T) {
	tree := &tree{pages: pageImage{size: 4096}, usable: 4016, count: 1 << 20}
	if err := tree.get(nil, lockByte/4096+1); err == nil {
		t.Error("the page that SQLite locks bytes of is taken for one of a table")
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	p := image(t, 4096, 80, content(t, texts(5_000)))
	ctx, cancel := context.WithCancel(t.Context())
	err := scanText(ctx, p, 2, 1, nil, anything, func(int64, []byte) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestScanEndsWithTheFirstError(t *testing.T) {
	p, stop := image(t, 4096, 80, content(t, texts(5_000))), errors.New("that is enough")
	if err := scanText(t.Context(), p, 2, 1, nil, anything, func(int64, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
}

func FuzzScanPage(f *testing.F) {
	p := image(f, 512, 0, content(f, map[int64]any{1: "a", 2: strings.Repeat("b", 2_000), 3: nil, -4: "d"}))
	f.Add(p.data)
	p = image(f, 512, 0, content(f, texts(20)))
	f.Add(p.data[:min(len(p.data), 40*512)])
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 64*512)/512*512]
		if len(data) == 0 {
			return
		}
		for root := range 4 {
			for _, rows := range [][]int64{nil, {-4, 2, 9}} {
				scanText(t.Context(), pageImage{data, 512}, uint32(root), 1, rows, anything, func(_ int64, text []byte) error {
					if len(text) > len(data) {
						t.Errorf("a text of %d bytes in a file of %d", len(text), len(data))
					}
					return nil
				})
			}
		}
	})
}
