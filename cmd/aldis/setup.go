package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aldis/internal/config"
	"aldis/internal/hub"
	"aldis/internal/install"
	"aldis/internal/setup"
	"aldis/internal/signal"
)

// setupCmd is aldis setup. Its flags have no variables: what those say counts
// for aldis serve already, and is not to be written down as an answer.
type setupCmd struct {
	EnvFile      string         `placeholder:"PATH" help:"The settings to write. Default: $$ALDIS_CONFIG, else aldis/aldis.env in $$XDG_CONFIG_HOME, else in ~/.config."`
	StateDir     string         `placeholder:"PATH" help:"Folder for what the hub keeps. Default: where it does by itself."`
	SignalCLI    config.Address `name:"signal-cli" placeholder:"ADDRESS" help:"Where the signal-cli daemon listens, or shall listen: host:port or unix:/path. Default: 127.0.0.1:7583."`
	Account      config.Person  `placeholder:"NUMBER" help:"Account of signal-cli to use. Default: the one that is linked."`
	Operator     config.Person  `placeholder:"NUMBER" help:"Whom agents write to and who may write to them. Default: the account's own number."`
	DefaultAgent hub.AgentID    `placeholder:"AGENT" help:"Agent that gets what answers no other."`
	Link         bool           `help:"Link another account, though one is settled."`
	Client       []clientWish   `placeholder:"CLIENT=AGENT" help:"Client to print the lines for, and its agent's name; repeat for more. Default: each that is found here, its agent named like it."`
	Write        bool           `help:"With --yes: write those lines into the clients' files."`
	Service      bool           `help:"With --yes: have systemd run the hub."`
	Yes          bool           `help:"Ask nothing: what the flags do not say stays as it is, or gets its default."`
}

// Help shows examples. Kong calls it.
func (*setupCmd) Help() string {
	return `Leads from nothing to a hub that runs, and can be run again at any time: what is there already stays as it is, unless you agree.
To try Aldis without a Signal account: aldis serve --demo

Examples:
  aldis setup
  aldis setup --client crush=crush-signal
  aldis setup --yes --operator +15551234567 --account +15557654321 --service --client claude-code=deploy-bot --write`
}

// A clientWish is a client that is to be told of the hub, and the name of the
// agent in it.
type clientWish struct{ client, agent string }

// UnmarshalText reads "CLIENT=AGENT" or "CLIENT".
func (w *clientWish) UnmarshalText(text []byte) error {
	client, agent, named := strings.Cut(string(text), "=")
	id, err := hub.ParseAgentID(cmp.Or(agent, client))
	if err != nil || client == "" || named && agent == "" {
		return fmt.Errorf("want CLIENT=AGENT, like crush=crush-signal; got %q", text)
	}
	*w = clientWish{client, string(id)}
	return nil
}

var (
	errLeft = errors.New("not all is done: do what is said above, and run aldis setup again")
	errHalt = errors.New("stopped. What is done stays, nothing is half done, and aldis setup goes on from here")
)

func (c *setupCmd) Run(ctx context.Context, e env) error {
	asker, err := c.asker(e)
	if err != nil {
		return err
	}
	g, err := newGuide(c, e, asker)
	if err != nil {
		return err
	}
	return g.lead(ctx)
}

// asker is whoever answers.
func (c *setupCmd) asker(e env) (setup.Asker, error) {
	switch {
	case c.Yes:
		return setup.Script{Out: e.stdout}, nil
	case isTerminal(e.stdin) && isTerminal(e.stdout):
		return setup.NewPerson(e.stdin, e.stdout), nil
	default:
		return nil, usageError{errors.New("aldis setup asks questions, and this is no terminal: start it at one, or answer by flags, with --yes")}
	}
}

// lead goes through the steps.
func (g *guide) lead(ctx context.Context) error {
	fmt.Fprint(g.env.stdout, "This makes a hub of your own. Ctrl-C stops it at any time; it can be run again at any time.\n"+
		"To try Aldis without a Signal account: aldis serve --demo\n")
	left, err := setup.Run(ctx, g.env.stdout, g.steps())
	g.hangUp()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, setup.ErrGone):
		return errHalt
	case errors.As(err, new(*setup.Unanswered)):
		return usageError{err}
	case err != nil:
		return err
	}
	return g.end(left)
}

