package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/setup"
)

// operatorStep asks who the operator is.
type operatorStep struct{ *guide }

func (*operatorStep) Title() string { return "You, the operator" }

func (s *operatorStep) Done(context.Context) (string, error) {
	s.hangUp() // the daemon is asked no more
	if s.Operator == "" {
		s.Operator = config.Person(s.said("ALDIS_OPERATOR"))
	}
	if s.Operator == "" {
		return "", nil
	}
	return "The operator is " + string(s.Operator) + s.wishAccount(), nil
}

func (s *operatorStep) Ask(ctx context.Context) error {
	s.say("Agents write to you, and only you are heard. With the number of the account itself they write into\n" +
		"your Note to Self, and you answer there. With another number, the account is the hub's own and writes to you.")
	answer, err := s.ask.Ask(ctx, setup.Question{
		Text: "Your number in Signal, in international form:", Default: s.account, Flag: "--operator",
		Check: func(answer string) (string, error) {
			var p config.Person
			err := p.UnmarshalText([]byte(strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(answer)))
			return string(p), err
		},
	})
	s.Operator = config.Person(answer)
	return err
}

func (s *operatorStep) Do(context.Context) error {
	s.say("The operator is %s%s", s.Operator, s.wishAccount())
	return nil
}

// wishAccount has the file say whose account it is, and says it. The file needs
// a line for it only if it is not the operator's.
func (s *operatorStep) wishAccount() string {
	operator := string(s.Operator)
	s.want = append(s.want, variable{"ALDIS_OPERATOR", operator})
	named := s.said("ALDIS_ACCOUNT")
	account := cmp.Or(s.account, named, operator)
	if account != cmp.Or(named, operator) {
		s.want = append(s.want, variable{"ALDIS_ACCOUNT", account})
	}
	switch {
	case account != operator:
		return "; agents write from the account " + account
	case s.account == "":
		return ", and signal-cli is taken to be linked to that number too. If it is another: aldis setup --account NUMBER"
	default:
		return ", whose account it is: agents write into Note to Self"
	}
}

// fileStep writes the settings.
type fileStep struct {
	*guide
	mode fs.FileMode // of the file; 0: there is none, or none counts
}

func (*fileStep) Title() string { return "Settings" }

func (s *fileStep) Done(context.Context) (string, error) {
	if s.said("ALDIS_AUTH_TOKEN") == "" {
		s.want = append(s.want, variable{"ALDIS_AUTH_TOKEN", auth.NewToken()})
	}
	if at := s.address.String(); at != cmp.Or(s.said("ALDIS_SIGNAL_CLI"), "127.0.0.1:7583") {
		s.want = append(s.want, variable{"ALDIS_SIGNAL_CLI", at})
	}
	if s.StateDir != "" {
		dir, err := filepath.Abs(s.StateDir)
		if err != nil {
			return "", err
		}
		s.want = append(s.want, variable{"ALDIS_STATE_DIR", dir})
	}
	if s.DefaultAgent != "" {
		s.want = append(s.want, variable{"ALDIS_DEFAULT_AGENT", string(s.DefaultAgent)})
	}
	s.want = s.missing()
	if info, err := os.Stat(s.path); err == nil && runtime.GOOS != "windows" {
		s.mode = info.Mode().Perm()
	}
	if len(s.want) > 0 || s.mode&0o077 != 0 {
		return "", nil
	}
	return s.path + " says all that is needed", s.stateFolder()
}

// missing returns what is wanted and not said.
func (s *fileStep) missing() (list []variable) {
	for _, v := range s.want {
		if s.said(v.name) != v.value {
			list = append(list, v)
		}
	}
	return list
}

// Ask asks about what would be replaced.
func (s *fileStep) Ask(ctx context.Context) error {
	agreed := s.want[:0]
	for _, v := range s.want {
		if said := s.said(v.name); said != "" {
			yes, err := setup.Confirm(ctx, s.ask, setup.Question{
				Text:    fmt.Sprintf("%s says %s=%s. Make it %s?", s.path, v.name, said, v.value),
				Default: "no", Scripted: "yes", // what a script wants it has said by a flag
			})
			if err != nil {
				return err
			}
			if !yes {
				continue
			}
		}
		agreed = append(agreed, v)
	}
	s.want = agreed
	return nil
}

func (s *fileStep) Do(context.Context) error {
	text := cmp.Or(s.text, "# Settings of aldis serve. Whoever can read this file can act as any agent.\n")
	var names []string
	for _, v := range s.want {
		var err error
		if text, err = config.SetInEnvFile(text, v.name, v.value); err != nil {
			return err
		}
		names = append(names, v.name)
	}
	if err := s.write(text); err != nil {
		return err
	}
	if s.text, s.have = text, config.EnvFile(text); len(names) > 0 {
		s.say("Wrote %s to %s, which you alone can read.", strings.Join(names, ", "), s.path)
	}
	if s.mode&0o077 != 0 {
		s.say("Others could open %s (mode %04o); now you alone can. If it had a token before, choose another.", s.path, s.mode)
	}
	s.say("The hub reads it when it is told to: --env-file, or ALDIS_CONFIG=%s", shellWord(s.path))
	s.warnOfEnvironment()
	return s.stateFolder()
}

// write replaces the file, whole, for its owner alone to read.
func (s *fileStep) write(text string) error {
	path := s.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || string(now) != s.text {
		return fmt.Errorf("%s was changed by somebody else just now: nothing was written; run aldis setup again", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the settings: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".aldis.env-*") // 0600
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// warnOfEnvironment says which variables would beat the file.
func (s *fileStep) warnOfEnvironment() {
	for _, name := range slices.Sorted(maps.Keys(s.have)) {
		for _, n := range []string{name, older(name)} {
			if other := s.env.getenv(n); other != "" && other != s.have[name] {
				s.say("But %s is set in this environment to something else, which counts more: unset it.", n)
			}
		}
	}
}

// stateFolder makes the folder for what the hub keeps, or closes it to others.
func (s *fileStep) stateFolder() error {
	c, err := s.settings()
	if err != nil {
		return err
	}
	if c.StateDir == "" {
		return nil // the check says why
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	info, err := os.Stat(c.StateDir)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		s.say("Others could open %s (mode %04o); now you alone can.", c.StateDir, info.Mode().Perm())
		err = os.Chmod(c.StateDir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("keep the state folder to its owner: %w", err)
	}
	return nil
}

// settings are what the hub would start with.
func (g *guide) settings() (*config.Doctor, error) {
	var c config.Doctor
	loader := &config.Loader{Getenv: g.env.getenv}
	parser, err := kong.New(&c, loader.Options()...)
	if err == nil {
		_, err = parser.Parse([]string{"--env-file", g.path})
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings again: %w", err)
	}
	return &c, nil
}
