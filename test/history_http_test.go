package test

import (
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hubtest/openid"
	"aldis/internal/hubtest/signaldesktop"
)

const (
	historyToken = "a-history-token-of-32-characters"
	historyHost  = "history.example"
)

// serve starts aldis history for http, by the seed's settings alone.
func (p *profile) serve(env ...string) *hub {
	p.t.Helper()
	env = append(append(p.bySettings(), "SIGNAL_MCP_TRANSPORT=http", "SIGNAL_MCP_PUBLIC_URL=https://"+historyHost+"/mcp",
		"SIGNAL_MCP_BEARER_TOKEN="+historyToken), env...)
	return startServer(p.t, env, "history")
}

// A bearing adds a token to each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpAt is the Go SDK's way to an address.
func mcpAt(url, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearing(token)}, MaxRetries: -1}
}

// statelessCall is a tool call in the protocol that has no sessions.
func statelessCall(tool string, args map[string]any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		},
	}}
}

func TestHistoryOverHTTP(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	h := p.serve("SIGNAL_MCP_MAX_BODY_BYTES=65536", "SIGNAL_MCP_ALLOWED_ORIGINS=https://app.example", "SIGNAL_MCP_RATE_LIMIT_PER_MINUTE=1000")
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			p.tellHistory(connectHistory(t, mcpAt(h.url+"/mcp", historyToken), version))
		})
	}
	wantAudit(t, h.log, "static")

	mine := with(bearer(historyToken), "Accept", "application/json, text/event-stream")
	big := strings.Repeat("x", 65537)
	for _, tt := range []struct {
		name         string
		method, path string
		body         any
		header       map[string]string
		want         int
	}{
		{"no token", "POST", "/mcp", initialize, nil, 401},
		{"a wrong token", "POST", "/mcp", initialize, bearer("guess"), 401},
		{"no token on a stream", "GET", "/mcp", nil, nil, 401},
		{"a foreign Host", "POST", "/mcp", initialize, with(mine, "Host", "evil.example"), 403},
		{"our public Host", "POST", "/mcp", initialize, with(mine, "Host", historyHost), 200},
		{"a foreign Origin", "POST", "/mcp", initialize, with(mine, "Origin", "https://evil.example"), 403},
		{"a null Origin", "POST", "/mcp", initialize, with(mine, "Origin", "null"), 403},
		{"an Origin that is allowed", "POST", "/mcp", initialize, with(mine, "Origin", "https://app.example"), 200},
		{"an Origin that is allowed, without a token", "POST", "/mcp", initialize, map[string]string{"Origin": "https://app.example"}, 401},
		{"a body that is declared too large", "POST", "/mcp", strings.NewReader(big), mine, 413},
		{"a chunked body that is too large", "POST", "/mcp", chunked(big), mine, 413},
		{"a stream, which there is not", "GET", "/mcp", nil, mine, 405},
		{"a call without a session", "POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, with(mine, "Mcp-Protocol-Version", "2025-11-25"), 200},
		{"health", "GET", "/healthz", nil, nil, 200},
		{"readiness", "GET", "/readyz", nil, nil, 200},
		{"nothing of the hub's", "POST", "/notify", map[string]any{"content": "x"}, mine, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := h.do(tt.method, tt.path, tt.body, tt.header)
			if a.status != tt.want {
				t.Errorf("status %d, want %d: %s", a.status, tt.want, a.body)
			}
			wantHardened(t, a.header)
			if tt.want >= 400 && a.object(t)["error"] == nil {
				t.Errorf("no error in %s", a.body)
			}
			if tt.want == 401 && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("WWW-Authenticate is %q", a.header.Get("WWW-Authenticate"))
			}
		})
	}
	if code := h.stop(); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	for _, secret := range []string{needle, historyToken, signaldesktop.Key} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestHistoryWithAnIssuer is what a hosted client goes through: it is refused,
