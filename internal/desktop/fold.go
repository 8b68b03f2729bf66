package desktop

import (
	"unicode"
	"unicode/utf8"
)

// A needle is a text to look for, prepared once for many texts.
//
// It is found where each of its characters stands in turn, or one that Unicode's
// simple folding takes for the same: K, k and the Kelvin sign are one, and so
// are Σ, σ and ς; ß and ss are not, nor are I and ı. What is not valid UTF-8 in
// a text is bytes like others, and equals no character.
type needle struct {
	runes [][]string // for each character, the bytes that may stand for it
	size  int        // of the window, in bytes: no match is shorter
	last  [256]bool  // bytes that may end the window of a match
	skip  [256]uint8 // how far to move the window on that ends with this byte
}

// maxWindow keeps the preparation of a long needle cheap. A wider window would
// skip no more: some byte in it is nearly always one of the needle's.
const maxWindow = 64

// newNeedle prepares valid UTF-8 that is not empty.
func newNeedle(text string, exact bool) *needle {
	n := &needle{}
	for _, r := range text {
		same := []string{string(r)}
		for f := unicode.SimpleFold(r); f != r && !exact; f = unicode.SimpleFold(f) {
			same = append(same, string(f))
		}
		n.runes = append(n.runes, same)
		n.size += shortest(same)
	}
	n.size = min(n.size, maxWindow)
	n.prepare()
	return n
}

func shortest(same []string) int {
	least := utf8.UTFMax
	for _, s := range same {
		least = min(least, len(s))
	}
	return least
}

// prepare notes which bytes may stand where in the window. Characters that fold
// into longer or shorter ones make what follows them begin at several places.
func (n *needle) prepare() {
	for i := range n.skip {
		n.skip[i] = uint8(n.size)
	}
	var begins, next [maxWindow + utf8.UTFMax]bool
	begins[0] = true
	for _, same := range n.runes {
		clear(next[:])
		for at := range n.size {
			if begins[at] {
				for _, s := range same {
					n.note(at, s)
					next[at+len(s)] = true
				}
			}
		}
		begins = next
	}
}

// note lets the bytes of s stand in the window from a place on.
func (n *needle) note(at int, s string) {
	for i := at; i < at+len(s) && i < n.size; i++ {
		if b := s[i-at]; i == n.size-1 {
			n.last[b] = true
		} else {
			n.skip[b] = min(n.skip[b], uint8(n.size-1-i))
		}
	}
}

// in reports whether a text holds the needle. It moves a window over the text by
// the window's last byte, as Horspool does, and allocates nothing.
func (n *needle) in(text []byte) bool {
	for end := n.size - 1; end < len(text); end += int(n.skip[text[end]]) {
		if n.last[text[end]] && n.begins(text[end-n.size+1:]) {
			return true
		}
	}
	return false
}

// begins reports whether a text begins with the needle.
func (n *needle) begins(text []byte) bool {
	for _, same := range n.runes {
		length := prefix(text, same)
		if length == 0 {
			return false
		}
		text = text[length:]
	}
	return true
}

// prefix returns the length of the one that a text begins with; 0: none.
func prefix(text []byte, same []string) int {
	for _, s := range same {
		if len(text) >= len(s) && string(text[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}
