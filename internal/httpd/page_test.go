package httpd

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"aldis/internal/hub"
)

func TestAttackPagesOfOtherSitesAskNothing(t *testing.T) {
	for _, tt := range []struct {
		method, site, origin string
		ok                   bool
	}{
		{"GET", "same-origin", "", true},
		{"GET", "none", "", true}, // typed
		{"GET", "", "", true},     // an older browser, or none
		{"GET", "same-site", "", false},
		{"GET", "cross-site", "", false},
		{"HEAD", "cross-site", "", false},
		{"POST", "same-origin", "http://127.0.0.1:8765", true},
		{"POST", "", "http://127.0.0.1:8765", true},
		{"POST", "same-origin", "", false},
		{"POST", "", "", false},
		{"POST", "cross-site", "http://127.0.0.1:8765", false},
		{"DELETE", "", "", false},
	} {
		r := httptest.NewRequest(tt.method, "/", nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": tt.site, "Origin": tt.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if err := OwnPage(r); (err == nil) != tt.ok || err != nil && hub.KindOf(err) != hub.Denied {
			t.Errorf("%s of a %q page with Origin %q: %v, want ok: %v", tt.method, tt.site, tt.origin, err, tt.ok)
		}
	}
}

func TestAStaticFileIsSentAgainOnlyWhenItHasChanged(t *testing.T) {
	files := fstest.MapFS{}
	for name, want := range map[string]string{
		"a.js": "text/javascript; charset=utf-8", "a.css": "text/css; charset=utf-8", "a.html": "text/html; charset=utf-8", "a.svg": "image/svg+xml",
	} {
		files[name] = &fstest.MapFile{Data: []byte("old")}
		w := serve(Static(files, name), httptest.NewRequest("GET", "/", nil))
		if got := w.Header().Get("Content-Type"); w.Body.String() != "old" || got != want {
			t.Errorf("%s: %q as %s, want it as %s", name, w.Body, got, want)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		if w := serve(Static(files, name), r); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d %q, want 304", name, w.Code, w.Body)
		}
		files[name].Data = []byte("new")
		if w := serve(Static(files, name), r); w.Code != http.StatusOK || w.Body.String() != "new" {
			t.Errorf("%s of another version: %d %q, want it", name, w.Code, w.Body)
		}
	}
}

func TestACookieIsNamedAfterThePort(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1:8765": "aldis_8765", "[::1]:8765": "aldis_8765", "hub.example": "aldis_default"} {
		r := httptest.NewRequest("GET", "/", nil)
		if r.Host = host; CookieName(r, "aldis") != want {
			t.Errorf("on %s: %s, want %s", host, CookieName(r, "aldis"), want)
		}
	}
}
