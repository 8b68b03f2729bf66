package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hubtest/signaldesktop"
)

// Who and what the stories' database holds.
const (
	withAda, withBob = "0b1f2c3d-0000-4000-8000-00000000000a", "0b1f2c3d-0000-4000-8000-00000000000b" // conversations
	adasMessage      = "0b1f2c3d-0000-4000-8000-000000000001"                                         // in the first of them
	needle           = "a word that nobody else wrote"                                                // what it says
)

// A profile is Signal Desktop's folder, with a database that Signal's own
// library has written and keeps open.
type profile struct {
	t       testing.TB
	home    string // what HOME is to who finds it
	dir, db string
	writer  *signaldesktop.Writer
}

func newProfile(t testing.TB) *profile {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "Signal")
	p := &profile{t: t, home: home, dir: dir, db: signaldesktop.Path(dir), writer: signaldesktop.Start(t)}
	if err := os.MkdirAll(filepath.Dir(p.db), 0o700); err != nil {
		t.Fatal(err)
	}
	p.writer.Create(dir, signaldesktop.Options{Schema: 1830})
	for i, c := range []struct{ id, name string }{{withAda, "Ada"}, {withBob, "Bob"}} {
		p.writer.Exec("INSERT INTO conversations (id, type, active_at, serviceId, json) VALUES (?, 'private', ?, ?, ?)",
			c.id, 1767225600000+i, "aci-of-"+c.name, `{"profileName":"`+c.name+`"}`)
	}
	p.say(adasMessage, withAda, needle, 1)
	p.say("0b1f2c3d-0000-4000-8000-000000000002", withBob, "something else", 2)
	return p
}

// say puts in a message of whoever a conversation is with.
func (p *profile) say(id, conversation, text string, at int) {
	p.t.Helper()
	p.writer.Exec("INSERT INTO messages (id, type, conversationId, body, sent_at, received_at, received_at_ms, json) VALUES (?, 'incoming', ?, ?, ?, ?, ?, '{}')",
		id, conversation, text, 1767225600000+at, at, 1767225600000+at)
}

// bySettings are the seed's own names for where the history is.
func (p *profile) bySettings() []string {
	return []string{"SIGNAL_MCP_DB=" + p.db, "SIGNAL_MCP_KEY=" + signaldesktop.Key}
}

// byHome lets the history be found.
func (p *profile) byHome() []string { return []string{"HOME=" + p.home, "XDG_CONFIG_HOME="} }

// calls are one or more of each tool, each with a part of its answer.
func (p *profile) calls() []historyCall {
	return []historyCall{
		{"signal_list_conversations", nil, `"id":"` + withAda + `"`},
		{"signal_get_messages", map[string]any{"conversationId": withAda, "limit": 200}, needle},
		{"signal_get_messages", map[string]any{"conversationId": withAda, "around": adasMessage}, needle},
		{"signal_search_messages", map[string]any{"query": "WORD that nobody"}, `"id":"` + adasMessage + `"`},
		{"signal_get_message", map[string]any{"messageId": adasMessage}, needle},
	}
}

type historyCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
	want string
}

var historyTools = []string{"signal_get_message", "signal_get_messages", "signal_list_conversations", "signal_search_messages"}

// connectHistory connects the Go SDK, in a version of the protocol.
func connectHistory(t testing.TB, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may have been closed
	return s
}

// tellHistory makes all calls, and looks at what is answered.
func (p *profile) tellHistory(s *mcp.ClientSession) {
	p.t.Helper()
	list, err := s.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(historyTools, names); diff != "" {
		p.t.Error(diff)
	}
	for _, c := range p.calls() {
		if text, isError := callHistory(p.t, s, c.Tool, c.Args); isError || !strings.Contains(text, c.want) {
			p.t.Errorf("%s %v: %.500s; want %s", c.Tool, c.Args, text, c.want)
		}
	}
}

func callHistory(t testing.TB, s *mcp.ClientSession, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text, r.IsError
}

