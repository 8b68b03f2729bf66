package test

import (
	"database/sql"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // another program that opens the record
)

// TestServiceManager has the hub speak to a service manager's socket, as under
// systemd with Type=notify and a watchdog: it is ready once it serves, feeds the
// watchdog but for the time that its record can't be written, and says that it
// stops.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	h := startServer(t, []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=100000"}, "serve", "--auth-token", token)

	awaitState(t, manager, "READY=1", "STATUS=0 live sessions", "WATCHDOG=1")
	h.connect("deploy-bot")
	awaitState(t, manager, "STATUS=1 live sessions", "WATCHDOG=1")

	letGo := lockRecord(t, filepath.Join(h.stateDir, "aldis.db"))
	message := map[string]any{"content": "not now", "target": "deploy-bot"}
	if got := h.do(http.MethodPost, "/notify?label=cron", message, bearer(token)).status; got != http.StatusServiceUnavailable {
		t.Errorf("a message that cannot be recorded is answered %d", got)
	}
	awaitState(t, manager, "STATUS=the record cannot be written")
	if state := nextState(t, manager); strings.Contains(state, "WATCHDOG=1") {
		t.Errorf("the record is broken, and yet %q", state)
	}
	letGo()
	awaitState(t, manager, "STATUS=1 live sessions", "WATCHDOG=1")

	h.stop()
	awaitState(t, manager, "STOPPING=1")
}

// lockRecord keeps everybody else from writing, as another program with a
// transaction of its own does.
func lockRecord(t *testing.T, path string) (letGo func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}

// awaitState reads what the hub says until all of parts are in one datagram.
func awaitState(t *testing.T, manager *net.UnixConn, parts ...string) {
	t.Helper()
	var state string
	eventually(t, "the hub says "+strings.Join(parts, ", "), func() bool {
		state = nextState(t, manager)
		for _, part := range parts {
			if !strings.Contains(state, part) {
				return false
			}
		}
		return true
	})
}

func nextState(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := manager.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}
