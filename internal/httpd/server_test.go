package httpd

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestServerStopsThoughAConnectionWasOpenedInAdvance(t *testing.T) {
	s := &Server{Addr: "127.0.0.1:0", Handler: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler), Grace: time.Minute}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	silent, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	resp, err := http.Get(s.URL()) // accepted after the silent one
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(4 * time.Second): // it would be 5
		t.Error("the server waits for a request that nobody sends")
	}
}

func TestTheBoundOfTheBodyMayBeAnother(t *testing.T) {
	for _, tt := range []struct {
		bound int64
		size  int
		want  int
	}{{0, MaxBody, 200}, {0, MaxBody + 1, 413}, {4 << 20, 4 << 20, 200}, {4 << 20, 4<<20 + 1, 413}, {10, 11, 413}} {
		s := &Server{Addr: "127.0.0.1:0", MaxBody: tt.bound, Handler: fine, Log: slog.New(slog.DiscardHandler)}
		if err := s.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer s.ln.Close()
		for _, declared := range []int64{int64(tt.size), -1} {
			r := httptest.NewRequest("POST", "http://localhost/", bytes.NewReader(make([]byte, tt.size)))
			r.ContentLength = declared
			if w := serve(s.server().Handler, r); w.Code != tt.want {
				t.Errorf("a body of %d (declared %d), bound %d: answered %d, want %d", tt.size, declared, tt.bound, w.Code, tt.want)
			}
		}
	}
}
