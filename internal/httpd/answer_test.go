package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aldis/internal/hub"
)

func TestErrorIsAnsweredByItsKind(t *testing.T) {
	disk := errors.New("disk /dev/sda1 is full")
	for _, tt := range []struct {
		err    error
		status int
		body   string
	}{
		{hub.Errorf(hub.Invalid, "no label"), 400, `{"error":"no label"}`},
		{hub.Errorf(hub.Denied, "not for you"), 403, `{"error":"not for you"}`},
		{hub.Errorf(hub.NotFound, "no message 7"), 404, `{"error":"no message 7"}`},
		{hub.Errorf(hub.Conflict, "there is one"), 409, `{"error":"there is one"}`},
		{hub.Errorf(hub.Limited, "later"), 429, `{"error":"later"}`},
		{&hub.Error{Kind: hub.Unavailable, Msg: "not recorded", Err: disk}, 503, `{"error":"not recorded"}`},
		{fmt.Errorf("post: %w", hub.Errorf(hub.Invalid, "no label")), 400, `{"error":"no label"}`},
		{Statusf(415, "want %s", "JSON"), 415, `{"error":"want JSON"}`},
		{&http.MaxBytesError{Limit: MaxBody}, 413, `{"error":"the body is larger than 1048576 bytes"}`},
		{hub.Errorf(hub.Internal, "row 7: %w", disk), 500, `{"error":"internal error"}`},
		{disk, 500, `{"error":"internal error"}`},
	} {
		w := serve(Handle(slog.New(slog.DiscardHandler), func(http.ResponseWriter, *http.Request) error { return tt.err }),
			httptest.NewRequest("GET", "/", nil))
		if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
			t.Errorf("%v: answered %d %s; want %d %s", tt.err, w.Code, w.Body, tt.status, tt.body)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%v: Content-Type %q", tt.err, got)
		}
	}
}

func TestInternalErrorIsLoggedOnceAndToldToNobody(t *testing.T) {
	var log bytes.Buffer
	h := Handle(slog.New(slog.NewTextHandler(&log, nil)), func(http.ResponseWriter, *http.Request) error {
		return errors.New("disk is full")
	})
	w := serve(h, httptest.NewRequest("GET", "/x", nil))
	if strings.Contains(w.Body.String(), "disk") {
		t.Errorf("the caller was told %s", w.Body)
	}
	if n := strings.Count(log.String(), "disk is full"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
}

func TestErrorAfterAnAnswerHasBegunLeavesItAlone(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	w := serve(recovering(log, Handle(log, func(w http.ResponseWriter, _ *http.Request) error {
		fmt.Fprint(w, "half")
		return errors.New("the rest is gone")
	})), httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || w.Body.String() != "half" {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
}

func TestMuxAnswersWhatItHasNotInJSON(t *testing.T) {
	m := http.NewServeMux()
	m.HandleFunc("POST /notify", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	for _, tt := range []struct {
		method, path string
		status       int
		body, allow  string
	}{
		{"POST", "/notify", 202, "", ""},
		{"PUT", "/notify", 405, `{"error":"/notify is not for PUT; it takes POST"}`, "POST"},
		{"GET", "/nothing", 404, `{"error":"nothing is at /nothing"}`, ""},
	} {
		w := serve(Mux(m), httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d %s, Allow %q", tt.method, tt.path, w.Code, w.Body, w.Header().Get("Allow"))
		}
	}
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
