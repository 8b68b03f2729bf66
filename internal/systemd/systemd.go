// Package systemd tells the service manager how the program is doing, with the
// protocol of sd_notify(3), systemd 252: datagrams of KEY=VALUE lines on the
// Unix socket that NOTIFY_SOCKET names. Others speak it too: podman, s6, dinit.
//
// Its one rule: where no service manager asks, nothing is done.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// statusEvery is how often the status is said anew where no watchdog asks.
const statusEvery = 30 * time.Second

// A Manager is the service manager that started us.
type Manager struct {
	socket   string // a path, or @ and a name in the abstract namespace
	watchdog bool   // it ends us when it hears nothing
	every    time.Duration
	log      *slog.Logger
}

// New returns the service manager that the variables NOTIFY_SOCKET,
// WATCHDOG_USEC and WATCHDOG_PID speak of to the process pid, or nil: there is
// none, or it listens where we can't reach it (a vsock).
func New(getenv func(string) string, pid int, log *slog.Logger) *Manager {
	m := &Manager{socket: getenv("NOTIFY_SOCKET"), every: statusEvery, log: log}
	if !strings.HasPrefix(m.socket, "/") && !strings.HasPrefix(m.socket, "@") {
		return nil
	}
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	owner := getenv("WATCHDOG_PID")
	if err == nil && usec > 1 && (owner == "" || owner == strconv.Itoa(pid)) {
		// sd_watchdog_enabled(3) recommends half of the time.
		m.watchdog, m.every = true, time.Duration(usec)*time.Microsecond/2
	}
	return m
}

// Run says that the program is ready, until ctx is done; then that it stops.
// In between it says what check returns, and, if that is no error, that we are
// alive: a check that fails or hangs for long enough has us ended and started
// anew. A nil Manager's Run returns at once.
func (m *Manager) Run(ctx context.Context, check func(context.Context) (status string, err error)) {
	if m == nil {
		return
	}
	tick := time.NewTicker(m.every)
	defer tick.Stop()
	state := []string{"READY=1"}
	for {
		m.tell(append(state, m.ask(ctx, check)...))
		select {
		case <-ctx.Done():
			m.tell([]string{"STOPPING=1", "STATUS=stopping"})
			return
		case <-tick.C:
			state = nil
		}
	}
}

// ask turns what check returns into lines of the protocol.
func (m *Manager) ask(ctx context.Context, check func(context.Context) (string, error)) (state []string) {
	status, err := check(ctx)
	if err != nil {
		status = err.Error()
	}
	state = append(state, "STATUS="+strings.ReplaceAll(status, "\n", " "))
	if m.watchdog && err == nil {
		state = append(state, "WATCHDOG=1")
	}
	return state
}

// tell sends lines. What the service manager does not take is logged: it ends
// us if it must, and that is its decision.
func (m *Manager) tell(state []string) {
	if err := m.send(strings.Join(state, "\n")); err != nil {
		m.log.Warn("the service manager was not told how we are", "err", err)
	}
}

func (m *Manager) send(state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("reach the service manager (NOTIFY_SOCKET): %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return fmt.Errorf("bound the wait for the service manager: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("write to the service manager (NOTIFY_SOCKET): %w", err)
	}
	return nil
}
