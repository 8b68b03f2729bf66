package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// guarded serves next on 127.0.0.1:8765 as far as Host and Origin go.
func guarded(next http.Handler) http.Handler {
	hosts := NewHosts("127.0.0.1", "8765", []string{"hub.example", "Box.lan:9000"})
	return Guard(slog.New(slog.DiscardHandler), hosts, MaxBody, next)
}

var fine = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := ReadBody(r); err != nil {
		status, msg := answer(err)
		WriteError(w, status, msg)
	}
})

func TestForeignHostIsRefused(t *testing.T) {
	for host, want := range map[string]int{
		"localhost":        200,
		"localhost:8765":   200,
		"LocalHost:8765":   200,
		"127.0.0.1:8765":   200,
		"[::1]:8765":       200,
		"[::1]":            200,
		"hub.example":      200,
		"hub.example:443":  200, // allowed without a port: a proxy may have any
		"box.lan:9000":     200,
		"localhost:8766":   403,
		"box.lan":          403,
		"box.lan:9001":     403,
		"evil.example":     403, // DNS rebinding: the name is the attacker's, the address ours
		"localhost.evil":   403,
		"evil.hub.example": 403,
		"":                 403,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if w := serve(guarded(fine), r); w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}

func TestForeignOriginIsRefused(t *testing.T) {
	for _, tt := range []struct {
		origin, host, proto string
		want                int
	}{
		{"", "localhost:8765", "", 200}, // no browser
		{"http://localhost:8765", "localhost:8765", "", 200},
		{"http://[::1]:8765", "[::1]:8765", "", 200},
		{"https://hub.example", "hub.example", "", 200}, // a proxy ends TLS
		{"https://hub.example", "hub.example", "https", 200},
		{"https://hub.example", "hub.example:443", "https", 200},
		{"http://hub.example", "hub.example", "https", 403}, // the plain page of the same name
		{"https://localhost:8765", "localhost:8765", "", 403},
		{"http://localhost:3000", "localhost:8765", "", 403}, // another program on this machine
		{"http://127.0.0.1:8765", "localhost:8765", "", 403},
		{"https://evil.example", "localhost:8765", "", 403},
		{"http://localhost:8765.evil.example", "localhost:8765", "", 403},
		{"http://user@localhost:8765", "localhost:8765", "", 403},
		{"http://localhost:8765/", "localhost:8765", "", 403},
		{"null", "localhost:8765", "", 403}, // a sandboxed frame, a file
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if tt.proto != "" {
			r.Header.Set("X-Forwarded-Proto", tt.proto)
		}
		if w := serve(guarded(fine), r); w.Code != tt.want {
			t.Errorf("Origin %q to %q (%q): %d, want %d", tt.origin, tt.host, tt.proto, w.Code, tt.want)
		}
	}
}

func TestSecondOriginIsRefused(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "localhost:8765"
	r.Header["Origin"] = []string{"http://localhost:8765", "https://evil.example"}
	if w := serve(guarded(fine), r); w.Code != 403 {
		t.Errorf("answered %d", w.Code)
	}
}

func TestEveryAnswerCarriesTheHardenedHeaders(t *testing.T) {
	big := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, MaxBody+1)))
	big.Host = "localhost"
	good := httptest.NewRequest("GET", "/", nil)
	good.Host = "localhost"
	foreign := httptest.NewRequest("GET", "/", nil)
	for _, r := range []*http.Request{big, good, foreign} {
		w := serve(guarded(fine), r)
		for k, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'",
			"X-Frame-Options":         "DENY",
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "no-referrer",
		} {
			if got := w.Header().Get(k); got != want {
				t.Errorf("%d: %s: %q, want %q", w.Code, k, got, want)
			}
		}
	}
}

func TestBodyOverTheBoundIs413(t *testing.T) {
	for _, tt := range []struct {
		name    string
		size    int
		chunked bool
		want    int
	}{
		{"declared, at the bound", MaxBody, false, 200},
		{"declared, over it", MaxBody + 1, false, 413},
		{"chunked, at the bound", MaxBody, true, 200},
		{"chunked, over it", MaxBody + 1, true, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, tt.size)))
			r.Host = "localhost"
			if tt.chunked {
				r.ContentLength = -1
			}
			if w := serve(guarded(fine), r); w.Code != tt.want {
				t.Errorf("answered %d %s, want %d", w.Code, w.Body, tt.want)
			}
		})
	}
}

func TestPanicIsA500AndDoesNotEndTheServer(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "localhost"
	w := serve(guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })), r)
	if w.Code != 500 || strings.TrimSpace(w.Body.String()) != `{"error":"internal error"}` {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

func TestPanicInMidAnswerCutsTheConnection(t *testing.T) {
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("oops")
	}))
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %q as if it were whole", b)
	}
}

func TestHandlerMayTakeOverTheConnection(t *testing.T) {
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		conn, _, err := rc.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\ntaken")
	}))
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "taken" {
		t.Errorf("read %q", b)
	}
}

// The deadline of a body must not outlive it: the server would take the caller
// for gone, and end a tool call that waits.
func TestDeadlineIsLiftedOnceTheBodyHasEnded(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
	bounded(MaxBody, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(d.set) != 1 || d.set[0].IsZero() {
			t.Errorf("before the body was read: %v", d.set)
		}
		if _, err := ReadBody(r); err != nil {
			t.Error(err)
		}
		if last := d.set[len(d.set)-1]; !last.IsZero() {
			t.Errorf("after the body was read: %v", last)
		}
	})).ServeHTTP(d, r)
}

func TestStreamHasNoDeadline(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	bounded(MaxBody, fine).ServeHTTP(d, httptest.NewRequest("GET", "/", http.NoBody))
	if len(d.set) != 0 {
		t.Errorf("set %v", d.set)
	}
}

type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

func TestStopLetsARequestEndAndThenCutsWhatIsLeft(t *testing.T) {
	began, cut := make(chan bool, 2), make(chan bool)
	s := &Server{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Grace: 50 * time.Millisecond}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- true
		<-r.Context().Done()
		close(cut)
	})
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	go func() {
		if resp, err := http.Get(s.URL()); err == nil {
			resp.Body.Close()
		}
	}()
	<-began
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-cut
}

func TestAddressInUseSaysHowToChooseAnother(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	err = (&Server{Addr: ln.Addr().String()}).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--port") {
		t.Errorf("Listen on a taken address: %v", err)
	}
}

func TestOverlongHeaderIsRefused(t *testing.T) {
	url := start(t, fine)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 80<<10))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("answered %s", resp.Status)
	}
}

// start serves h for the length of the test.
func start(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	s := &Server{Addr: "127.0.0.1:0", Handler: h, Log: slog.New(slog.DiscardHandler)}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

func TestBodyThatCannotBeReadSaysWhy(t *testing.T) {
	for err, want := range map[error]int{
		os.ErrDeadlineExceeded: 408, // a caller that trickles its body
		io.ErrUnexpectedEOF:    400,
	} {
		_, err := ReadBody(httptest.NewRequest("POST", "/", iotest.ErrReader(err)))
		if status, _ := answer(err); status != want {
			t.Errorf("%v: %d, want %d", err, status, want)
		}
	}
}
