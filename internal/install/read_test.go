package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary is an entry as one line.
func summary(w World, e Entry) string {
	form := "runs " + e.Verb
	if e.HTTP() {
		form = "calls"
	}
	s := fmt.Sprintf("%s %s %s: %s %s as %q, token %v", e.Scope, relative(w, fmt.Sprintf("%s:%d", e.File, e.Line)), e.Name, form, e.Hub, e.Agent, e.Token)
	if e.Seat {
		s += ", a seat"
	}
	if e.Disabled {
		s += ", off"
	}
	if e.Project != "" {
		s += ", for " + e.Project
	}
	return s
}

func relative(w World, s string) string {
	return filepath.ToSlash(strings.ReplaceAll(s, filepath.Dir(w.Home)+string(filepath.Separator), ""))
}

// TestRead looks for hubs in each client's files.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, client, file, text string
		want                     []string
	}{
		{"what install writes", "claude-code", "home/.claude.json", `{
  "mcpServers": {
    "other": {"command": "other", "args": ["--hub", "http://127.0.0.1:8765"]},
    "aldis": {"type": "stdio", "command": "/usr/bin/aldis", "args": ["attach", "--hub", "http://127.0.0.1:8765", "--agent", "a"]}
  }
}`, []string{`user home/.claude.json:4 aldis: runs attach http://127.0.0.1:8765 as "a", token $ALDIS_TOKEN`}},
		{"a project that only one user has", "claude-code", "home/.claude.json", `{"projects": {"/src/shop": {"mcpServers": {
  "signal": {"type": "http", "url": "http://hub:8765/mcp?label=seat+1", "headers": {"authorization": "bearer s3cret"}}}}}}`, []string{
			`local home/.claude.json:2 signal: calls http://hub:8765 as "seat 1", token (secret), a seat, for /src/shop`,
		}},
		{"a project's file", "claude-code", "project/.mcp.json", `{"mcpServers": {"signal": {"type": "http", "url": "http://127.0.0.1:8765/mcp",
"headers": {"X-Signal-Agent-Id": "b", "Authorization": "Bearer ${HUB_TOKEN:-none}"}}}}`, []string{
			`project project/.mcp.json:1 signal: calls http://127.0.0.1:8765 as "b", token $HUB_TOKEN`,
		}},
		{"the hub by its URL alone", "claude-code", "project/.mcp.json", `{"mcpServers": {"x": {"type": "http", "url": "http://127.0.0.1:8765/mcp"}, "y": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}}`, []string{
			`project project/.mcp.json:1 x: calls http://127.0.0.1:8765 as "", token none`,
		}},
		{"an environment of its own", "claude-desktop", "home/.config/Claude/claude_desktop_config.json", `{"mcpServers": {
"a": {"command": "C:\\Programs\\Aldis.exe", "args": ["attach", "--agent=desk"], "env": {"ALDIS_HUB": "https://hub.example/", "ALDIS_TOKEN": "s3cret"}},
"b": {"command": "aldis", "args": ["attach", "--env-file", "/etc/aldis.env"]},
"c": {"command": "aldis", "args": ["history"]}}}`, []string{
			`user home/.config/Claude/claude_desktop_config.json:2 a: runs attach https://hub.example as "desk", token (secret)`,
			`user home/.config/Claude/claude_desktop_config.json:3 b: runs attach  as "", token in /etc/aldis.env`,
			`user home/.config/Claude/claude_desktop_config.json:4 c: runs history  as "", token none`,
		}},
		{"a shell's variable", "crush", "project/.crush.json", `{"mcp": {"signal": {"type": "http", "url": "http://127.0.0.1:8765/mcp", "disabled": true,
"headers": {"X-Signal-Agent-Id": "crush-signal", "Authorization": "Bearer $TOKEN"}}}}`, []string{
			`project project/.crush.json:1 signal: calls http://127.0.0.1:8765 as "crush-signal", token $TOKEN, off`,
		}},
		{"version 1", "opencode", "home/.config/opencode/opencode.jsonc", `{"mcp": {// here
"aldis": {"type": "local", "command": ["aldis", "attach", "--agent", "o"], "enabled": false, "environment": {"ALDIS_TOKEN": "{env:T}"}}}}`, []string{
			`user home/.config/opencode/opencode.jsonc:2 aldis: runs attach  as "o", token $T, off`,
		}},
		{"version 2", "opencode", "project/opencode.json", "{\"mcp\": {\"servers\": {\n\"aldis\": {\"type\": \"remote\", \"url\": \"http://127.0.0.1:8765/mcp\"},},},}", []string{
			`project project/opencode.json:2 aldis: calls http://127.0.0.1:8765 as "", token none`,
		}},
		{"TOML", "codex", "home/.codex/config.toml", "model = 'large'\n\n[mcp_servers.aldis]\nurl = 'http://127.0.0.1:8765/mcp'\nbearer_token_env_var = 'T'\nhttp_headers = { x-signal-agent-id = 'c' }\n\n[mcp_servers.b]\ncommand = 'aldis'\nargs = ['attach']\nenv_vars = ['ALDIS_TOKEN']\n", []string{
			`user home/.codex/config.toml:3 aldis: calls http://127.0.0.1:8765 as "c", token $T`,
			`user home/.codex/config.toml:8 b: runs attach  as "", token $ALDIS_TOKEN`,
		}},
		{"an editor's variable", "vscode", "project/.vscode/mcp.json", `{"servers": {"aldis": {"type": "http", "url": "http://127.0.0.1:8765/mcp", "headers": {"Authorization": "Bearer ${env:T}"}}}}`, []string{
			`project project/.vscode/mcp.json:1 aldis: calls http://127.0.0.1:8765 as "", token $T`,
		}},
		{"nothing of ours", "cursor", "home/.cursor/mcp.json", `{"mcpServers": {"a": {"url": "http://127.0.0.1:8765/sse"}, "b": 7}}`, nil},
	} {
		t.Run(tt.client+": "+tt.name, func(t *testing.T) {
			w := world(t, "linux")
			write(t, filepath.Join(filepath.Dir(w.Home), tt.file), tt.text)
			found := Read(client(t, tt.client), w, "http://127.0.0.1:8765")
			var got []string
			for _, e := range found.Entries {
				got = append(got, summary(w, e))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(found.Files) != 1 || len(found.Broken) > 0 || len(found.Closed) > 0 {
				t.Errorf("files %q, broken %v, closed %v", found.Files, found.Broken, found.Closed)
			}
		})
	}
}

