package test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// The people of the captures.
const (
	operator = "+15555550100"
	bob      = "+15555550101"
)

// token is the shared token of the hubs under test.
const token = "shared-secret-of-the-tests"

// patience is how long a story waits for what must happen.
const patience = 20 * time.Second

// A hub is an aldis serve under test. It can be ended and started again on the
// same port and state folder.
type hub struct {
	t        testing.TB
	args     []string
	env      []string // besides an empty home
	url      string
	stateDir string
	log      *buffer

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// startHub starts aldis serve with the shared token, on a free port, and waits
// until it is up. It is killed at the end of the test.
func startHub(t testing.TB, args ...string) *hub {
	t.Helper()
	return startServer(t, nil, append([]string{"serve", "--auth-token", token}, args...)...)
}

// startServer is startHub for any command that serves, with env besides.
func startServer(t testing.TB, env []string, args ...string) *hub {
	t.Helper()
	h := &hub{t: t, env: env, stateDir: t.TempDir(), log: &buffer{}}
	h.args = append(args, "--state-dir", h.stateDir, "--log-format", "json")
	t.Cleanup(func() {
		h.kill()
		if t.Failed() {
			t.Logf("log of the hub:\n%s", h.log)
		}
		if strings.Contains(h.log.String(), "DATA RACE") {
			t.Errorf("the hub has a data race:\n%s", h.log)
		}
	})
	h.start("--port", "0")
	h.args = append(h.args, "--port", h.port())
	return h
}

// startSignalHub starts a hub for the operator and a fake daemon.
func startSignalHub(t testing.TB, d *hubtest.Daemon, args ...string) *hub {
	t.Helper()
	h := startHub(t, append([]string{"--operator", operator, "--signal-cli", d.Address()}, args...)...)
	h.awaitReady()
	return h
}

func (h *hub) port() string {
	h.t.Helper()
	u, err := url.Parse(h.url)
	if err != nil {
		h.t.Fatal(err)
	}
	return u.Port()
}

var upAt = regexp.MustCompile(`"msg":"(?:hub|history) is up","url":"([^"]+)"`)

// start runs the program and waits until it serves.
func (h *hub) start(more ...string) {
	h.t.Helper()
	seen := len(upAt.FindAllString(h.log.String(), -1))
	h.cmd = command(h.t, append(h.args, more...)...)
	h.cmd.Env = append(h.cmd.Env, h.env...)
	h.cmd.Stderr = h.log
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan struct{})
	h.done = done
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // its exit code is read later
		close(done)
	}(h.cmd)
	eventually(h.t, "the hub is up", func() bool {
		select {
		case <-done:
			h.t.Fatalf("the hub ended at once:\n%s", h.log)
		default:
		}
		ups := upAt.FindAllStringSubmatch(h.log.String(), -1)
		if len(ups) == seen {
			return false
		}
		if h.url == "" { // the same ever after
			h.url = ups[seen][1]
		}
		return true
	})
}

// kill ends the hub as a power cut does.
func (h *hub) kill() {
	if h.done == nil { // it never began
		return
	}
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.done
}

// stop asks the hub to end, and returns its exit code.
func (h *hub) stop() int {
	h.t.Helper()
	if runtime.GOOS == "windows" {
		h.t.Skip("a process cannot be asked to end on Windows")
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	select {
	case <-h.done:
	case <-time.After(patience):
		h.t.Fatalf("the hub does not end:\n%s", h.log)
	}
	return h.cmd.ProcessState.ExitCode()
}

// awaitReady waits until the hub can take messages in and send them.
func (h *hub) awaitReady() {
	h.t.Helper()
	h.awaitStatus("/readyz", http.StatusOK)
}

func (h *hub) awaitStatus(path string, want int) {
	h.t.Helper()
	eventually(h.t, path+" answers "+http.StatusText(want), func() bool {
		return h.do(http.MethodGet, path, nil, nil).status == want
	})
}

// An answer is what the hub answered, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// object reads the body as a JSON object.
func (a answer) object(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("the answer is not a JSON object: %v: %q", err, a.body)
	}
	return v
}

// do makes a request. A body that is no io.Reader is sent as JSON.
func (h *hub) do(method, path string, body any, header map[string]string) answer {
	h.t.Helper()
	a, err := h.try(method, path, body, header)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// try is do for when the hub may be down.
func (h *hub) try(method, path string, body any, header map[string]string) (answer, error) {
	r, isReader := body.(io.Reader)
	if !isReader && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, r)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		if req.Header.Set(k, v); k == "Host" {
			req.Host = v
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

// bearer is the header of a request with that token.
func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// adminToken is what the hub has made for whoever runs it.
func (h *hub) adminToken() string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.stateDir, "admin.token"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// status is the answer of /api/status, as far as stories read it.
type status struct {
	Routes   int
	Waiting  int
	Sessions []struct {
		Agent, State string
		Evicted      bool
	}
	Agents []struct {
		Agent   string
		Present bool
	}
	Platforms []struct{ State, Version, Detail string }
}

func (h *hub) status() (s status) {
	h.t.Helper()
	a := h.do(http.MethodGet, "/api/status", nil, bearer(h.adminToken()))
	if err := json.Unmarshal([]byte(a.body), &s); err != nil {
		h.t.Fatalf("status: %v: %s", err, a.body)
	}
	return s
}

// awaitPresence waits until the hub counts an agent as present, or not.
func (h *hub) awaitPresence(agent string, want bool) {
	h.t.Helper()
	what := agent + " is absent"
	if want {
		what = agent + " is present"
	}
	eventually(h.t, what, func() bool {
		for _, a := range h.status().Agents {
			if a.Agent == agent {
				return a.Present == want
			}
		}
		return !want
	})
}

// notify posts a message as a script does, and returns its id.
func (h *hub) notify(label, target, content string) string {
	h.t.Helper()
	a := h.do(http.MethodPost, "/notify?label="+url.QueryEscape(label),
		map[string]any{"content": content, "target": target}, bearer(token))
	if a.status != http.StatusAccepted {
		h.t.Fatalf("POST /notify: %d %s", a.status, a.body)
	}
	return a.object(h.t)["id"].(string)
}

// command prepares a run of the program in an empty environment.
func command(t testing.TB, args ...string) *exec.Cmd {
	home := t.TempDir()
	cmd := exec.Command(binary, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "SystemRoot=" + os.Getenv("SystemRoot")}
	return cmd
}

// A ran is what a command has printed, and its exit code.
type ran struct {
	stdout, stderr string
	code           int
}

// aldis runs a command to its end.
func aldis(t testing.TB, args ...string) ran {
	t.Helper()
	return runCommand(t, command(t, args...))
}

// aldis runs a command against the hub, from the shell of whoever runs it.
func (h *hub) aldis(args ...string) ran {
	h.t.Helper()
	cmd := command(h.t, args...)
	cmd.Env = append(cmd.Env, "ALDIS_HUB="+h.url, "ALDIS_STATE_DIR="+h.stateDir, "ALDIS_AUTH_TOKEN="+token)
	return runCommand(h.t, cmd)
}

func runCommand(t testing.TB, cmd *exec.Cmd) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// eventually waits until ok says so. What a process does shows only from
// outside, so this looks again and again.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A buffer can be read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
