package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/desktop"
	"aldis/internal/gate"
	"aldis/internal/hook"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/journal"
	"aldis/internal/mcp"
	"aldis/internal/metric"
	"aldis/internal/phone"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/signal"
	"aldis/internal/store"
	"aldis/internal/systemd"
)

// serveCmd is aldis serve: the hub.
type serveCmd struct{ config.Serve }

func (c *serveCmd) Run(ctx context.Context, e env) error {
	log := logger(c.Common, e)
	if c.Demo {
		return runDemo(ctx, c.Serve, e, log)
	}
	if c.History {
		warnOnce(c.StateDir, e.stderr)
	}
	return serve(ctx, c.Serve, log, func(h *hubProcess) error {
		h.manager = systemd.New(e.getenv, os.Getpid(), log)
		if !c.History {
			return joinOperator(h)
		}
		return errors.Join(joinOperator(h), h.joinHistory(ctx, e.getenv))
	})
}

// serve runs a hub with the platforms that join gives it.
func serve(ctx context.Context, c config.Serve, log *slog.Logger, join func(*hubProcess) error) error {
	h, err := openHub(ctx, c, log, join)
	if err != nil {
		return err
	}
	return errors.Join(h.run(ctx), h.close())
}

// A hubProcess is the running hub: everything that aldis serve wires together.
type hubProcess struct {
	settings config.Serve
	log      *slog.Logger
	started  time.Time

	dir      *store.Dir
	store    *store.Store
	routeLog *routeLog // nil: routes are in memory alone
	table    *mcp.Table
	relay    *relay.Relay
	access   *accessFile
	logins   *auth.Logins
	phone    *phone.Phone // nil: this is no demo
	server   *httpd.Server
	ended    <-chan struct{} // closed when the hub is to stop
	hooks    *hook.Hooks
	history  *desktop.Reader  // nil: it is not served
	door     *door            // to history
	manager  *systemd.Manager // nil: no service manager started us

	metrics *metric.Set
	journal *journal.Journal // nil: there is no log of messages
	watch   hub.Watchers     // both
}

