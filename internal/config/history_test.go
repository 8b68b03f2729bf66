package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// long is a token of the fewest characters that one may have.
var long = strings.Repeat("t", 32)

// static is the least that aldis history needs to speak http.
var static = env{"SIGNAL_MCP_TRANSPORT": "http", "SIGNAL_MCP_PUBLIC_URL": "https://h.example/mcp", "SIGNAL_MCP_BEARER_TOKEN": long}

func TestHistoryTakesTheSettingsOfItsSeed(t *testing.T) {
	key := strings.Repeat("0F", 32)
	c, _, err := parse(t, "history", env{
		"SIGNAL_MCP_DB":                    "/s/sql/db.sqlite",
		"SIGNAL_MCP_CONFIG":                "/s/config.json",
		"SIGNAL_MCP_LOCAL_STATE":           "/s/Local State",
		"SIGNAL_MCP_KEY":                   key,
		"SIGNAL_MCP_MAX_MESSAGES":          "50",
		"SIGNAL_MCP_MAX_CONVERSATIONS":     "10",
		"SIGNAL_MCP_TRANSPORT":             "http",
		"SIGNAL_MCP_HOST":                  "::1",
		"SIGNAL_MCP_PORT":                  "9000",
		"SIGNAL_MCP_PUBLIC_URL":            "https://h.example/mcp",
		"SIGNAL_MCP_AUTH_MODE":             "oidc",
		"SIGNAL_MCP_BEARER_TOKEN":          long,
		"SIGNAL_MCP_OAUTH_ISSUER":          "https://id.example",
		"SIGNAL_MCP_OAUTH_AUDIENCE":        "https://h.example/mcp",
		"SIGNAL_MCP_REQUIRED_SCOPES":       "signal:read, offline",
		"SIGNAL_MCP_ALLOWED_ORIGINS":       "https://app.example,http://localhost:6274",
		"SIGNAL_MCP_MAX_BODY_BYTES":        "4194304",
		"SIGNAL_MCP_RATE_LIMIT_PER_MINUTE": "30",
		"ALDIS_HISTORY_GRANTS":             "conversation=a, conversation=b",
		"ALDIS_HISTORY_SINCE":              "90d",
		"ALDIS_STATE_DIR":                  "/state",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := History{
		Common: Common{StateDir: "/state", LogLevel: slog.LevelInfo, LogFormat: "text"},
		Desktop: Desktop{
			DB: "/s/sql/db.sqlite", Config: "/s/config.json", LocalState: "/s/Local State", Key: Secret(key),
			Grant: []Grant{"a", "b"}, Since: "90d", MaxMessages: 50, MaxConversations: 10,
		},
		HistoryAuth: HistoryAuth{
			PublicURL: "https://h.example/mcp", AuthMode: "oidc", BearerToken: Secret(long),
			OAuthIssuer: "https://id.example", OAuthAudience: "https://h.example/mcp",
			RequiredScope: []string{"signal:read", "offline"}, AllowedOrigin: []Origin{"https://app.example", "http://localhost:6274"},
			RateLimitPerMinute: 30,
		},
		Transport: "http", Host: "::1", Port: 9000, MaxBodyBytes: 4 << 20,
	}
	got := c.History.History
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a := got.Address(); a != "[::1]:9000" {
		t.Errorf("listens on %s", a)
	}
}

func TestHistoryOnStdioNeedsNothing(t *testing.T) {
	c, _, err := parse(t, "history", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := History{
		Common:      Common{StateDir: c.History.StateDir, LogLevel: slog.LevelInfo, LogFormat: "text"},
		Desktop:     Desktop{MaxMessages: 200, MaxConversations: 100},
		HistoryAuth: HistoryAuth{AuthMode: "static", RequiredScope: []string{"signal:read"}, RateLimitPerMinute: 120},
		Transport:   "stdio", Host: "127.0.0.1", Port: 8788, MaxBodyBytes: 1 << 20,
	}
	if diff := cmp.Diff(want, c.History.History); diff != "" {
		t.Error(diff)
	}
}

func TestOneHubHasItsOwnHostAndPortBesidesTheHistorys(t *testing.T) {
	c, _, err := parse(t, "serve --history --history-bearer-token="+long, env{
		"SIGNAL_MCP_HOST": "::1", "SIGNAL_MCP_PORT": "1", "ALDIS_HISTORY_PORT": "2", "SIGNAL_MCP_DB": "/s/db", "ALDIS_DB": "/hub.db",
	})
	s := c.Serve.Serve
	if err != nil || s.Address() != "[::1]:1" || s.Desktop.DB != "/s/db" || filepath.ToSlash(s.DB) != "/hub.db" {
		t.Errorf("%v: listens on %s, reads %s, records in %s", err, s.Address(), s.Desktop.DB, s.DB)
	}
	if got := s.HistoryAuth.Tokens(); !reflect.DeepEqual(got, []string{long}) {
		t.Errorf("tokens: %q", got)
	}
}

func TestWrongHistorySettingsAreErrorsThatNameThem(t *testing.T) {
	http := func(more env) env {
		e := env{}
		for _, vars := range []env{static, more} {
			for k, v := range vars {
				e[k] = v
			}
		}
		return e
	}
	hub := "serve --history --history-bearer-token=" + long + " "
	for _, tt := range []struct {
		args string
		env  env
		want []string // in the error
	}{
		{"history --max-messages=201", nil, []string{"--max-messages is 201", "200"}},
		{"history", env{"SIGNAL_MCP_MAX_MESSAGES": "0"}, []string{"--max-messages"}},
		{"history", env{"SIGNAL_MCP_MAX_CONVERSATIONS": "101"}, []string{"--max-conversations", "100"}},
		{"history", env{"SIGNAL_MCP_MAX_CONVERSATIONS": "many"}, []string{"SIGNAL_MCP_MAX_CONVERSATIONS"}},
		{"history --key=abc", nil, []string{"--key", "64"}},
		{"history --key=" + strings.Repeat("g", 64), nil, []string{"--key", "hexadecimal"}},
		{"history --grant=me", nil, []string{"--grant", "conversation=ID"}},
		{"history --grant=conversation=", nil, []string{"--grant"}},
		{"history --grant=", nil, []string{"--grant", "empty"}},
		{"history --since=", nil, []string{"--since", "want a time"}},
		{"history --required-scope=", static, []string{"--required-scope", "empty"}},
		{"history --transport=sse", nil, []string{"--transport", "stdio"}},
		{"history", http(env{"SIGNAL_MCP_OAUTH_ISSUER": "https://id.example"}), []string{"--oauth-issuer", "--auth-mode oidc"}},
		{"history --auth-mode=none", nil, []string{"--auth-mode"}},
		{"history", http(env{"SIGNAL_MCP_PUBLIC_URL": ""}), []string{"--public-url", "https", "/mcp"}},
		{"history", http(env{"SIGNAL_MCP_BEARER_TOKEN": ""}), []string{"--bearer-token", "ALDIS_HISTORY_BEARER_TOKEN", "--auth-mode oidc"}},
		{"history", http(env{"SIGNAL_MCP_BEARER_TOKEN": long[1:]}), []string{"--bearer-token", "32"}},
		{"history", http(env{"SIGNAL_MCP_BEARER_TOKEN": long + ",short"}), []string{"--bearer-token", "32"}},
		{"history", http(env{"SIGNAL_MCP_BEARER_TOKEN": long + " x"}), []string{"--bearer-token", "blanks"}},
		{"history", http(env{"SIGNAL_MCP_AUTH_MODE": "oidc"}), []string{"--oauth-issuer", "ALDIS_HISTORY_OAUTH_ISSUER"}},
		{"history", http(env{"SIGNAL_MCP_AUTH_MODE": "oidc", "SIGNAL_MCP_OAUTH_ISSUER": "https://id.example"}), []string{"--oauth-audience"}},
		{"history --max-body-bytes=5M", static, []string{"--max-body-bytes", "4194304"}},
		{"history --max-body-bytes=0", static, []string{"--max-body-bytes"}},
		{"history --rate-limit-per-minute=-1", static, []string{"--rate-limit-per-minute"}},
		{"history --allowed-origin=app.example", static, []string{"--allowed-origin", "https://"}},
		{"history --allowed-origin=https://app.example/", static, []string{"--allowed-origin", "no path"}},
		{"history --host=", static, []string{"--host is empty"}},
		{"history --port=x", static, []string{"--port"}},

		{"serve --history", nil, []string{"--history-bearer-token", "--history-auth-mode oidc"}},
		{"serve --history --history-bearer-token=short", nil, []string{"--history-bearer-token", "32"}},
		{"serve --history --history-auth-mode=oidc", nil, []string{"--history-public-url"}},
		{hub + "--history-max-messages=201", nil, []string{"--history-max-messages"}},
		{hub + "--history-grant=", nil, []string{"--history-grant", "empty"}},
		{hub + "--history-key=abc", nil, []string{"--history-key"}},
		{hub + "--demo", nil, []string{"--history and --demo"}},
		{hub, env{"ALDIS_AUTH_TOKEN": "new," + long}, []string{"--history-bearer-token", "token of the hub"}},
		{hub, env{"ALDIS_ADMIN_TOKEN": long}, []string{"--history-bearer-token", "token of the hub"}},
	} {
		t.Run(fmt.Sprint(tt.args, tt.env), func(t *testing.T) {
			_, _, err := parse(t, tt.args, tt.env)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), long) {
				t.Errorf("%q repeats a token", err)
			}
		})
	}
}
