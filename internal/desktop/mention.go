package desktop

import (
	"cmp"
	"strings"
	"unicode/utf16"
)

// placeholder stands in a text where somebody is mentioned.
const placeholder = '\uFFFC'

// A bodyRange is a piece of a text that is a mention or has a style. Its bounds
// count units of UTF-16.
type bodyRange struct {
	Start       int64  `json:"start"`
	MentionACI  string `json:"mentionAci"`
	MentionUUID string `json:"mentionUuid"` // what it was called before schema 88
}

// maxMentions is how many mentions of a text are put in their place.
const maxMentions = 256

func (r bodyRange) who() string { return cmp.Or(r.MentionACI, r.MentionUUID) }

// mentioned is who is mentioned where. Styles are passed by.
func mentioned(ranges []bodyRange) map[int64]string {
	at := map[int64]string{}
	for _, r := range ranges {
		if _, taken := at[r.Start]; r.who() != "" && !taken && len(at) < maxMentions {
			at[r.Start] = r.who()
		}
	}
	return at
}

// withMentions puts names where the placeholders are that somebody is mentioned
// at. A mention of anything but a placeholder would hide text; it is passed by,
// as is one outside the text.
func withMentions(text string, at map[int64]string, name func(serviceID string) string) string {
	if len(at) == 0 || !strings.ContainsRune(text, placeholder) {
		return text
	}
	var b strings.Builder
	unit := int64(0)
	for _, r := range text {
		if id, ok := at[unit]; ok && r == placeholder {
			b.WriteString("@" + name(id))
		} else {
			b.WriteRune(r)
		}
		unit += int64(utf16.RuneLen(r))
	}
	return b.String()
}