// openHub takes the state folder and the address, and readies all parts.
func openHub(ctx context.Context, c config.Serve, log *slog.Logger, join func(*hubProcess) error) (h *hubProcess, err error) {
	h = &hubProcess{settings: c, log: log, started: time.Now(), ended: ctx.Done()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.dir, err = store.OpenDir(c.StateDir, store.Holder{PID: os.Getpid(), Since: h.started.UTC(), Address: c.Address()}); err != nil {
		return h, err
	}
	admin := string(c.AdminToken)
	if admin == "" {
		if admin, err = auth.AdminToken(c.StateDir); err != nil {
			return h, err
		}
	}
	if h.logins, err = auth.OpenLogins(h.dir, admin, time.Now); err != nil {
		return h, err
	}
	if err := h.observe(); err != nil {
		return h, err
	}
	options := store.Options{
		Path: c.DB, Keep: store.Keep(c.Record), Retain: time.Duration(c.Retain), RetainBytes: int64(c.RetainBytes),
		Watch: h.watch, Log: log,
	}
	if options.Keep == store.KeepOff {
		options.Path = ""
	}
	if h.store, err = openRecord(ctx, options); err != nil {
		return h, err
	}
	if err := errors.Join(h.wire(), join(h)); err != nil {
		return h, err
	}
	h.access = newAccessFile(h.dir, h.relay, log)
	tokens := auth.Tokens{Shared: c.Tokens(), Admin: admin, Agents: h.store.TokenAgent, AllowUnauthenticated: c.AllowUnauthenticated}
	h.server = &httpd.Server{Addr: c.Address(), Hosts: c.Hosts(), Handler: h.handler(tokens), Log: log}
	if h.door != nil {
		if err := keepApart(c.HistoryAuth, tokens); err != nil {
			return h, err
		}
		h.server.Hosts, h.server.Pages = append(h.server.Hosts, h.door.hosts()...), h.door.pages()
	}
	return h, h.server.Listen(ctx)
}

// openRecord opens the record. A file that is none is a wrong setting.
func openRecord(ctx context.Context, options store.Options) (*store.Store, error) {
	s, err := store.Open(ctx, options)
	if hub.KindOf(err) == hub.Invalid {
		err = usageError{err}
	}
	return s, err
}

// wire makes the sessions and the relay.
func (h *hubProcess) wire() error {
	c := h.settings
	h.table = mcp.NewTable()
	h.relay = &relay.Relay{
		Routes:  &route.Table{TTL: time.Duration(c.RouteTTL), Max: c.RouteMaxEntries, Now: time.Now},
		Default: c.DefaultAgent, Aliases: c.Aliases(), Labels: relay.Label(c.LabelMessages), HoldFor: time.Duration(c.Hold),
		HoldReplies: c.Offline == "hold", PairRate: c.PairRate,
	}
	connect(h.relay, h.table, h.store, c.Signal, h.log)
	h.relay.Watch, h.table.Watch = h.watch, h.watch
	if c.RoutesFile != "" {
		l, routes, err := openRouteLog(c.RoutesFile, h.relay.Routes)
		if err != nil {
			return err
		}
		if n := l.log.Skipped(); n > 0 {
			h.log.Warn("damaged routes skipped", "path", c.RoutesFile, "count", n)
		}
		h.routeLog, h.relay.RouteLog = l, l
		h.relay.Routes.Restore(routes)
	}
	return nil
}

// connect makes r, which has its Routes, and table the two sides of one hub,
// with its memory in record.
func connect(r *relay.Relay, table *mcp.Table, record *store.Store, s config.Signal, log *slog.Logger) {
	r.Sessions, r.Record, r.Log, r.Now, r.NewID = table, record, log, time.Now, newID
	r.PermissionTimeout, r.Devices, r.NewCode = time.Duration(s.PermissionTimeout), s.OperatorDevice, newCode
	r.Gate = newGate(s, log)
	r.Gate.SameChat = r.SameChat
	r.Routes.SameChat = r.SameChat
	table.Mail, table.Store, table.Presence, table.Log = record, record, r, log
}

// newGate returns a gate with nobody in.
func newGate(s config.Signal, log *slog.Logger) *gate.Gate {
	g := &gate.Gate{Prefix: s.Prefix, AllInGroup: s.Groups == "all"}
	for _, p := range s.MentionPattern {
		g.Mentions = append(g.Mentions, p.Regexp)
	}
	g.Warn = func(p hub.PlatformID, id hub.SenderID) {
		log.Warn("a number that was let in is somebody else's now, who is kept out; see aldis status", "platform", p, "sender", masked(id))
	}
	return g
}

// masked leaves of an id so much that whoever knows it can tell which it is.
func masked(id hub.SenderID) string { return "…" + string(id[max(0, len(id)-2):]) }

// joinOperator joins Signal, if there is an operator.
func joinOperator(h *hubProcess) error {
	c := h.settings
	if c.Operator == "" {
		return nil
	}
	return joinSignal(h.relay, newSignal(c.Common, c.Signal, h.log), c.Signal)
}

// newSignal returns a client of the daemon.
func newSignal(c config.Common, s config.Signal, log *slog.Logger) *signal.Client {
	return &signal.Client{
		Address: s.SignalCLI.String(), Account: string(s.Account), Operator: string(s.Operator),
		AttachmentsDir: s.AttachmentsDir, AttachmentRoots: s.AttachmentRoot, SpoolDir: c.StateDir,
		Log: log, NewID: newID, Now: time.Now,
	}
}

// joinSignal makes client the platform of r, with the people that s trusts.
func joinSignal(r *relay.Relay, client *signal.Client, s config.Signal) error {
	r.Platforms = []hub.Platform{client}
	operator, err := client.Chat(string(s.Operator))
	if err != nil {
		return usageError{fmt.Errorf("--operator: %w", err)}
	}
	r.Operator = hub.Ref{Platform: signal.ID, Chat: operator}
	r.Gate.Open(signal.ID, operator)
	r.Gate.Operate(signal.ID, hub.SenderID(s.Operator))
	for _, person := range s.TrustedSender {
		r.Gate.Trust(signal.ID, hub.SenderID(person))
	}
	for _, person := range s.Approver {
		r.Gate.Approve(signal.ID, hub.SenderID(person))
	}
	for _, to := range s.TrustedRecipient {
		if to == config.Everybody {
			r.Gate.Anyone = true
			continue
		}
		chat, err := client.Chat(string(to))
		if err != nil {
			return usageError{fmt.Errorf("--trusted-recipient: %w", err)}
		}
		r.Gate.Open(signal.ID, chat)
	}
	return nil
}

// run serves until ctx is done, then stops in order: what comes in, the
// sessions, what they left to be recorded.
func (h *hubProcess) run(ctx context.Context) error {
	if err := h.table.Restore(ctx); err != nil {
		return err
	}
	if err := h.relay.Start(ctx); err != nil {
		return err
	}
	h.log.Info("hub is up", "url", h.server.URL(), "version", version())
	rest, stopRest := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRest()
	var later errgroup.Group
	later.Go(func() error { return h.relay.Run(rest) })
	later.Go(func() error { return h.access.run(rest) })
	later.Go(func() error { return h.rotate(rest) })

	edges, edgesCtx := errgroup.WithContext(ctx)
	edges.Go(func() error { return h.table.Run(edgesCtx) })
	edges.Go(func() error { return h.server.Serve(edgesCtx) })
	edges.Go(func() error { h.manager.Run(edgesCtx, h.vitals); return nil })
	for _, p := range h.relay.Platforms {
		edges.Go(func() error { return p.Run(edgesCtx, h.relay) })
	}
	err := edges.Wait()
	stopRest()
	err = errors.Join(err, later.Wait())
	h.log.Info("hub has stopped")
	return err
}

// close gives back what openHub took.
func (h *hubProcess) close() error {
	var errs []error
	if h.phone != nil {
		errs = append(errs, h.phone.Close())
	}
	if h.history != nil {
		errs = append(errs, h.history.Close())
	}
	if h.routeLog != nil {
		errs = append(errs, h.routeLog.log.Close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.journal != nil {
		errs = append(errs, h.journal.Close())
	}
	if h.dir != nil {
		errs = append(errs, h.dir.Close())
	}
	return errors.Join(errs...)
}
