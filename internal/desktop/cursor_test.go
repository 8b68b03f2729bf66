package desktop

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"

	"aldis/internal/hub"
)

func testSealer(key byte) sealer {
	s, err := newSealer(bytes.Repeat([]byte{key}, 32))
	if err != nil {
		panic(err)
	}
	return s
}

func TestACursorIsItsPlaceAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place{
			received: sql.NullInt64{Int64: rapid.Int64().Draw(t, "received"), Valid: rapid.Bool().Draw(t, "known")},
			sent:     rapid.Int64().Draw(t, "sent"),
			row:      rapid.Int64().Draw(t, "row"),
		}
		got, err := testSealer(1).open(testSealer(1).seal(p, []byte("q")), []byte("q"))
		if err != nil || got != p {
			t.Errorf("got %v, %v; want %v", got, err, p)
		}
	})
}

func TestACursorOpensForItsQueryAlone(t *testing.T) {
	r := &Reader{cursors: testSealer(1)}
	s, w := scope{Tool: "search", Conversation: "c", Text: "x"}, Window{Before: 9, After: 3}
	w.Cursor = r.cursor(s, w, place{row: 7})
	for _, tt := range []struct {
		what   string
		change func(*Reader, *scope, *Window)
		ok     bool
	}{
		{"the same", func(*Reader, *scope, *Window) {}, true},
		{"another limit", func(_ *Reader, _ *scope, w *Window) { w.Limit = 3 }, true},
		{"another tool", func(_ *Reader, s *scope, _ *Window) { s.Tool = "messages" }, false},
		{"another conversation", func(_ *Reader, s *scope, _ *Window) { s.Conversation = "" }, false},
		{"another text", func(_ *Reader, s *scope, _ *Window) { s.Text = "y" }, false},
		{"exact case", func(_ *Reader, s *scope, _ *Window) { s.Exact = true }, false},
		{"another direction", func(_ *Reader, _ *scope, w *Window) { w.Newer = true }, false},
		{"another bound", func(_ *Reader, _ *scope, w *Window) { w.Before = 8 }, false},
		{"other grants", func(r *Reader, _ *scope, _ *Window) { r.grants.Since = 1 }, false},
		{"another installation", func(r *Reader, _ *scope, _ *Window) { r.cursors = testSealer(2) }, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			r, s, w := &Reader{cursors: r.cursors}, s, w
			tt.change(r, &s, &w)
			p, err := r.start(s, w)
			if ok := err == nil; ok != tt.ok || ok && p.row != 7 || !ok && hub.KindOf(err) != hub.Invalid {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
}

func TestACursorTellsNothing(t *testing.T) {
	b, _ := base64.RawURLEncoding.DecodeString(testSealer(1).seal(place{row: 0x1234567890}, nil))
	if bytes.Contains(b, []byte{0x12, 0x34, 0x56, 0x78, 0x90}) {
		t.Errorf("the row can be read in %x", b)
	}
}

func FuzzCursor(f *testing.F) {
	s := testSealer(1)
	made := s.seal(place{row: 7}, []byte("q"))
	f.Add(made)
	f.Add(made + "=")
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		if p, err := s.open(cursor, []byte("q")); err == nil && (cursor != made || p.row != 7) {
			t.Errorf("%q was taken for %v", cursor, p)
		}
	})
}
