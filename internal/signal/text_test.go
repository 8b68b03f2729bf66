package signal

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func TestMentions(t *testing.T) {
	bob := func(start int) []mention { return []mention{{Name: "Bob", Start: start}} }
	tests := []struct {
		name     string
		text     string
		mentions []mention
		want     string
	}{
		{"at the start", "\uFFFC hi", bob(0), "@Bob hi"},
		{"after an emoji of two units", "😀\uFFFC", bob(2), "😀@Bob"},
		{"two, in any order", "\uFFFC and \uFFFC", []mention{{Name: "Eve", Start: 6}, {Name: "Bob", Start: 0}}, "@Bob and @Eve"},
		{"without a name: the number", "\uFFFC", []mention{{Number: bobNumber, UUID: bobUUID}}, "@" + bobNumber},
		{"without either: the UUID", "\uFFFC", []mention{{UUID: bobUUID}}, "@" + bobUUID},
		{"offset within a character", "😀\uFFFC", bob(1), "😀\uFFFC"},
		{"offset past the end", "\uFFFC", bob(99), "\uFFFC"},
		{"negative offset", "\uFFFC", bob(-1), "\uFFFC"},
		{"offset of a letter", "a\uFFFC", bob(0), "a\uFFFC"},
		{"no mention", "a\uFFFC", nil, "a\uFFFC"},
		{"a name of two lines that turns text around", "\uFFFC", []mention{{Name: "B\nob\u202e"}}, "@B ob\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := withMentions(tt.text, tt.mentions); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"short", "abc", []string{"abc"}},
		{"empty", "", []string{""}},
		{"just fits", "0123456789", []string{"0123456789"}},
		{"paragraph before line before word", "aaaa\n\nb\nc d ee", []string{"aaaa", "b\nc d ee"}},
		{"line before word", "aaaa\nb c dd ee", []string{"aaaa", "b c dd ee"}},
		{"word", "aaaa bbb ccccc", []string{"aaaa bbb", "ccccc"}},
		{"a paragraph that is too short to end a chunk", "a\n\nbbb bbb bbb", []string{"a\n\nbbb bbb", "bbb"}},
		{"one long word", "0123456789abcdef", []string{"0123456789", "abcdef"}},
		{"never within a grapheme", "012345678e\u0301", []string{"012345678", "e\u0301"}},
		{"a grapheme longer than a chunk", "👩🏽\u200d💻", []string{"👩🏽", "\u200d💻"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := split(tt.text, 10)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestSplitLosesNothing: put together, the chunks are the text but for white
// space; none is too long, and each cut is between graphemes.
func TestSplitLosesNothing(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "\n", "\n\n", "\t", "a", "word ", "e\u0301", "👩🏽‍💻", "🇩🇪", "\r\n", " \u0301", "\u0600 ", "漢字", strings.Repeat("x", 40)}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 200).Draw(t, "pieces"), "")
		limit := rapid.IntRange(64, 300).Draw(t, "limit")
		if longest(text) > limit {
			t.Skip("one grapheme is longer than the limit")
		}
		chunks := split(text, limit)
		if got, want := inked(strings.Join(chunks, "")), inked(text); got != want {
			t.Fatalf("%q became %q", text, chunks)
		}
		at := 0
		for _, c := range chunks {
			if len(c) > limit {
				t.Fatalf("a chunk has %d bytes, more than %d", len(c), limit)
			}
			start := strings.Index(text[at:], c)
			if start < 0 {
				t.Fatalf("%q is not part of the text", c)
			}
			at += start
			if !between(text, at) || !between(text, at+len(c)) {
				t.Fatalf("%q is cut within a grapheme", c)
			}
			at += len(c)
		}
	})
}

func longest(text string) (n int) {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		n = max(n, len(g.Str()))
	}
	return n
}

// between reports whether a grapheme begins or the text ends at offset.
func between(text string, offset int) bool {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if from, _ := g.Positions(); from == offset {
			return true
		}
	}
	return offset == len(text)
}

func inked(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
