package install

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRefusals asks for edits that must not be made: the file stays as it is,
// and the error tells where to look.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, client, text string
		says               []string
	}{
		{"a brace is missing", "crush", "{\n  \"mcp\": {\n", []string{"line 4", "mend"}},
		{"a client without comments has some", "claude-code", "{\n  // mine\n  \"a\": 1\n}\n", []string{"line 2, column 3", "plain JSON"}},
		{"nor a comma at the end", "claude-desktop", "{\"a\": 1,\n}\n", []string{"line 2, column 1", "plain JSON"}},
		{"a list in place of an object", "cursor", "\n[]", []string{"line 2, column 1", "object"}},
		{"something after the end", "cursor", "{}\n{}", []string{"line 2, column 1"}},
		{"a literal that may be a secret", "cursor", "{\n\"token\": s3cret}", []string{"line 2, column 10", "no valid value"}},
		{"the table is a string", "vscode", "{\n  \"servers\": \"none\"}", []string{"line 2, column 14", "servers", "by hand"}},
		{"another program has the name", "cursor", `{"mcpServers": {"aldis": {"command": "docker"}}}`, []string{"aldis", "--name"}},
		{"TOML that is none", "codex", "model = \"large\"\nmodel = \"small\"\n", []string{"line 2", "mend"}},
		{"a TOML table in one line", "codex", "mcp_servers = { b = { command = \"b\" } }\n", []string{"by hand"}},
		{"an entry within such a table", "codex", "[mcp_servers]\naldis = { command = \"aldis\" }\n", []string{"by hand"}},
		{"another charset", "cursor", "\xff\xfe{\x00}\x00", []string{"line 1, column 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.client)
			path := filepath.Join(t.TempDir(), "file")
			write(t, path, tt.text)
			w := wish
			w.Token = Token{File: "/etc/aldis/aldis.env"}
			_, err := c.Put(path, serverFor(t, c, w))
			if err == nil {
				t.Fatal("it is edited")
			}
			for _, s := range append(tt.says, path) {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is missing: %v", s, err)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows what may be a secret: %v", err)
			}
			if read(t, path) != tt.text {
				t.Error("the file was changed")
			}
		})
	}
}

// TestOthersStay keeps uninstall from another program's entry.
func TestOthersStay(t *testing.T) {
	c := client(t, "cursor")
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"mcpServers": {"docs": {"command": "docs"}}}`)
	if _, err := c.Cut(path, "docs"); err == nil || !strings.Contains(err.Error(), "stays") {
		t.Errorf("cut: %v", err)
	}
	ch, err := c.Cut(filepath.Join(t.TempDir(), "none.json"), DefaultName)
	if err != nil || ch.Needed() {
		t.Errorf("cut from no file: %v, needed %v", err, ch.Needed())
	}
}

// TestWrite looks at what lies on the disk after a change.
func TestWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes and, for most users, no symbolic links")
	}
	c := client(t, "cursor")
	s := serverFor(t, c, wish)
	dir := t.TempDir()
	target := filepath.Join(dir, "dotfiles", "mcp.json")
	write(t, target, "{}\n")
	link := filepath.Join(dir, "mcp.json")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	ch, err := c.Put(link, s)
	if err != nil {
		t.Fatal(err)
	}
	first, err := ch.Write(false, time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if want := target + ".aldis-20261201T093000Z.bak"; first != want || read(t, first) != "{}\n" {
		t.Errorf("the file as it was is in %s: %q; want %s", first, read(t, first), want)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
	wantMode(t, target, 0o640)
	wantMode(t, first, 0o600)

	s.Env = []Pair{{TokenVar, "s3cret"}}
	if ch, err = c.Put(link, s); err != nil {
		t.Fatal(err)
	}
	second, err := ch.Write(true, time.Date(2026, 12, 1, 9, 31, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	wantMode(t, target, 0o600)
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(target), "*"))
	if want := []string{target, second}; len(files) != 2 || files[0] != want[0] || files[1] != want[1] {
		t.Errorf("beside the file lies %q, want %q", files, want)
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: mode %v, %v; want %v", path, info.Mode(), err, want)
	}
}

// TestNewFile makes a file, and the folders above it, for the user alone.
func TestNewFile(t *testing.T) {
	c := client(t, "codex")
	path := filepath.Join(t.TempDir(), ".codex", "config.toml")
	ch, err := c.Put(path, serverFor(t, c, wish))
	if err != nil {
		t.Fatal(err)
	}
	backup, err := ch.Write(false, time.Unix(1796070000, 0))
	if err != nil || backup != "" {
		t.Errorf("backup %q, error %v", backup, err)
	}
	if runtime.GOOS != "windows" {
		wantMode(t, path, 0o600)
	}
}

// TestRace has the client write its file after it was read: what it wrote stays.
func TestRace(t *testing.T) {
	c := client(t, "claude-code")
	path := filepath.Join(t.TempDir(), ".claude.json")
	write(t, path, "{}")
	ch, err := c.Put(path, serverFor(t, c, wish))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"numStartups": 2}`)
	if _, err := ch.Write(false, time.Unix(1796070000, 0)); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("write: %v", err)
	}
	if got := read(t, path); got != `{"numStartups": 2}` {
		t.Errorf("the file has %q", got)
	}
}

// TestWishes asks each client for what it cannot have.
func TestWishes(t *testing.T) {
	for _, tt := range []struct {
		name, client string
		change       func(w *Wish)
		says         string
	}{
		{"no variables in this file", "claude-desktop", func(w *Wish) {}, "--env-file"},
		{"no URLs in this file", "claude-desktop", func(w *Wish) { w.HTTP = true }, "--http"},
		{"no other variable", "codex", func(w *Wish) { w.Token.Variable = "MINE" }, TokenVar},
		{"no history over HTTP", "cursor", func(w *Wish) { w.HTTP, w.History = true, true }, "docs/history.md"},
		{"no seat without a URL", "cursor", func(w *Wish) { w.Seat = true }, "--http"},
		{"no such letters in a header", "cursor", func(w *Wish) { w.HTTP, w.Agent = true, "Büro" }, "--seat"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := wish
			tt.change(&w)
			if _, err := client(t, tt.client).Server(w); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want something about %s", err, tt.says)
			}
		})
	}
}

// TestSyntaxErrorType is for those who want the place of an error.
func TestSyntaxErrorType(t *testing.T) {
	c := client(t, "claude-code")
	path := filepath.Join(t.TempDir(), ".claude.json")
	write(t, path, "{\r\n\t\"a\": tru\r\n}")
	_, err := c.Put(path, serverFor(t, c, wish))
	wrong, ok := errors.AsType[*SyntaxError](err)
	if !ok || wrong.Line != 2 || wrong.Column != 7 || wrong.Path != path {
		t.Errorf("got %+v, %v", wrong, err)
	}
}
