package test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// initialize is a body that begins a session.
var initialize = map[string]any{
	"jsonrpc": "2.0", "id": 1, "method": "initialize",
	"params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	},
}

// with returns header with more in it. An empty value takes a header out.
func with(header map[string]string, pairs ...string) map[string]string {
	h := maps.Clone(header)
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1]
	}
	return h
}

// TestHTTP asks for everything that may be refused: each refusal has its
// status, a reason in JSON and the hardened headers.
func TestHTTP(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	shared, admin := bearer(token), bearer(h.adminToken())
	agentToken := strings.TrimSpace(h.aldis("token", "add", "deploy-bot").stdout)
	mine := bearer(agentToken)
	session := h.connectAs(agentOptions{header: "deploy-bot", deaf: true})
	inSession := session.header()
	posted := h.notify("cron", "deploy-bot", "from a script")
	big := strings.Repeat("x", 1<<20+1)
	message := map[string]any{"content": "hello", "target": "deploy-bot"}
	list := map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}

	for _, tt := range []struct {
		name         string
		method, path string
		body         any
		header       map[string]string
		want         int
		says         string // in the error
	}{
		// Who asks.
		{"no token on /mcp", "POST", "/mcp", initialize, nil, 401, "token"},
		{"a wrong token on /mcp", "POST", "/mcp", initialize, bearer("guess"), 401, "not valid"},
		{"no token on a stream", "GET", "/mcp", nil, nil, 401, "token"},
		{"another scheme than Bearer", "POST", "/mcp", initialize, map[string]string{"Authorization": "Basic " + token}, 401, "not valid"},
		{"no token on /notify", "POST", "/notify?label=cron", message, nil, 401, "token"},
		{"no token on /api", "GET", "/api/status", nil, nil, 401, "token"},
		{"no token on /admin", "GET", "/admin", nil, nil, 401, "token"},
		{"no token on /metrics", "GET", "/metrics", nil, nil, 401, "token"},
		{"no token on nothing of the admin's", "GET", "/api/nothing", nil, nil, 401, "token"},
		{"the shared token on /api", "GET", "/api/status", nil, shared, 403, "not for"},
		{"the shared token on tokens", "POST", "/api/tokens", map[string]any{"agent": "x"}, shared, 403, "not for"},
		{"the shared token on /admin", "GET", "/admin", nil, shared, 403, "not for"},
		{"the shared token on a page of /admin", "GET", "/admin/messages/1", nil, shared, 403, "not for"},
		{"the shared token on /metrics", "GET", "/metrics", nil, shared, 403, "not for"},
		{"the shared token on webhooks", "GET", "/api/hooks", nil, shared, 403, "not for"},
		{"the shared token on a new webhook", "POST", "/api/hooks", map[string]any{"name": "x", "agent": "x"}, shared, 403, "not for"},
		{"the shared token on the end of one", "DELETE", "/api/hooks/x", nil, shared, 403, "not for"},
		{"an agent's token on webhooks", "GET", "/api/hooks", nil, mine, 403, "not for"},
		{"an agent's token on a new webhook", "POST", "/api/hooks", map[string]any{"name": "x", "agent": "x"}, mine, 403, "not for"},
		{"an agent's token on the end of one", "DELETE", "/api/hooks/x", nil, mine, 403, "not for"},
		{"an agent's token on a webhook", "POST", "/hooks/x", nil, mine, 403, "shared token"},
		{"no token on a webhook", "POST", "/hooks/x", nil, nil, 401, "token"},
		{"no such webhook", "POST", "/hooks/x", nil, shared, 404, "no hook"},
		{"a foreign Host on a webhook", "POST", "/hooks/x", nil, with(shared, "Host", "evil.example"), 403, "--allowed-host"},
		{"an agent's token on /api", "GET", "/api/tokens", nil, mine, 403, "not for"},
		{"an agent's token on /admin", "GET", "/admin", nil, mine, 403, "not for"},
		{"an agent's token on /metrics", "GET", "/metrics", nil, mine, 403, "not for"},
		{"the admin's token on /mcp", "POST", "/mcp", initialize, admin, 403, "not for"},
		{"the admin's token on /notify", "POST", "/notify?label=cron", message, admin, 403, "not for"},
		{"an agent's token as another agent", "POST", "/mcp", initialize, with(mine, "X-Signal-Agent-Id", "crush-signal"), 403, "deploy-bot alone"},
		{"an agent's token with another's label", "POST", "/mcp?label=crush-signal", initialize, mine, 403, "deploy-bot alone"},
		{"an agent's token on /notify for another", "POST", "/notify?label=cron", message, mine, 403, "deploy-bot alone"},
		{"an agent's token on a session of the shared one", "POST", "/mcp", list, with(inSession, "Authorization", mine["Authorization"]), 403, "another token"},
		{"an agent's token on a stream of the shared one", "GET", "/mcp", nil, with(inSession, "Authorization", mine["Authorization"]), 403, "another token"},
		{"an agent's token on a message of the shared one", "GET", "/notify/" + posted, nil, mine, 404, "no message"},
		{"the admin on a message of a script", "GET", "/notify/" + posted, nil, admin, 200, ""},
		{"the script on its own message", "GET", "/notify/" + posted, nil, shared, 200, ""},

		// From where.
		{"a foreign Host", "POST", "/mcp", initialize, with(shared, "Host", "evil.example"), 403, "--allowed-host"},
		{"our name with another port", "GET", "/healthz", nil, map[string]string{"Host": "127.0.0.1:1"}, 403, "--allowed-host"},
		{"a foreign Host on /healthz", "GET", "/healthz", nil, map[string]string{"Host": "evil.example"}, 403, "--allowed-host"},
		{"a foreign Origin", "POST", "/mcp", initialize, with(shared, "Origin", "https://evil.example"), 403, "may not call"},
		{"a foreign Origin on a stream", "GET", "/mcp", nil, with(inSession, "Origin", "https://evil.example"), 403, "may not call"},
		{"a null Origin", "POST", "/notify?label=cron", message, with(shared, "Origin", "null"), 403, "may not call"},
		{"our Origin", "POST", "/notify?label=cron", message, with(shared, "Origin", h.url), 202, ""},

		// How much.
		{"a body that is declared too large", "POST", "/notify?label=cron", strings.NewReader(big), shared, 413, "larger"},
		{"a chunked body that is too large", "POST", "/notify?label=cron", chunked(big), shared, 413, "larger"},
		{"a chunked body that is too large on /mcp", "POST", "/mcp", chunked(big), inSession, 413, "larger"},

		// /notify.
		{"no label", "POST", "/notify", message, shared, 400, "label"},
		{"an empty label", "POST", "/notify?label=", message, shared, 400, "label"},
		{"an unprintable label", "POST", "/notify?label=a%00b", message, shared, 400, "printable"},
		{"a label that is too long", "POST", "/notify?label=" + strings.Repeat("a", 129), message, shared, 400, "128"},
		{"a body that is not JSON by its type", "POST", "/notify?label=cron", message, with(shared, "Content-Type", "text/plain"), 415, "JSON"},
		{"a body without a type", "POST", "/notify?label=cron", message, with(shared, "Content-Type", ""), 415, "JSON"},
		{"no body", "POST", "/notify?label=cron", strings.NewReader(""), shared, 422, "JSON object"},
		{"a body that is broken JSON", "POST", "/notify?label=cron", strings.NewReader(`{"content":`), shared, 422, "JSON object"},
		{"a body that is an array", "POST", "/notify?label=cron", strings.NewReader(`[]`), shared, 422, "JSON object"},
		{"no content", "POST", "/notify?label=cron", map[string]any{"target": "x"}, shared, 422, "content"},
		{"null as content", "POST", "/notify?label=cron", map[string]any{"content": nil}, shared, 422, "content"},
		{"a number as content", "POST", "/notify?label=cron", map[string]any{"content": 1}, shared, 422, "JSON object"},
		{"a list as target", "POST", "/notify?label=cron", map[string]any{"content": "x", "target": []string{"a"}}, shared, 422, "JSON object"},
		{"a list as meta", "POST", "/notify?label=cron", map[string]any{"content": "x", "meta": []string{"a"}}, shared, 422, "meta"},
		{"GET on /notify", "GET", "/notify", nil, shared, 405, "POST"},
		{"a key that is none", "POST", "/notify?label=cron", message, with(shared, "Idempotency-Key", strings.Repeat("k", 256)), 400, "Idempotency-Key"},
		{"an unknown message", "GET", "/notify/nothing", nil, shared, 404, "no message"},

		// /mcp.
		{"no session", "POST", "/mcp", list, shared, 400, "initialize"},
		{"no session on a stream", "GET", "/mcp", nil, shared, 405, "initialize"},
		{"an unknown session", "POST", "/mcp", list, with(shared, "Mcp-Session-Id", "nobody"), 404, "session"},
		{"an unknown session on a stream", "GET", "/mcp", nil, with(shared, "Mcp-Session-Id", "nobody"), 404, "session"},
		{"an unknown session on DELETE", "DELETE", "/mcp", nil, with(shared, "Mcp-Session-Id", "nobody"), 404, "session"},
		{"an unknown protocol version", "POST", "/mcp", list, with(inSession, "Mcp-Protocol-Version", "2026-07-28"), 400, "2025-11-25"},
		{"broken JSON", "POST", "/mcp", strings.NewReader(`{"jsonrpc"`), inSession, 400, "JSON-RPC"},
		{"a batch", "POST", "/mcp", []any{list}, inSession, 400, "batches"},
		{"a scalar", "POST", "/mcp", strings.NewReader(`1`), inSession, 400, "JSON-RPC"},
		{"an empty agent id", "POST", "/mcp?label=", initialize, shared, 400, "printable"},
		{"an agent id that is too long", "POST", "/mcp", initialize, with(shared, "X-Signal-Agent-Id", strings.Repeat("a", 129)), 400, "128"},
		{"two agent ids that differ", "POST", "/mcp?label=a", initialize, with(shared, "X-Signal-Agent-Id", "b"), 400, "different"},
		{"two agent ids that are one", "POST", "/mcp?label=a", initialize, with(shared, "X-Signal-Agent-Id", "a"), 200, ""},
		{"a method that MCP does not have", "PUT", "/mcp", nil, inSession, 405, "GET, POST or DELETE"},
		{"an agent's token without a name", "POST", "/mcp", initialize, mine, 200, ""},
		{"a tool call in a session", "POST", "/mcp", list, inSession, 200, ""},

		// The rest.
		{"health", "GET", "/healthz", nil, nil, 200, ""},
		{"readiness", "GET", "/readyz", nil, nil, 200, ""},
		{"nothing there", "GET", "/nothing", nil, shared, 404, "nothing is at"},
		{"nothing there of the admin's", "GET", "/api/nothing", nil, admin, 404, "nothing is at"},
		{"a token for nobody", "POST", "/api/tokens", map[string]any{"agent": " "}, admin, 400, "128"},
		{"a token of a wrong type", "POST", "/api/tokens", map[string]any{"agent": 1}, admin, 422, "agent"},
		{"an unknown token to revoke", "DELETE", "/api/tokens/nothing", nil, admin, 404, "no token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := h.do(tt.method, tt.path, tt.body, tt.header)
			if a.status != tt.want {
				t.Errorf("status %d, want %d: %s", a.status, tt.want, a.body)
			}
			wantHardened(t, a.header)
			if tt.want < 400 {
				return
			}
			if text, _ := a.object(t)["error"].(string); !strings.Contains(text, tt.says) {
				t.Errorf("error %q does not mention %q", text, tt.says)
			}
			if tt.want == 401 && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("WWW-Authenticate is %q", a.header.Get("WWW-Authenticate"))
			}
		})
	}
}

