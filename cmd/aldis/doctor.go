package main

import (
	"context"
	"errors"
	"os"
	"time"

	"aldis/internal/config"
	"aldis/internal/doctor"
	"aldis/internal/hub"
)

// doctorCmd is aldis doctor. It changes nothing, but for the message of --canary.
type doctorCmd struct {
	config.Doctor
	JSON         bool            `help:"Print JSON."`
	Canary       string          `placeholder:"AGENT" help:"Send this agent a harmless message, and say how far it got."`
	Timeout      config.Duration `default:"30s" help:"How long to wait until the agent has acknowledged it: seconds, or like 2m."`
	AskSignalCLI bool            `name:"ask-signal-cli" help:"Ask signal-cli itself, though the hub does not run: what Signal has for the hub may come to this command, and be lost."`
}

// errBroken ends aldis doctor with exit code 1.
var errBroken = errors.New("something is broken: the lines that begin with fail say what, and how to mend it")

// Help shows examples. Kong calls it.
func (*doctorCmd) Help() string {
	return `It takes the settings of aldis serve, and changes nothing. What it prints has no token and no number in it.
Exit code: 0 nothing is broken, 1 something is, 2 an argument is wrong.

Examples:
  aldis doctor
  aldis doctor --env-file ~/.config/aldis/aldis.env
  aldis doctor --hub https://hub.example --json
  aldis doctor --canary deploy-bot --timeout 2m`
}

func (c *doctorCmd) Run(ctx context.Context, e env) error {
	if c.Canary != "" {
		agent, err := hub.ParseAgentID(c.Canary)
		if err != nil {
			return usageError{err}
		}
		c.Canary = string(agent)
	}
	p := newProber(c, e)
	p.all(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	r := doctor.Examine(p.facts).Private(p.home(), p.secrets...)
	if err := c.print(r, e); err != nil {
		return err
	}
	if r.State == doctor.Fail {
		return errBroken
	}
	return nil
}

func (c *doctorCmd) print(r doctor.Result, e env) error {
	if c.JSON {
		return r.JSON(e.stdout)
	}
	return r.Text(e.stdout, e.colors(e.stdout))
}

// probeTime bounds each probe.
const probeTime = 4 * time.Second

// A prober gathers facts. Each of its probes writes a part of them that is its
// own; those of a later round may read what an earlier one has found.
type prober struct {
	*doctorCmd
	env env

	managed string // folder of Claude Code's policy; empty: the system's

	facts   doctor.Facts
	admin   string   // the admin's token; empty: it was not found
	secrets []string // to be kept out of what is printed; the round of clients adds to them
	status  *status  // of the running hub; nil: it has not told
	process *process // the daemon's; nil: it was not found
}

func newProber(c *doctorCmd, e env) *prober {
	p := &prober{doctorCmd: c, env: e}
	p.facts.Version, p.facts.Now = version(), time.Now()
	p.facts.Built, _ = time.Parse(time.RFC3339, thisBuild().Date) // not known: zero
	p.keep(c.Tokens()...)
	p.keep(c.HistoryAuth.Tokens()...)
	p.keep(string(c.AdminToken), string(c.Desktop.Key), string(c.Operator), string(c.Account))
	p.settings(os.Environ())
	return p
}

// keep keeps secrets out of what is printed.
func (p *prober) keep(secrets ...string) { p.secrets = append(p.secrets, secrets...) }

func (p *prober) home() string {
	if home := p.env.getenv("HOME"); home != "" {
		return home
	}
	return p.env.getenv("USERPROFILE")
}

// all makes all probes.
func (p *prober) all(ctx context.Context) {
	w := newWaiting(p.env.watched())
	defer w.stop()
	w.round(ctx, probeTime, map[string]probe{
		"the hub":          p.hub,
		"the state folder": p.folder,
		"Signal Desktop":   p.history,
		"processes":        p.processes,
	})
	w.round(ctx, probeTime, map[string]probe{
		"access.json": p.access,
		"signal-cli":  p.daemon,
		"clients":     p.clients,
	})
	p.sessions()
	if p.Canary != "" {
		w.round(ctx, time.Duration(p.Timeout)+probeTime, map[string]probe{"the agent": p.canary})
	}
}

// sessions are those that the hub has told of.
func (p *prober) sessions() {
	if p.status == nil {
		return
	}
	for _, s := range p.status.Sessions {
		agent := string(s.Agent)
		p.facts.Sessions = append(p.facts.Sessions, doctor.Session{
			ID: s.Session, Agent: hub.OneLine(agent, hub.PreviewBytes), State: s.State, Client: hub.OneLine(s.Client, hub.PreviewBytes), Evicted: s.Evicted,
		})
	}
}
