package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"aldis/dist"
	"aldis/internal/setup"
)

// systemctlTime bounds a command of systemd: the hub has to be up by then.
const systemctlTime = time.Minute

// serviceStep has the systemd of the user run the hub.
type serviceStep struct {
	*guide
	path       string // of the unit
	old        string // what it says; "": there is none
	write, run bool
}

func (*serviceStep) Title() string { return "Service" }

func (s *serviceStep) Done(ctx context.Context) (string, error) {
	runtimeDir := s.env.getenv("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(runtimeDir, "systemd", "private")) // the manager's own socket
	if _, noTool := exec.LookPath("systemctl"); noTool != nil || runtimeDir == "" || err != nil {
		return "No systemd of yours runs here. Files for other ways to run the hub are in dist/", nil
	}
	home := s.env.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(s.env.getenv("HOME"), ".config")
	}
	s.path = filepath.Join(home, "systemd", "user", "aldis.service")
	b, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the unit: %w", err)
	}
	if s.old = string(b); s.old != s.unit() {
		return "", nil
	}
	if s.runs = s.systemctl(ctx, "is-active", "--quiet", "aldis.service") == nil; s.runs {
		return s.path + " runs the hub", nil
	}
	return "", nil
}

// unit is the unit with this program and this file of settings.
func (s *serviceStep) unit() string {
	const start = "/usr/bin/aldis serve --env-file %E/aldis/aldis.env"
	return strings.Replace(dist.UserUnit, start, unitWord(program(false))+" serve --env-file "+unitWord(s.guide.path), 1)
}

// unitWord quotes a word for a unit (systemd.service(5), Command lines).
func unitWord(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word)
	if strings.ContainsAny(word, " \t'\\\"") {
		return `"` + word + `"`
	}
	return word
}

// serviceCommands start the hub, now and whenever the user logs in.
var serviceCommands = [][]string{{"daemon-reload"}, {"enable", "--now", "aldis.service"}}

func (s *serviceStep) Ask(ctx context.Context) (err error) {
	agreed := "no"
	if s.Service {
		agreed = "yes"
	}
	if s.old != s.unit() {
		q := setup.Question{Text: "systemd can run the hub for you. Write " + s.path + "?", Default: "yes", Scripted: agreed}
		if s.old != "" {
			q.Text, q.Default = s.path+" is there, and says something else. Replace it?", "no"
		}
		if s.write, err = setup.Confirm(ctx, s.ask, q); err != nil || !s.write {
			return err
		}
	}
	s.say("These commands start it, now and whenever you log in (loginctl enable-linger: at boot):")
	for _, args := range serviceCommands {
		s.say("  systemctl --user %s", strings.Join(args, " "))
	}
	s.run, err = setup.Confirm(ctx, s.ask, setup.Question{Text: "Run them now?", Default: "no", Scripted: agreed})
	return err
}

func (s *serviceStep) Do(ctx context.Context) error {
	if s.write {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
			return fmt.Errorf("make the folder of the unit: %w", err)
		}
		if err := os.WriteFile(s.path, []byte(s.unit()), 0o644); err != nil {
			return fmt.Errorf("write the unit: %w", err)
		}
		s.say("Wrote %s.", s.path)
	}
	if !s.run {
		return nil
	}
	for _, args := range serviceCommands {
		if err := s.systemctl(ctx, args...); err != nil {
			return &setup.Left{Why: "systemd does not run the hub", Mend: err.Error()}
		}
	}
	s.runs = true
	s.say("The hub runs.")
	return nil
}

func (s *serviceStep) systemctl(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, systemctlTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl --user %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
