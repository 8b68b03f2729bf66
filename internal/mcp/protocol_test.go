package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/httpd"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestInitializeAgreesOnAVersionThatHasAStream(t *testing.T) {
	h := startHub(t, setup{})
	for _, tt := range []struct{ asked, want string }{
		{"2025-11-25", "2025-11-25"},
		{"2025-06-18", "2025-06-18"},
		{"2025-03-26", "2025-03-26"},
		{"2024-11-05", "2024-11-05"},
		{"2026-07-28", "2025-11-25"}, // has no stream
		{"1999-01-01", "2025-11-25"},
	} {
		c := h.client()
		c.Version = tt.asked
		var v struct {
			Result struct{ ProtocolVersion string }
		}
		if err := json.Unmarshal(c.Initialize().Body, &v); err != nil {
			t.Fatal(err)
		}
		if v.Result.ProtocolVersion != tt.want {
			t.Errorf("asked for %s: %q, want %s", tt.asked, v.Result.ProtocolVersion, tt.want)
		}
		c.Version = tt.want
		if r := c.Call("tools/list", nil); r.Error != nil || !bytes.Contains(r.Result, []byte(`"reply"`)) {
			t.Errorf("tools/list in %s: %+v", tt.want, r)
		}
	}
}

func TestInitializeDeclaresChannelsAndTools(t *testing.T) {
	h := startHub(t, setup{})
	var v struct {
		Result struct {
			Capabilities map[string]json.RawMessage
			ServerInfo   struct{ Name, Version string }
			Instructions string
		}
	}
	c := h.client()
	c.Label = "alice"
	if err := json.Unmarshal(c.Initialize().Body, &v); err != nil {
		t.Fatal(err)
	}
	got := v.Result
	want := map[string]json.RawMessage{
		"experimental": json.RawMessage(`{"claude/channel":{},"claude/channel/permission":{}}`),
		"tools":        json.RawMessage(`{}`),
	}
	if d := cmp.Diff(want, got.Capabilities); d != "" {
		t.Errorf("capabilities (-want +got):\n%s", d)
	}
	if got.ServerInfo.Name != "aldis" || got.ServerInfo.Version != "0.test" {
		t.Errorf("server info %+v", got.ServerInfo)
	}
	if !strings.HasPrefix(got.Instructions, "You are agent alice.") {
		t.Errorf("instructions %.60q", got.Instructions)
	}
}

// The golden file is what a client sees: INTERFACE, Tools of the hub.
func TestToolsList(t *testing.T) {
	h := startHub(t, setup{})
	r := h.mailbox("alice").Call("tools/list", nil)
	var v struct {
		Tools []struct {
			Name, Description string
		}
	}
	if err := json.Unmarshal(r.Result, &v); err != nil {
		t.Fatal(err)
	}
	for _, tool := range v.Tools {
		if len(tool.Description) >= 2048 {
			t.Errorf("%s: description of %d bytes", tool.Name, len(tool.Description))
		}
	}
	var got bytes.Buffer
	if err := json.Indent(&got, r.Result, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	const golden = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("tools/list (-want +got; -update writes it anew):\n%s", d)
	}
}

