package install

var clients = []*Client{
	{
		ID: "claude-code", Title: "Claude Code", Channels: true,
		strict: true, table: []string{"mcpServers"}, places: claudeCodePlaces,
		entry: typedEntry, variable: shellVariable, inherits: true,
		start: "Start it with its channels on: claude --dangerously-load-development-channels server:NAME",
	},
	{
		ID: "crush", Title: "Crush", Channels: true,
		table: []string{"mcp"}, places: crushPlaces,
		entry: typedEntry, variable: shellVariable, inherits: true,
		start: "Start Crush anew.",
	},
	{
		ID: "claude-desktop", Title: "Claude Desktop",
		strict: true, table: []string{"mcpServers"}, places: claudeDesktopPlaces,
		entry: plainEntry, local: true,
		start: "Quit Claude Desktop, closing its window is not enough, and start it again.",
	},
	{
		ID: "opencode", Title: "opencode",
		table: []string{"mcp"}, places: opencodePlaces,
		entry: opencodeEntry, variable: func(name string) string { return "{env:" + name + "}" }, inherits: true,
		start: "Start opencode anew.",
	},
	{
		ID: "codex", Title: "Codex",
		format: tomlFormat, table: []string{"mcp_servers"}, places: codexPlaces,
		entry: codexEntry, variable: shellVariable, // taken apart by codexEntry: it has fields for variables
		start: "Start Codex anew; /mcp lists its servers. It reads a project's file once you trust the project.",
	},
	{
		ID: "cursor", Title: "Cursor",
		table: []string{"mcpServers"}, places: cursorPlaces,
		entry: cursorEntry, variable: editorVariable,
		start: "Switch the server on in Cursor's settings, under MCP.",
	},
	{
		ID: "vscode", Title: "VS Code",
		table: []string{"servers"}, places: vscodePlaces,
		entry: typedEntry, variable: editorVariable, inherits: true,
		start: "Run the command MCP: List Servers in VS Code, and start the server.",
	},
	{
		ID: "json", Title: "the client",
		table: []string{"mcpServers"}, places: func(World) []place { return nil },
		entry: typedEntry, variable: shellVariable,
		start: "Start the client anew. If it does not know ${VARIABLE}, it needs the token itself (--token).",
	},
}

func shellVariable(name string) string  { return "${" + name + "}" }
func editorVariable(name string) string { return "${env:" + name + "}" }

// A field is one member of an entry. Its value is a string, a bool, []string or
// fields.
type field struct {
	key   string
	value any
}

type fields []field

// with adds a member unless it is empty.
func (f fields) with(key string, value any) fields {
	switch v := value.(type) {
	case string:
		if v == "" {
			return f
		}
	case []string:
		if len(v) == 0 {
			return f
		}
	case []Pair:
		if len(v) == 0 {
			return f
		}
		var table fields
		for _, p := range v {
			table = append(table, field{p.Name, p.Value})
		}
		value = table
	}
	return append(f, field{key, value})
}

// plainEntry has no type: a command starts a program, a url is called.
func plainEntry(s Server) fields {
	return fields{}.with("command", s.Command).with("args", s.Args).with("env", s.Env).
		with("url", s.URL).with("headers", s.Headers)
}

func typedEntry(s Server) fields {
	kind := "stdio"
	if s.URL != "" {
		kind = "http"
	}
	return append(fields{{"type", kind}}, plainEntry(s)...)
}

func cursorEntry(s Server) fields {
	if s.URL != "" {
		return plainEntry(s)
	}
	return typedEntry(s)
}

// opencodeEntry is what both versions 1 and 2 take. Without oauth: false a token
// that the hub does not know would start a login that it does not have.
func opencodeEntry(s Server) fields {
	if s.URL != "" {
		return fields{{"type", "remote"}, {"url", s.URL}}.with("headers", s.Headers).with("oauth", false)
	}
	command := append([]string{s.Command}, s.Args...)
	return fields{{"type", "local"}, {"command", command}}.with("environment", s.Env)
}

func codexEntry(s Server) fields {
	return fields{}.with("command", s.Command).with("args", s.Args).with("env", s.Env).with("env_vars", s.Pass).
		with("url", s.URL).with("bearer_token_env_var", s.Bearer).with("http_headers", s.Headers)
}
