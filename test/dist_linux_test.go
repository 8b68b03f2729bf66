package test

import (
	"context"
	"encoding/xml"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// distFile reads a file of dist/.
func distFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "dist", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestUnitsAreUnderstood has systemd read each unit, with programs that there
// are in place of installed ones, and rate what the system's services may do:
// at most 1.9, where 10 is a service without any bounds.
func TestUnitsAreUnderstood(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	for _, name := range []string{"aldis.service", "aldis-signal-cli.service", "user/aldis.service", "user/aldis-signal-cli.service"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit := regexp.MustCompile(`/usr/bin/(aldis|signal-cli)`).ReplaceAllLiteralString(distFile(t, "systemd/"+name), binary)
			path := filepath.Join(t.TempDir(), filepath.Base(name))
			if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
				t.Fatal(err)
			}
			manager := "--system"
			if strings.HasPrefix(name, "user/") {
				manager = "--user"
			}
			run := func(args ...string) {
				t.Helper()
				cmd := exec.Command(analyze, append(args, path)...)
				cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil || args[0] == "verify" && len(out) > 0 {
					t.Errorf("systemd-analyze %s: %v\n%s", args, err, out)
				}
			}
			run("verify", "--man=no", manager)
			if manager == "--system" {
				run("security", "--offline=true", "--threshold=19", "--no-pager")
			}
		})
	}
}

// TestUnitStartsTheHub runs the command lines of the units as systemd would, and
// waits for the word that makes Type=notify services count as started.
func TestUnitStartsTheHub(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"aldis.service", "user/aldis.service"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			socket := filepath.Join(dir, "notify")
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			settings := strings.Replace(distFile(t, "aldis.env"), "ALDIS_AUTH_TOKEN=", "ALDIS_AUTH_TOKEN="+token+"\nALDIS_PORT=0", 1)
			for _, path := range []string{"aldis.env", "aldis/aldis.env"} { // a credential, a user's file
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, path), []byte(settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/aldis (.*)$`).FindStringSubmatch(distFile(t, "systemd/"+name))
			if line == nil {
				t.Fatal("the unit does not start aldis")
			}
			args := strings.Fields(regexp.MustCompile(`%[dSEh]`).ReplaceAllLiteralString(line[1], dir))
			h := &hub{t: t, env: []string{"NOTIFY_SOCKET=" + socket, "XDG_STATE_HOME=" + filepath.Join(dir, ".local", "state")}, log: &buffer{}}
			h.args = append(args, "--log-format", "json")
			t.Cleanup(h.kill)
			h.start()
			awaitState(t, manager, "READY=1")
			if code := h.stop(); code != 0 {
				t.Errorf("exit code %d\n%s", code, h.log)
			}
		})
	}
}

// TestPlistIsUnderstood reads the property list as Apple's DTD has it, and the
// command line in it.
func TestPlistIsUnderstood(t *testing.T) {
	t.Parallel()
	var list struct {
		Dict struct {
			Keys   []string   `xml:"key"`
			Arrays [][]string `xml:"array>string"`
			Values []struct {
				XMLName xml.Name
			} `xml:",any"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal([]byte(distFile(t, "launchd/aldis.plist")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Dict.Keys) != len(list.Dict.Values)+1 || len(list.Dict.Arrays) == 0 {
		t.Errorf("%d keys for %d values", len(list.Dict.Keys), len(list.Dict.Values)+1)
	}
}

// TestDockerfileIsLinted has hadolint read the Dockerfile.
func TestDockerfileIsLinted(t *testing.T) {
	t.Parallel()
	hadolint, err := exec.LookPath("hadolint")
	if err != nil {
		t.Skip("there is no hadolint here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, hadolint, filepath.Join("..", "dist", "docker", "Dockerfile")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
