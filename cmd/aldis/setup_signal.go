package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"aldis/internal/doctor"
	"aldis/internal/hub"
	"aldis/internal/setup"
	"aldis/internal/signal"
)

// getSignalCLI says how to get signal-cli.
const getSignalCLI = "It is what joins the hub to Signal. Get it in one of these ways:\n" +
	"  macOS:  brew install signal-cli\n" +
	"  Linux:  the native build, which needs no Java, from https://github.com/AsamK/signal-cli/releases\n" +
	"  any:    the build for Java (25 or newer) from the same page\n" +
	"Put it into PATH, and run aldis setup again. Is it on another machine, name it: --signal-cli HOST:PORT"

// programStep finds signal-cli on this machine.
type programStep struct{ *guide }

func (*programStep) Title() string { return "signal-cli" }

func (s *programStep) Done(ctx context.Context) (string, error) {
	if !local(s.address.String()) {
		return "It runs on another machine: " + s.address.String(), nil
	}
	home := s.env.getenv("HOME")
	found := setup.FindProgram(home)
	if found == "" {
		if s.listening(ctx) {
			return "It is not found on this machine, but something listens at " + s.address.String(), nil
		}
		return "", nil
	}
	s.say("Asking %s for its version …", found)
	version, err := setup.ProgramVersion(ctx, found)
	if err != nil {
		return "", &setup.Left{Why: "signal-cli is there, and cannot be used", Mend: err.Error()}
	}
	s.program = found
	return judged("signal-cli "+version+" at "+found, version), nil
}

func (*programStep) Ask(context.Context) error { return nil }

func (*programStep) Do(context.Context) error {
	return &setup.Left{Why: "signal-cli is not on this machine", Mend: getSignalCLI}
}

// judged adds to what there is what is known against that version.
func judged(what, version string) string {
	if r := doctor.Release(version); r.State == doctor.Warn || r.State == doctor.Fail {
		return what + "\nBut " + r.Says + ": " + r.Mend
	}
	return what
}

