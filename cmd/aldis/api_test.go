package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aldis/internal/config"
)

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// TestNoTokenButTheAdminsManagesTheHub asks for each thing that manages the hub
// with each other token: whoever holds one could let people in, or themselves.
func TestNoTokenButTheAdminsManagesTheHub(t *testing.T) {
	c := config.Serve{AuthToken: "shared", AdminToken: "admin", Record: "preview", RouteMaxEntries: 1}
	c.StateDir, c.Host = t.TempDir(), "127.0.0.1"
	c.DB = filepath.Join(c.StateDir, "aldis.db")
	ctx, stop := context.WithCancel(t.Context())
	h, err := openHub(ctx, c, slog.New(slog.DiscardHandler), joinOperator)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	if err := h.relay.Start(ctx); err != nil {
		t.Fatal(err)
	}
	_, mine, err := h.store.AddToken(ctx, "deploy-bot")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, token string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("{"))
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		h.server.Handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, r := range h.adminRoutes(hookAPI{}) {
		method, path, _ := strings.Cut(r.pattern, " ")
		path = wildcard.ReplaceAllString(path, "allow")
		for name, want := range map[string]struct {
			token  string
			status int
		}{
			"no": {"", http.StatusUnauthorized}, "an unknown": {"guess", http.StatusUnauthorized},
			"the shared": {"shared", http.StatusForbidden}, "an agent's": {mine, http.StatusForbidden},
		} {
			if got := ask(method, path, want.token); got != want.status {
				t.Errorf("%s with %s token: %d, want %d", r.pattern, name, got, want.status)
			}
		}
		if got := ask(method, path, "admin"); got == http.StatusUnauthorized || got == http.StatusForbidden {
			t.Errorf("%s with the admin's token: %d", r.pattern, got)
		}
	}
}
