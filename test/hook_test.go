package test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const hookSecret = "webhook-secret-of-the-tests"

// signed are the headers of a call by GitHub.
func signed(body, event, delivery string) map[string]string {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	return map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-GitHub-Event": event, "X-GitHub-Delivery": delivery,
		"Content-Type": "application/json",
	}
}

// addHook runs aldis hook add with the secret in VAR.
func (h *hub) addHook(args ...string) ran {
	cmd := command(h.t, append([]string{"hook", "add"}, args...)...)
	cmd.Env = append(cmd.Env, "ALDIS_HUB="+h.url, "ALDIS_STATE_DIR="+h.stateDir, "VAR="+hookSecret)
	return runCommand(h.t, cmd)
}

// call calls a webhook as a service does.
func (h *hub) call(what, path, body string, header map[string]string, status int, says string) {
	h.t.Helper()
	a := h.do(http.MethodPost, path, strings.NewReader(body), header)
	if a.status != status || !strings.Contains(a.body, says) {
		h.t.Errorf("%s: answered %d %s, want %d with %q", what, a.status, a.body, status, says)
	}
}

// TestWebhook adds one, has it called well and badly, over a restart, and
// removes it.
func TestWebhook(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	made := h.addHook("repo", "--agent", "deploy-bot", "--preset", "github", "--secret-env", "VAR", "--only", "issues", "--only", "ping")
	if url := strings.TrimSpace(made.stdout); made.code != 0 || url != h.url+"/hooks/repo" {
		t.Fatalf("hook add: exit code %d, %q, %q", made.code, made.stdout, made.stderr)
	}
	if got := h.addHook("repo", "--agent", "deploy-bot"); got.code != 1 || !strings.Contains(got.stderr, "already") {
		t.Errorf("hook add again: exit code %d, %q", got.code, got.stderr)
	}
	const body = `{"action":"opened","issue":{"number":5,"title":"It <b>breaks</b>","html_url":"https://h/5"},"sender":{"login":"ann"},"repository":{"full_name":"o/r"}}`
	const text = "issue #5 opened in o/r by ann: It <b>breaks</b> https://h/5"

	// The agent has never been here: its mail is held.
	h.call("signed", "/hooks/repo/x", body, signed(body, "issues", "d1"), 200, "ok")
	h.call("a token instead", "/hooks/repo", body, bearer(token), 401, "signature")
	h.call("another body", "/hooks/repo", body+" ", signed(body, "issues", "d2"), 401, "signature")
	h.call("another event", "/hooks/repo", body, signed(body, "watch", "d2"), 200, "ignored")
	h.call("the same delivery", "/hooks/repo", body, signed(body, "issues", "d1"), 200, "duplicate")
	if list := h.aldis("hook", "list").stdout; !strings.Contains(list, "1 accepted, 2 refused, 1 duplicates, 1 ignored") || !strings.Contains(list, "issues,ping") {
		t.Errorf("hook list: %q", list)
	}
	h.kill()
	h.start()
	h.call("the same after a restart", "/hooks/repo", body, signed(body, "issues", "d1"), 200, "duplicate")
	a := h.connect("deploy-bot")
	e := a.await(1)[0]
	wantEvent(t, "event", e, text, map[string]string{
		"path": "/hooks/repo/x", "method": "POST", "event": "issues", "delivery": "d1", "source": "repo", "from": "repo",
	})
	if got := a.call("get_message", map[string]any{"id": e.Meta["id"]}); !strings.Contains(got, body) {
		t.Errorf("get_message: %q, want the body", got)
	}

	if list := h.aldis("hook", "list", "--json").stdout; !strings.Contains(list, `"signed":true`) || strings.Contains(list, hookSecret) {
		t.Errorf("hook list --json: %q", list)
	}
	if strings.Contains(h.log.String()+made.stdout+made.stderr, hookSecret) {
		t.Error("the secret is in the log, or printed")
	}
	wantPrivate(t, h.stateDir)
	if got := h.aldis("hook", "remove", "repo"); got.code != 0 {
		t.Errorf("hook remove: exit code %d, %q", got.code, got.stderr)
	}
	h.call("one that was removed", "/hooks/repo", body, signed(body, "issues", "d4"), 401, "token")
	if got := h.aldis("hook", "remove", "repo"); got.code != 1 || !strings.Contains(got.stderr, "no hook") {
		t.Errorf("hook remove again: exit code %d, %q", got.code, got.stderr)
	}
}

// wantPrivate checks that the files of the record are their owner's alone.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "aldis.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no record in %s: %v", dir, err)
	}
	for _, name := range files {
		if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", name, fi.Mode(), err)
		}
	}
}

