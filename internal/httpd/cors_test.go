package httpd

import (
	"log/slog"
	"net/http/httptest"
	"testing"
)

func TestPagesOfElsewhereCallWhatTheyMayAndNoMore(t *testing.T) {
	hosts := NewHosts("127.0.0.1", "8788", []string{"box.example"})
	hosts.Pages = Pages{"/mcp": {"https://app.example"}, "/open": {"*"}}
	h := Guard(slog.New(slog.DiscardHandler), hosts, MaxBody, fine)
	for _, tt := range []struct {
		name, method, path string
		origins            []string
		status             int
		allowed            string // whom the browser lets read
	}{
		{"no browser", "POST", "/mcp", nil, 200, ""},
		{"our own page", "POST", "/mcp", []string{"https://box.example"}, 200, ""},
		{"a page that may", "POST", "/mcp", []string{"https://app.example"}, 200, "https://app.example"},
		{"a page that may, asking in advance", "OPTIONS", "/mcp", []string{"https://app.example"}, 204, "https://app.example"},
		{"another page", "POST", "/mcp", []string{"https://evil.example"}, 403, ""},
		{"another page, asking in advance", "OPTIONS", "/mcp", []string{"https://evil.example"}, 403, ""},
		{"the page that may, in the clear", "POST", "/mcp", []string{"http://app.example"}, 403, ""},
		{"the page that may, at another port", "POST", "/mcp", []string{"https://app.example:8443"}, 403, ""},
		{"a page whose name ends so", "POST", "/mcp", []string{"https://evil-app.example"}, 403, ""},
		{"a page of nowhere", "POST", "/mcp", []string{"null"}, 403, ""},
		{"a page that may, and another", "POST", "/mcp", []string{"https://app.example", "https://evil.example"}, 403, ""},
		{"the page that may, elsewhere", "POST", "/admin", []string{"https://app.example"}, 403, ""},
		{"the page that may, below", "POST", "/mcp/", []string{"https://app.example"}, 403, ""},
		{"any page, where all may", "GET", "/open", []string{"https://evil.example"}, 200, "*"},
		{"a page of nowhere, where all may", "GET", "/open", []string{"null"}, 200, "*"},
	} {
		r := httptest.NewRequest(tt.method, "http://box.example"+tt.path, nil)
		r.Header["Origin"] = tt.origins
		if tt.method == "OPTIONS" {
			r.Header.Set("Access-Control-Request-Method", "POST")
		}
		w := serve(h, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != tt.status || got != tt.allowed {
			t.Errorf("%s: answered %d, allowed %q; want %d, %q", tt.name, w.Code, got, tt.status, tt.allowed)
		}
		if w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: it may send cookies", tt.name)
		}
	}
}

func TestAPageLearnsInAdvanceWhatItMaySend(t *testing.T) {
	hosts := NewHosts("127.0.0.1", "8788", nil)
	hosts.Pages = Pages{"/mcp": {"https://app.example"}}
	r := httptest.NewRequest("OPTIONS", "http://localhost/mcp", nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "authorization,content-type, Mcp-Protocol-Version,mcp-param-query,x-forwarded-proto,cookie")
	w := serve(Guard(slog.New(slog.DiscardHandler), hosts, MaxBody, fine), r)
	for name, want := range map[string]string{
		"Access-Control-Allow-Methods":  "GET, POST, DELETE",
		"Access-Control-Allow-Headers":  "authorization, content-type, mcp-protocol-version, mcp-param-query",
		"Access-Control-Expose-Headers": "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After",
		"Vary":                          "Origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
