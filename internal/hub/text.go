package hub

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PreviewBytes is how much of a message's text is kept and shown where the
// whole is not: in routes, quotes and the record.
const PreviewBytes = 256

// Clip returns at most max bytes of s, cut between characters. Bytes that are
// not UTF-8 become U+FFFD first.
func Clip(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// StripControl removes control characters from s, but for newline and tab.
func StripControl(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// OneLine makes words that no admitted sender wrote fit to be shown beside
// those of one who did: one line, at most max bytes, and every character that
// could hide or turn text around (bidi controls, zero-width, tags) visible.
func OneLine(s string, max int) string {
	return Clip(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case invisible(r):
			return '\uFFFD'
		default:
			return r
		}
	}, s), max)
}

// invisible reports whether r shows nothing by itself. The zero-width joiner
// and the variation selectors stay: emoji are made of them.
func invisible(r rune) bool {
	switch {
	case r == '\u200d' || r >= '\ufe00' && r <= '\ufe0f':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return true
	default:
		return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u2800'
	}
}
