package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server serves one handler behind [Guard] on one address.
type Server struct {
	// set before use
	Addr    string   // host:port; port 0 takes any that is free
	Hosts   []string // allowed besides our own, see [NewHosts]
	Pages   Pages    // of elsewhere that may call us
	MaxBody int64    // bytes that a request's body may have; zero: [MaxBody]
	Handler http.Handler
	Log     *slog.Logger
	Grace   time.Duration // for requests under way when Serve's context ends; zero: 5 s

	// set by Listen
	ln net.Listener
}

// Listen takes the address. It is apart from Serve so that who starts us knows
// that the address is ours before anything else is begun.
func (s *Server) Listen(ctx context.Context) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another address (--host and --port; aldis channel: --listen)", s.Addr, err)
	}
	s.ln = ln
	return nil
}

// URL returns where the server is reached from this machine, once Listen has
// returned.
func (s *Server) URL() string {
	host, port := s.hostPort()
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// hostPort returns the host as it was asked for and the port as it was given.
func (s *Server) hostPort() (host, port string) {
	host, _, _ = net.SplitHostPort(s.Addr) // Listen has understood it
	_, port, _ = net.SplitHostPort(s.ln.Addr().String())
	return host, port
}

// Serve answers requests until ctx is done, then lets those under way end,
// cuts them after Grace, and returns nil. Connections that a handler has taken
// over are that handler's to end. Listen comes first.
func (s *Server) Serve(ctx context.Context) error {
	srv := s.server()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(s.ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", s.ln.Addr(), err)
	case <-ctx.Done():
	}
	err := s.stop(srv)
	<-failed
	return err
}

func (s *Server) stop(srv *http.Server) error {
	grace := s.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if err != nil {
		return fmt.Errorf("stop serving on %s: %w", s.ln.Addr(), err)
	}
	return nil
}

// server has no WriteTimeout and no ReadTimeout: both would end streams. Bodies
// have their own deadline, see bounded.
func (s *Server) server() *http.Server {
	host, port := s.hostPort()
	hosts := NewHosts(host, port, s.Hosts)
	hosts.Pages = s.Pages
	silent := &silent{conns: make(map[net.Conn]struct{})}
	srv := &http.Server{
		Handler:           Guard(s.Log, hosts, cmp.Or(s.MaxBody, MaxBody), s.Handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		ConnState:         silent.note,
	}
	srv.RegisterOnShutdown(silent.close)
	return srv
}

// silent are the connections on which nothing was sent yet. Browsers open some
// in advance, and Shutdown would wait 5 s for a request on them.
type silent struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.conns[c] = struct{}{}
	} else {
		delete(s.conns, c)
	}
}

func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}