// finds out who gives out tokens, gets one and reads.
func TestHistoryWithAnIssuer(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	issuer := openid.Start(t)
	const resource = "https://" + historyHost + "/mcp"
	h := p.serve("SIGNAL_MCP_AUTH_MODE=oidc", "SIGNAL_MCP_OAUTH_ISSUER="+issuer.URL, "SIGNAL_MCP_OAUTH_AUDIENCE="+resource)

	a := h.do("POST", "/mcp", initialize, map[string]string{"Host": historyHost})
	const metadata = "/.well-known/oauth-protected-resource"
	if want := `resource_metadata="https://` + historyHost + metadata + `/mcp"`; a.status != 401 || !strings.Contains(a.header.Get("WWW-Authenticate"), want) {
		t.Fatalf("%d, WWW-Authenticate %q, want 401 and %s", a.status, a.header.Get("WWW-Authenticate"), want)
	}
	for _, path := range []string{metadata, metadata + "/mcp"} {
		said := h.do("GET", path, nil, map[string]string{"Host": historyHost, "Origin": "https://app.example"})
		m := said.object(t)
		want := map[string]any{
			"resource": resource, "authorization_servers": []any{issuer.URL}, "scopes_supported": []any{"signal:read"},
			"bearer_methods_supported": []any{"header"}, "resource_name": "Signal history",
		}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	p.tellHistory(connectHistory(t, mcpAt(h.url+"/mcp", issuer.LogIn("signal:read", resource).Access), ""))
	wantAudit(t, h.log, issuer.URL+"|"+openid.User)
	for name, tt := range map[string]struct {
		token string
		want  int
	}{
		"without the scope":        {issuer.LogIn("", resource).Access, 403},
		"for another resource":     {issuer.LogIn("signal:read", "https://other.example/mcp").Access, 401},
		"which is no access token": {issuer.LogIn("signal:read", resource).ID, 401},
		"of the mode static":       {historyToken, 401},
	} {
		if a := h.do("POST", "/mcp", initialize, bearer(tt.token)); a.status != tt.want {
			t.Errorf("a token %s: %d %s", name, a.status, a.body)
		}
	}
}

func TestHistoryLimitsEachClient(t *testing.T) {
	t.Parallel()
	h := newProfile(t).serve("SIGNAL_MCP_RATE_LIMIT_PER_MINUTE=5")
	var last answer
	for range 6 {
		last = h.do(http.MethodPost, "/mcp", initialize, with(bearer(historyToken), "Accept", "application/json, text/event-stream"))
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q, want 429 and a time", last.status, last.header.Get("Retry-After"))
	}
}

// TestHistoryIsNotReadyWithoutItsDatabase takes the database away.
func TestHistoryIsNotReadyWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be taken away on Windows")
	}
	p := newProfile(t)
	h := p.serve()
	p.writer.Close()
	takeAway(t, p.db)
	h.awaitStatus("/readyz", http.StatusServiceUnavailable)
	s := connectHistory(t, mcpAt(h.url+"/mcp", historyToken), "")
	text, isError := callHistory(t, s, "signal_list_conversations", nil)
	if !isError || strings.Contains(text, p.dir) {
		t.Errorf("answered %q, error %t", text, isError)
	}
}

// TestHubServesTheHistory keeps the two apart: what opens one does not open the
// other, and neither has the other's tools.
func TestHubServesTheHistory(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	env := append(p.bySettings(), "ALDIS_HISTORY_BEARER_TOKEN="+historyToken)
	h := startServer(t, env, "serve", "--auth-token", token, "--history")
	p.tellHistory(connectHistory(t, mcpAt(h.url+"/history/mcp", historyToken), ""))
	wantAudit(t, h.log, "static")

	agents := strings.TrimSpace(h.aldis("token", "add", "deploy-bot").stdout)
	for name, token := range map[string]string{"the shared": token, "an agent's": agents, "the admin's": h.adminToken(), "no": "no-token"} {
		if a := h.do("POST", "/history/mcp", statelessCall("signal_list_conversations", nil), bearer(token)); a.status != http.StatusUnauthorized {
			t.Errorf("%s token on the history: %d %s", name, a.status, a.body)
		}
	}
	for _, path := range []string{"/mcp", "/notify?label=x", "/api/status", "/metrics", "/admin"} {
		method := http.MethodGet
		if path == "/notify?label=x" {
			method = http.MethodPost
		}
		if a := h.do(method, path, nil, bearer(historyToken)); a.status != http.StatusUnauthorized {
			t.Errorf("the history's token on %s: %d %s", path, a.status, a.body)
		}
	}
	a := h.connect("deploy-bot")
	if text, isError := a.callRaw("signal_list_conversations", nil); !isError && !strings.Contains(text, "signal_list_conversations") {
		t.Errorf("an agent read the history: %s", text)
	}
	if text := a.call("salon_status", nil); text == "" {
		t.Error("the hub's own tools are gone")
	}
}

// TestHubServesTheHistoryWithAnIssuer has hosts find the issuer of a path below.
func TestHubServesTheHistoryWithAnIssuer(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	issuer := openid.Start(t)
	const resource = "https://" + historyHost + "/history/mcp"
	h := startServer(t, p.bySettings(), "serve", "--auth-token", token, "--history", "--history-auth-mode", "oidc",
		"--history-public-url", resource, "--history-oauth-issuer", issuer.URL, "--history-oauth-audience", resource)
	for _, path := range []string{"", "/history/mcp"} {
		a := h.do("GET", "/.well-known/oauth-protected-resource"+path, nil, map[string]string{"Host": historyHost})
		if m := a.object(t); m["resource"] != resource || !slices.Equal(m["authorization_servers"].([]any), []any{issuer.URL}) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	access := issuer.LogIn("signal:read", resource).Access
	p.tellHistory(connectHistory(t, mcpAt(h.url+"/history/mcp", access), ""))
	for path, token := range map[string]string{"/history/mcp": token, "/mcp": access} {
		if a := h.do("POST", path, initialize, bearer(token)); a.status != http.StatusUnauthorized {
			t.Errorf("the other's token on %s: %d %s", path, a.status, a.body)
		}
	}
}

// TestHubHasNoHistoryUnlessAsked looks for it on a hub without.
func TestHubHasNoHistoryUnlessAsked(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	if a := h.do("POST", "/history/mcp", initialize, bearer(token)); a.status != http.StatusNotFound {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// takeAway moves a file out of the way.
func takeAway(t testing.TB, path string) {
	t.Helper()
	if err := os.Rename(path, path+".gone"); err != nil {
		t.Fatal(err)
	}
}
