//go:build unix

package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a signal-cli of a few lines for the shell.
func program(t *testing.T, path, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindProgram(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	if path := FindProgram(""); strings.HasPrefix(path, home) {
		t.Errorf("found %s", path)
	}
	unpacked := program(t, filepath.Join(home, "signal-cli-0.14.6", "bin", "signal-cli"), "")
	if path := FindProgram(home); path != unpacked {
		t.Errorf("found %q, want %s", path, unpacked)
	}
	inPath := program(t, filepath.Join(bin, "signal-cli"), "")
	if path := FindProgram(home); path != inPath {
		t.Errorf("found %q, want %s", path, inPath)
	}
}

func TestProgramVersion(t *testing.T) {
	for _, tt := range []struct {
		name, script, want, says string
	}{
		{"it runs", "echo signal-cli 0.14.6", "0.14.6", ""},
		{
			"an old Java", "echo 'java.lang.UnsupportedClassVersionError: org/asamk/signal/Main has been compiled by a more recent version of the Java Runtime " +
				"(class file version 69.0), this version of the Java Runtime only recognizes class file versions up to 61.0' >&2; exit 1",
			"", "needs Java 25 or newer, and finds Java 17",
		},
		{"no Java", `echo "ERROR: JAVA_HOME is not set and no 'java' command could be found in your PATH." >&2; exit 1`, "", "finds no Java"},
		{"something else", "echo hello", "", "hello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ProgramVersion(t.Context(), program(t, filepath.Join(t.TempDir(), "signal-cli"), tt.script))
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tt.want, tt.says)
			}
		})
	}
}

func TestDaemonEndsWithItsStart(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "ended")
	path := program(t, filepath.Join(dir, "signal-cli"), `trap 'echo "$@" >`+mark+`; exit 0' INT
echo up >`+mark+`
while :; do sleep 0.01; done`)
	d, err := StartDaemon(t.Context(), path, "--tcp", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for { // until it can hear
		if b, _ := os.ReadFile(mark); len(b) > 0 {
			break
		}
	}
	d.Stop()
	if b, _ := os.ReadFile(mark); string(b) != "daemon --receive-mode manual --tcp 127.0.0.1:1\n" {
		t.Errorf("it was not told to end, or started with %q", b)
	}
}

func TestDaemonThatDoesNotStart(t *testing.T) {
	d, err := StartDaemon(t.Context(), program(t, filepath.Join(t.TempDir(), "signal-cli"), "echo Address already in use >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	<-d.Ended
	if err := d.Err(); !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("error %v", err)
	}
	d.Stop()
	if _, err := StartDaemon(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("nothing was started, and that was no error")
	}
}
