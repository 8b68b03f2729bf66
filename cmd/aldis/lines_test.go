package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"aldis/internal/config"
)

// parserFor is the program's own parser, in an environment of these variables.
func parserFor(t *testing.T, variables map[string]string) *kong.Kong {
	t.Helper()
	loader := &config.Loader{Getenv: func(name string) string { return variables[name] }}
	parser, err := kong.New(&cli{}, append(loader.Options(), kong.Name("aldis"), kong.PostBuild(withExamples))...)
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// checkLines has the real parser take each command of this program in a piece
// of shell.
func checkLines(t *testing.T, shell string) {
	t.Helper()
	envFile := filepath.Join(t.TempDir(), "aldis.env")
	if err := os.WriteFile(envFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range aldisCommands(shell) {
		variables := map[string]string{"HOME": t.TempDir(), "ALDIS_AUTH_TOKEN": "token-of-an-example", "ALDIS_HISTORY_BEARER_TOKEN": strings.Repeat("t", 32)}
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, ":PORT", ":8765") // a place to fill in
		}
		for i, word := range words[:len(words)-1] {
			if word == "--env-file" {
				words[i+1] = envFile
			}
		}
		if slices.Contains(words, "--help") { // is answered before anything is parsed
			continue
		}
		if _, err := parserFor(t, variables).Parse(words); err != nil {
			t.Errorf("aldis %s: %v", strings.Join(words, " "), err)
		}
	}
}

var (
	shellComment   = regexp.MustCompile(`(^|\s)#[^\n]*`)
	shellJoined    = regexp.MustCompile(`\\\n\s*`)
	shellValue     = regexp.MustCompile(`\$\([^()]*\)|\$\{[^}]*\}|\$[A-Za-z_]+`)
	shellInner     = regexp.MustCompile(`\$\(([^()]*)\)`)
	shellPiece     = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)
	shellOperators = regexp.MustCompile(`\n|\|\|?|&&|;|&$|& `)
	shellRedirect  = regexp.MustCompile(`\s[0-9]?[<>]{1,2}(&[0-9]|\s*\S+)`)
	assignment     = regexp.MustCompile(`^[A-Za-z_]+=`)
)

// aldisCommands are the arguments of each call of aldis in a piece of shell as
// simple as documents have it. What the shell would fill in is VALUE, and what
// a document leaves out (…) is left out.
func aldisCommands(shell string) (list [][]string) {
	shell = shellJoined.ReplaceAllString(shellComment.ReplaceAllString(shell, "$1"), " ")
	for _, inner := range shellInner.FindAllStringSubmatch(shell, -1) {
		list = append(list, aldisCommands(inner[1])...)
	}
	shell = shellRedirect.ReplaceAllString(shellValue.ReplaceAllString(shell, "VALUE"), " ")
	for _, command := range shellOperators.Split(shell, -1) {
		words := shellWords(command)
		at := slices.Index(words, "aldis")
		if at < 0 || len(words) == at+1 {
			continue
		}
		started := !slices.ContainsFunc(words[:at], func(w string) bool { return !assignment.MatchString(w) && w != "sudo" && w != "$" })
		if started || words[at-1] == "--" { // itself, or what another program is to start
			list = append(list, words[at+1:])
		}
	}
	return list
}

func shellWords(command string) (words []string) {
	joined := false // to the word before
	end := 0
	for _, at := range shellPiece.FindAllStringIndex(command, -1) {
		word := strings.Trim(command[at[0]:at[1]], `"'`)
		joined = len(words) > 0 && at[0] == end
		end = at[1]
		switch {
		case joined:
			words[len(words)-1] += word
		case word != "…":
			words = append(words, word)
		}
	}
	return words
}

func TestAldisCommands(t *testing.T) {
	for shell, want := range map[string]string{
		"aldis status --json | jq .x":                           "status --json",
		"A=1 aldis serve … --history # and more":                "serve --history",
		"make 2>&1 | aldis notify --label ci --meta a=\"$B\" -": "notify --label ci --meta a=VALUE -",
		"T=$(aldis token add a)":                                "token add a",
		"claude mcp add x -- aldis history":                     "history",
		"aldis history \\\n  --since 90d </dev/null":            "history --since 90d",
		"echo aldis serve":                                      "",
	} {
		var got []string
		for _, words := range aldisCommands(shell) {
			got = append(got, strings.Join(words, " "))
		}
		if strings.Join(got, ";") != want {
			t.Errorf("%q has %q, want %q", shell, got, want)
		}
	}
}
