package desktop

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNeedle(t *testing.T) {
	for _, c := range []struct {
		name, text, needle string
		folded, exact      bool
	}{
		{"the text itself", "hello", "hello", true, true},
		{"in the middle of a word", "unbelievable", "liev", true, true},
		{"at the end", "to the end", "end", true, true},
		{"not there", "hello", "world", false, false},
		{"longer than the text", "hell", "hello", false, false},
		{"in an empty text", "", "a", false, false},
		{"other case", "Hello World", "hELLO w", true, false},
		{"per cent is itself", "100%", "0%", true, true},
		{"per cent stands for nothing else", "100 of 100", "1%0", false, false},
		{"underscore is itself", "snake_case", "e_c", true, true},
		{"underscore stands for nothing else", "snakes case", "s_c", false, false},
		{"backslash", `C:\temp`, `:\T`, true, false},
		{"apostrophe", "it's", "T'S", true, false},
		{"blanks are literal", "a  b", "a b", false, false},
		{"a blank alone", "a b", " ", true, true},
		{"NUL", "a\x00b", "\x00B", true, false},
		{"Cyrillic", "Привет, мир", "ПРИВЕТ", true, false},
		{"Greek final sigma", "ὀδυσσεύς", "ΣΕΎΣ", true, false},
		{"Kelvin sign in the text", "300 \u212a", "300 k", true, false},
		{"Kelvin sign in the needle", "ok", "O\u212a", true, false},
		{"long s", "Wachſtube", "wachstube", true, false},
		{"several that fold to other lengths", "ſ\u212asK", "SKſk", true, false},
		{"sharp s is not ss", "Straße", "strasse", false, false},
		{"sharp s and its capital", "STRAẞE", "straße", true, false},
		{"dotless i is not I", "ISPARTA", "ısparta", false, false},
		{"dotted capital I is not i", "İstanbul", "istanbul", false, false},
		{"Turkish, as written", "İstanbul", "İSTANBUL", true, false},
		{"a ligature is not its letters", "ﬁn", "fin", false, false},
		{"CJK", "你好世界", "好世", true, true},
		{"emoji", "party 🎉🎊", "🎉🎊", true, true},
		{"emoji without its skin", "👍🏽", "👍", true, true},
		{"joined emoji", "👩‍👩‍👧", "👩‍👧", true, true},
		{"right to left", "שלום עולם", "ום ע", true, true},
		{"Arabic", "مرحبا بالعالم", "بالع", true, true},
		{"combining marks as written", "cafe\u0301", "E\u0301", true, false},
		{"composed is not combined", "café", "cafe\u0301", false, false},
		{"a letter under its mark", "cafe\u0301", "cafe", true, true},
		{"after bytes that are no UTF-8", "\xff\xfeab\xc3", "AB", true, false},
		{"the replacement character is not a stray byte", "a\xffb", "\ufffd", false, false},
		{"the replacement character", "a\ufffdb", "\ufffdB", true, false},
		{"again after it began", "aaab", "AAB", true, false},
		{"past the window", strings.Repeat("k", 200) + "é", strings.Repeat("K", 200) + "É", true, false},
		{"other past the window", strings.Repeat("k", 200) + "é", strings.Repeat("K", 200) + "e", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newNeedle(c.needle, false).in([]byte(c.text)); got != c.folded {
				t.Errorf("folded: %q in %q is %v, want %v", c.needle, c.text, got, c.folded)
			}
			if got := newNeedle(c.needle, true).in([]byte(c.text)); got != c.exact {
				t.Errorf("exact: %q in %q is %v, want %v", c.needle, c.text, got, c.exact)
			}
		})
	}
}

// holds is what a needle must say, slowly.
func holds(text, needle string, exact bool) bool {
	if exact {
		return strings.Contains(text, needle)
	}
	for from := range len(text) {
		for to := from + 1; to <= len(text); to++ {
			if part := text[from:to]; utf8.ValidString(part) && strings.EqualFold(part, needle) {
				return true
			}
		}
	}
	return false
}

func FuzzContains(f *testing.F) {
	for _, text := range []string{"Hello ſ\u212a", "ΣΑΣ ςσ", "straße STRAẞE", "\xff\ufffda\xc3", "θϑΘϴ ͅιΙι", "👩‍👩‍👧 İı"} {
		f.Add(text, text[1:], 1, 5, false)
		f.Add(text, text, 0, len(text), true)
	}
	f.Fuzz(func(t *testing.T, text, other string, from, length int, exact bool) {
		text, other = text[:min(len(text), 80)], other[:min(len(other), 80)]
		from = min(max(from, 0), len(text))
		part := text[from:min(len(text), from+min(max(length, 0), 1024))]
		for _, needle := range []string{other, part, strings.ToUpper(part), strings.ToLower(other)} {
			if needle == "" || !utf8.ValidString(needle) {
				continue
			}
			if got, want := newNeedle(needle, exact).in([]byte(text)), holds(text, needle, exact); got != want {
				t.Errorf("%+q in %+q (exact %v) is %v, want %v", needle, text, exact, got, want)
			}
		}
	})
}

func TestNeedleAllocatesNothing(t *testing.T) {
	n, text := newNeedle("ПРИВЕТ k", false), []byte(strings.Repeat("приве привет ", 100)+"Привет \u212a")
	if got := testing.AllocsPerRun(10, func() { n.in(text) }); got != 0 {
		t.Errorf("a look at a text allocates %v times", got)
	}
}

func BenchmarkNeedle(b *testing.B) {
	text := []byte(strings.Repeat("Shall we meet at the station, or где-нибудь ещё? ", 2))
	for _, c := range []struct{ name, needle string }{
		{"one letter", "q"}, {"word", "nowhere"}, {"Kelvin", "kiss"}, {"Cyrillic", "ПРИВЕТ"}, {"CJK", "你好"},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := newNeedle(c.needle, false)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if n.in(text) {
					b.Fatal("it is not there")
				}
			}
		})
	}
}
