package config

import (
	"maps"
	"strings"
	"testing"
)

func TestSetInEnvFile(t *testing.T) {
	for _, tt := range []struct {
		name, text, variable, value, want string
	}{
		{"an empty file", "", "A", "1", "A=1\n"},
		{"a file without it", "# mine\nB=2\n", "A", "1", "# mine\nB=2\nA=1\n"},
		{"a last line without an end", "B=2", "A", "1", "B=2\nA=1\n"},
		{"it is there", "A=0\nB=2\n", "A", "1", "A=1\nB=2\n"},
		{"the last one counts", "A=0\nA=00\n", "A", "1", "A=0\nA=1\n"},
		{"a comment is none", "#A=0\n", "A", "1", "#A=0\nA=1\n"},
		{"blanks and carriage returns stay", "  A = 0\r\nB=2\r\n", "A", "1", "  A =1\r\nB=2\r\n"},
		{"a mark of the byte order", "\ufeffA=0\n", "A", "1", "\ufeffA=1\n"},
		{"what a reader would take off", "", "A", ` "x" `, "A=\" \"x\" \"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetInEnvFile(tt.text, tt.variable, tt.value)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	for _, bad := range [][2]string{{"", "1"}, {"A=B", "1"}, {"#A", "1"}, {"A", "1\nB=2"}} {
		if got, err := SetInEnvFile("", bad[0], bad[1]); err == nil {
			t.Errorf("%q was set to %q: %q", bad[0], bad[1], got)
		}
	}
}

// FuzzSetInEnvFile looks that what was set is read again, and nothing else has
// changed.
func FuzzSetInEnvFile(f *testing.F) {
	f.Add("A=0\n# x\nB=\"2\"", "A", "1")
	f.Add("\ufeffA=0\r\n=\nx", "B", ` " `)
	f.Fuzz(func(t *testing.T, text, name, value string) {
		got, err := SetInEnvFile(text, name, value)
		if err != nil || strings.ContainsRune(value, 0) {
			return
		}
		want := EnvFile(text)
		want[name] = value
		if vars := EnvFile(got); !maps.Equal(vars, want) {
			t.Errorf("%q: got %q, want %q", got, vars, want)
		}
	})
}
