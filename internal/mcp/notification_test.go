package mcp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"aldis/internal/hub"
)

func TestRequestsForPermissionAreReadWithBounds(t *testing.T) {
	for _, tt := range []struct{ name, in, request, tool, description, preview string }{
		{"whole", `{"request_id":"abcde","tool_name":"Bash","description":"List","input_preview":"ls"}`, "abcde", "Bash", "List", "ls"},
		{"the id alone", `{"request_id":"abcde"}`, "abcde", "", "", ""},
		{"what is no text counts as missing", `{"request_id":"abcde","tool_name":7,"description":null,"input_preview":{"a":1}}`, "abcde", "", "", ""},
		{"control characters", `{"request_id":"abcde","tool_name":"B\u0007ash","input_preview":"a\u0000b\nc"}`, "abcde", "Bash", "", "ab\nc"},
		{"an id of another kind", `{"request_id":"Ünï 1"}`, "Ünï 1", "", "", ""},
		{
			"too long", `{"request_id":"abcde","tool_name":"` + strings.Repeat("t", 500) + `","description":"` + strings.Repeat("d", 5000) + `","input_preview":"` + strings.Repeat("p", 5000) + `"}`,
			"abcde", strings.Repeat("t", 100), strings.Repeat("d", 2048), strings.Repeat("p", 2048),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p hub.Prompt
			description, preview, ok := parsePermission([]byte(tt.in), &p)
			if !ok || p.Request != tt.request || p.Tool != tt.tool || description != tt.description || preview != tt.preview {
				t.Errorf("%v %q %q %q %q", ok, p.Request, p.Tool, description, preview)
			}
		})
	}
}

func FuzzPermission(f *testing.F) {
	f.Add([]byte(`{"request_id":"abcde","tool_name":"Bash","description":"List","input_preview":"ls"}`))
	f.Add([]byte(`{"request_id":7}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var p hub.Prompt
		description, preview, ok := parsePermission(in, &p)
		if ok != (p.Request != "" && len(p.Request) <= requestMax) {
			t.Errorf("id %q: %v", p.Request, ok)
		}
		for _, s := range []string{p.Tool, description, preview} {
			if len(s) > wordsMax || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Errorf("%q", s)
			}
		}
	})
}

func FuzzKeyOf(f *testing.F) {
	f.Add([]byte(`{"name":"send","_meta":{"aldis/key":"k"}}`))
	f.Add([]byte(`{"name":"inbox","_meta":{"aldis/key":7}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		key, err := keyOf(params)
		if len(key) > keyMost || err != nil && key != "" || !utf8.ValidString(key) {
			t.Errorf("key %q, %v", key, err)
		}
	})
}
