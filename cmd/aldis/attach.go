package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"aldis/internal/attach"
	"aldis/internal/config"
	"aldis/internal/mcp"
)

// attachCmd is aldis attach: a channel for one agent on stdin and stdout that is
// a line to a running hub.
type attachCmd struct{ config.Attach }

func (c *attachCmd) Run(ctx context.Context, e env) error {
	initialize, tools, err := mcp.Offline(version(), c.Agent)
	if err != nil {
		return fmt.Errorf("prepare what the agent is told while the hub is away: %w", err)
	}
	// An agent that has gone shows as an error of a write, and the hub is told.
	signal.Ignore(syscall.SIGPIPE)
	line := attach.Line{
		Hub: c.URL, Token: string(c.Token), Agent: c.Agent, Version: version(), Log: logger(c.Common, e),
		Initialize: initialize, Tools: tools,
	}
	return line.Run(ctx, e.stdin, e.stdout)
}
