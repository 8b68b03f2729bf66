package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plugin is Claude Code's plugin of this project.
const plugin = "../../plugin"

// TestPlugin holds the plugin to what Claude Code asks of one: a manifest whose
// channel names a server of .mcp.json, and settings that are declared before they
// are used. claude plugin validate knows the rest.
func TestPlugin(t *testing.T) {
	var manifest struct {
		Name, Version, Description string
		UserConfig                 map[string]struct {
			Type, Title, Description string
			Sensitive, Required      bool
			Default                  *string
		}
		Channels []struct{ Server, DisplayName string }
	}
	strictly(t, filepath.Join(".claude-plugin", "plugin.json"), &manifest, "author", "keywords")
	servers := client(t, "claude-code").readPlugin(t)
	if len(manifest.Channels) != 1 || servers[manifest.Channels[0].Server] == "" {
		t.Fatalf("the channels are %v, the servers %v", manifest.Channels, servers)
	}
	server := servers[manifest.Channels[0].Server]
	for key, option := range manifest.UserConfig {
		if option.Type != "string" || option.Title == "" || option.Description == "" {
			t.Errorf("setting %s: %+v", key, option)
		}
		if !strings.Contains(server, "${user_config."+key+"}") {
			t.Errorf("setting %s is not used", key)
		}
	}
	for _, m := range regexp.MustCompile(`\$\{user_config\.(\w+)\}`).FindAllStringSubmatch(server, -1) {
		if _, ok := manifest.UserConfig[m[1]]; !ok {
			t.Errorf("setting %s is not declared", m[1])
		}
	}
	if !manifest.UserConfig["token"].Sensitive {
		t.Error("the token is kept as if it were no secret")
	}
	skill, err := os.ReadFile(filepath.Join(plugin, "skills", "access", "SKILL.md"))
	if err != nil || !strings.Contains(string(skill), "\ndisable-model-invocation: true\n") {
		t.Errorf("the skill that lets people in must be called by a person alone: %v", err)
	}
}

// readPlugin returns the entries of the plugin's .mcp.json, which run aldis
// attach.
func (c *Client) readPlugin(t *testing.T) map[string]string {
	text, err := os.ReadFile(filepath.Join(plugin, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := c.decode(text)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for name, raw := range tableOf(c, root) {
		e := c.understand(name, raw.(map[string]any))
		if !e.ours("") || e.Verb != "attach" {
			t.Errorf("%s runs %s %s", name, e.Command, e.Verb)
		}
		b, _ := json.Marshal(raw)
		entries[name] = string(b)
	}
	return entries
}

// strictly reads a JSON file of the plugin that has no members but those of a
// struct, and a few more.
func strictly(t *testing.T, name string, into any, more ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(plugin, name))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for _, m := range more {
		delete(members, m)
	}
	rest, _ := json.Marshal(members)
	d := json.NewDecoder(strings.NewReader(string(rest)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
