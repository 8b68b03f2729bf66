package desktop

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMentionsArePutInTheirPlace(t *testing.T) {
	name := func(id string) string { return map[string]string{"a": "Ada", "b": "Бо"}[id] }
	for _, tt := range []struct {
		what, text string
		ranges     []bodyRange
		want       string
	}{
		{"one", "hi \uFFFC!", []bodyRange{{Start: 3, MentionACI: "a"}}, "hi @Ada!"},
		{"by its older name", "\uFFFC", []bodyRange{{MentionUUID: "a"}}, "@Ada"},
		{"two, out of order", "\uFFFC\uFFFC", []bodyRange{{Start: 1, MentionACI: "b"}, {Start: 0, MentionACI: "a"}}, "@Ada@Бо"},
		{"after what UTF-16 counts twice", "😀\uFFFC", []bodyRange{{Start: 2, MentionACI: "a"}}, "😀@Ada"},
		{"not inside such a character", "😀\uFFFC", []bodyRange{{Start: 1, MentionACI: "a"}}, "😀\uFFFC"},
		{"the first of two for one place", "\uFFFC", []bodyRange{{MentionACI: "a"}, {MentionACI: "b"}}, "@Ada"},
		{"a style is none", "\uFFFC bold", []bodyRange{{Start: 0}, {Start: 0, MentionACI: "a"}}, "@Ada bold"},
		{"none that hides words", "do not", []bodyRange{{Start: 3, MentionACI: "a"}}, "do not"},
		{"none outside the text", "\uFFFC", []bodyRange{{Start: 9, MentionACI: "a"}, {Start: -1, MentionACI: "a"}}, "\uFFFC"},
		{"a placeholder nobody is named at", "\uFFFC", nil, "\uFFFC"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			if got := withMentions(tt.text, mentioned(tt.ranges), name); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("hi \uFFFC!", []byte(`[{"start":3,"length":1,"mentionAci":"a"}]`))
	f.Add("😀\uFFFC\xff\uFFFC", []byte(`[{"start":-1,"mentionUuid":"a"},{"start":2,"style":1},{"start":1e300}]`))
	f.Fuzz(func(t *testing.T, text string, ranges []byte) {
		got := withMentions(text, mentioned(decode[[]bodyRange](ranges)), func(string) string { return "N" })
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
		if rest := strings.ReplaceAll(got, "@N", "\uFFFC"); utf8.ValidString(text) && !strings.Contains(text, "@N") && rest != text {
			t.Errorf("%q lost words: %q", text, got)
		}
	})
}
