package permit

import (
	"regexp"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

// The grammar of seed channels-reference.md, section Permission Relay: yes or
// no, and five letters a–z without l, any case. It is spelled out because the
// seed's is of another language: there a blank is more than in ASCII (ECMAScript
// 2023, 22.2.2.9, \s), and a long s or the sign for kelvin is no case of a letter.
const (
	blank = `[\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`
	word  = `([yY][eE][sS]|[yY]|[nN][oO]|[nN])`
)

var (
	verdict = regexp.MustCompile(`^` + blank + `*` + word + blank + `+([a-km-zA-KM-Z]{5})` + blank + `*$`)
	// bare is a verdict that names no prompt: it counts only where it quotes one.
	bare = regexp.MustCompile(`^` + blank + `*` + word + blank + `*$`)
)

// number answers a question by the number of a choice.
var number = regexp.MustCompile(`^\s*([1-9][0-9]?)\s*$`)

// longest is more than any verdict needs, blanks included.
const longest = 64

// IsVerdict reports whether text is in the grammar of a verdict.
func IsVerdict(text string) bool {
	_, _, ok := parseVerdict(text)
	return ok
}

// parseVerdict reads a verdict that names its prompt.
func parseVerdict(text string) (code string, allow, ok bool) {
	if len(text) > longest {
		return "", false, false
	}
	m := verdict.FindStringSubmatch(text)
	if m == nil {
		return "", false, false
	}
	return strings.ToLower(m[2]), isYes(m[1]), true
}

func isYes(word string) bool { return word[0] == 'y' || word[0] == 'Y' }

// parseBare reads a verdict that quotes or reacts to its prompt.
func parseBare(m hub.Message) (allow, ok bool) {
	if len(m.Text) > longest {
		return false, false
	}
	switch thumb(m.Text) {
	case "👍":
		return true, true
	case "👎":
		return false, true
	}
	found := bare.FindStringSubmatch(m.Text)
	if m.Kind != hub.Text || found == nil {
		return false, false
	}
	return isYes(found[1]), true
}

// thumb takes off an emoji what only says how it looks: a tone of skin, and
// the selector of the coloured form.
func thumb(s string) string {
	return strings.TrimRight(strings.TrimSpace(s), "\U0001F3FB\U0001F3FC\U0001F3FD\U0001F3FE\U0001F3FF\uFE0F")
}

// parseChoice reads the number of one of n choices, written or as the emoji of
// a key.
func parseChoice(text string, n int) (choice int, ok bool) {
	if digit, isKey := strings.CutSuffix(strings.ReplaceAll(strings.TrimSpace(text), "\uFE0F", ""), "\u20E3"); isKey {
		text = digit
	}
	m := number.FindStringSubmatch(text)
	if len(text) > longest || m == nil {
		return 0, false
	}
	choice, _ = strconv.Atoi(m[1])
	return choice, choice <= n
}
