package install

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Wish is what an entry shall say. For the history only Name and Command
// count.
type Wish struct {
	Name    string // of the entry
	Command string // how aldis is started
	Hub     string // base URL
	Agent   string // "": whom the token is for
	Token   Token  // none: for a hub that lets agents in without
	HTTP    bool   // the client calls the hub itself, with no aldis attach between
	Seat    bool   // with HTTP: the agent is named by ?label=
	History bool   // aldis history in place of a hub
}

// Server returns the entry with which a client does what is wished. Its errors
// say which wish cannot be had with this client, and what can.
func (c *Client) Server(w Wish) (Server, error) {
	switch {
	case w.History && w.HTTP:
		return Server{}, errors.New("over HTTP the history has an address and a token of its own: docs/history.md has the lines; leave --http out for a program on this machine")
	case w.History:
		return Server{Name: w.Name, Command: w.Command, Args: []string{"history"}}, nil
	case w.HTTP && c.local:
		return Server{}, fmt.Errorf("the file of %s names programs alone: leave --http out", c.Title)
	case w.HTTP:
		return c.remote(w)
	case w.Seat:
		return Server{}, errors.New("a seat is named in the URL: give --http too, or leave --seat out")
	default:
		return c.attached(w)
	}
}

// remote is the form in which the client calls the hub.
func (c *Client) remote(w Wish) (Server, error) {
	s := Server{Name: w.Name, URL: w.Hub + "/mcp"}
	switch {
	case w.Token.Variable != "" && c.ID == "codex":
		s.Bearer = w.Token.Variable
	case w.Token.Variable != "":
		s.Headers = append(s.Headers, Pair{"Authorization", "Bearer " + c.variable(w.Token.Variable)})
	case w.Token.Literal != "":
		s.Headers = append(s.Headers, Pair{"Authorization", "Bearer " + w.Token.Literal})
	}
	switch {
	case w.Agent == "":
	case w.Seat:
		s.URL += "?" + url.Values{"label": {w.Agent}}.Encode()
	case strings.ContainsFunc(w.Agent, func(r rune) bool { return r > '~' }):
		return Server{}, fmt.Errorf("a header takes no letter like those of %q: give --seat too, or leave --http out", w.Agent)
	default:
		s.Headers = append(s.Headers, Pair{"X-Signal-Agent-Id", w.Agent})
	}
	return s, nil
}

// attached is the form in which the client starts aldis attach.
func (c *Client) attached(w Wish) (Server, error) {
	s := Server{Name: w.Name, Command: w.Command, Args: []string{"attach", "--hub", w.Hub}}
	if w.Agent != "" {
		s.Args = append(s.Args, "--agent", w.Agent)
	}
	variable := w.Token.Variable
	switch {
	case w.Token.File != "":
		s.Args = append(s.Args, "--env-file", w.Token.File)
	case w.Token.Literal != "":
		s.Env = []Pair{{TokenVar, w.Token.Literal}}
	case variable == "" || c.inherits && variable == TokenVar:
	case c.variable == nil:
		return s, fmt.Errorf("%s cannot look into an environment variable for the token: give --env-file PATH, a file that has it, or --token TOKEN", c.Title)
	case c.ID == "codex" && variable != TokenVar:
		return s, fmt.Errorf("%s hands a variable on under its own name: put the token into %s, or give --http", c.Title, TokenVar)
	case c.ID == "codex":
		s.Pass = []string{variable}
	default:
		s.Env = []Pair{{TokenVar, c.variable(variable)}}
	}
	return s, nil
}

// Lines returns what belongs into a client's file, as a file of its own.
func (c *Client) Lines(s Server) string {
	if c.format == tomlFormat {
		return renderTOML(append(c.table, s.Name), c.entry(s))
	}
	return layout{newline: "\n", unit: "  "}.render(nest(c.table, fields{{s.Name, c.entry(s)}})) + "\n"
}

// Start says what makes a client read its changed file. The history pushes
// nothing, and so needs nothing more.
func (c *Client) Start(name string, history bool) string {
	if history && c.ID == "claude-code" {
		return "Start Claude Code anew; /mcp lists its servers."
	}
	return strings.ReplaceAll(c.start, "NAME", name)
}
