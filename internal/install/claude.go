package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Switch is a setting or variable that keeps what is pushed from Claude Code's
// model, or the hub from Claude Code.
type Switch struct {
	Name  string // DISABLE_TELEMETRY, channelsEnabled
	Value string
	Where string // "the environment", or a file
	Means string // what follows
}

// switches are variables that turn channels off, and why.
var switches = []struct{ name, means string }{
	{"DISABLE_TELEMETRY", "channels are off: Claude Code then does not ask whether it may have them"},
	{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "channels are off: Claude Code then does not ask whether it may have them"},
	{"CLAUDE_CODE_USE_BEDROCK", "channels are not to be had with Bedrock"},
	{"CLAUDE_CODE_USE_VERTEX", "channels are not to be had with Vertex AI"},
	{"CLAUDE_CODE_USE_FOUNDRY", "channels are not to be had with Foundry"},
}

// readClaude looks for what turns channels off: in the environment, in Claude
// Code's own settings, and in the policy of whoever manages the machine.
func (f *Found) readClaude(c *Client, w World) {
	f.addVariables("the environment", w.Getenv)
	dir := w.env("CLAUDE_CONFIG_DIR", ".claude")
	for _, path := range []string{
		filepath.Join(dir, "settings.json"),
		filepath.Join(w.Dir, ".claude", "settings.json"),
		filepath.Join(w.Dir, ".claude", "settings.local.json"),
	} {
		if doc := f.open(c, path); doc != nil {
			f.addSettings(doc)
		}
	}
	policies, _ := filepath.Glob(filepath.Join(w.managed(), "managed-settings.d", "*.json"))
	for _, path := range append([]string{filepath.Join(w.managed(), "managed-settings.json")}, policies...) {
		if doc := f.open(c, path); doc != nil {
			f.addSettings(doc)
			f.addPolicy(doc)
		}
	}
	if managed := filepath.Join(w.managed(), "managed-mcp.json"); slices.Contains(f.Files, managed) {
		f.Switches = append(f.Switches, Switch{"managed-mcp.json", "present", managed, "Claude Code has the servers of this file and no others"})
	}
}

func (f *Found) addVariables(where string, get func(string) string) {
	for _, s := range switches {
		v := get(s.name)
		if v != "" && !slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(v)) {
			f.Switches = append(f.Switches, Switch{s.name, v, where, s.means})
		}
	}
}

// addSettings looks at the variables that a settings file gives to Claude Code.
func (f *Found) addSettings(doc *document) {
	env, _ := doc.root["env"].(map[string]any)
	f.addVariables(doc.path, func(name string) string {
		if v := env[name]; v != nil {
			return fmt.Sprint(v)
		}
		return ""
	})
	for _, name := range texts(doc.root["disabledMcpjsonServers"]) {
		if name == DefaultName {
			f.Switches = append(f.Switches, Switch{"disabledMcpjsonServers", name, doc.path, "the server " + name + " of a project's .mcp.json is off"})
		}
	}
}

// addPolicy looks at what only whoever manages the machine may say.
func (f *Found) addPolicy(doc *document) {
	add := func(name string, value any, means string) {
		f.Switches = append(f.Switches, Switch{name, fmt.Sprint(value), doc.path, means})
	}
	if enabled, said := doc.root["channelsEnabled"].(bool); said && !enabled {
		add("channelsEnabled", false, "channels are off for everybody here")
	}
	if plugins, said := doc.root["allowedChannelPlugins"]; said {
		add("allowedChannelPlugins", plugins, "without the flag for development, only these plugins may push")
	}
	if only, _ := doc.root["allowManagedMcpServersOnly"].(bool); only {
		add("allowManagedMcpServersOnly", true, "only servers that a policy allows are started")
	}
	for _, name := range []string{"allowedMcpServers", "deniedMcpServers"} {
		if list, said := doc.root[name].([]any); said {
			add(name, fmt.Sprintf("%d rules", len(list)), "servers are started only as these rules allow")
		}
	}
}
