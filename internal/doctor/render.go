package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// shortest is how long something private must be to be hidden wherever it is
// written: shorter words are in others.
const shortest = 6

var number = regexp.MustCompile(`\+[0-9]{5,15}`)

// Private returns r without phone numbers, of which two digits stay, without
// the secrets, and with the home folder as ~. Empty ones are ignored. What
// would have a terminal do something is gone too: names are from files.
func (r Result) Private(home string, secrets ...string) Result {
	hide := func(s string) string {
		s = strings.Map(printable, s)
		for _, secret := range secrets {
			if len(secret) >= shortest {
				s = strings.ReplaceAll(s, secret, "(secret)")
			}
		}
		if len(home) > 1 {
			s = strings.ReplaceAll(s, home, "~")
		}
		return number.ReplaceAllStringFunc(s, func(n string) string { return "…" + n[len(n)-2:] })
	}
	return r.each(hide)
}

// printable is r, or a blank if a terminal would not show it.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// each returns r with f made of every text in it.
func (r Result) each(f func(string) string) Result {
	r.Name, r.Says, r.Mend = f(r.Name), f(r.Says), f(r.Mend)
	parts := make([]Result, len(r.Parts))
	for i, p := range r.Parts {
		parts[i] = p.each(f)
	}
	if r.Parts != nil {
		r.Parts = parts
	}
	return r
}

// JSON writes r as an object.
func (r Result) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// colors are what a terminal shows a state in (ECMA-48, SGR).
var colors = map[State]string{OK: "32", Warn: "33", Fail: "31", Skipped: "2"}

// Text writes r for people: a line for each check, the mend below it, and at
// last how many there were of each state.
func (r Result) Text(w io.Writer, color bool) error {
	var b strings.Builder
	counts := map[State]int{}
	for _, p := range r.Parts {
		p.lines(&b, 0, color, counts)
	}
	fmt.Fprintf(&b, "\n%d ok, %d to look at, %d broken, %d skipped\n", counts[OK], counts[Warn], counts[Fail], counts[Skipped])
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Result) lines(b *strings.Builder, depth int, color bool, counts map[State]int) {
	state := fmt.Sprintf("%-7s", r.State)
	if color {
		state = "\x1b[" + colors[r.State] + "m" + state + "\x1b[0m"
	}
	fmt.Fprintf(b, "%s %s%s", state, strings.Repeat("  ", depth), r.Name)
	if r.Says != "" {
		fmt.Fprintf(b, ": %s", r.Says)
	}
	b.WriteByte('\n')
	if r.Mend != "" {
		fmt.Fprintf(b, "        %s→ %s\n", strings.Repeat("  ", depth), r.Mend)
	}
	if len(r.Parts) == 0 {
		counts[r.State]++
	}
	for _, p := range r.Parts {
		p.lines(b, depth+1, color, counts)
	}
}
