package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/demo"
	"aldis/internal/hub"
	"aldis/internal/phone"
)

// The variables by which a demo tells its hub's process what is secret.
const (
	demoCode   = "ALDIS_DEMO_CODE"
	demoSecret = "ALDIS_DEMO_SECRET"
)

// The sample agents of the demo.
const (
	deployBot   = "deploy-bot"
	crushSignal = "crush-signal" // the default agent
)

// runDemo is aldis serve --demo: it starts the hub in a process of its own,
// with a phone in the browser in place of Signal, joins two sample agents, and
// starts the hub again when the page has it killed.
func runDemo(ctx context.Context, c config.Serve, e env, log *slog.Logger) (err error) {
	folder, err := os.MkdirTemp("", "aldis-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	d := demoRun{folder: folder, token: auth.NewToken(), admin: auth.NewToken(), code: auth.NewToken(), secret: auth.NewToken(), log: log, stderr: e.stderr}
	if d.address, err = freeAddress(ctx); err != nil {
		return err
	}
	if d.program, err = os.Executable(); err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	d.level = c.LogLevel
	parts, ctx := errgroup.WithContext(ctx)
	d.cast = demo.NewCast(ctx, d.agent(deployBot, "Build 214 is green on main. Roll out to production?", demo.DeployBot),
		d.agent(crushSignal, "I watch the logs. What answers no agent in particular comes to me.", demo.LogWatcher))
	parts.Go(func() error {
		return (&demo.Process{Command: d.command, Order: func(o demo.Order) { d.cast.Switch(o.Agent, o.Online) }}).Run(ctx)
	})
	parts.Go(func() error {
		if err := d.up(ctx); err != nil {
			return err
		}
		url := d.url() + "/phone#" + d.code
		fmt.Fprintf(e.stdout, "The demo is up. Open it in your browser; the link works once:\n\n  %s\n\nThe record of it all is at %s/admin; log in with\n\n  %s\n\nCtrl-C ends it, and nothing of it stays.\n", url, d.url(), d.admin)
		browse(e.stdout, url)
		d.cast.Switch(crushSignal, true)
		d.cast.Switch(deployBot, true)
		d.cast.Wait()
		return nil
	})
	err = parts.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// A demoRun is one run of the demo.
type demoRun struct {
	folder, address, program   string
	token, admin, code, secret string
	level                      slog.Level
	log                        *slog.Logger
	stderr                     io.Writer
	cast                       *demo.Cast
}

func (d *demoRun) url() string { return "http://" + d.address }

// command is the hub's process.
func (d *demoRun) command() *exec.Cmd {
	host, port, _ := net.SplitHostPort(d.address)
	cmd := exec.Command(d.program, "demo-hub", "--host", host, "--port", port, "--state-dir", d.folder,
		"--routes-file", filepath.Join(d.folder, "routes"), "--default-agent", crushSignal, "--log-level", max(d.level, slog.LevelWarn).String())
	cmd.Env = append(os.Environ(), "ALDIS_AUTH_TOKEN="+d.token, "ALDIS_ADMIN_TOKEN="+d.admin, demoCode+"="+d.code, demoSecret+"="+d.secret)
	cmd.Stderr = d.stderr
	return cmd
}

// agent is a sample agent that shows the phone's page what it is handed.
func (d *demoRun) agent(name, first string, rule func(demo.Event) demo.Reply) *demo.Agent {
	return &demo.Agent{Name: name, Hub: d.url(), Token: d.token, First: first, Rule: rule, Log: d.log, Heard: shower(d.url(), d.token, name)}
}

// shower tells the page of the phone on a hub what an agent was handed, again
// while the hub is away. On a hub without a phone it gives up at once.
func shower(url, token, agent string) func(context.Context, demo.Event) {
	count, phone := 0, true
	return func(ctx context.Context, e demo.Event) {
		count++
		body, err := json.Marshal(map[string]any{"agent": agent, "id": e.Meta["id"], "seq": count, "content": e.Content, "meta": e.Meta})
		if err != nil || !phone {
			return
		}
		for ctx.Err() == nil {
			if phone, err = show(ctx, url, token, body); err == nil {
				return
			}
			wait(ctx, time.Second)
		}
	}
}

// show posts a report. It reports whether the hub has a phone.
func show(ctx context.Context, url, token string, report []byte) (phone bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/phone/received", bytes.NewReader(report))
	if err != nil {
		return true, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return true, err
	}
	return resp.StatusCode != http.StatusNotFound, resp.Body.Close()
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// up waits until the hub answers.
func (d *demoRun) up(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url()+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		wait(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// freeAddress returns a loopback address that is free.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// browse opens url in a browser where there is a person at a desktop.
func browse(out io.Writer, url string) {
	if !isTerminal(out) {
		return
	}
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", url)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		cmd = exec.Command("xdg-open", url)
	default:
		return
	}
	_ = cmd.Start() // the link is printed as well
}

// demoHubCmd is the hub of a demo. What the page asks of the demo goes out as
// orders on standard output.
type demoHubCmd struct{ config.Serve }

func (c *demoHubCmd) Run(ctx context.Context, e env) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the process: nothing else ends a read of standard input
		_, _ = io.Copy(io.Discard, e.stdin)
		stop()
	}()
	return serve(ctx, c.Serve, logger(c.Common, e), func(h *hubProcess) error { return joinPhone(h, e) })
}

// joinPhone makes the phone in the browser the platform of the hub.
func joinPhone(h *hubProcess, e env) error {
	orders := json.NewEncoder(e.stdout)
	online := map[string]bool{deployBot: true, crushSignal: true}
	var mu sync.Mutex // guards orders and online
	order := func(o demo.Order) {
		mu.Lock()
		defer mu.Unlock()
		if o.Agent != "" {
			online[o.Agent] = o.Online
		}
		_ = orders.Encode(o) // nobody is there any more: the demo is at its end
	}
	h.phone = &phone.Phone{
		Path: filepath.Join(h.settings.StateDir, "phone"), Secret: []byte(e.getenv(demoSecret)), Code: e.getenv(demoCode),
		Join: joinLines("http://"+h.settings.Address(), h.settings.Tokens()),
		Agents: func() []phone.AgentState {
			mu.Lock()
			defer mu.Unlock()
			return h.agentStates(online)
		},
		Switch:  func(agent string, on bool) { order(demo.Order{Agent: agent, Online: on}) },
		Restart: func() { order(demo.Order{Kill: true}) },
		Log:     h.log, Now: time.Now, NewID: newID,
	}
	h.relay.Platforms = []hub.Platform{h.phone}
	h.relay.Operator = h.phone.Operator()
	h.relay.Gate.Operate(phone.ID, "operator")
	h.relay.Gate.Approve(phone.ID, "operator")
	h.relay.Gate.Open(phone.ID, h.relay.Operator.Chat)
	return h.phone.Open()
}

// agentStates are the agents as the page shows them: the sample ones, and all
// that are present.
func (h *hubProcess) agentStates(online map[string]bool) []phone.AgentState {
	states := map[string]phone.AgentState{}
	for name, on := range online {
		states[name] = phone.AgentState{Name: name, State: "gone", Sample: true, Online: on}
	}
	for _, s := range h.table.List() {
		a, known := states[string(s.Agent)]
		if !s.Named || !known && (s.State == "gone" || s.State == "new") || known && a.State == "live" {
			continue
		}
		a.Name, a.State = string(s.Agent), s.State
		states[a.Name] = a
	}
	list := make([]phone.AgentState, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		a := states[name]
		a.Default = hub.AgentID(name) == h.settings.DefaultAgent
		list = append(list, a)
	}
	return list
}

// joinLines are how agents of the visitor's own join. A token may start with a
// dash, so that a flag needs the sign before it.
func joinLines(url string, tokens []string) []phone.JoinLine {
	token := ""
	if len(tokens) > 0 {
		token = tokens[0]
	}
	return []phone.JoinLine{
		{Client: "Claude Code", Line: fmt.Sprintf(`claude mcp add --transport http aldis %s/mcp --header "X-Signal-Agent-Id: my-agent" --header "Authorization: Bearer %s" && claude --dangerously-load-development-channels server:aldis`, url, token)},
		{Client: "Crush", Line: fmt.Sprintf(`{"mcp":{"aldis":{"type":"http","url":"%s/mcp","headers":{"X-Signal-Agent-Id":"my-agent","Authorization":"Bearer %s"}}}}`, url, token)},
		{Client: "Another sample agent", Line: fmt.Sprintf("%s demo-agent my-agent --hub %s --token=%s", ourName(), url, token)},
		{Client: "A script", Line: fmt.Sprintf(`curl -X POST '%s/notify?label=ci' -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"content":"build failed on main","target":"deploy-bot"}'`, url, token)},
	}
}

// ourName is how a person in another terminal calls this program: it need not
// be installed to be tried.
func ourName() string {
	own, err := os.Executable()
	if err != nil {
		return "aldis"
	}
	if found, err := exec.LookPath("aldis"); err == nil && found == own {
		return "aldis"
	}
	if strings.Contains(own, " ") {
		return `"` + own + `"`
	}
	return own
}

// demoAgentCmd is one more sample agent, in another terminal.
type demoAgentCmd struct {
	config.HubSender
	Name string `arg:"" help:"Name of the agent."`
}

func (c *demoAgentCmd) Run(ctx context.Context, e env) error {
	show := shower(c.URL, string(c.Token), c.Name)
	a := &demo.Agent{
		Name: c.Name, Hub: c.URL, Token: string(c.Token), First: "Hello from " + c.Name + ". Quote this to answer me.",
		Rule: demo.Echo, Log: logger(c.Common, e),
		Heard: func(ctx context.Context, ev demo.Event) {
			fmt.Fprintf(e.stdout, "%s\n", channelText(ev))
			show(ctx, ev)
		},
	}
	return a.Run(ctx)
}

// channelText shows an event as a client puts it before its model.
func channelText(e demo.Event) string {
	var b strings.Builder
	b.WriteString("<channel")
	for _, k := range slices.Sorted(maps.Keys(e.Meta)) {
		fmt.Fprintf(&b, " %s=%q", k, e.Meta[k])
	}
	fmt.Fprintf(&b, ">%s</channel>", e.Content)
	return b.String()
}
