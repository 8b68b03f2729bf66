package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"aldis/internal/config"
)

// model is the command line's own.
func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(&cli{}, append(new(config.Loader).Options(), kong.Name("aldis"), kong.Description("One hub."))...)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

func TestWhatMayComeNext(t *testing.T) {
	app := model(t)
	for _, tt := range []struct {
		name, line string // the last word of the line is completed
		want       string
	}{
		{"a command", "ser", "serve"},
		{"a hidden command is not shown", "demo-h", ""},
		{"a command below a command", "token re", "revoke"},
		{"a flag", "serve --rec", "--record"},
		{"a flag after an argument", "token add bot --env-f", "--env-file"},
		{"a flag of another command", "version --rec", ""},
		{"the values of a flag", "serve --record ", "preview full off"},
		{"the values of a flag, as bash splits it", "serve --record = o", "off"},
		{"the values of a flag, as bash splits it, from the start", "serve --log-format =", "text json"},
		{"the values of a flag in one word", "serve --record=o", "--record=off"},
		{"a value that is not a command", "serve --default-agent token ", ""},
		{"a value that may be anything", "serve --default-agent ", ""},
		{"the values of a flag that there is not", "serve --no-such=o", ""},
		{"the values of an argument", "completion p", "powershell"},
		{"an argument that may be anything", "token add ", ""},
		{"words after the end of the flags", "serve -- --rec", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var words []string
			for _, s := range complete(app.Node, strings.Split(tt.line, " ")) {
				words = append(words, s.word)
			}
			if got := strings.Join(words, " "); got != tt.want {
				t.Errorf("aldis %s: %q, want %q", tt.line, got, tt.want)
			}
		})
	}
}
