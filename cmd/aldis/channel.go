package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"aldis/internal/auth"
	"aldis/internal/config"
	"aldis/internal/hook"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/mcp"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/store"
)

// onlyAgent is what the agent of a channel goes by in there.
const onlyAgent hub.AgentID = "channel"

// endFor is how long a channel may take to end once its agent has gone.
const endFor = 5 * time.Second

// channelCmd is aldis channel: a channel for one agent on stdin and stdout. It
// keeps its record in memory and leaves the hub's state folder alone.
type channelCmd struct{ config.Channel }

func (c *channelCmd) Run(ctx context.Context, e env) error {
	if len(c.AttachmentRoot) == 0 {
		folder, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the working folder, out of which files may be sent: %w", err)
		}
		c.AttachmentRoot = []string{folder}
	}
	log := logger(c.Common, e)
	record, err := store.Open(ctx, store.Options{Log: log})
	if err != nil {
		return err
	}
	table := mcp.NewTable()
	r := &relay.Relay{ // with the bounds that serve has by default
		Routes: &route.Table{TTL: 7 * 24 * time.Hour, Max: 10_000, Now: time.Now},
		Labels: relay.LabelNever, HoldFor: 24 * time.Hour,
	}
	connect(r, table, record, c.Signal, log)
	parts, err := c.join(ctx, r, log)
	if err == nil {
		err = r.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, record.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running errgroup.Group
	for _, run := range append(parts, table.Run, r.Run) {
		running.Go(func() error { return run(ctx) })
	}
	err = mcp.ServeStdio(ctx, table, r, version(), onlyAgent, io.NopCloser(e.stdin), e.stdout)
	stop()
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(running.Wait(), record.Close()) }()
	select {
	case rest := <-ended:
		return errors.Join(err, rest)
	case <-time.After(endFor): // somebody holds our standard output and does not read it
		return err
	}
}

// join readies what the agent is to hear from, and returns what is to run.
func (c *channelCmd) join(ctx context.Context, r *relay.Relay, log *slog.Logger) (parts []func(context.Context) error, err error) {
	if c.Operator != "" {
		client := newSignal(c.Common, c.Signal, log)
		client.SpoolDir = "" // not in the hub's state folder
		if err := joinSignal(r, client, c.Signal); err != nil {
			return nil, err
		}
		parts = append(parts, func(ctx context.Context) error { return client.Run(ctx, r) })
	}
	if c.Listen != "" {
		r.Aliases = map[hub.AgentID]hub.AgentID{onlyAgent: onlyAgent} // known before it has initialized
		in := hook.Listener{
			Receiver: r, Agent: onlyAgent, Log: log,
			Tokens: auth.Tokens{Shared: c.Tokens(), AllowUnauthenticated: c.AllowUnauthenticated},
		}
		server := &httpd.Server{Addr: c.Listen, Handler: in.Handler(), Log: log}
		if err := server.Listen(ctx); err != nil {
			return nil, err
		}
		log.Info("webhooks are taken", "url", server.URL())
		parts = append(parts, server.Serve)
	}
	return parts, nil
}