// TestWebhookWithoutASecret takes any body of whoever has the shared token.
func TestWebhookWithoutASecret(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	if got := h.addHook("any", "--agent", "deploy-bot"); got.code != 0 {
		t.Fatalf("hook add: exit code %d, %q", got.code, got.stderr)
	}
	a := h.connect("deploy-bot")
	big := strings.Repeat("x", 1<<20+1)
	h.call("no token", "/hooks/any", "x", nil, 401, "token")
	h.call("too large", "/hooks/any", big, bearer(token), 413, "larger")
	h.call("a key", "/hooks/any", "build failed on main", with(bearer(token), "Idempotency-Key", "k"), 200, "ok")
	h.call("the key again", "/hooks/any", "build failed on main", with(bearer(token), "Idempotency-Key", "k"), 200, "duplicate")
	if a := h.do(http.MethodHead, "/hooks/any", nil, bearer(token)); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	got := a.await(2)
	wantEvent(t, "event", got[0], "build failed on main", map[string]string{"path": "/hooks/any", "method": "POST", "event": "", "delivery": "k"})
	wantEvent(t, "event without a body", got[1], "[empty message]", map[string]string{"method": "HEAD"})
}

// TestNotifyOnce posts one thing twice, as a script does that saw no answer.
func TestNotifyOnce(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.connect("deploy-bot")
	post := func() map[string]any {
		got := h.do(http.MethodPost, "/notify?label=cron", map[string]any{"content": "once", "target": "deploy-bot"}, with(bearer(token), "Idempotency-Key", "k"))
		if got.status != http.StatusAccepted {
			t.Fatalf("POST /notify: %d %s", got.status, got.body)
		}
		return got.object(t)
	}
	first := post()
	h.kill()
	h.start()
	if again := post(); again["id"] != first["id"] || again["repeated"] != true || first["repeated"] != nil {
		t.Errorf("it is told %v and then %v", first, again)
	}
	other := h.do(http.MethodPost, "/notify?label=cron", map[string]any{"content": "something else", "target": "deploy-bot"}, with(bearer(token), "Idempotency-Key", "k"))
	if other.status != http.StatusUnprocessableEntity {
		t.Errorf("another message under that key: %d %s", other.status, other.body)
	}
	h.notify("cron", "deploy-bot", "then")
	a.await(2)
	if got := contents(a.got()); len(got) != 2 || got[0] != "once" || got[1] != "then" {
		t.Errorf("it got %q", got)
	}
}

var takenAt = regexp.MustCompile(`"msg":"webhooks are taken","url":"([^"]+)"`)

// TestChannelListens takes webhooks in one process, without Signal: those that
// come before the client is ready too.
func TestChannelListens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, flag, token string
		refused           int // what a call without the token is answered
	}{
		{"with a token", "--auth-token=" + token, token, 401},
		{"on this machine alone", "--allow-unauthenticated", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "channel", "--listen", "127.0.0.1:0", tt.flag, "--log-format", "json")
			log := &buffer{}
			cmd.Stderr = log
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			h := &hub{t: t, log: log}
			eventually(t, "it listens", func() bool {
				m := takenAt.FindStringSubmatch(log.String())
				if m != nil {
					h.url = m[1]
				}
				return m != nil
			})
			auth := map[string]string{}
			if tt.token != "" {
				auth = bearer(tt.token)
			}
			h.call("before the client is ready", "/", "build failed on main: https://ci.example.com/run/1234", auth, 200, "ok")

			tap := &tapTransport{Transport: &mcp.IOTransport{Reader: io.NopCloser(bufio.NewReader(out)), Writer: in}, pushes: make(chan event, 16)}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, tap, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantEvent(t, "early event", tap.next(t), "build failed on main: https://ci.example.com/run/1234", map[string]string{"path": "/", "method": "POST", "route_status": ""})
			h.call("any path", "/a/b%20c?d", "x", auth, 200, "ok")
			wantEvent(t, "event", tap.next(t), "x", map[string]string{"path": "/a/b%20c", "method": "POST"})
			h.call("without a token", "/", "y", nil, tt.refused, "")
			h.call("a page elsewhere", "/", "y", with(auth, "Origin", "https://evil.example"), 403, "may not call")
			h.call("a name elsewhere", "/", "y", with(auth, "Host", "evil.example"), 403, "--allowed-host")
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send", Arguments: map[string]any{"text": "hello?"}})
			if err != nil || !r.IsError {
				t.Errorf("send without a phone: %v, %v", r, err)
			} else if text, _ := json.Marshal(r.Content); !strings.Contains(string(text), "no phone") {
				t.Errorf("send without a phone: %s", text)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it does not end in order: %v", err)
			}
		})
	}
}
