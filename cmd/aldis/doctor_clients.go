package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strings"

	"aldis/internal/doctor"
	"aldis/internal/hub"
	"aldis/internal/install"
)

// clients looks for the hub in the files of AI clients, and tries the tokens
// that these have.
func (p *prober) clients(ctx context.Context) {
	w, err := install.Here(p.env.getenv)
	if err != nil {
		p.facts.NoClients = err.Error()
		return
	}
	w.Managed = p.managed
	for _, c := range install.Clients() {
		found := install.Read(c, w, p.URL)
		for _, e := range found.Entries {
			p.facts.Clients = append(p.facts.Clients, p.client(ctx, c, e))
		}
		for _, s := range found.Switches {
			p.facts.Switches = append(p.facts.Switches, doctor.Switch{
				Name: s.Name, Value: hub.OneLine(s.Value, hub.PreviewBytes), Where: s.Where, Means: s.Means, Managed: strings.Contains(s.Where, "managed"),
			})
		}
		for _, err := range found.Broken {
			p.facts.BadFiles = append(p.facts.BadFiles, doctor.BadFile{Client: c.ID, Why: err.Error()})
		}
		for _, err := range found.Closed {
			p.facts.BadFiles = append(p.facts.BadFiles, doctor.BadFile{Client: c.ID, Why: err.Error()})
		}
	}
}

// client tells what an entry says, and shows the hub its token, if it leads
// there.
func (p *prober) client(ctx context.Context, c *install.Client, e install.Entry) doctor.Client {
	x := doctor.Client{
		ID: c.ID, Where: e.File, Name: e.Name, Verb: e.Verb, Off: e.Disabled,
		URL: e.Hub, Here: e.Hub == "" || sameHub(e.Hub, p.URL), Agent: e.Agent, Literal: e.Token.Literal != "",
	}
	if e.Line > 0 {
		x.Where += fmt.Sprintf(", line %d,", e.Line)
	}
	if e.Command != "" {
		if _, err := exec.LookPath(e.Command); err != nil {
			x.Absent = e.Command
		}
	}
	token, known := p.tokenOf(e.Token)
	p.keep(token)
	if known && x.Here && p.facts.Hub.Presence == doctor.Ours && (e.HTTP() || e.Verb == "attach") {
		x.Token, x.Own = try(ctx, p.URL, token, hub.AgentID(e.Agent))
	}
	if token == "" && e.Token.Variable != "" && (e.HTTP() || x.Token == doctor.NoToken) {
		x.Unset = e.Token.Variable
	}
	return x
}

// tokenOf is the token that an entry leads to, if that can be known.
func (p *prober) tokenOf(t install.Token) (token string, known bool) {
	switch {
	case t.Literal != "":
		return t.Literal, true
	case t.Variable == install.TokenVar: // aldis looks further itself
		for _, name := range []string{t.Variable, "ALDIS_AUTH_TOKEN", "SIGNAL_MCP_AUTH_TOKEN"} {
			if token = p.env.getenv(name); token != "" {
				break
			}
		}
	case t.Variable != "":
		token = p.env.getenv(t.Variable)
	case t.File != "":
		return "", false
	}
	first, _, _ := strings.Cut(token, ",")
	return strings.TrimSpace(first), true
}

// sameHub reports whether two URLs name one hub: this machine goes by several
// names.
func sameHub(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil {
		return false
	}
	here := func(u *url.URL) bool { return local(net.JoinHostPort(u.Hostname(), "0")) }
	return x.Scheme == y.Scheme && x.Port() == y.Port() && strings.TrimRight(x.Path, "/") == strings.TrimRight(y.Path, "/") &&
		(strings.EqualFold(x.Hostname(), y.Hostname()) || here(x) && here(y))
}
