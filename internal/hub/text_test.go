package hub

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClipCutsBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"hello", 10, "hello"},
		{"hello", 3, "hel"},
		{"aé", 2, "a"},
		{"👍👍", 5, "👍"},
		{"\xff", 10, "\uFFFD"},
		{"é", 1, ""},
		{"", 0, ""},
	} {
		if got := Clip(tt.in, tt.max); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func TestOneLineHidesNothing(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"newlines become spaces", "a\nb\r\nc\u2028d", "a b  c d"},
		{"bidi override is shown", "evil\u202Egpj", "evil\uFFFDgpj"},
		{"zero-width space is shown", "a\u200bb", "a\uFFFDb"},
		{"tag characters are shown", "x\U000E0041", "x\uFFFD"},
		{"an emoji made of several stays", "👩🏽\u200d💻", "👩🏽\u200d💻"},
		{"control characters are shown", "a\x00b", "a\uFFFDb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := OneLine(tt.in, 256); got != tt.want {
				t.Errorf("OneLine(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestParseMeta(t *testing.T) {
	many := make([]string, 0, 30)
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, `"`+string(c)+`":1`)
	}
	for _, tt := range []struct {
		name, in string
		want     map[string]string
		dropped  []string
	}{
		{"nothing", ``, nil, nil},
		{"null", ` null `, nil, nil},
		{"numbers keep their digits", `{"a":1.0,"b":12345678901234567890}`, map[string]string{"a": "1.0", "b": "12345678901234567890"}, nil},
		{"booleans", `{"ok":true}`, map[string]string{"ok": "true"}, nil},
		{"objects are compact JSON", `{"o": { "x" : [1, 2] }}`, map[string]string{"o": `{"x":[1,2]}`}, nil},
		{"null values are left out", `{"a":null}`, map[string]string{}, nil},
		{"foreign characters in keys", `{"run-id":"7","1st":"x","":"e"}`, map[string]string{"run_id": "7", "_1st": "x", "_": "e"}, nil},
		{"the hub's own keys", `{"source":"me","id":"x","ok":"y"}`, map[string]string{"ok": "y"}, []string{"source", "id"}},
		{"a person's answer to a question", `{"question":"ticket","answer":"yes"}`, map[string]string{}, []string{"question", "answer"}},
		{"control characters", `{"a":"x\u0000y"}`, map[string]string{"a": "xy"}, nil},
		{
			"past the bound the last ones go", "{" + strings.Join(many, ",") + "}",
			map[string]string{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1", "f": "1", "g": "1", "h": "1", "i": "1", "j": "1", "k": "1", "l": "1", "m": "1", "n": "1", "o": "1", "p": "1", "q": "1", "r": "1", "s": "1", "t": "1"},
			[]string{"u", "v", "w", "x", "y", "z"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, dropped, err := ParseMeta(json.RawMessage(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("meta (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.dropped, dropped); d != "" {
				t.Errorf("dropped (-want +got):\n%s", d)
			}
		})
	}
	for _, in := range []string{`[]`, `"x"`, `{"a"`, `{"a":}`, `7`} {
		if _, _, err := ParseMeta(json.RawMessage(in)); KindOf(err) != Invalid {
			t.Errorf("ParseMeta(%s) = %v, want an Invalid error", in, err)
		}
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[true,null],"source":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		meta, _, err := ParseMeta(raw)
		if err != nil {
			return
		}
		if len(meta) > callerKeys {
			t.Errorf("%d keys", len(meta))
		}
		for k, v := range meta {
			if len(k) > 64 || len(v) > MetaValueBytes || !utf8.ValidString(v) || k != metaKey(k) {
				t.Errorf("bad pair %q: %q", k, v)
			}
		}
	})
}
