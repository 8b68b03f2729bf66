package signal

import (
	"cmp"
	"strings"
	"unicode/utf16"

	"github.com/rivo/uniseg"

	"aldis/internal/hub"
)

// placeholder stands in a text where a mention belongs.
const placeholder = '\uFFFC'

// mentionBytes bounds the name put in for a mention: whoever it is chose it,
// and need not be admitted.
const mentionBytes = 64

// withMentions puts "@name" in place of each placeholder that a mention is
// for. Its offset counts UTF-16 units; one that points elsewhere has no effect.
func withMentions(text string, mentions []mention) string {
	if len(mentions) == 0 || !strings.ContainsRune(text, placeholder) {
		return text
	}
	at := make(map[int]string, len(mentions))
	for _, m := range mentions {
		at[m.Start] = m.label()
	}
	var b strings.Builder
	unit := 0
	for _, r := range text {
		if label, ok := at[unit]; ok && r == placeholder {
			b.WriteString(label)
		} else {
			b.WriteRune(r)
		}
		unit += max(utf16.RuneLen(r), 1)
	}
	return b.String()
}

func (m mention) label() string {
	return "@" + hub.OneLine(cmp.Or(m.Name, m.Number, m.UUID), mentionBytes)
}

// chunkBytes is how long a message may be for daemons before 0.14, which pass
// on no more than 2,000 bytes of a longer one as its text.
const chunkBytes = 2000

// split cuts text into chunks of at most limit bytes: after a paragraph, else
// after a line, else after a word, else between two graphemes. White space at
// a cut is left out.
func split(text string, limit int) []string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var chunks []string
	for len(text) > limit {
		end, next := cut(text, limit)
		if end > 0 {
			chunks = append(chunks, text[:end])
		}
		text = text[next:]
	}
	if text != "" || len(chunks) == 0 {
		chunks = append(chunks, text)
	}
	return chunks
}

// A place is where a text can be cut: the chunk ends at end, the rest begins
// at next; white space lies between.
type place struct{ end, next int }

// cut chooses the place for text, which is longer than limit. A paragraph or
// line that would leave less than a third of the limit is passed over.
func cut(text string, limit int) (end, next int) {
	var paragraph, line, word, any place
	state, newlines := -1, 0
	text = hub.Clip(text, 2*limit) // as far as it matters
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		pos := len(text) - len(rest)
		blank := strings.TrimSpace(cluster) == ""
		if !blank {
			if pos > limit {
				break
			}
			any, newlines = place{pos, pos}, 0
			continue
		}
		p := place{any.end, pos}
		if strings.Contains(cluster, "\n") {
			newlines++
			line = p
			if newlines > 1 {
				paragraph = p
			}
		}
		word = p
		any.next = pos
	}
	for _, p := range []place{paragraph, line} {
		if p.end > 0 && p.end >= limit/3 {
			return p.end, p.next
		}
	}
	if word.end > 0 {
		return word.end, word.next
	}
	if any.next > 0 {
		return any.end, any.next
	}
	n := len(hub.Clip(text, limit)) // one grapheme longer than the limit
	return n, n
}
