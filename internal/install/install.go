// Package install knows the files in which MCP clients name their servers: where
// they are, which lines they need for a hub, and how to put these in and take
// them out again with all else left as it was.
//
// Its one rule: a file is replaced only by one that was parsed again and says
// the same in everything but our own entry.
package install

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Names of the entries that install makes unless told otherwise. A channel's
// messages reach the model under the name of its entry.
const (
	DefaultName = "aldis"
	HistoryName = "signal-history"
)

// TokenVar is the variable in which aldis attach looks for its token first.
const TokenVar = "ALDIS_TOKEN"

// A Client is a program that speaks MCP to the servers that its own file names.
type Client struct {
	ID       string // as on the command line: "claude-code"
	Title    string // as people call it: "Claude Code"
	Channels bool   // what is pushed reaches its model; others need the tool inbox

	format   format
	strict   bool                     // reads plain JSON alone, no comments
	table    []string                 // keys that lead to the table of servers
	places   func(w World) []place    // its files, the one to edit first in each scope
	entry    func(s Server) fields    // a server in its own words
	variable func(name string) string // how a value names a variable; nil: it has no way
	inherits bool                     // a program it starts has its environment
	local    bool                     // it starts programs alone, and calls no URL
	start    string                   // what to do once the file is changed; NAME is the entry's
}

type format int

const (
	jsonFormat format = iota
	tomlFormat
)

// Clients returns all that are known, those whose model is pushed to first.
func Clients() []*Client { return slices.Clone(clients) }

// Find returns the client with an ID.
func Find(id string) (*Client, error) {
	var known []string
	for _, c := range clients {
		if c.ID == id {
			return c, nil
		}
		known = append(known, c.ID)
	}
	return nil, fmt.Errorf("no client %q is known: want one of %s; for any other, json prints lines that most take", id, strings.Join(known, ", "))
}

// A Token is what an entry proves itself with: one of these, or none. It prints
// masked.
type Token struct {
	Literal  string // the token itself
	Variable string // the environment variable that holds it
	File     string // the env file (--env-file) that may hold it
}

func (t Token) String() string {
	switch {
	case t.Literal != "":
		return "(secret)"
	case t.Variable != "":
		return "$" + t.Variable
	case t.File != "":
		return "in " + t.File
	default:
		return "none"
	}
}

// GoString masks %#v.
func (t Token) GoString() string { return t.String() }

// LogValue masks the token in logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText masks the token in JSON.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// A Server is an entry of a client's file: a program (Command) or a URL.
type Server struct {
	Name string

	Command string
	Args    []string
	Env     []Pair
	Pass    []string // variables of the client that the program gets too

	URL     string
	Headers []Pair
	Bearer  string // variable whose value is the bearer token, where a client has a field for that
}

// A Pair is a header, or an environment variable, and its value.
type Pair struct{ Name, Value string }

// lookup returns the value of a name, in any case.
func lookup(pairs []Pair, name string) string {
	for _, p := range pairs {
		if strings.EqualFold(p.Name, name) {
			return p.Value
		}
	}
	return ""
}
