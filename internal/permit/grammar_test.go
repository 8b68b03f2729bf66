package permit

import (
	"strings"
	"testing"
	"unicode"

	"aldis/internal/hub"
)

func TestVerdictGrammar(t *testing.T) {
	type verdict struct {
		code  string
		allow bool
	}
	for text, want := range map[string]verdict{
		"yes abcde":                            {"abcde", true},
		"no abcde":                             {"abcde", false},
		"y abcde":                              {"abcde", true},
		"n abcde":                              {"abcde", false},
		"YES ABCDE":                            {"abcde", true},
		"Yes aBcDe":                            {"abcde", true},
		"  yes \t abcde \n":                    {"abcde", true},
		"yes\nabcde":                           {"abcde", true},
		"no zzzzz":                             {"zzzzz", false},
		"":                                     {},
		"yes":                                  {},
		"abcde":                                {},
		"yesabcde":                             {},
		"yes abcd":                             {},
		"yes abcdef":                           {},
		"yes abcdl":                            {}, // l is not in the alphabet
		"yes abcd1":                            {},
		"yes abcdé":                            {},
		"yes abcde.":                           {},
		"yes abcde please":                     {},
		"oh yes abcde":                         {},
		"yes, abcde":                           {},
		"yes: abcde":                           {},
		"ye abcde":                             {},
		"yess abcde":                           {},
		"ok abcde":                             {},
		"allow abcde":                          {},
		"yes abcde yes fghij":                  {},
		"yes abcde\nno abcde":                  {},
		"“yes abcde”":                          {},
		"> yes abcde":                          {},
		"[reaction: 👍] abcde":                  {},
		"уes abcde":                            {},              // Cyrillic у
		"yеs abcde":                            {},              // Cyrillic е
		"ｙｅｓ abcde":                            {},              // full width
		"yes аbcde":                            {},              // Cyrillic а
		"yes\u00a0abcde":                       {"abcde", true}, // a blank of another kind
		"no mnop\u212a":                        {},              // the sign for kelvin
		"yes \u200babcde":                      {},              // a blank of no width
		"\u202eyes abcde":                      {},              // turned around
		"yes abcdeſ":                           {},              // long s, which folds to s
		"yeſ abcde":                            {},
		"yes abcde" + strings.Repeat(" ", 100): {},
	} {
		code, allow, ok := parseVerdict(text)
		if ok != (want != verdict{}) || code != want.code || allow != want.allow {
			t.Errorf("%q: %q, %t, %t; want %+v", text, code, allow, ok, want)
		}
	}
}

func TestBareVerdicts(t *testing.T) {
	for text, want := range map[string]struct{ allow, ok bool }{
		"yes":                                 {true, true},
		" Y ":                                 {true, true},
		"NO":                                  {false, true},
		"n":                                   {false, true},
		"👍":                                   {true, true},
		"👎":                                   {false, true},
		"👍🏽":                                  {true, true},
		"👎\ufe0f":                             {false, true},
		"👍👎":                                  {},
		"👍 yes":                               {},
		"ok":                                  {},
		"yes please":                          {},
		"not yes":                             {},
		"❤️":                                  {},
		"":                                    {},
		"уes":                                 {}, // Cyrillic у
		"[reaction: 👍 to message 1 from you]": {},
	} {
		allow, ok := parseBare(hub.Message{Kind: hub.Text, Text: text})
		if ok != want.ok || allow != want.allow {
			t.Errorf("%q: %t, %t; want %+v", text, allow, ok, want)
		}
	}
	if _, ok := parseBare(hub.Message{Kind: hub.Reaction, Text: "yes"}); ok {
		t.Error("a reaction is an emoji, not a word")
	}
}

func TestChoices(t *testing.T) {
	for text, want := range map[string]int{"1": 1, " 3 ": 3, "2️⃣": 2, "4": 0, "0": 0, "01": 0, "-1": 0, "1.": 0, "one": 0, "1 2": 0, "١": 0, "": 0} {
		got, ok := parseChoice(text, 3)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d, %t; want %d", text, got, ok, want)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	for _, s := range []string{"yes abcde", "N abcde\n", "yes", "👍", "1️⃣", "yes аbcde"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, _, ok := parseVerdict(text)
		if ok && (!isCode(code) || strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsLetter(r) })) {
			t.Errorf("%q is no verdict", text)
		}
		if _, bare := parseBare(hub.Message{Kind: hub.Text, Text: text}); ok && bare {
			t.Errorf("%q is two things at once", text)
		}
		if n, ok := parseChoice(text, 20); ok && (n < 1 || n > 20) {
			t.Errorf("%q is choice %d of 20", text, n)
		}
	})
}
