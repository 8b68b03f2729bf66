package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"aldis/internal/hub"
)

// versionTime bounds how long signal-cli may need to say its version: its
// virtual machine takes seconds to start.
const versionTime = 30 * time.Second

// places are where signal-cli is put by those who do not put it into PATH.
var places = []string{
	"~/.local/bin", "~/bin", "~/signal-cli*/bin", "~/.local/share/signal-cli*/bin",
	"/usr/local/bin", "/usr/bin", "/opt/signal-cli*/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin",
}

// FindProgram returns the path of signal-cli: in PATH, else in one of the usual
// places; "" if it is in none. Home may be "".
func FindProgram(home string) string {
	if path, err := exec.LookPath("signal-cli"); err == nil {
		return path
	}
	for _, pattern := range places {
		below, ofHome := strings.CutPrefix(pattern, "~")
		if ofHome {
			pattern = filepath.Join(home, below)
		}
		if ofHome && home == "" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(pattern, "signal-cli"))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}

// ProgramVersion has the signal-cli at a path say its version, which shows that
// it runs. Its error says what it lacks.
func ProgramVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second // what it has started may hold its output
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if v, ok := strings.CutPrefix(said, "signal-cli "); err == nil && ok {
		return hub.OneLine(v, 64), nil
	}
	if ctx.Err() == context.DeadlineExceeded {
		return "", fmt.Errorf("%s --version did not end in %v", path, versionTime)
	}
	return "", fmt.Errorf("%s does not run: %w", path, java(said))
}

// classVersions is how Java says that it is too old; of the numbers 44 less are
// those of Java (JVM specification, 4.1).
var classVersions = regexp.MustCompile(`class file version (\d+).*class file versions up to (\d+)`)

// java tells from what was printed what is wrong with Java.
func java(said string) error {
	if m := classVersions.FindStringSubmatch(said); m != nil {
		needs, _ := strconv.Atoi(m[1])
		has, _ := strconv.Atoi(m[2])
		return fmt.Errorf("it needs Java %d or newer, and finds Java %d; install a newer one, or name its folder in JAVA_HOME", needs-44, has-44)
	}
	if strings.Contains(said, "JAVA_HOME") {
		return errors.New("it finds no Java; install one (25 or newer), or name its folder in JAVA_HOME; or take signal-cli's native build, which needs none")
	}
	return errors.New(hub.OneLine(said, 300))
}
