package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hubtest"
)

// TestSettingsThatCannotWork starts the program wrongly: it says what is
// wrong, and how to mend it, and has tried nothing.
func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		env  []string
		says []string
	}{
		{"no token", []string{"serve"}, nil, []string{"--auth-token", "--allow-unauthenticated"}},
		{"nobody may be let in from elsewhere", []string{"serve", "--allow-unauthenticated", "--host", "0.0.0.0"}, nil, []string{"loopback", "--auth-token"}},
		{"nor by a name", []string{"serve", "--allow-unauthenticated", "--host", "hub.example"}, nil, []string{"loopback"}},
		{"an unknown flag", []string{"serve", "--colour"}, nil, []string{"--colour"}},
		{"an unknown command", []string{"serv"}, nil, []string{"serv"}},
		{"no command", nil, nil, []string{"serve"}},
		{"a port that is none", []string{"serve", "--port", "http"}, nil, []string{"--port"}},
		{"a port that is too high", []string{"serve", "--port", "70000"}, nil, []string{"--port"}},
		{"a variable that does not parse", []string{"serve"}, []string{"ALDIS_ROUTE_TTL=soon"}, []string{"route-ttl"}},
		{"a table without room", []string{"serve", "--auth-token", token, "--route-max-entries", "0"}, nil, []string{"--route-max-entries"}},
		{"an operator that is no number", []string{"serve", "--auth-token", token, "--operator", "Alice"}, nil, []string{"--operator"}},
		{"an account without an operator", []string{"serve", "--auth-token", token, "--account", operator}, nil, []string{"--operator"}},
		{"a daemon at no address", []string{"serve", "--auth-token", token, "--operator", operator, "--signal-cli", "here"}, nil, []string{"--signal-cli"}},
		{"a contradiction", []string{"serve", "--auth-token", token, "--transport", "stdio"}, nil, []string{"aldis channel"}},
		{"and its opposite", []string{"channel", "--operator", operator, "--transport", "http"}, nil, []string{"aldis serve"}},
		{"a channel to nobody", []string{"channel"}, nil, []string{"--operator", "--listen"}},
		{"webhooks that anybody may call", []string{"channel", "--listen", "127.0.0.1:0"}, nil, []string{"--auth-token", "--allow-unauthenticated"}},
		{"from elsewhere too", []string{"channel", "--listen", "0.0.0.0:0", "--allow-unauthenticated"}, nil, []string{"loopback", "--auth-token"}},
		{"webhooks at no address", []string{"channel", "--listen", "8788", "--allow-unauthenticated"}, nil, []string{"--listen", "HOST:PORT"}},
		{"a webhook whose secret is nowhere", []string{"hook", "add", "ci", "--agent", "a", "--secret-env", "NOTHING"}, nil, []string{"NOTHING"}},
		{"a webhook for nobody", []string{"hook", "add", "ci"}, nil, []string{"--agent"}},
		{"a preset that is none", []string{"hook", "add", "ci", "--agent", "a", "--preset", "hub"}, nil, []string{"--preset"}},
		{"an env file that is not there", []string{"serve", "--auth-token", token, "--env-file", "nothing.env"}, nil, []string{"nothing.env"}},
		{"one token for both", []string{"serve", "--auth-token", token, "--admin-token", token}, nil, []string{"--admin-token"}},
		{"old names that differ", []string{"serve", "--auth-token", token}, []string{"SIGNAL_MCP_PORT=8001", "AGENT_SALON_PORT=8002"}, []string{"SIGNAL_MCP_PORT", "AGENT_SALON_PORT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, tt.args...)
			cmd.Env = append(cmd.Env, tt.env...)
			got := runCommand(t, cmd)
			if got.code != 2 || got.stdout != "" {
				t.Errorf("exit code %d and output %q, want 2 and none", got.code, got.stdout)
			}
			for _, s := range tt.says {
				if !strings.Contains(got.stderr, s) {
					t.Errorf("%q does not mention %q", got.stderr, s)
				}
			}
			if strings.Contains(got.stderr, token) {
				t.Errorf("the token is in %q", got.stderr)
			}
		})
	}
}