// wantHardened checks for the headers of seed reply-routing.md, section
// Security.
func wantHardened(t *testing.T, header http.Header) {
	t.Helper()
	for k, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	} {
		if got := header.Get(k); got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
}

// chunked is a body whose length is not declared.
func chunked(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

func TestStreamsAreHardened(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.connectAs(agentOptions{header: "deploy-bot", deaf: true})
	req, err := http.NewRequest(http.MethodGet, h.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range a.header() {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	wantHardened(t, resp.Header)
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type is %q", got)
	}
}

// TestWrongCalls calls tools wrongly: the model reads what to do better.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.connect("deploy-bot")
	nameless := h.connectAs(agentOptions{deaf: true})
	for _, tt := range []struct {
		name string
		from *agent
		tool string
		args map[string]any
		says string
	}{
		{"a missing argument", a, "send", map[string]any{}, "text"},
		{"a wrong type", a, "send", map[string]any{"text": 7}, "text"},
		{"an unknown argument", a, "send", map[string]any{"text": "x", "to": "y"}, "to"},
		{"no phone", a, "send", map[string]any{"text": "x"}, "--operator"},
		{"no phone to reply on", a, "reply", map[string]any{"chat_id": operator, "text": "x"}, "--operator"},
		{"an empty chat", a, "reply", map[string]any{"chat_id": "", "text": "x"}, "chat_id"},
		{"a wait that is too long", a, "inbox", map[string]any{"wait_seconds": 51}, "wait_seconds"},
		{"an unknown event", a, "get_message", map[string]any{"id": "nothing"}, "no message"},
		{"a message to nobody", a, "send_message", map[string]any{"content": "x", "target": "ghost"}, "no agent ghost"},
		{"meta of a wrong type", a, "send_message", map[string]any{"content": "x", "meta": "y"}, "meta"},
		{"no name to send under", nameless, "send_message", map[string]any{"content": "x"}, "X-Signal-Agent-Id"},
		{"an unknown tool", a, "shout", map[string]any{}, "shout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, _ := tt.from.callRaw(tt.tool, tt.args)
			if !strings.Contains(text, tt.says) {
				t.Errorf("the answer %q does not mention %q", text, tt.says)
			}
		})
	}
}

// TestRateLimit posts more than is allowed: scripts are told how long to
// wait, tools say it to the model, and streams stay open.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--rate-limit", "5")
	a := h.connect("deploy-bot")
	var last answer
	for range 7 {
		last = h.do(http.MethodPost, "/notify?label=cron", map[string]any{"content": "x", "target": "deploy-bot"}, bearer(token))
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q, want 429 and a time", last.status, last.header.Get("Retry-After"))
	}
	var texts []string
	for range 7 {
		text, _ := a.callRaw("inbox", nil)
		texts = append(texts, text)
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "Too many calls") }) {
		t.Errorf("no call was told to wait: %q", texts)
	}
	a.await(5)
	a.disconnect()
	a.join() // a stream is never refused for this
	eventually(t, "the stream opens again", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.opened == 2 })
}

// TestHalfARequest sends half a request: the connection does not stay for ever,
// and others are served meanwhile.
func TestHalfARequest(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	h.awaitReady()
	if _, err := io.ReadAll(conn); err != nil { // ends within the header's 10 s
		t.Errorf("the connection is not ended in order: %v", err)
	}
}
