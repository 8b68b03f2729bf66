package install

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Found is what a client's files say of hubs.
type Found struct {
	Files    []string // that are there and are read by the client
	Entries  []Entry
	Switches []Switch       // what keeps pushed messages from Claude Code's model
	Broken   []*SyntaxError // files that cannot be read as what they should be
	Closed   []error        // files that cannot be opened; each names its path
}

// An Entry is a server in a client's file that runs aldis or calls a hub.
type Entry struct {
	Server
	File     string
	Line     int // where it starts, from 1; 0: unknown
	Scope    Scope
	Project  string // of scope Local: the project's folder
	Disabled bool   // the client is told to leave it alone

	Verb  string // of a program: attach, channel, history …
	Hub   string // base URL of the hub; "" for a program that is not told, and for what needs none
	Agent string // whom it says it is; "" if that is left to the token
	Seat  bool   // it says so by ?label=
	Token Token
}

// HTTP reports whether the client calls the hub itself.
func (e Entry) HTTP() bool { return e.URL != "" }

// A SyntaxError says where a file is not what it should be.
type SyntaxError struct {
	Path         string
	Line, Column int // from 1
	Err          error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: line %d, column %d: %v", e.Path, e.Line, e.Column, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Read returns what a client's files say of hubs, and of the one at the base URL
// hub whatever it is called there. It changes nothing.
func Read(c *Client, w World, hub string) Found {
	var f Found
	for _, p := range c.places(w) {
		doc := f.open(c, p.path)
		if doc == nil {
			continue
		}
		f.add(c, hub, p.scope, "", doc, tableOf(c, doc.root))
		if c.ID == "claude-code" && p.scope == User {
			projects, _ := doc.root["projects"].(map[string]any)
			for _, dir := range sortedKeys(projects) {
				project, _ := projects[dir].(map[string]any)
				f.add(c, hub, Local, dir, doc, tableOf(c, project))
			}
		}
	}
	if c.ID == "claude-code" {
		f.readClaude(c, w)
	}
	return f
}

// A document is a file that was read.
type document struct {
	path string
	text []byte
	root map[string]any
}

// open reads a file, or notes why it cannot; nil: there is nothing to look at.
func (f *Found) open(c *Client, path string) *document {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.Files = append(f.Files, path)
	if err != nil {
		f.Closed = append(f.Closed, err)
		return nil
	}
	root, err := c.decode(text)
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		wrong.Path = path
		f.Broken = append(f.Broken, wrong)
		return nil
	}
	return &document{path, text, root}
}

// tableOf returns the table of servers, or nil. Version 2 of opencode has it one
// level deeper than version 1.
func tableOf(c *Client, root map[string]any) map[string]any {
	at := root
	for _, key := range c.table {
		at, _ = at[key].(map[string]any)
	}
	if deeper := deeperTable(c, at); deeper != nil {
		return deeper
	}
	return at
}

func deeperTable(c *Client, table map[string]any) map[string]any {
	if c.ID != "opencode" {
		return nil
	}
	servers, ok := table["servers"].(map[string]any)
	if _, isServer := servers["type"].(string); !ok || isServer {
		return nil
	}
	return servers
}

func (f *Found) add(c *Client, hub string, scope Scope, project string, doc *document, table map[string]any) {
	for _, name := range sortedKeys(table) {
		raw, _ := table[name].(map[string]any)
		e := c.understand(name, raw)
		if !e.ours(hub) {
			continue
		}
		e.File, e.Scope, e.Project = doc.path, scope, project
		e.Line = c.lineOf(doc.text, name, project)
		f.Entries = append(f.Entries, e)
	}
}