// TestStartThatFails starts a hub where it cannot run: exit code 1, and why.
func TestStartThatFails(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	other := t.TempDir()
	foreign := filepath.Join(other, "notes.db")
	if err := os.WriteFile(foreign, []byte("these are somebody's notes, and no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"a second hub on one state folder", []string{"--state-dir", h.stateDir}, 1, []string{h.stateDir, fmt.Sprint("process ", h.cmd.Process.Pid)}},
		{"an address that is taken", []string{"--state-dir", t.TempDir(), "--port", h.port()}, 1, []string{"listen on 127.0.0.1:" + h.port(), "--port"}},
		{"a file that is not ours as the record", []string{"--state-dir", t.TempDir(), "--db", foreign}, 2, []string{foreign}},
		{"a file as the state folder", []string{"--state-dir", foreign}, 1, []string{"state folder"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := aldis(t, append([]string{"serve", "--auth-token", token, "--port", "0"}, tt.args...)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d: %s", got.code, tt.code, got.stderr)
			}
			for _, s := range tt.says {
				if !strings.Contains(got.stderr, s) {
					t.Errorf("%q does not mention %q", got.stderr, s)
				}
			}
		})
	}
	if b, _ := os.ReadFile(foreign); string(b) != "these are somebody's notes, and no database" {
		t.Errorf("the foreign file was changed: %q", b)
	}
	h.awaitReady()
}

// TestStatus shows what runs, to people and to programs.
func TestStatus(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal")
	h.connect("deploy-bot").call("send", map[string]any{"text": "up"})
	text := h.aldis("status")
	for _, want := range []string{"routes\t1", "signal: connected, version 0.13.19", "deploy-bot: present", "crush-signal: absent, the default", "live, client hubtest"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("aldis status does not say %q:\n%s", want, text.stdout)
		}
	}
	for _, private := range []string{operator, token} {
		if strings.Contains(text.stdout, private) {
			t.Errorf("aldis status tells %q:\n%s", private, text.stdout)
		}
	}
	var s status
	if err := json.Unmarshal([]byte(h.aldis("status", "--json").stdout), &s); err != nil {
		t.Fatal(err)
	}
	if s.Routes != 1 || len(s.Sessions) != 1 || s.Sessions[0].Agent != "deploy-bot" || s.Sessions[0].State != "live" {
		t.Errorf("status as JSON: %+v", s)
	}
	h.kill()
	if got := h.aldis("status"); got.code != 1 || !strings.Contains(got.stderr, "is aldis serve running?") {
		t.Errorf("without a hub: exit code %d, %q", got.code, got.stderr)
	}
}

// TestTokens gives an agent a token of its own, and takes it away.
func TestTokens(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	made := h.aldis("token", "add", "deploy-bot")
	secret := strings.TrimSpace(made.stdout)
	if made.code != 0 || secret == "" {
		t.Fatalf("token add: exit code %d, %q", made.code, made.stderr)
	}
	list := h.aldis("token", "list").stdout
	id, _, _ := strings.Cut(list, "\t")
	if !strings.Contains(list, "deploy-bot") || strings.Contains(list, secret) {
		t.Errorf("token list: %q", list)
	}
	for _, name := range []string{"aldis.db", "aldis.db-wal"} {
		if b, err := os.ReadFile(filepath.Join(h.stateDir, name)); err == nil && strings.Contains(string(b), secret) {
			t.Errorf("the secret is kept in %s", name)
		}
	}
	a := h.connectAs(agentOptions{header: "deploy-bot", token: secret})
	other := h.connect("crush-signal")
	h.notify("cron", "deploy-bot", "yours")
	a.await(1)

	h.kill() // tokens outlive the process
	h.start()
	h.notify("cron", "deploy-bot", "yours too")
	a.await(2)

	if got := h.aldis("token", "revoke", id); got.code != 0 {
		t.Fatalf("token revoke: exit code %d, %q", got.code, got.stderr)
	}
	eventually(t, "its stream is ended and refused", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.refused) == 1 && a.refused[0] == http.StatusUnauthorized
	})
	if got := a.Call("tools/list", nil); got.Status != http.StatusUnauthorized {
		t.Errorf("a call with the token: status %d, want 401", got.Status)
	}
	h.notify("cron", "crush-signal", "still here")
	other.await(1)
	if got := h.aldis("token", "revoke", id); got.code != 1 || !strings.Contains(got.stderr, id) {
		t.Errorf("revoked twice: exit code %d, %q", got.code, got.stderr)
	}
	if got := h.aldis("token", "list").stdout; got != "" {
		t.Errorf("token list after all: %q", got)
	}
}

