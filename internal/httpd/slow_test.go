package httpd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener with a single caller, in memory, so that synctest's
// clock rules its deadlines.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { close(l.done); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765} }

// call serves h to a caller that sends what it is given, and returns what is
// answered, and after how long.
func call(t *testing.T, h http.Handler, send func(io.Writer)) (status int, after time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		ln := oneConn{make(chan net.Conn, 1), make(chan struct{})}
		ln.conn <- server
		s := &Server{Addr: "127.0.0.1:0", Handler: h, Log: slog.New(slog.DiscardHandler), ln: ln}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Serve(ctx) }()

		begin := time.Now()
		go send(client)
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err == nil {
			status = resp.StatusCode
			resp.Body.Close()
		}
		after = time.Since(begin)
		client.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return status, after
}

const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"

func TestCallerThatTricklesItsBodyIsCutOff(t *testing.T) {
	h := Handle(slog.New(slog.DiscardHandler), func(_ http.ResponseWriter, r *http.Request) error {
		_, err := ReadBody(r)
		return err
	})
	status, after := call(t, h, func(w io.Writer) { fmt.Fprint(w, head+"{") })
	if status != 408 || after != bodyTime {
		t.Errorf("answered %d after %s, want 408 after %s", status, after, bodyTime)
	}
}

func TestCallerThatSendsNoBodyHoldsNoConnectionOfAHandlerThatWantsNone(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { WriteError(w, 401, "no") })
	if _, after := call(t, refuse, func(w io.Writer) { fmt.Fprint(w, head) }); after > bodyTime {
		t.Errorf("held it for %s", after)
	}
}

func TestCallerThatTricklesItsHeaderIsCutOff(t *testing.T) {
	status, after := call(t, fine, func(w io.Writer) { fmt.Fprint(w, "GET / HTTP/1.1\r\nHo") })
	if status == 200 || after != 10*time.Second {
		t.Errorf("answered %d after %s", status, after)
	}
}

func TestAnswerMayTakeLongerThanTheBodyMay(t *testing.T) {
	wait := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := ReadBody(r); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(2 * bodyTime):
		case <-r.Context().Done():
			t.Error("the caller was taken for gone")
		}
	})
	status, after := call(t, wait, func(w io.Writer) { fmt.Fprint(w, head+"0123456789") })
	if status != 200 || after != 2*bodyTime {
		t.Errorf("answered %d after %s", status, after)
	}
}
