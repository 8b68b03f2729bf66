package test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHistorySaysWhatIsWrong cannot begin, and says why and what to do.
func TestHistorySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	wrong := strings.Repeat("0", 64)
	static := []string{"--transport", "http", "--bearer-token", historyToken}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no Signal here", nil, 1, []string{"looked in", "SIGNAL_MCP_DB"}},
		{"a wrong key", []string{"--db", p.db, "--key", wrong}, 1, []string{"key"}},
		{"no key", []string{"--db", filepath.Join(t.TempDir(), "sql", "db.sqlite")}, 1, []string{"config.json"}},
		{"no database", []string{"--db", filepath.Join(t.TempDir(), "db.sqlite"), "--key", wrong}, 1, []string{"db.sqlite"}},
		{"a time that is none", []string{"--since", "soon"}, 2, []string{"--since", "2h or 7d"}},
		{"an address without TLS", append([]string{"--public-url", "http://history.example/mcp"}, static...), 2, []string{"https"}},
		{"an address of something else", append([]string{"--public-url", "https://history.example/"}, static...), 2, []string{"/mcp"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := aldis(t, append([]string{"history"}, tt.args...)...)
			if r.code != tt.code || r.stdout != "" {
				t.Errorf("exit %d, printed %q", r.code, r.stdout)
			}
			for _, want := range tt.says {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("%q does not say %q", r.stderr, want)
				}
			}
			if strings.Contains(r.stderr, wrong) || strings.Contains(r.stderr, historyToken) {
				t.Errorf("%q tells a secret", r.stderr)
			}
		})
	}
}

// TestHubKeepsItsTokensFromTheHistory is told that a token of its own, which it
// made and no setting has, opens the history too.
func TestHubKeepsItsTokensFromTheHistory(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	h := startHub(t)
	agents := strings.TrimSpace(h.aldis("token", "add", "deploy-bot").stdout)
	tokens := map[string]string{"the admin's": h.adminToken(), "an agent's": agents}
	h.stop()
	for name, both := range tokens {
		cmd := command(t, "serve", "--auth-token", token, "--history", "--state-dir", h.stateDir, "--port", "0")
		cmd.Env = append(append(cmd.Env, p.bySettings()...), "ALDIS_HISTORY_BEARER_TOKEN="+both)
		r := runCommand(t, cmd)
		if r.code != 2 || !strings.Contains(r.stderr, "--history-bearer-token") || strings.Contains(r.stderr, both) {
			t.Errorf("%s token: exit %d, %s", name, r.code, r.stderr)
		}
	}
}

// TestHistoryWarnsOnceAtATerminal starts it by hand.
func TestHistoryWarnsOnceAtATerminal(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no script(1) of util-linux to make a terminal")
	}
	p := newProfile(t)
	state := t.TempDir()
	start := func() string {
		cmd := exec.Command(script, "-qec", fmt.Sprintf("'%s' history --state-dir '%s' --db '%s'", binary, state, p.db), os.DevNull)
		cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh"}
		cmd.Stdin = strings.NewReader("\x04")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		defer stop()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for i, warned := range []bool{true, false} {
		said := start()
		if strings.Contains(said, "private Signal messages") != warned {
			t.Errorf("start %d: warned is not %t:\n%s", i+1, warned, said)
		}
		if !strings.Contains(said, "claude mcp add signal-history") {
			t.Errorf("start %d does not say how to add it:\n%s", i+1, said)
		}
	}
}

// TestHistoryEndsWhenAsked ends it while its host still holds the line.
func TestHistoryEndsWhenAsked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be asked to end on Windows")
	}
	cmd := command(t, "history")
	cmd.Env = append(cmd.Env, newProfile(t).bySettings()...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := json.NewEncoder(in).Encode(initialize); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it answers", func() bool { return strings.Contains(out.String(), "serverInfo") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
