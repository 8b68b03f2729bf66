package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// clientTimeout bounds what a command asks of the hub.
const clientTimeout = time.Minute

// An adminClient calls the running hub's /api with the admin's token.
type adminClient struct{ config.HubAdmin }

// do sends in as JSON, unless it is nil, and reads the answer into out, unless
// that is nil.
func (c adminClient) do(ctx context.Context, method, path string, in, out any) error {
	token := string(c.AdminToken)
	if token == "" {
		var err error
		if token, err = auth.ReadAdminToken(c.StateDir); err != nil {
			return fmt.Errorf("%w; is the hub's state folder another one (--state-dir), or was it started elsewhere (--admin-token)?", err)
		}
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return fmt.Errorf("call the hub at %s: %w", c.URL, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call the hub at %s: %w; is aldis serve running?", c.URL, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	return readAnswer(resp, c.URL, out)
}

// readAnswer reads what the hub at url has answered into out, unless that is
// nil. It fails with an httpd.StatusError of what the hub says if that is one.
func readAnswer(resp *http.Response, url string, out any) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("read the answer of the hub at %s: %w", url, err)
	}
	if resp.StatusCode >= 400 {
		var e struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(b, &e)
		return httpd.Statusf(resp.StatusCode, "the hub at %s answered %s: %s", url, resp.Status, e.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("read the answer of the hub at %s: %w", url, err)
	}
	return nil
}

// statusCmd is aldis status.
type statusCmd struct {
	config.HubAdmin
	JSON bool `help:"Print JSON."`
}

func (c *statusCmd) Run(ctx context.Context, e env) error {
	var s status
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodGet, "/api/status", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		return out.Encode(s)
	}
	t := newTable(e)
	s.fill(t)
	return t.print()
}

func (s status) fill(t *table) {
	t.row("hub", fmt.Sprintf("%s, up since %s", s.Version, t.moment(s.Started)))
	t.row("routes", fmt.Sprint(s.Routes))
	t.row("waiting", fmt.Sprint(s.Waiting))
	t.row("prompts", fmt.Sprintf("%d open", s.Prompts))
	s.Access.fill(t)
	for _, p := range s.Platforms {
		t.row("platform", fmt.Sprintf("%s: %s, version %s at %s, last notice %s", p.Platform, p.State, orNone(p.Version), p.Address, since(p.Last)))
		if p.Detail != "" {
			t.row("", p.Detail)
		}
	}
	for _, a := range s.Agents {
		note := "absent"
		if a.Present {
			note = "present"
		}
		if a.Default {
			note += ", the default"
		}
		t.row("agent", fmt.Sprintf("%s: %s", a.Agent, note))
	}
	for _, x := range s.Sessions {
		name := string(x.Agent)
		if !x.Named {
			name = "(no name)"
		}
		t.row("session", fmt.Sprintf("%s: %s, %s, client %s, used %s", x.Session, name, x.State, orNone(x.Client), since(x.Used)))
	}
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func since(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return time.Since(t).Round(time.Second).String() + " ago"
}

// tokenCmd is aldis token.
type tokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token that stands for one agent. It is shown once."`
	List   tokenListCmd   `cmd:"" help:"List the tokens that are valid."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token, and its agent's sessions, at once."`
}

type tokenAddCmd struct {
	config.HubAdmin
	Agent string `arg:"" help:"Name of the agent."`
}

func (c *tokenAddCmd) Run(ctx context.Context, e env) error {
	var t newToken
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodPost, "/api/tokens", map[string]string{"agent": c.Agent}, &t); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "Token %s for agent %s. It is not shown again:\n", t.ID, t.Agent)
	_, err := fmt.Fprintln(e.stdout, t.Secret)
	return err
}

type tokenListCmd struct {
	config.HubAdmin
	JSON bool `help:"Print JSON."`
}

func (c *tokenListCmd) Run(ctx context.Context, e env) error {
	var list struct {
		Tokens []struct {
			ID      string      `json:"id"`
			Agent   hub.AgentID `json:"agent"`
			Created time.Time   `json:"created"`
		} `json:"tokens"`
	}
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodGet, "/api/tokens", nil, &list); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(list.Tokens)
	}
	t := newTable(e, "ID", "AGENT", "MADE")
	for _, x := range list.Tokens {
		t.row(x.ID, string(x.Agent), t.moment(x.Created))
	}
	return t.print()
}

type tokenRevokeCmd struct {
	config.HubAdmin
	ID string `arg:"" help:"The token's id, as list shows it."`
}

func (c *tokenRevokeCmd) Run(ctx context.Context) error {
	return (adminClient{c.HubAdmin}).do(ctx, http.MethodDelete, "/api/tokens/"+url.PathEscape(c.ID), nil, nil)
}

// sendCmd is aldis send: a short session of an agent that calls a tool.
type sendCmd struct {
	config.HubSender
	Agent string   `help:"Who sends: answers to the message go to that agent." required:""`
	Chat  string   `help:"Chat to write to. Default: the operator's."`
	Text  []string `arg:"" help:"What to say; - reads standard input."`
}

func (c *sendCmd) Run(ctx context.Context, e env) error {
	text, err := readText(c.Text, e.stdin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	transport := &mcp.StreamableClientTransport{
		Endpoint: c.URL + "/mcp", DisableStandaloneSSE: true, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: headers{"Authorization": bearer(c.Token), "X-Signal-Agent-Id": c.Agent}},
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "aldis-send", Version: version()}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return fmt.Errorf("join the hub at %s: %w; is aldis serve running, and is the token (--token) one of its own?", c.URL, err)
	}
	defer session.Close()
	call := &mcp.CallToolParams{Name: "send", Arguments: map[string]any{"text": text}}
	if c.Chat != "" {
		call = &mcp.CallToolParams{Name: "reply", Arguments: map[string]any{"text": text, "chat_id": c.Chat}}
	}
	result, err := session.CallTool(ctx, call)
	if err != nil {
		return fmt.Errorf("send through the hub at %s: %w", c.URL, err)
	}
	answer := ""
	for _, part := range result.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			answer += t.Text
		}
	}
	if result.IsError {
		return errors.New(answer)
	}
	_, err = fmt.Fprintln(e.stdout, answer)
	return err
}

// readText returns the words of a command line, or standard input for "-".
func readText(words []string, stdin io.Reader) (string, error) {
	if len(words) == 1 && words[0] == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, 1<<20+1)) // more than the hub takes, so that it refuses
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil // as a shell does with what a command says
	}
	return strings.Join(words, " "), nil
}

func bearer(t config.Secret) string {
	if t == "" {
		return ""
	}
	return "Bearer " + string(t)
}

// headers sets headers on each request.
type headers map[string]string

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}
