package httpd

import (
	"context"
	"log/slog"
	"net"
	"net/http"
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