func TestRequests(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for _, tt := range []struct {
		name, method, body string
		header             []string
		status             int
		want               string // in the body
	}{
		{"ping", "POST", ping, nil, 200, `"id":7`},
		{"a string as id", "POST", `{"jsonrpc":"2.0","id":"x-1","method":"ping"}`, nil, 200, `"id":"x-1"`},
		{"server/discover without a session", "POST", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, []string{"Mcp-Session-Id", "", "Mcp-Protocol-Version", "2026-07-28"}, 200, `-32601`},
		{"server/discover in a session", "POST", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, nil, 200, `-32601`},
		{"unknown method", "POST", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 200, `-32601`},
		{"initialize in a session", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, nil, 200, `"error"`},
		{"initialize without params", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, []string{"Mcp-Session-Id", ""}, 200, `"error"`},
		{"unknown notification", "POST", `{"jsonrpc":"2.0","method":"notifications/no/such"}`, nil, 202, ""},
		{"an answer", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, ""},
		{"batch", "POST", "[" + ping + "]", nil, 400, "batch"},
		{"no JSON", "POST", "{", nil, 400, "JSON-RPC"},
		{"not JSON-RPC", "POST", `{"hello":1}`, nil, 400, "JSON-RPC"},
		{"empty body", "POST", "", nil, 400, "JSON-RPC"},
		{"wrong version", "POST", ping, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, "2026-07-28"},
		{"wrong version on GET", "GET", "", []string{"Mcp-Protocol-Version", "1"}, 400, "version"},
		{"no version", "POST", ping, []string{"Mcp-Protocol-Version", ""}, 200, `"id":7`},
		{"no session", "POST", ping, []string{"Mcp-Session-Id", ""}, 400, "initialize"},
		{"GET without a session", "GET", "", []string{"Mcp-Session-Id", ""}, 405, "initialize"},
		{"DELETE without a session", "DELETE", "", []string{"Mcp-Session-Id", ""}, 400, "initialize"},
		{"unknown session", "POST", ping, []string{"Mcp-Session-Id", "nope"}, 404, "session"},
		{"GET of an unknown session", "GET", "", []string{"Mcp-Session-Id", "nope"}, 404, "session"},
		{"DELETE of an unknown session", "DELETE", "", []string{"Mcp-Session-Id", "nope"}, 404, "session"},
		{"PUT", "PUT", ping, nil, 405, "GET, POST or DELETE"},
		{"foreign Host", "POST", ping, []string{"Host", "evil.example"}, 403, "evil.example"},
		{"foreign Origin on GET", "GET", "", []string{"Origin", "http://evil.example"}, 403, "evil.example"},
		{"Origin null", "POST", ping, []string{"Origin", "null"}, 403, "null"},
		{"declared as too large", "POST", strings.Repeat(" ", httpd.MaxBody+1), nil, 413, "larger"},
		{"too large in chunks", "POST", strings.Repeat(" ", httpd.MaxBody+1), []string{"Transfer-Encoding", "chunked"}, 413, "larger"},
		{"as large as may be", "POST", ping + strings.Repeat(" ", httpd.MaxBody-len(ping)), nil, 200, `"id":7`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := c.Do(t.Context(), tt.method, tt.body, tt.header...)
			if a.Status != tt.status || !strings.Contains(string(a.Body), tt.want) {
				t.Errorf("%d %.200s\nwant %d with %q", a.Status, a.Body, tt.status, tt.want)
			}
			if tt.status == 202 && len(a.Body) > 0 {
				t.Errorf("body %q", a.Body)
			}
			if a.Status >= 400 && !json.Valid(a.Body) {
				t.Errorf("the error is no JSON: %s", a.Body)
			}
		})
	}
}

// aldis status writes it to a terminal.
func TestAttackANameOfAClientThatHidesSomething(t *testing.T) {
	h := startHub(t, setup{})
	c := h.client()
	c.Name = "x\x1b[2J\n\u202e" + strings.Repeat("y", 200)
	c.Connect()
	if got, want := h.table.List()[0].Client, "x\uFFFD[2J \uFFFDyyy"; !strings.HasPrefix(got, want) || len(got) > 100 {
		t.Errorf("%q, want %q… of at most 100 bytes", got, want)
	}
}

