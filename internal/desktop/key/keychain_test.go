package key

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// security writes a stand-in for the tool of macOS, a shell script, and returns
// its path.
func security(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "security")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeychainIsAskedForSignalsPassword(t *testing.T) {
	for name, script := range map[string]string{
		"by its account":        `[ "$*" = "find-generic-password -w -s Signal Safe Storage -a Signal Key" ] && echo ` + aSecret,
		"whatever its account":  `[ "$*" = "find-generic-password -w -s Signal Safe Storage" ] || exit 44; echo ` + aSecret,
		"beside what tools say": `echo warning >&2; echo ` + aSecret,
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Config: profile(t, wrapped(onMac), "")}
			got, err := o.find(t.Context(), system{os: "darwin", security: security(t, script)})
			if err != nil || hex.EncodeToString(got[:]) != aKey {
				t.Errorf("got %x, %v", got, err)
			}
		})
	}
}

func TestKeychainThatHasItNot(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         []string
	}{
		{"no item", `exit 44`, []string{"Keychain", "no item of Signal's"}},
		{"refused", `echo ` + aSecret + `; echo ` + aSecret + ` >&2; exit 128`, []string{"Keychain", "128", "allow"}},
		{"another secret", `echo x` + aSecret, []string{"Keychain", "secret"}},
		{"no secret", ``, []string{"Keychain", "secret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Config: profile(t, wrapped(onMac), "")}
			got, err := o.find(t.Context(), system{os: "darwin", security: security(t, tt.script)})
			refuses(t, got, err, append(tt.want, "SIGNAL_MCP_KEY")...)
		})
	}
}

func TestKeychainIsWaitedForUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := keychain(ctx, security(t, "exec sleep 60")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
