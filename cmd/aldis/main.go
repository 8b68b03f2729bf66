// Command aldis carries messages between people and AI agents.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/lmittmann/tint"

	"aldis/internal/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // it was not tried: a setting or an argument is wrong
)

// cli is the command line.
type cli struct {
	Setup     setupCmd     `cmd:"" help:"Make a hub of your own, step by step."`
	Serve     serveCmd     `cmd:"" help:"Run the hub."`
	Channel   channelCmd   `cmd:"" help:"Be a channel for one agent, on stdin and stdout."`
	Attach    attachCmd    `cmd:"" help:"Be a channel for one agent, on stdin and stdout, that is a line to a running hub."`
	Send      sendCmd      `cmd:"" help:"Send a message to the operator's phone, or another chat, as an agent."`
	Notify    notifyCmd    `cmd:"" help:"Send a script's message to an agent, or to all."`
	Status    statusCmd    `cmd:"" help:"Show the sessions, agents, routes and platforms of a running hub."`
	Log       logCmd       `cmd:"" help:"Show the record of a running hub: who said what to whom, and what became of it."`
	Hook      hookCmd      `cmd:"" help:"Manage webhooks: what services call to write to an agent."`
	Token     tokenCmd     `cmd:"" help:"Manage tokens that stand for one agent each."`
	Access    accessCmd    `cmd:"" help:"Say who may write to the agents."`
	History   historyCmd   `cmd:"" help:"Let an MCP host read Signal Desktop's history, on stdin and stdout or over HTTP."`
	Doctor    doctorCmd    `cmd:"" help:"Say what is wrong with the set-up, and how to mend it."`
	Install   installCmd   `cmd:"" help:"Print the lines that an MCP client needs, or write them into its file."`
	Uninstall uninstallCmd `cmd:"" help:"Take them out of its file again."`
	Import    importCmd    `cmd:"" help:"Take over another program's messages."`
	Version   versionCmd   `cmd:"" help:"Print the version, and what it was built from and for."`

	Completion completionCmd `cmd:"" help:"Print the script by which a shell completes commands and flags."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what may come next on a command line; a shell's script asks."`
	Man        manCmd        `cmd:"" hidden:"" help:"Write the manual pages."`

	DemoAgent demoAgentCmd `cmd:"" help:"Be one more sample agent of a demo, or of any hub."`
	DemoHub   demoHubCmd   `cmd:"" hidden:"" help:"Be the hub of a demo; serve --demo starts it."`
}

// Help is what --help says below the description. Kong calls it.
func (*cli) Help() string {
	return `Exit codes: 0 done; 1 it was tried and did not work; 2 a setting or an argument is wrong, and nothing was tried.
Lists are aligned on a terminal, and have tabs between their columns in a pipe; most commands have --json. NO_COLOR is honoured.

Examples:
  aldis serve --demo                     try it in a browser, without an account
  aldis setup                            make a hub of your own, step by step
  aldis install crush --agent my-agent   print what a client needs
  aldis doctor                           find out what is wrong`
}

// An env is the world outside of the program. Tests have their own.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr, os.Getenv})
	stop()
	os.Exit(code)
}

// run is the program without the process: it returns the exit code.
func run(ctx context.Context, args []string, e env) int {
	loader := &config.Loader{Getenv: e.getenv}
	exited := -1
	options := append(loader.Options(),
		kong.Name("aldis"),
		kong.Description("One hub for your AI agents, the people they work for, and the world's events."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(e),
		kong.PostBuild(withExamples),
	)
	parser, err := kong.New(&cli{}, options...)
	if err != nil {
		panic(err) // the command line's own struct is wrong
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	for _, w := range loader.Warnings {
		fmt.Fprintln(e.stderr, "aldis: warning:", w)
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "aldis:", err)
		return exitUsage
	}
	switch err := command.Run(); {
	case errors.As(err, new(usageError)):
		fmt.Fprintln(e.stderr, "aldis:", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(e.stderr, "aldis:", err)
		return exitFailed
	default:
		return exitOK
	}
}

// A usageError says that nothing was tried.
type usageError struct{ error }

// logger returns a logger to standard error, as the settings have it.
func logger(c config.Common, e env) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	switch {
	case c.LogFormat == "json":
		return slog.New(slog.NewJSONHandler(e.stderr, options))
	case isTerminal(e.stderr):
		return slog.New(tint.NewTextHandler(e.stderr, &tint.Options{Level: c.LogLevel, TimeFormat: "15:04:05.000", NoColor: !e.colors(e.stderr)}))
	default:
		return slog.New(slog.NewTextHandler(e.stderr, options))
	}
}