// TestHistoryOverStdio reads a database in use, however it is found.
func TestHistoryOverStdio(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	for name, env := range map[string][]string{
		"by the seed's settings": p.bySettings(),
		"by one file of it":      {"SIGNAL_MCP_CONFIG=" + filepath.Join(p.dir, "config.json")},
		"by itself":              p.byHome(),
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" in "+version, func(t *testing.T) {
				if name == "by itself" && runtime.GOOS != "linux" {
					t.Skip("the folder is that of Linux")
				}
				var log buffer
				cmd := command(t, "history", "--log-format", "json")
				cmd.Env, cmd.Stderr = append(cmd.Env, env...), &log
				s := connectHistory(t, &mcp.CommandTransport{Command: cmd}, version)
				p.tellHistory(s)
				p.tellNews(s)
				if err := s.Close(); err != nil {
					t.Errorf("end: %v\n%s", err, &log)
				}
				wantAudit(t, &log, "stdio")
				for _, secret := range []string{needle, "nobody", signaldesktop.Key, withAda, adasMessage} {
					if strings.Contains(log.String(), secret) {
						t.Errorf("the log has %q:\n%s", secret, &log)
					}
				}
			})
		}
	}
}

// tellNews writes a adasMessage, which must show at once.
func (p *profile) tellNews(s *mcp.ClientSession) {
	p.t.Helper()
	p.writer.Exec("UPDATE messages SET body = ? WHERE id = ?", "changed meanwhile", adasMessage)
	if text, _ := callHistory(p.t, s, "signal_get_message", map[string]any{"messageId": adasMessage}); !strings.Contains(text, "changed meanwhile") {
		p.t.Errorf("a change is not seen: %s", text)
	}
	p.writer.Exec("UPDATE messages SET body = ? WHERE id = ?", needle, adasMessage)
}

// wantAudit looks for lines about each tool.
func wantAudit(t testing.TB, log *buffer, who string) {
	t.Helper()
	eventually(t, "the log has a line for each call of "+who, func() bool {
		var tools []string
		for line := range strings.Lines(log.String()) {
			var l struct{ Msg, Who, Tool, Scope string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "history read" && l.Who == who && l.Scope != "" {
				tools = append(tools, l.Tool)
			}
		}
		slices.Sort(tools)
		return slices.Equal(historyTools, slices.Compact(tools))
	})
}

// TestHistoryWithTheTypeScriptSDK is the same with the client of most hosts.
func TestHistoryWithTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	needSDK(t)
	p := newProfile(t)
	h := p.serve()
	env := map[string]string{}
	for _, v := range p.bySettings() {
		k, v, _ := strings.Cut(v, "=")
		env[k] = v
	}
	for name, target := range map[string]any{
		"stdio": map[string]any{"command": binary, "args": []string{"history", "--state-dir", t.TempDir()}, "env": env},
		"http":  map[string]any{"url": h.url + "/mcp", "token": historyToken},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"sdk/history.mjs"}
			for _, v := range []any{target, p.calls()} {
				b, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, string(b))
			}
			out := runCommand(t, exec.Command("node", args...))
			var said struct {
				Tools   []string
				Answers []sdkAnswer
			}
			if err := json.Unmarshal([]byte(out.stdout), &said); err != nil {
				t.Fatalf("%v: %s%s", err, out.stdout, out.stderr)
			}
			if len(said.Tools) != len(historyTools) || len(said.Answers) != len(p.calls()) {
				t.Fatalf("%+v", said)
			}
			for i, c := range p.calls() {
				if a := said.Answers[i]; a.IsError || !strings.Contains(a.Text, c.want) {
					t.Errorf("%s: %.500s; want %s", c.Tool, a.Text, c.want)
				}
			}
		})
	}
}

// TestHistoryIsBounded shows what is granted, and nothing besides.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	for name, args := range map[string][]string{
		"another conversation": {"--grant", "conversation=" + withBob},
		"later than it was":    {"--since", "2100-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, append([]string{"history"}, args...)...)
			cmd.Env = append(cmd.Env, p.bySettings()...)
			s := connectHistory(t, &mcp.CommandTransport{Command: cmd}, "")
			for _, c := range p.calls() {
				if text, _ := callHistory(t, s, c.Tool, c.Args); strings.Contains(text, c.want) {
					t.Errorf("%s shows %s", c.Tool, text)
				}
			}
		})
	}
}
