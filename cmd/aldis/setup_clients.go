package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"aldis/internal/hub"
	"aldis/internal/install"
	"aldis/internal/setup"
)

// commands are the programs by which clients are found that have no file yet.
var commands = map[string]string{
	"claude-code": "claude", "crush": "crush", "opencode": "opencode", "codex": "codex", "cursor": "cursor", "vscode": "code",
}

// clientStep tells clients of the hub.
type clientStep struct {
	*guide
	todo []clientTodo
}

// A clientTodo is a client that does not know the hub.
type clientTodo struct {
	clientWish
	title string
	path  string // of its file
	write bool
}

func (*clientStep) Title() string { return "Clients" }

func (s *clientStep) Done(context.Context) (string, error) {
	world, err := install.Here(s.env.getenv)
	if err != nil {
		return "", fmt.Errorf("find the files of clients: %w", err)
	}
	c, err := s.settings()
	if err != nil {
		return "", err
	}
	var known []string
	for _, client := range install.Clients() {
		found := install.Read(client, world, c.URL)
		wish, wanted := s.wish(client, found)
		switch entries := found.Entries; {
		case len(entries) > 0:
			known = append(known, fmt.Sprintf("%s knows the hub: %s, line %d", client.Title, entries[0].File, entries[0].Line))
		case wanted:
			s.todo = append(s.todo, clientTodo{clientWish: wish, title: client.Title, path: client.Path(world, install.User)})
		}
	}
	switch {
	case len(s.todo) > 0 && len(known) > 0:
		s.say("%s", strings.Join(known, "\n"))
		return "", nil
	case len(s.todo) > 0:
		return "", nil
	case len(known) > 0:
		return strings.Join(known, "\n"), nil
	default:
		return "None is found here. aldis install CLIENT prints the lines for one", nil
	}
}

// wish returns what a client is to be told: what the flags say, else, if there
// are none, of a client that is here.
func (s *clientStep) wish(client *install.Client, found install.Found) (clientWish, bool) {
	for _, w := range s.Client {
		if w.client == client.ID {
			return w, true
		}
	}
	if len(s.Client) > 0 {
		return clientWish{}, false
	}
	_, err := exec.LookPath(commands[client.ID])
	return clientWish{client.ID, client.ID}, err == nil || len(found.Files) > 0
}

func (s *clientStep) Ask(ctx context.Context) error {
	for i := range s.todo {
		if err := s.askAbout(ctx, &s.todo[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *clientStep) askAbout(ctx context.Context, t *clientTodo) (err error) {
	t.agent, err = s.ask.Ask(ctx, setup.Question{
		Text: "Under what name shall others know the agent in " + t.title + "?", Default: t.agent,
		Check: func(answer string) (string, error) {
			id, err := hub.ParseAgentID(answer)
			return string(id), err
		},
	})
	if err != nil || t.path == "" {
		return err
	}
	q := setup.Question{Text: "Write the lines into " + t.path + "? (A copy of it is kept. No: they are printed.)", Default: "no", Scripted: "no"}
	if s.Write {
		q.Scripted = "yes"
	}
	t.write, err = setup.Confirm(ctx, s.ask, q)
	return err
}

func (s *clientStep) Do(ctx context.Context) error {
	for _, t := range s.todo {
		args := []string{"install", t.client, "--agent", t.agent, "--env-file", s.guide.path}
		if t.write {
			args = append(args, "--write")
		}
		if s.command(ctx, args) != exitOK {
			return &setup.Left{Why: t.title + " is not told of the hub", Mend: "Mend what is said above, and run aldis setup again"}
		}
	}
	return nil
}

// command runs another command of this program, and shows it.
func (g *guide) command(ctx context.Context, args []string) (code int) {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shellWord(a)
	}
	fmt.Fprintf(g.env.stdout, "\n  $ aldis %s\n", strings.Join(words, " "))
	return run(ctx, args, g.env)
}

// checkStep looks whether all is well.
type checkStep struct{ *guide }

func (*checkStep) Title() string { return "Check" }

func (*checkStep) Done(context.Context) (string, error) { return "", nil }

func (*checkStep) Ask(context.Context) error { return nil }

func (s *checkStep) Do(ctx context.Context) error {
	args := []string{"doctor", "--env-file", s.path}
	if s.command(ctx, args) != exitOK {
		return &setup.Left{Why: "The check has found something", Mend: "Mend what begins with fail, and look again: aldis doctor --env-file " + shellWord(s.path)}
	}
	return nil
}