// TestSend sends from a script as an agent: the answer finds that agent.
func TestSend(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal", "--label-messages", "never")
	deploy, crush := h.connect("deploy-bot"), h.connect("crush-signal")
	got := h.aldis("send", "--agent", "deploy-bot", "Nightly", "build", "is red")
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if text := awaitRequests(t, d, "send", 1)[0].Params["message"]; text != "Nightly build is red" {
		t.Errorf("the phone shows %q", text)
	}
	receive(t, d, noteToSelf("sync_note_to_self_quote", messageID(t, got.stdout), nil))
	wantEvent(t, "answer", deploy.await(1)[0], "go ahead", map[string]string{"route_status": "routed"})
	if n := len(crush.got()); n != 0 {
		t.Errorf("crush-signal got %d events", n)
	}

	d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
		return hubtest.DaemonAnswer{Error: hubtest.DaemonError(-1, "Sending is not possible today", nil)}
	})
	if got := h.aldis("send", "--agent", "deploy-bot", "again"); got.code != 1 || !strings.Contains(got.stderr, "not possible today") {
		t.Errorf("a send that fails: exit code %d, %q", got.code, got.stderr)
	}
	wrong := command(t, "send", "--hub", h.url, "--token", "guess", "--agent", "deploy-bot", "hello")
	if got := runCommand(t, wrong); got.code != 1 || strings.Contains(got.stderr, "guess") {
		t.Errorf("with a wrong token: exit code %d, %q", got.code, got.stderr)
	}
}

// TestChannel runs a channel for one agent alone, as an agent spawns it.
func TestChannel(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	stateDir := t.TempDir()
	cmd := command(t, "channel", "--operator", operator, "--trusted-sender", bob, "--signal-cli", d.Address(), "--state-dir", stateDir)
	log := &buffer{}
	cmd.Stderr = log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the channel:\n%s", log)
		}
	})
	tap := &tapTransport{Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, pushes: make(chan event, 16)}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, tap, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon is joined", func() bool { return len(d.Requests("version")) > 0 })
	var sent string
	eventually(t, "a message is sent", func() bool {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send", Arguments: map[string]any{"text": "Roll out?"}})
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError {
			sent = messageID(t, r.Content[0].(*mcp.TextContent).Text)
		}
		return !r.IsError
	})
	if text := d.Requests("send")[0].Params["message"]; text != "Roll out?" {
		t.Errorf("the phone shows %q, want no label", text)
	}
	receive(t, d, noteToSelf("sync_note_to_self_quote", sent, nil))
	wantEvent(t, "answer", tap.next(t), "go ahead", map[string]string{
		"in_reply_to_timestamp": sent, "in_reply_to_author": operator, "route_status": "", "routed_agent": "", "platform": "signal",
	})
	receive(t, d, capture("dm"))
	wantEvent(t, "message", tap.next(t), "Can you check the build? 👩🏽‍💻", map[string]string{"route_status": "", "sender": bob})
	awaitRequests(t, d, "sendReceipt", 1)
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "send_message" {
			t.Error("it offers send_message, and there is nobody else")
		}
	}

	// It has no part in a hub that runs beside it, and ends with its input.
	if left, _ := os.ReadDir(stateDir); len(left) != 0 {
		t.Errorf("it left %v in the state folder", left)
	}
	if err := session.Close(); err != nil { // closes its input, and waits
		t.Errorf("it does not end in order: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// A tapTransport takes channel events out of what a client reads: the SDK
// knows none. That all else is JSON-RPC, the SDK sees to.
type tapTransport struct {
	mcp.Transport
	pushes chan event
}

func (t *tapTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &tapConn{c, t.pushes}, err
}

type tapConn struct {
	mcp.Connection
	pushes chan event
}

func (c *tapConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		r, ok := m.(*jsonrpc.Request)
		if err != nil || !ok || r.Method != "notifications/claude/channel" {
			return m, err
		}
		var e event
		if err := json.Unmarshal(r.Params, &e); err != nil {
			return nil, err
		}
		c.pushes <- e
	}
}

func (t *tapTransport) next(tb testing.TB) event {
	tb.Helper()
	select {
	case e := <-t.pushes:
		return e
	case <-time.After(patience):
		tb.Fatal("no event came")
		return event{}
	}
}

// TestChannelEndsWithItsAgent closes its input before anything was said, with
// no daemon to be found.
func TestChannelEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := ln.Addr().String()
	ln.Close()
	cmd := command(t, "channel", "--operator", operator, "--signal-cli", nobody)
	cmd.Stdin = strings.NewReader("")
	if got := runCommand(t, cmd); got.code != 0 || got.stdout != "" {
		t.Errorf("exit code %d, output %q, want 0 and none: %s", got.code, got.stdout, got.stderr)
	}
}
