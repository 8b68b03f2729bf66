package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A listener is the service manager's end of the socket.
type listener struct {
	t    *testing.T
	conn *net.UnixConn
}

func listen(t *testing.T, name string) listener {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no datagrams on Unix sockets on Windows")
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return listener{t, conn}
}

// next returns the lines of the next datagram.
func (l listener) next() []string {
	l.t.Helper()
	if err := l.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := l.conn.Read(b)
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Split(string(b[:n]), "\n")
}

// await skips datagrams until one is like want.
func (l listener) await(want ...string) {
	l.t.Helper()
	var got []string
	for range 1000 {
		if got = l.next(); slices.Equal(got, want) {
			return
		}
	}
	l.t.Fatalf("never heard %q; at last %q", want, got)
}

func variables(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestWatchdogIsFedWhileTheCheckPasses: no ping goes out while it fails, though
// the reason does, and they go out again once it passes.
func TestWatchdogIsFedWhileTheCheckPasses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l := listen(t, socket)
	m := New(variables(map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "4000", "WATCHDOG_PID": "7"}), 7, discard())
	ctx, stop := context.WithCancel(t.Context())
	var broken atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx, func(context.Context) (string, error) {
			if broken.Load() {
				return "", errors.New("the record\ncannot be written")
			}
			return "2 sessions", nil
		})
	}()
	if got, want := l.next(), []string{"READY=1", "STATUS=2 sessions", "WATCHDOG=1"}; !slices.Equal(got, want) {
		t.Errorf("at first: %q, want %q", got, want)
	}
	l.await("STATUS=2 sessions", "WATCHDOG=1")
	broken.Store(true)
	l.await("STATUS=the record cannot be written")
	for range 5 {
		if got := l.next(); slices.Contains(got, "WATCHDOG=1") {
			t.Errorf("broken, and yet %q", got)
		}
	}
	broken.Store(false)
	l.await("STATUS=2 sessions", "WATCHDOG=1")
	stop()
	l.await("STOPPING=1", "STATUS=stopping")
	<-ended
}

func TestWhoIsTold(t *testing.T) {
	for _, tt := range []struct {
		name     string
		vars     map[string]string
		told     bool
		watchdog bool
		every    time.Duration
	}{
		{"nobody asks", nil, false, false, 0},
		{"a socket", map[string]string{"NOTIFY_SOCKET": "/run/n"}, true, false, statusEvery},
		{"an abstract socket", map[string]string{"NOTIFY_SOCKET": "@n"}, true, false, statusEvery},
		{"a socket of another kind", map[string]string{"NOTIFY_SOCKET": "vsock:2:1234"}, false, false, 0},
		{"a watchdog", map[string]string{"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "60000000"}, true, true, 30 * time.Second},
		{"a watchdog of another process", map[string]string{"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, true, false, statusEvery},
		{"a watchdog that makes no sense", map[string]string{"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "-1"}, true, false, statusEvery},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(variables(tt.vars), 7, discard())
			if m == nil {
				if tt.told {
					t.Error("nobody is told")
				}
				return
			}
			if !tt.told || m.watchdog != tt.watchdog || m.every != tt.every {
				t.Errorf("told %v, watchdog %v, every %s", m != nil, m.watchdog, m.every)
			}
		})
	}
}

func TestAbstractSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets are Linux's")
	}
	name := "@aldis-test-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	l := listen(t, name)
	m := New(variables(map[string]string{"NOTIFY_SOCKET": name}), 7, discard())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	m.Run(ctx, func(context.Context) (string, error) { return "up", nil })
	if got, want := l.next(), []string{"READY=1", "STATUS=up"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l.await("STOPPING=1", "STATUS=stopping")
}

// TestManagerThatIsGone: nobody hears us, and the program goes on.
func TestManagerThatIsGone(t *testing.T) {
	m := New(variables(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "none")}), 7, discard())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	m.Run(ctx, func(context.Context) (string, error) { return "up", nil })
	(*Manager)(nil).Run(t.Context(), nil)
}