// understand reads an entry, whichever client's words it is in.
func (c *Client) understand(name string, raw map[string]any) Entry {
	command := texts(raw["command"])
	if s, ok := raw["command"].(string); ok {
		command = []string{s}
	}
	e := Entry{Server: Server{Name: name, URL: first(raw, "url", "serverUrl"), Bearer: first(raw, "bearer_token_env_var")}}
	if len(command) > 0 {
		e.Command, e.Args = command[0], append(command[1:], texts(raw["args"])...)
	}
	e.Env = append(pairs(raw["env"]), pairs(raw["environment"])...)
	e.Pass = texts(raw["env_vars"])
	e.Headers = append(pairs(raw["headers"]), pairs(raw["http_headers"])...)
	enabled, said := raw["enabled"].(bool)
	disabled, _ := raw["disabled"].(bool)
	e.Disabled = disabled || said && !enabled
	if e.URL != "" {
		e.understandURL()
	} else {
		e.understandProgram(c)
	}
	return e
}

func (e *Entry) understandURL() {
	e.Agent = lookup(e.Headers, "X-Signal-Agent-Id")
	if u, err := url.Parse(e.URL); err == nil {
		if label := u.Query().Get("label"); label != "" {
			e.Agent, e.Seat = label, true
		}
		e.Hub = strings.TrimSuffix((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), "/mcp")
	}
	if e.Bearer != "" {
		e.Token.Variable = e.Bearer
		return
	}
	scheme, secret, _ := strings.Cut(lookup(e.Headers, "Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		e.Token = tokenOf(strings.TrimSpace(secret))
	}
}

func (e *Entry) understandProgram(c *Client) {
	if len(e.Args) > 0 {
		e.Verb = e.Args[0]
	}
	e.Hub = strings.TrimSuffix(e.setting("hub", "ALDIS_HUB"), "/")
	e.Agent = e.setting("agent", "ALDIS_AGENT")
	e.Token = tokenOf(e.setting("token", TokenVar, "ALDIS_AUTH_TOKEN", "SIGNAL_MCP_AUTH_TOKEN"))
	switch {
	case e.Token != Token{}:
	case e.setting("env-file", "ALDIS_CONFIG") != "":
		e.Token.File = e.setting("env-file", "ALDIS_CONFIG")
	case c.inherits || slices.Contains(e.Pass, TokenVar):
		e.Token.Variable = TokenVar
	}
}

// setting returns what aldis will take for a flag.
func (e *Entry) setting(flag string, variables ...string) string {
	for i, arg := range e.Args {
		if v, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			return v
		}
		if arg == "--"+flag && i+1 < len(e.Args) {
			return e.Args[i+1]
		}
	}
	for _, v := range variables {
		if s := lookup(e.Env, v); s != "" {
			return s
		}
	}
	return ""
}

// ours reports whether an entry runs aldis or calls a hub.
func (e *Entry) ours(hub string) bool {
	if e.URL == "" {
		base := filepath.Base(strings.ReplaceAll(e.Command, `\`, "/"))
		return strings.HasPrefix(strings.ToLower(base), "aldis") // aldis.exe, aldis-1.2-linux-amd64
	}
	u, err := url.Parse(e.URL)
	if err != nil || !strings.HasSuffix(u.Path, "/mcp") {
		return e.Name == DefaultName
	}
	return e.Name == DefaultName || e.Agent != "" || e.Hub == hub
}

// reference is how clients name an environment variable: ${A}, ${A:-default},
// ${env:A}, {env:A}, $A.
var reference = regexp.MustCompile(`^(?:\$\{(?:env:)?([A-Za-z_]\w*)(?::-[^}]*)?\}|\{env:([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*))$`)

func tokenOf(value string) Token {
	if m := reference.FindStringSubmatch(value); m != nil {
		return Token{Variable: m[1] + m[2] + m[3]}
	}
	return Token{Literal: value}
}

// first returns the first of some members that is a string.
func first(raw map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := raw[key].(string); ok {
			return s
		}
	}
	return ""
}

func texts(raw any) (list []string) {
	items, _ := raw.([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

func pairs(raw any) (list []Pair) {
	table, _ := raw.(map[string]any)
	for _, key := range sortedKeys(table) {
		if s, ok := table[key].(string); ok {
			list = append(list, Pair{key, s})
		}
	}
	return list
}

func sortedKeys(table map[string]any) []string {
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
