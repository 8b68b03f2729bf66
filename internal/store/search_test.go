package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

// indexed has all that is in the record put into the index of words now.
func indexed(t testing.TB, s *Store) {
	t.Helper()
	for n := searchStep; n == searchStep; {
		var err error
		n, err = write(t.Context(), s, (*txn).index)
		must(t, err)
	}
}

func TestSearch(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"a word", "build", "1 0"},
		{"any case, without accents", "RESUME", "2"},
		{"all of several words", "green build", "1"},
		{"words in another order", "finished main", "0"},
		{"the last word is perhaps only begun", "build fin", "0"},
		{"no other word is", "fin build", ""},
		{"a name with signs in it", "deploy-bot", "3"},
		{"its parts apart are not it", "bot-deploy", ""},
		{"a number", "4711", "3"},
		{"signs alone", "*** --", ""},
		{"signs beside a word", "- build", "1 0"},
		{"nothing of the query language means anything", `build NOT main`, ""},
		{"nor does a quote", `"build`, "1 0"},
		{"nor a column", `text:build`, ""},
		{"blanks", "  build\t\nfinished ", "0"},
	}
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		for i, text := range []string{"the build of main has finished", "Build: green", "résumé", "deploy-bot #4711", ""} {
			said(t, s, fmt.Sprint(i), "a", "b", text)
		}
		indexed(t, s)
		for _, tt := range tests {
			expect(t, tt.name, logged(t, s, hub.LogFilter{Text: tt.text}), tt.want)
		}
		expect(t, "and a participant", logged(t, s, hub.LogFilter{Text: "build", ParticipantA: "b", Before: "1"}), "0")
		expect(t, "and nobody", logged(t, s, hub.LogFilter{Text: "build", Source: "x"}), "")
		expect(t, "newer ones", logged(t, s, hub.LogFilter{Text: "build", After: "0"}), "1")
		expect(t, "a page", logged(t, s, hub.LogFilter{Text: "build", Limit: 1}), "1 +")
		_, _, err := s.Log(t.Context(), hub.LogFilter{Text: strings.Repeat("word ", searchWords+1)})
		expectKind(t, "too many words", err, hub.Invalid)
		_, _, err = s.Log(t.Context(), hub.LogFilter{Text: strings.Repeat("word-", searchWords+1)})
		expectKind(t, "too many words in one", err, hub.Invalid)
	})
}

// The writer puts messages into the index by itself, within a second, also what
// the process before it had not come to.
func TestIndexFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{Path: path})
		for n := range 2 * searchStep {
			add(t, s, script(n), nil)
		}
		must(t, s.Close()) // sooner than it begins
		s = open(t, Options{Path: path})
		time.Sleep(time.Second)
		expect(t, "the first", logged(t, s, hub.LogFilter{Text: "built 0", Limit: 1}), "s0")
		expect(t, "the last", logged(t, s, hub.LogFilter{Text: fmt.Sprint("built ", 2*searchStep-1)}), fmt.Sprint("s", 2*searchStep-1))
		said(t, s, "new", "a", "", "novelty")
		time.Sleep(time.Second)
		expect(t, "a new one", logged(t, s, hub.LogFilter{Text: "novelty"}), "new")
	})
}

// Words that are not kept are not found, and are in the index at no time.
func TestIndexHasWhatIsKept(t *testing.T) {
	for _, tt := range []struct {
		keep Keep
		want string
	}{{KeepPreview, ""}, {KeepFull, "p1"}} {
		t.Run(string(tt.keep), func(t *testing.T) {
			c := newClock()
			s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db"), Keep: tt.keep, Now: c.Now})
			m := person(1)
			m.Text = "hello " + strings.Repeat("x ", hub.PreviewBytes) + "secret"
			add(t, s, m, to("a"))
			indexed(t, s)
			expect(t, "what is kept", logged(t, s, hub.LogFilter{Text: "hello"}), "p1")
			expect(t, "in an inbox", logged(t, s, hub.LogFilter{Text: "secret"}), tt.want)
			c.Add(30 * 24 * time.Hour)
			expire(t, s, c)
			expect(t, "cut", logged(t, s, hub.LogFilter{Text: "secret"}), tt.want)
			expect(t, "what is kept, cut", logged(t, s, hub.LogFilter{Text: "hello"}), "p1")
		})
	}
}

// Nor are they found once less is kept than when they were put into the index.
func TestIndexHasNoMoreThanIsKeptNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	s := open(t, Options{Path: path, Keep: KeepFull, Now: c.Now})
	for n, word := range []string{"secret", "mystery"} {
		m := person(n)
		m.Text = "hello " + strings.Repeat("x ", hub.PreviewBytes) + word
		add(t, s, m, to("a"))
		if n == 0 {
			indexed(t, s)
		}
	}
	must(t, s.Close())
	s = open(t, Options{Path: path, Now: c.Now})
	c.Add(30 * 24 * time.Hour)
	expire(t, s, c)
	indexed(t, s)
	for _, tt := range []struct{ word, want string }{{"secret", ""}, {"mystery", ""}, {"hello", "p1 p0"}} {
		expect(t, tt.word, logged(t, s, hub.LogFilter{Text: tt.word}), tt.want)
	}
}

// What is deleted is not found any more, whether it was in the index or not yet.
func TestIndexForgets(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		said(t, s, "1", "a", "", "word")
		indexed(t, s)
		said(t, s, "2", "a", "", "word")
		must(t, s.change(t.Context(), func(tx *txn) error {
			_, err := tx.exec("DELETE FROM record")
			return err
		}))
		said(t, s, "3", "a", "", "word")
		indexed(t, s)
		expect(t, "found", logged(t, s, hub.LogFilter{Text: "word"}), "3")
	})
}

// A message is found though the clock was set back, and what was newer, and is
// deleted, was in the index.
func TestIndexFollowsTheClockBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := newClock()
	s := open(t, Options{Path: path, Now: c.Now, Retain: time.Hour})
	said(t, s, "1", "a", "", "word")
	indexed(t, s)
	c.Add(2 * time.Hour)
	expire(t, s, c)
	expect(t, "kept", logged(t, s, hub.LogFilter{}), "")
	must(t, s.Close())
	c.Add(-24 * time.Hour)
	s = open(t, Options{Path: path, Now: c.Now})
	said(t, s, "2", "a", "", "word")
	indexed(t, s)
	expect(t, "found", logged(t, s, hub.LogFilter{Text: "word"}), "2")
}

// Nothing that is typed is an error of the query language, or finds a message
// without its words.
func FuzzSearch(f *testing.F) {
	s := open(f, Options{})
	said(f, s, "1", "a", "", "plain words")
	indexed(f, s)
	for _, text := range []string{"plain words", `"`, "a AND b", "NEAR(a b, 2)", "^plain", "text : plain", "plain*", "\x00", "\xff a", "(", "日本 x", "𞤀"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := s.Log(t.Context(), hub.LogFilter{Text: text})
		if err != nil && hub.KindOf(err) != hub.Invalid {
			t.Errorf("search for %q: %v", text, err)
		}
	})
}
