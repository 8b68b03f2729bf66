//go:build !windows

package key

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"aldis/internal/desktop/sqlcipher"
)

// A session is a D-Bus of a test's own, with a home folder of its own.
type session struct {
	*testing.T
	*dbus.Conn // of the test's
	address    string
	home       string
}

func newSession(t *testing.T) session {
	s := session{T: t, home: t.TempDir()}
	out := s.start("dbus-daemon", "", "--session", "--nofork", "--nopidfile", "--print-address")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.address = strings.TrimSpace(line)
	s.Conn, err = dbus.Connect(s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Conn.Close() })
	return s
}

// start runs a program in the session until the test ends, and returns what it
// writes.
func (s session) start(program, stdin string, args ...string) io.Reader {
	s.Helper()
	cmd := s.command(program, stdin, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return out
}

func (s session) command(program, stdin string, args ...string) *exec.Cmd {
	s.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		s.Skipf("there is no %s: apt-get install dbus gnome-keyring libsecret-tools", program)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "XDG_RUNTIME_DIR=" + s.home, "DBUS_SESSION_BUS_ADDRESS=" + s.address}
	return cmd
}

// find looks for a key that is wrapped under aSecret, which backend keeps.
func (s session) find(ctx context.Context, backend string) (sqlcipher.Key, error) {
	config := `{"encryptedKey":"` + underSecret + `","safeStorageBackend":"` + backend + `"}`
	return Options{Config: profile(s.T, config, "")}.find(ctx, system{os: "linux", getenv: s.getenv})
}

func (s session) getenv(name string) string {
	return map[string]string{"DBUS_SESSION_BUS_ADDRESS": s.address}[name]
}

// has reports whether somebody owns a name on the bus.
func (s session) has(name string) (owned bool) {
	s.Helper()
	if err := s.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned); err != nil {
		s.Fatal(err)
	}
	return owned
}

func (s session) finds(backend string) {
	s.Helper()
	if got, err := s.find(s.T.Context(), backend); err != nil || hex.EncodeToString(got[:]) != aKey {
		s.Errorf("got %x, %v", got, err)
	}
}

func TestKeepersAreAskedOnlyIfTheyRun(t *testing.T) {
	s := newSession(t)
	for backend, name := range map[string]string{"gnome_libsecret": "org.freedesktop.secrets", "kwallet5": "org.kde.kwalletd5", "kwallet6": "org.kde.kwalletd6"} {
		got, err := s.find(t.Context(), backend)
		refuses(t, got, err, "does not run", "SIGNAL_MCP_KEY")
		if s.has(name) {
			t.Errorf("the look-up has started %s", name)
		}
	}
	got, err := s.find(t.Context(), "") // which an older Signal wrote
	refuses(t, got, err, "Secret Service: it does not run here", "KWallet 6: it", "KWallet 5: it", "KWallet 4: it")
}

func TestBusIsTheOneOfTheSession(t *testing.T) {
	s := newSession(t)
	socket, ok := strings.CutPrefix(s.address, "unix:path=")
	if !ok {
		t.Skipf("the bus is at %s", s.address)
	}
	socket, _, _ = strings.Cut(socket, ",")
	if err := os.Symlink(socket, filepath.Join(s.home, "bus")); err != nil {
		t.Fatal(err)
	}
	bus, err := dial(t.Context(), func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": s.home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	bus.Close()
}

func TestBusThatDoesNotAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			c.Read(make([]byte, 1))
			cancel()
			io.Copy(io.Discard, c) // until the other side has hung up
		}
	}()
	_, err = dial(ctx, func(string) string { return "unix:path=" + socket })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-done
}

func TestBusIsNeverLaunched(t *testing.T) {
	for _, address := range []string{"autolaunch:", "nonsense"} {
		if bus, err := dial(t.Context(), func(string) string { return address }); err == nil {
			bus.Close()
			t.Errorf("%s: connected", address)
		}
	}
}
