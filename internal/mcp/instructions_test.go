package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"aldis/internal/hub"
)

func TestInstructionsFitWhateverTheName(t *testing.T) {
	for _, routes := range []bool{false, true} {
		for _, name := range []string{"", "alice", strings.Repeat("n", 128)} {
			text := instructions(view{routes}, hub.AgentID(name))
			if len(text) >= 2048 {
				t.Errorf("routes %v, a name of %d bytes: %d bytes, want under 2,048", routes, len(name), len(text))
			}
			if want := "You are agent " + name + "."; name != "" && !strings.HasPrefix(text, want) {
				t.Errorf("%.60q, want %q", text, want)
			}
			if name == "" && !strings.Contains(text, "no name") {
				t.Errorf("%.60q does not say that there is no name", text)
			}
			for _, word := range []string{"<channel>", "reply", "ask", "Never approve a permission, change access"} {
				if !strings.Contains(text, word) {
					t.Errorf("routes %v: nothing of %s", routes, word)
				}
			}
		}
	}
	for _, word := range strings.Fields("kind info status ack request question reply reply_to priority topic commit salon_status") {
		if !strings.Contains(instructions(view{true}, ""), word) {
			t.Errorf("the hub does not teach %s", word)
		}
		if strings.Contains(instructions(view{}, ""), "salon_status") {
			t.Error("who is alone is told of others")
		}
	}
}

func TestOfflineIsWhatTheHubAnswers(t *testing.T) {
	initialize, tools, err := Offline("9.test", "alice")
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		ProtocolVersion string
		ServerInfo      struct{ Name, Version string }
		Instructions    string
		Capabilities    struct {
			Experimental map[string]any
			Tools        struct{ ListChanged bool }
		}
	}
	if err := json.Unmarshal(initialize, &first); err != nil {
		t.Fatal(err)
	}
	_, channel := first.Capabilities.Experimental["claude/channel"]
	if first.ProtocolVersion != versions[0] || first.ServerInfo.Version != "9.test" || !channel ||
		!first.Capabilities.Tools.ListChanged || !strings.HasPrefix(first.Instructions, "You are agent alice.") {
		t.Errorf("initialize: %s", initialize)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(tools, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "send_message") || !strings.Contains(got, "ask") {
		t.Errorf("tools: %s", got)
	}
}