func TestDeleteEndsASessionForGood(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	if a := c.Do(t.Context(), "DELETE", ""); a.Status != http.StatusNoContent {
		t.Fatalf("DELETE: %d", a.Status)
	}
	for _, method := range []string{"GET", "POST", "DELETE"} {
		if a := c.Do(t.Context(), method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.Status != http.StatusNotFound {
			t.Errorf("%s after DELETE: %d", method, a.Status)
		}
	}
}

// Bad arguments are told to the model, not done without.
func TestArgumentsAreChecked(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	for _, tt := range []struct{ tool, args, want string }{
		{"send", `{}`, "text"},
		{"send", `{"text":7}`, "text"},
		{"send", `{"text":"x","attachments":"a"}`, "attachments"},
		{"send", `{"text":"x","no_such":1}`, "no_such"},
		{"send", `[]`, ""},
		{"send", `{"text":"  "}`, "empty"},
		{"reply", `{"text":"x"}`, "chat_id"},
		{"reply", `{"text":"x","chat_id":""}`, "chat_id"},
		{"reply", `{"text":"x","chat_id":"nonsense"}`, "nonsense"},
		{"reply", `{"text":"x","chat_id":"+999"}`, "may write"},
		{"react", `{"chat_id":"+100","message_id":"1","emoji":""}`, "emoji"},
		{"react", `{"chat_id":"+100","message_id":"1","emoji":"👍"}`, "message 1"},
		{"edit_message", `{"chat_id":"+100","message_id":"1","text":"x"}`, "message 1"},
		{"delete_message", `{"chat_id":"+100","message_id":"1"}`, "message 1"},
		{"inbox", `{"wait_seconds":51}`, "wait_seconds"},
		{"inbox", `{"wait_seconds":1.5}`, "wait_seconds"},
		{"inbox", `{"wait_seconds":-1}`, "wait_seconds"},
		{"get_message", `{"id":"nope"}`, "nope"},
		{"get_message", `{"id":"x","offset":-1}`, "offset"},
		{"send_message", `{"content":"x","meta":[]}`, "meta"},
		{"send_message", `{"target":"bob"}`, "content"},
	} {
		r := c.Call("tools/call", map[string]any{"name": tt.tool, "arguments": json.RawMessage(tt.args)})
		var v struct {
			Content []struct{ Text string }
			IsError bool
		}
		_ = json.Unmarshal(r.Result, &v)
		switch {
		case r.Error != nil && r.Error.Code == -32602 && strings.Contains(r.Error.Message, tt.want):
		case v.IsError && strings.Contains(v.Content[0].Text, tt.want):
		default:
			t.Errorf("%s %s: %+v %s, want an error about %q", tt.tool, tt.args, r.Error, r.Result, tt.want)
		}
	}
	if r := c.Call("tools/call", map[string]any{"name": "no_such"}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("unknown tool: %+v", r)
	}
	if sent := h.platform.Sent(); len(sent) > 0 {
		t.Errorf("sent nevertheless: %v", sent)
	}
}

func TestRateLimitTouchesCallsAlone(t *testing.T) {
	var keys []string
	h := startHub(t, setup{limit: func(key string) bool {
		keys = append(keys, key)
		return len(keys) == 1 // initialize
	}})
	c := h.mailbox("alice")
	if r := c.Tool("inbox", map[string]any{}); !r.IsError || !strings.Contains(r.Text, "Too many") {
		t.Errorf("tool call: %+v", r)
	}
	if r := c.Call("tools/list", nil); r.Status != http.StatusTooManyRequests {
		t.Errorf("another call: %d", r.Status)
	}
	counted := len(keys)
	if s := c.Open(""); s.Status != http.StatusOK {
		t.Errorf("GET: %d", s.Status)
	}
	if status := c.Notify("notifications/x", nil); status != http.StatusAccepted {
		t.Errorf("notification: %d", status)
	}
	if a := c.Do(t.Context(), "DELETE", ""); a.Status != http.StatusNoContent {
		t.Errorf("DELETE: %d", a.Status)
	}
	if len(keys) != counted || slices.ContainsFunc(keys, func(k string) bool { return k != "main\x00alice" }) {
		t.Errorf("counted under %q; GET, DELETE and notifications must not be", keys)
	}
}
