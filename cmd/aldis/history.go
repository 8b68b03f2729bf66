package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/desktop"
	"aldis/internal/desktop/key"
	"aldis/internal/desktop/tools"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// historyCmd is aldis history: Signal Desktop's history as an MCP server.
type historyCmd struct{ config.History }

func (c *historyCmd) Run(ctx context.Context, e env) error {
	log := logger(c.Common, e)
	if c.Transport == "http" {
		return c.serve(ctx, e, log)
	}
	reader, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	explainStdio(e)
	err = newTools(reader, log).ServeStdio(ctx, io.NopCloser(e.stdin), e.stdout)
	return errors.Join(err, reader.Close())
}

// serve speaks http until ctx is done.
func (c *historyCmd) serve(ctx context.Context, e env, log *slog.Logger) error {
	door, err := newDoor("/mcp", c.HistoryAuth, log)
	if err != nil {
		return err
	}
	reader, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	door.mount(mux, newTools(reader, log))
	mux.Handle("GET /healthz", httpd.Handle(log, healthy))
	mux.Handle("GET /readyz", httpd.Handle(log, historyReady{reader}.ready))
	server := &httpd.Server{
		Addr: c.Address(), Hosts: door.hosts(), Pages: door.pages(), MaxBody: int64(c.MaxBodyBytes),
		Handler: httpd.Mux(mux), Log: log,
	}
	if err = server.Listen(ctx); err == nil {
		log.Info("history is up", "url", server.URL(), "version", version())
		err = server.Serve(ctx)
	}
	return errors.Join(err, reader.Close())
}

func (c *historyCmd) open(ctx context.Context, e env) (*desktop.Reader, error) {
	reader, err := openHistory(ctx, c.Desktop, "--", e.getenv)
	if err == nil {
		warnOnce(c.StateDir, e.stderr)
	}
	return reader, err
}

func newTools(reader *desktop.Reader, log *slog.Logger) *tools.Server {
	return &tools.Server{History: reader, Log: log, Version: version()}
}

// joinHistory has the hub serve the history too.
func (h *hubProcess) joinHistory(ctx context.Context, getenv func(string) string) (err error) {
	if h.door, err = newDoor("/history/mcp", h.settings.HistoryAuth, h.log); err != nil {
		return err
	}
	h.history, err = openHistory(ctx, h.settings.Desktop, "--history-", getenv)
	return err
}

// keepApart refuses tokens of the history that open the hub too: those that no
// setting has, but the state folder.
func keepApart(a config.HistoryAuth, tokens auth.Tokens) error {
	if slices.ContainsFunc(a.Tokens(), tokens.Takes) {
		return usageError{errors.New("--history-bearer-token is also the admin's or an agent's token: what opens one must not open the other; choose another")}
	}
	return nil
}

// historyReady says whether the history can be read.
type historyReady struct{ reader *desktop.Reader }

func (h historyReady) ready(w http.ResponseWriter, r *http.Request) error {
	if _, err := h.reader.Conversations(r.Context(), desktop.ConversationQuery{Limit: 1}); err != nil {
		return &hub.Error{Kind: hub.Unavailable, Msg: "Signal Desktop's database cannot be read", Err: err}
	}
	return healthy(w, r)
}

// openHistory finds and opens Signal Desktop's database. The flags of d begin
// with dashes.
func openHistory(ctx context.Context, d config.Desktop, dashes string, getenv func(string) string) (*desktop.Reader, error) {
	since, err := parseMoment(string(d.Since), time.Now())
	if err != nil {
		return nil, usageError{fmt.Errorf("%ssince: %w", dashes, err)}
	}
	folder, err := signalFolder(d, getenv)
	if err != nil {
		return nil, err
	}
	k, err := key.Find(ctx, key.Options{
		Explicit: string(d.Key), Config: cmp.Or(d.Config, filepath.Join(folder, "config.json")), LocalState: d.LocalState, Getenv: getenv,
	})
	if err != nil {
		return nil, err
	}
	defer k.Wipe()
	o := desktop.Options{
		Path: cmp.Or(d.DB, filepath.Join(folder, "sql", "db.sqlite")), Key: k, Grants: desktop.Grants{Conversations: d.Conversations()},
		MaxMessages: d.MaxMessages, MaxConversations: d.MaxConversations,
	}
	defer o.Key.Wipe()
	if !since.IsZero() {
		o.Grants.Since = since.UnixMilli()
	}
	return desktop.Open(ctx, o)
}

// signalFolder is where Signal Desktop keeps its data: around the file of which
// the settings say where it is, else where it is found.
func signalFolder(d config.Desktop, getenv func(string) string) (string, error) {
	switch {
	case d.DB != "":
		return filepath.Dir(filepath.Dir(d.DB)), nil
	case d.Config != "":
		return filepath.Dir(d.Config), nil
	default:
		return key.Folder(getenv)
	}
}

// A door is the way to the history over HTTP. Only its own tokens open it.
type door struct {
	path     string
	origins  []string // of pages that may call
	resource *auth.Resource
}

func newDoor(path string, a config.HistoryAuth, log *slog.Logger) (*door, error) {
	o := auth.ResourceOptions{URL: a.PublicURL, Name: "Signal history", PerMinute: a.RateLimitPerMinute, Log: log}
	if a.AuthMode == "oidc" {
		o.Issuer, o.Audience, o.Scopes = a.OAuthIssuer, a.OAuthAudience, a.RequiredScope
	} else {
		o.Tokens = a.Tokens()
	}
	resource, err := auth.NewResource(o)
	if err != nil {
		return nil, usageError{err}
	}
	return &door{path, a.Origins(), resource}, nil
}

func (d *door) mount(mux *http.ServeMux, t *tools.Server) {
	mux.Handle(d.path, d.resource.Require(t.Handler()))
	for _, path := range d.resource.MetadataPaths() {
		mux.Handle(path, d.resource.Metadata())
	}
}

// hosts are the names under which the history is called, besides our own.
func (d *door) hosts() []string {
	if host := d.resource.Host(); host != "" {
		return []string{host}
	}
	return nil
}

// pages are the pages of elsewhere that may call.
func (d *door) pages() httpd.Pages { return d.resource.Pages(d.path, d.origins) }

const atTerminal = `aldis history speaks MCP on standard input and output: a host starts it, not you. For Claude Code:
  claude mcp add signal-history -- aldis history
It listens here now; Ctrl-D ends it. Other hosts, and how to serve it over HTTP: docs/history.md
`

// explainStdio says what this is to a person who has started it by hand.
func explainStdio(e env) {
	if isTerminal(e.stdin) {
		fmt.Fprint(e.stderr, atTerminal)
	}
}

const privacy = `Before you go on: whoever asks through this program reads your private Signal messages, and those of the people who
wrote to you. They go to the MCP host, to the model behind it, and to whoever runs that: see how they treat what they
are given, and give it to no agent that you do not trust. Show less with --grant conversation=ID and --since 90d.
Nothing is sent, changed or marked as read in Signal. (This is shown once.)

`

// warnOnce shows the warning to a person, if it was not shown before: a file in
// the state folder remembers. When that cannot be written it is shown again.
func warnOnce(stateDir string, stderr io.Writer) {
	if !isTerminal(stderr) {
		return
	}
	marker := filepath.Join(stateDir, "history.warned")
	if _, err := os.Stat(marker); err == nil {
		return
	}
	fmt.Fprint(stderr, privacy)
	if os.MkdirAll(stateDir, 0o700) == nil {
		_ = os.WriteFile(marker, nil, 0o600)
	}
}