// A guide is one run of aldis setup: what its steps tell each other.
type guide struct {
	*setupCmd
	env  env
	ask  setup.Asker
	path string            // of the env file
	text string            // of it; "": there is none
	have map[string]string // what it says
	want []variable        // what it shall say, in order

	address  config.Address // of the daemon
	program  string         // path of signal-cli; "": it is not on this machine
	daemon   *setup.Daemon  // nil: none runs that was started here
	line     *signal.Linker // nil: the daemon is not asked anything
	accounts []string       // that it has
	account  string         // the one to use; "": not known
	runs     bool           // the hub was started
	borrowed bool           // a daemon ran for the linking alone
}

// A variable is a line of the env file.
type variable struct{ name, value string }

func newGuide(c *setupCmd, e env, asker setup.Asker) (*guide, error) {
	g := &guide{setupCmd: c, env: e, ask: asker, path: c.EnvFile}
	for _, w := range c.Client {
		if _, err := install.Find(w.client); err != nil {
			return nil, usageError{fmt.Errorf("--client: %w", err)}
		}
	}
	if err := g.read(); err != nil {
		return nil, err
	}
	g.address = c.SignalCLI
	if said := cmp.Or(g.said("ALDIS_SIGNAL_CLI"), "127.0.0.1:7583"); g.address.Addr == "" {
		if err := g.address.UnmarshalText([]byte(said)); err != nil {
			return nil, usageError{fmt.Errorf("%s: ALDIS_SIGNAL_CLI: %w", g.path, err)}
		}
	}
	return g, nil
}

// read reads the env file, which need not be there.
func (g *guide) read() (err error) {
	if g.path == "" {
		g.path, err = config.EnvFilePath(g.env.getenv)
	} else {
		g.path, err = filepath.Abs(g.path)
	}
	if err != nil {
		return usageError{err}
	}
	b, err := os.ReadFile(g.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	g.text, g.have = string(b), config.EnvFile(string(b))
	return nil
}

// said returns what the env file says under a name of ours, else under the same
// of signal-mcp.
func (g *guide) said(name string) string { return cmp.Or(g.have[name], g.have[older(name)]) }

// older is signal-mcp's name for a variable of ours.
func older(name string) string { return "SIGNAL_MCP_" + strings.TrimPrefix(name, "ALDIS_") }

// saidAccount returns the account that the env file names, "" for none.
func (g *guide) saidAccount() string {
	return cmp.Or(g.said("ALDIS_ACCOUNT"), g.said("ALDIS_OPERATOR"))
}

// settled reports whether the env file says whose account it is, and no other is
// wanted: then the daemon is not asked.
func (g *guide) settled() bool {
	return g.saidAccount() != "" && !g.Link && (g.Account == "" || string(g.Account) == g.saidAccount())
}

func (g *guide) steps() []setup.Step {
	return []setup.Step{
		&programStep{g}, &daemonStep{guide: g}, &accountStep{g}, &operatorStep{g},
		&fileStep{guide: g}, &serviceStep{guide: g}, &clientStep{guide: g}, &checkStep{g},
	}
}

// hangUp ends what was begun for the daemon's sake.
func (g *guide) hangUp() {
	if g.line != nil {
		g.line.Close()
		g.line = nil
	}
	if g.daemon != nil {
		g.say("Ending the signal-cli that was started for the linking.")
		g.daemon.Stop()
		g.daemon, g.borrowed = nil, true
	}
}

func (g *guide) say(format string, args ...any) {
	_, _ = io.WriteString(g.env.stdout, setup.Indent(fmt.Sprintf(format, args...)))
}

// end says what comes next.
func (g *guide) end(left []*setup.Left) error {
	if g.borrowed {
		left = append(left, &setup.Left{Why: "signal-cli has to run for good: " + g.daemonCommand()})
	}
	if len(left) > 0 {
		fmt.Fprintln(g.env.stdout, "\nLeft to do:")
	}
	for _, l := range left {
		fmt.Fprintf(g.env.stdout, "  - %s\n", l.Why)
	}
	next := "aldis serve --env-file " + shellWord(g.path)
	if g.runs {
		next = "aldis status"
	}
	fmt.Fprintf(g.env.stdout, "\nNext: %s\n", next)
	if len(left) > 0 {
		return errLeft
	}
	return nil
}

// shellWord quotes a word for a POSIX shell, if it needs that.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+@%,~", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
