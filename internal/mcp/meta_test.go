package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"aldis/internal/hub"
)

func FuzzRenderIsJSON(f *testing.F) {
	f.Add("hello\n\"\\\u2028\x00\xff👍", "k", "v")
	f.Add(strings.Repeat("x", contentBytes+1), "a_b", strings.Repeat("é", 600))
	f.Fuzz(func(t *testing.T, text, key, value string) {
		o := hub.Offer{Message: hub.Message{
			ID: "id", Kind: hub.Text, Via: hub.ViaNotify, Agent: "ci", Text: text, Meta: map[string]string{key: value},
		}}
		line := view{routes: true}.render(o)
		var got struct {
			Params struct {
				Content string            `json:"content"`
				Meta    map[string]string `json:"meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if strings.ContainsAny(string(line), "\n\r") {
			t.Errorf("more than one line: %q", line)
		}
		if want := content(o.Message); got.Params.Content != strings.ToValidUTF8(want, "\uFFFD") {
			t.Errorf("content %q, want %q", got.Params.Content, want)
		}
		if len(got.Params.Content) > contentBytes || got.Params.Content == "" {
			t.Errorf("content of %d bytes", len(got.Params.Content))
		}
		for k, v := range got.Params.Meta {
			if len(v) > hub.MetaValueBytes {
				t.Errorf("%s has %d bytes", k, len(v))
			}
		}
	})
}
