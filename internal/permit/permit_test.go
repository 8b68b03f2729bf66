package permit

import "testing"

func TestOnlyTheGrammarIsAVerdict(t *testing.T) {
	for text, want := range map[string]bool{
		"yes abcde":           true,
		"no abcde":            true,
		"y abcde":             true,
		"N ABCDE":             true,
		" \tYes  mnopq \n":    true,
		"yes":                 false,
		"yes abcdl":           false, // no l: it looks like 1
		"yes abcdef":          false,
		"yes abcd":            false,
		"yes, abcde":          false,
		"yes abcde please":    false,
		"ok abcde":            false,
		"уes abcde":           false, // a Cyrillic letter
		"yes ab cde":          false,
		"say yes abcde":       false,
		"yes abcde\nno fghij": false,
		"":                    false,
	} {
		if got := IsVerdict(text); got != want {
			t.Errorf("IsVerdict(%q) = %v, want %v", text, got, want)
		}
	}
}