// listening reports whether something is at the daemon's address, without a
// connection where that can be had: a daemon gives what waits for the hub to
// whoever connects first.
func (g *guide) listening(ctx context.Context) bool {
	if g.address.Network == "unix" {
		_, err := os.Stat(g.address.Addr)
		return err == nil
	}
	if !local(g.address.Addr) {
		return true // as far as can be told
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", g.address.Addr)
	if err == nil {
		_ = ln.Close()
	}
	return err != nil
}

// The answers of daemonStep.
const (
	runElsewhere = "It runs now: I have started it in another terminal"
	runHere      = "Start it here for the linking, and end it after that"
	runLater     = "Go on without it"
)

// daemonStep finds signal-cli's daemon.
type daemonStep struct {
	*guide
	answer string
}

func (*daemonStep) Title() string { return "signal-cli's daemon" }

func (s *daemonStep) Done(ctx context.Context) (string, error) {
	switch listening := s.listening(ctx); {
	case listening && s.settled():
		return "Something listens at " + s.address.String() + ". It is not asked: what Signal has for the hub could come here, and be lost", nil
	case listening:
		return s.connect(ctx)
	case s.settled():
		return "", s.noDaemon()
	}
	return "", nil
}

// connect asks the daemon what it is.
func (s *daemonStep) connect(ctx context.Context) (string, error) {
	line, err := signal.OpenLinker(ctx, s.address.String())
	if err != nil {
		return "", &setup.Left{Why: hub.OneLine(err.Error(), 300), Mend: "The hub needs there: " + s.daemonCommand()}
	}
	s.line = line
	return judged("signal-cli "+hub.OneLine(line.Version, 64)+" answers at "+s.address.String(), line.Version), nil
}

// command is how the daemon is run for good.
func (g *guide) daemonCommand() string {
	program := "signal-cli"
	if found, err := exec.LookPath(program); err != nil || found != g.program && g.program != "" {
		program = shellWord(cmp.Or(g.program, program))
	}
	return program + " daemon " + strings.Join(g.listenArgs(), " ") + " --receive-mode on-connection"
}

func (g *guide) listenArgs() []string {
	if g.address.Network == "unix" {
		return []string{"--socket", g.address.Addr}
	}
	return []string{"--tcp", g.address.Addr}
}

func (g *guide) noDaemon() error {
	return &setup.Left{Why: "No signal-cli daemon listens at " + g.address.String(), Mend: "This starts it, and it has to stay running:\n  " + g.daemonCommand()}
}

func (s *daemonStep) Ask(ctx context.Context) (err error) {
	if s.Yes {
		s.answer = runLater
		return nil
	}
	s.say("None listens at %s. This starts it, and it has to stay running:\n  %s", s.address, s.daemonCommand())
	q := setup.Question{Text: "What now?", Choices: []string{runElsewhere, runLater}, Default: runElsewhere}
	if s.program != "" && runtime.GOOS != "windows" {
		q.Choices = []string{runElsewhere, runHere, runLater}
	}
	for {
		if s.answer, err = s.ask.Ask(ctx, q); err != nil || s.answer != runElsewhere || s.listening(ctx) {
			return err
		}
		s.say("Nothing listens there yet.")
	}
}

func (s *daemonStep) Do(ctx context.Context) error {
	switch s.answer {
	case runLater:
		return s.noDaemon()
	case runHere:
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	what, err := s.connect(ctx)
	if err == nil {
		s.say("%s", what)
	}
	return err
}

// startTime is how long a daemon may need until it listens.
const startTime = time.Minute

// start starts a daemon and waits until it listens.
func (s *daemonStep) start(ctx context.Context) (err error) {
	if s.address.Network == "unix" {
		if err := os.MkdirAll(filepath.Dir(s.address.Addr), 0o700); err != nil {
			return fmt.Errorf("make the folder of signal-cli's socket: %w", err)
		}
	}
	s.say("Starting it; that takes some seconds.")
	if s.daemon, err = setup.StartDaemon(ctx, s.program, s.listenArgs()...); err != nil {
		return err
	}
	tick, late := time.NewTicker(100*time.Millisecond), time.NewTimer(startTime)
	defer tick.Stop()
	defer late.Stop()
	for !s.isUp(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.daemon.Ended:
			return &setup.Left{Why: "signal-cli does not start", Mend: s.daemon.Err().Error()}
		case <-late.C:
			return &setup.Left{Why: fmt.Sprintf("signal-cli does not listen after %v", startTime), Mend: "Start it by hand, and see what it says: " + s.daemonCommand()}
		}
	}
	return nil
}

// isUp reports whether the daemon that was started here listens. To try to
// listen there too could keep it from that.
func (s *daemonStep) isUp(ctx context.Context) bool {
	nc, err := new(net.Dialer).DialContext(ctx, s.address.Network, s.address.Addr)
	if err == nil {
		_ = nc.Close()
	}
	return err == nil
}

// deviceName is what the phone shows among its linked devices.
const deviceName = "aldis"

// anotherAccount is the answer that no account is the one.
const anotherAccount = "Link another account"

// accountStep finds the account, or links one.
type accountStep struct{ *guide }

func (*accountStep) Title() string { return "Signal account" }

func (s *accountStep) Done(ctx context.Context) (string, error) {
	if s.settled() {
		s.account = s.saidAccount()
		return "The settings say which: " + s.account + ". (Another one, or if it is not linked: aldis setup --link)", nil
	}
	s.account = string(s.Account)
	if s.line == nil {
		return "", nil
	}
	var err error
	s.accounts, err = s.line.Accounts(ctx)
	switch {
	case errors.Is(err, signal.ErrOneAccount):
		return "The daemon was started for one account (-a), and does not say which", nil
	case err != nil:
		return "", &setup.Left{Why: "signal-cli does not tell its accounts", Mend: err.Error()}
	case s.Link:
		return "", nil
	case s.account != "" && s.account[0] != '+':
		return "The account is " + s.account + "; signal-cli tells numbers alone, so whether it is linked is not known", nil
	}
	return s.known(), nil
}

// known says that an account is linked that can only be the one.
func (s *accountStep) known() string {
	for _, number := range s.accounts {
		if len(s.accounts) == 1 && s.account == "" || number == s.account {
			s.account = number
			return "signal-cli is linked to " + number
		}
	}
	return ""
}

func (s *accountStep) Ask(ctx context.Context) error {
	if len(s.accounts) == 0 {
		return nil
	}
	q := setup.Question{Text: "Which of signal-cli's accounts is the hub's?", Choices: append(slices.Clone(s.accounts), anotherAccount), Flag: "--account"}
	switch {
	case s.account != "" && !slices.Contains(s.accounts, s.account):
		q.Text, q.Default = "signal-cli is not linked to "+s.account+". Which account is the hub's?", anotherAccount
	case s.Link:
		q.Default = anotherAccount
	}
	answer, err := s.ask.Ask(ctx, q)
	if answer != anotherAccount {
		s.account = answer
	}
	s.Link = answer == anotherAccount
	return err
}

func (s *accountStep) Do(ctx context.Context) error {
	if len(s.accounts) > 0 && !s.Link {
		return nil
	}
	if s.line == nil || s.Yes {
		return s.byHand()
	}
	return s.link(ctx)
}

// byHand says how to link without this program.
func (s *accountStep) byHand() error {
	why, mend := "No account is linked", "At a terminal aldis setup --link does it; or by hand, while the daemon does not run:"
	if s.account != "" {
		why = "signal-cli is not linked to " + s.account
	}
	if s.line == nil {
		why, mend = "Whether an account is linked is not known while no daemon runs", "Once it runs, aldis setup --link links one; or by hand, while it does not:"
	}
	return &setup.Left{Why: why, Mend: mend + "\n  " + shellWord(cmp.Or(s.program, "signal-cli")) + " link -n " + deviceName + "\nand scan the code with the phone (Settings, Linked devices)"}
}

// link shows codes until one is scanned.
func (s *accountStep) link(ctx context.Context) error {
	for {
		number, err := s.try(ctx)
		if err == nil {
			s.account = number
			s.say("Linked to %s. The phone lists it under Linked devices as %s.", number, deviceName)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.say("Not linked: %v.", err)
		again, err := setup.Confirm(ctx, s.ask, setup.Question{Text: "Show a new code?", Default: "yes"})
		if err != nil {
			return err
		}
		if !again {
			return s.byHand()
		}
	}
}

// try shows one code, and the address in it nowhere else: whose phone scans it
// first has the daemon.
func (s *accountStep) try(ctx context.Context) (number string, err error) {
	uri, err := s.line.Start(ctx)
	if err != nil {
		return "", err
	}
	s.say("On the phone: Signal, Settings, Linked devices, Link a new device. Scan this:\n ")
	if err := setup.WriteQR(s.env.stdout, uri); err != nil {
		return "", err
	}
	s.say("\nIf it cannot be scanned, make a code of this elsewhere: %s\nIt is good for %d seconds. Waiting for the phone …", uri, int(signal.CodeLife.Seconds()))
	return s.line.Finish(ctx, uri, deviceName)
}