// TestReadBroken tells where a file is wrong, and reads the others.
func TestReadBroken(t *testing.T) {
	w := world(t, "linux")
	write(t, filepath.Join(w.Home, ".claude.json"), "{\n  \"mcpServers\": {},\n}")
	write(t, filepath.Join(w.Dir, ".mcp.json"), `{"mcpServers": {"aldis": {"command": "aldis"}}}`)
	if err := os.MkdirAll(filepath.Join(w.Home, ".claude", "settings.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	found := Read(client(t, "claude-code"), w, "")
	if len(found.Broken) != 1 || found.Broken[0].Line != 3 || found.Broken[0].Path != filepath.Join(w.Home, ".claude.json") {
		t.Errorf("broken: %v", found.Broken)
	}
	if len(found.Closed) != 1 || !strings.Contains(found.Closed[0].Error(), "settings.json") {
		t.Errorf("closed: %v", found.Closed)
	}
	if len(found.Entries) != 1 {
		t.Errorf("entries: %v", found.Entries)
	}
}

// TestSwitches finds what keeps Claude Code from channels.
func TestSwitches(t *testing.T) {
	w := world(t, "linux", "DISABLE_TELEMETRY", "1", "CLAUDE_CODE_USE_BEDROCK", "0")
	write(t, filepath.Join(w.Home, ".claude", "settings.json"), `{"env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": 1}}`)
	write(t, filepath.Join(w.Dir, ".claude", "settings.local.json"), `{"disabledMcpjsonServers": ["a", "aldis"]}`)
	write(t, filepath.Join(w.Managed, "managed-settings.json"), `{"channelsEnabled": false, "allowedMcpServers": [{"serverName": "a"}]}`)
	write(t, filepath.Join(w.Managed, "managed-settings.d", "10-more.json"), `{"allowManagedMcpServersOnly": true, "allowedChannelPlugins": []}`)
	write(t, filepath.Join(w.Managed, "managed-mcp.json"), `{"mcpServers": {"aldis": {"type": "http", "url": "https://hub.example/mcp"}}}`)
	found := Read(client(t, "claude-code"), w, "")
	var got []string
	for _, s := range found.Switches {
		if s.Means == "" {
			t.Errorf("%s: it is not said what follows", s.Name)
		}
		got = append(got, relative(w, s.Where)+": "+s.Name+" = "+s.Value)
	}
	want := []string{
		"the environment: DISABLE_TELEMETRY = 1",
		"home/.claude/settings.json: CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = 1",
		"project/.claude/settings.local.json: disabledMcpjsonServers = aldis",
		"managed/managed-settings.json: channelsEnabled = false",
		"managed/managed-settings.json: allowedMcpServers = 1 rules",
		"managed/managed-settings.d/10-more.json: allowedChannelPlugins = []",
		"managed/managed-settings.d/10-more.json: allowManagedMcpServersOnly = true",
		"managed/managed-mcp.json: managed-mcp.json = present",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(found.Entries) != 1 || found.Entries[0].Scope != Managed {
		t.Errorf("entries: %v", found.Entries)
	}
}

// TestPlaces names the file that is edited on each system.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		client, goos string
		env          []string
		scope        Scope
		want         string
	}{
		{"claude-code", "linux", nil, User, "home/.claude.json"},
		{"claude-code", "linux", []string{"CLAUDE_CONFIG_DIR", "/etc/claude"}, User, "/etc/claude/.claude.json"},
		{"claude-code", "windows", nil, Project, "project/.mcp.json"},
		{"claude-desktop", "linux", nil, User, "home/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "darwin", nil, User, "home/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", nil, User, "home/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", []string{"APPDATA", "/roaming"}, User, "/roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", nil, Project, ""},
		{"crush", "darwin", nil, User, "home/.config/crush/crush.json"},
		{"crush", "windows", nil, User, "home/AppData/Local/crush/crush.json"},
		{"crush", "linux", []string{"CRUSH_GLOBAL_CONFIG", "/etc/crush"}, User, "/etc/crush/crush.json"},
		{"crush", "linux", nil, Project, "project/crush.json"},
		{"opencode", "linux", []string{"XDG_CONFIG_HOME", "/config"}, User, "/config/opencode/opencode.json"},
		{"opencode", "windows", nil, User, "home/.config/opencode/opencode.json"},
		{"opencode", "linux", nil, Project, "project/opencode.json"},
		{"codex", "linux", nil, User, "home/.codex/config.toml"},
		{"codex", "linux", []string{"CODEX_HOME", "/codex"}, User, "/codex/config.toml"},
		{"codex", "linux", nil, Project, "project/.codex/config.toml"},
		{"cursor", "windows", nil, User, "home/.cursor/mcp.json"},
		{"cursor", "linux", nil, Project, "project/.cursor/mcp.json"},
		{"vscode", "linux", nil, User, "home/.config/Code/User/mcp.json"},
		{"vscode", "darwin", nil, User, "home/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", nil, User, "home/AppData/Roaming/Code/User/mcp.json"},
		{"vscode", "linux", nil, Project, "project/.vscode/mcp.json"},
		{"json", "linux", nil, User, ""},
	} {
		w := world(t, tt.goos, tt.env...)
		if got := relative(w, client(t, tt.client).Path(w, tt.scope)); got != tt.want {
			t.Errorf("%s on %s, %s, with %q: got %s, want %s", tt.client, tt.goos, tt.scope, tt.env, got, tt.want)
		}
	}
	w := world(t, "linux")
	write(t, filepath.Join(w.Dir, ".crush.json"), "{}")
	if got := relative(w, client(t, "crush").Path(w, Project)); got != "project/.crush.json" {
		t.Errorf("of two files, the one that is there is edited, not %s", got)
	}
}

// TestTokensAreMasked prints an entry in each way that a log may.
func TestTokensAreMasked(t *testing.T) {
	token := Token{Literal: "s3cret"}
	text, _ := token.MarshalText()
	for _, s := range []string{fmt.Sprint(token), fmt.Sprintf("%+v %#v", token, token), token.LogValue().String(), string(text)} {
		if strings.Contains(s, "s3cret") {
			t.Errorf("the token is in %q", s)
		}
	}
}
