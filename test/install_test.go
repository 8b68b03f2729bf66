package test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstall prints the lines for a client, writes them, finds them written,
// and takes them out again.
func TestInstall(t *testing.T) {
	t.Parallel()
	home := realTempDir(t)
	aldis := func(args ...string) ran {
		t.Helper()
		cmd := command(t, args...)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "SystemRoot=" + os.Getenv("SystemRoot")}
		return runCommand(t, cmd)
	}
	file := filepath.Join(home, ".claude.json")
	before := "{\n\t\"numStartups\": 3,\n\t\"mcpServers\": {\n\t\t\"docs\": {\"command\": \"docs\"}\n\t}\n}\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}

	printed := aldis("install", "claude-code", "--agent", "deploy-bot", "--hub", "http://127.0.0.1:9001")
	wantRan(t, printed, 0, []string{`"mcpServers"`, `"--hub", "http://127.0.0.1:9001", "--agent", "deploy-bot"`},
		[]string{file, "--write", "ALDIS_TOKEN", "claude --dangerously-load-development-channels server:aldis"})
	if read(t, file) != before {
		t.Error("printing changes the file")
	}

	wantRan(t, aldis("install", "claude-code", "--agent", "deploy-bot", "--write"), 0, []string{"Changed " + file, "As it was: " + file + ".aldis-"}, nil)
	if got := read(t, file); !strings.HasPrefix(got, before[:strings.Index(before, "\n\t}\n")]) || !strings.Contains(got, "\n\t\t\"aldis\": {\n\t\t\t\"type\": \"stdio\"") {
		t.Errorf("the file is now\n%s", got)
	}
	wantRan(t, aldis("install", "claude-code", "--agent", "deploy-bot", "--write"), 0, []string{"Nothing to change in " + file}, nil)
	wantRan(t, aldis("uninstall", "claude-code"), 0, []string{"Changed " + file}, nil)
	if got := read(t, file); got != before {
		t.Errorf("after uninstall the file is\n%s", got)
	}
	wantRan(t, aldis("uninstall", "claude-code"), 0, []string{"Nothing to change"}, nil)
}

// TestInstallTokens writes a token into a file, whose owner alone may read it
// then, and not into one that is for others too.
func TestInstallTokens(t *testing.T) {
	t.Parallel()
	home := realTempDir(t)
	aldis := func(args ...string) ran {
		t.Helper()
		cmd := command(t, args...)
		cmd.Dir = home
		return runCommand(t, cmd)
	}
	file := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := aldis("install", "json", "--file", file, "--http", "--agent", "a", "--token", "s3cret", "--write")
	wantRan(t, got, 0, []string{"Changed " + file}, []string{"token lies in " + file})
	if strings.Contains(got.stdout+got.stderr, "s3cret") {
		t.Errorf("the token is printed: %+v", got)
	}
	if text := read(t, file); !strings.Contains(text, `"Authorization": "Bearer s3cret"`) {
		t.Errorf("the file is %s", text)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	wantRan(t, aldis("install", "cursor", "--project", "--token", "s3cret", "--write"), 2, nil, []string{"no place for a token"})

	env := filepath.Join(home, "aldis.env")
	if err := os.WriteFile(env, []byte("ALDIS_AUTH_TOKEN=s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRan(t, aldis("install", "claude-desktop", "--env-file", "aldis.env", "--agent", "a"), 0, []string{`"--env-file", "`, `aldis.env"`}, nil)
}

// TestInstallWrongly asks for what cannot be had: it says so and changes nothing.
func TestInstallWrongly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no client", []string{"install"}, 2, []string{"<client>"}},
		{"an unknown client", []string{"install", "emacs"}, 2, []string{"emacs", "vscode"}},
		{"a project's file that is none", []string{"install", "claude-desktop", "--project"}, 2, []string{"--project"}},
		{"no token for it", []string{"install", "claude-desktop"}, 2, []string{"--env-file", "--token"}},
		{"no file", []string{"install", "json", "--write"}, 2, []string{"--file"}},
		{"nor to take out of", []string{"uninstall", "json"}, 2, []string{"--file"}},
		{"a file that cannot be read", []string{"install", "crush", "--file", "broken.json", "--write"}, 1, []string{"broken.json", "line 2", "mend the file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, tt.args...)
			if err := os.WriteFile(filepath.Join(cmd.Dir, "broken.json"), []byte("{\n\"mcp\" }"), 0o600); err != nil {
				t.Fatal(err)
			}
			wantRan(t, runCommand(t, cmd), tt.code, nil, tt.says)
		})
	}
}

func wantRan(t *testing.T, got ran, code int, stdout, stderr []string) {
	t.Helper()
	if got.code != code {
		t.Fatalf("exit code %d, want %d: %s", got.code, code, got.stderr)
	}
	for _, s := range stdout {
		if !strings.Contains(got.stdout, s) {
			t.Errorf("standard output lacks %q:\n%s", s, got.stdout)
		}
	}
	for _, s := range stderr {
		if !strings.Contains(got.stderr, s) {
			t.Errorf("standard error lacks %q:\n%s", s, got.stderr)
		}
	}
}

// realTempDir is a folder whose path has no symbolic links, as the program
// prints it.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
