package test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// A finding is a line of aldis doctor.
type finding struct {
	Name, State, Says, Mend string
	Checks                  []finding
}

// bad returns the findings that something is wrong.
func (f finding) bad() (list []finding) {
	if len(f.Checks) == 0 && (f.State == "warn" || f.State == "fail") {
		return []finding{f}
	}
	for _, c := range f.Checks {
		list = append(list, c.bad()...)
	}
	return list
}

// A patient is a set-up that aldis doctor looks at: as it is built, a good one.
type patient struct {
	t      testing.TB
	daemon *hubtest.Daemon
	hub    *hub // nil: it does not run
	agent  *agent
	state  string
	home   string
	args   []string
	env    []string
}

// newPatient starts a hub for a daemon of the newest version, with an agent
// whose client names it in its file.
func newPatient(t testing.TB, settings ...string) *patient {
	t.Helper()
	d := newestDaemon(t)
	h := startSignalHub(t, d, settings...)
	p := &patient{t: t, daemon: d, hub: h, state: h.stateDir, home: t.TempDir()}
	p.agent = h.connectAs(agentOptions{header: "bot", client: "claude-code"})
	p.args = []string{"--state-dir", p.state, "--hub", h.url, "--auth-token", token, "--operator", operator, "--signal-cli", d.Address(), "--default-agent", "bot"}
	p.chmod(p.state, 0o700)
	p.client("bot", token)
	return p
}

// absent is a set-up whose hub does not run.
func absent(t testing.TB) *patient {
	t.Helper()
	d := newestDaemon(t)
	p := &patient{t: t, daemon: d, state: t.TempDir(), home: t.TempDir()}
	p.args = []string{"--state-dir", p.state, "--port", freePort(t), "--auth-token", token, "--operator", operator, "--signal-cli", d.Address(), "--ask-signal-cli"}
	p.chmod(p.state, 0o700)
	return p
}

// newestDaemon is a daemon whose version has no known fault.
func newestDaemon(t testing.TB) *hubtest.Daemon {
	d := hubtest.NewDaemon(t)
	answers(d, "version", map[string]any{"version": "0.14.6"})
	return d
}

// answers has a daemon answer a method with one result ever after.
func answers(d *hubtest.Daemon, method string, result any) {
	d.Answer(method, func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Result: result} })
}

// version has the daemon be of a version.
func (p *patient) version(v string) { answers(p.daemon, "version", map[string]any{"version": v}) }

// accounts has the daemon be linked to these.
func (p *patient) accounts(numbers ...string) {
	list := []any{}
	for _, n := range numbers {
		list = append(list, map[string]any{"number": n})
	}
	answers(p.daemon, "listAccounts", list)
}

func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

// client writes the file of Claude Code. Empty words are left out.
func (p *patient) client(agent, token string) {
	p.t.Helper()
	headers := map[string]string{}
	if agent != "" {
		headers["X-Signal-Agent-Id"] = agent
	}
	if token != "" {
		headers["Authorization"] = "Bearer " + token
	}
	url := "http://127.0.0.1:1"
	if p.hub != nil {
		url = p.hub.url
	}
	file, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{
		"aldis": map[string]any{"type": "http", "url": url + "/mcp", "headers": headers},
	}}, "", "  ")
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(filepath.Join(p.home, ".claude.json"), string(file))
}

func (p *patient) write(path, text string) string {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *patient) chmod(path string, mode os.FileMode) {
	p.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		p.t.Fatal(err)
	}
}

// set changes a setting, and adds those that are not there yet.
func (p *patient) set(flag, value string) {
	for i, a := range p.args {
		if a == flag {
			p.args[i+1] = value
			return
		}
	}
	p.args = append(p.args, flag, value)
}

// doctor runs aldis doctor.
func (p *patient) doctor(more ...string) (ran, finding) {
	p.t.Helper()
	cmd := command(p.t, append(append([]string{"doctor", "--json"}, p.args...), more...)...)
	cmd.Env = append(append(cmd.Env, "HOME="+p.home, "USERPROFILE="+p.home), p.env...)
	r := runCommand(p.t, cmd)
	var f finding
	if err := json.Unmarshal([]byte(r.stdout), &f); err != nil {
		p.t.Fatalf("no JSON: %v, exit code %d: %s%s", err, r.code, r.stdout, r.stderr)
	}
	for _, secret := range []string{token, operator, bob, p.home} {
		if strings.Contains(r.stdout+r.stderr, secret) {
			p.t.Errorf("%q is printed: %s", secret, r.stdout)
		}
	}
	return r, f
}

// TestDoctorOfAGoodSetUp has nothing to say of a set-up in which all is well.
func TestDoctorOfAGoodSetUp(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	r, f := p.doctor()
	if bad := f.bad(); r.code != 0 || len(bad) > 0 {
		t.Errorf("exit code %d, %+v", r.code, bad)
	}
	if n := p.daemon.Accepted(); n != 1 {
		t.Errorf("%d connections were made to the daemon, and the hub made one", n)
	}
}

// TestDoctorOfABrokenSetUp breaks one thing at a time: each is named, with what
// mends it.
func TestDoctorOfABrokenSetUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		with  func(testing.TB, ...string) *patient
		broke func(*patient)
		state string
		says  string // the cause
		mend  string
	}{
		{"a wrong token", newPatient, func(p *patient) { p.set("--auth-token", "another-secret") }, "fail", "does not take the one that is set here", "ALDIS_AUTH_TOKEN"},
		{"a wrong port", newPatient, func(p *patient) {
			p.hub.kill()
			p.hub.start() // at a port that it was given: the first was any
			p.set("--hub", "http://127.0.0.1:"+freePort(p.t))
		}, "fail", "the hub of this state folder is at http://127.0.0.1:", "--hub"},
		{"a wrong admin token", newPatient, func(p *patient) { p.env = append(p.env, "ALDIS_ADMIN_TOKEN=other-admin") }, "fail", "admin-token", "--state-dir"},
		{"another state folder", newPatient, func(p *patient) { p.set("--state-dir", filepath.Join(p.home, "other")) }, "fail", "cannot be read", "--state-dir"},
		{"a port taken by another program", alone, func(p *patient) {
			s := httptest.NewServer(http.NotFoundHandler())
			p.t.Cleanup(s.Close)
			p.set("--hub", s.URL)
		}, "fail", "another program", "--port"},
		{"a port taken by what speaks no HTTP", alone, func(p *patient) { p.set("--hub", "http://"+says(p.t, "220 mail.example ESMTP\r\n")) }, "fail", "does not speak HTTP", "--port"},
		{"a name that the hub does not go by", everywhere, func(p *patient) {
			p.set("--hub", "http://127.0.0.2:"+p.hub.port())
		}, "fail", "does not answer to that name", "--allowed-host 127.0.0.2"},

		{"a daemon that is down", alone, func(p *patient) { p.daemon.Close() }, "fail", "nobody listens", "--receive-mode on-connection"},
		{"a daemon that goes down under the hub", newPatient, func(p *patient) {
			p.daemon.Close()
			p.hub.awaitStatus("/readyz", http.StatusServiceUnavailable)
		}, "fail", "nobody listens", "--receive-mode on-connection"},
		{"something else at the daemon's port", alone, func(p *patient) { p.set("--signal-cli", says(p.t, "220 mail.example ESMTP\r\n")) }, "fail", "no signal-cli daemon", "--signal-cli"},
		{"signal-cli's HTTP at the daemon's port", alone, func(p *patient) {
			s := httptest.NewServer(http.NotFoundHandler())
			p.t.Cleanup(s.Close)
			p.set("--signal-cli", s.Listener.Addr().String())
		}, "fail", "speaks HTTP", "--tcp"},
		{"a daemon that says nothing", alone, func(p *patient) { p.set("--signal-cli", says(p.t, "")) }, "fail", "does not answer", "start signal-cli again"},
		{"a daemon's socket that is not there", alone, func(p *patient) { p.set("--signal-cli", "unix:"+filepath.Join(p.home, "none")) }, "fail", "no socket", "--socket"},
		{"a daemon of a bad version", alone, func(p *patient) { p.version("0.13.20") }, "fail", "0.13.20 has faults", "update signal-cli"},
		{"an old daemon", alone, func(p *patient) { p.version("0.12.2") }, "fail", "older than", "update signal-cli"},
		{"an account that is not linked", alone, func(p *patient) { p.set("--account", "+15555550999") }, "fail", "none of the 1", "--account"},
		{"several accounts, and none ours", alone, func(p *patient) { p.accounts("+15555550777", "+15555550888") }, "fail", "none of the 2", "--account"},
		{"no account", alone, func(p *patient) { p.accounts() }, "fail", "linked to no account", "signal-cli link"},

		{"a deaf stream", newPatient, func(p *patient) {
			p.agent.disconnect()
			p.awaitState("away")
			p.agent.call("inbox", nil) // its tools work
			p.awaitState("deaf")
		}, "fail", "its stream has ended", "Reconnect"},
		{"no header in the client's file", newPatient, func(p *patient) { p.client("", token) }, "fail", "no X-Signal-Agent-Id", "aldis install claude-code --write"},
		{"a literal token that does not match", newPatient, func(p *patient) { p.client("bot", "stale-secret") }, "fail", "does not take the token", "aldis token add bot"},
		{"a variable that is not set", newPatient, func(p *patient) { p.client("bot", "${HUB_SECRET}") }, "warn", "HUB_SECRET", "HUB_SECRET is set"},
		{"a variable that does not match", newPatient, func(p *patient) {
			p.client("bot", "${HUB_SECRET}")
			p.env = append(p.env, "HUB_SECRET=stale-secret")
		}, "fail", "does not take the token", "aldis token add bot"},
		{"the token of another agent", newPatient, func(p *patient) { p.client("bot", strings.TrimSpace(p.hub.aldis("token", "add", "else").stdout)) }, "fail", "is not for bot", "aldis token add bot"},
		{"the admin's token in a client's file", newPatient, func(p *patient) { p.client("bot", p.hub.adminToken()) }, "fail", "is not for bot", "no agent's hands"},
		{"a client's file that is broken", newPatient, func(p *patient) { p.write(filepath.Join(p.home, ".claude.json"), "{") }, "fail", ".claude.json: line", "mend the file"},
		{"channels switched off by a variable", newPatient, func(p *patient) { p.env = append(p.env, "DISABLE_TELEMETRY=1") }, "fail", "DISABLE_TELEMETRY", "unset DISABLE_TELEMETRY"},
		{"channels switched off by a file", newPatient, func(p *patient) {
			p.write(filepath.Join(p.home, ".claude", "settings.json"), `{"env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}}`)
		}, "fail", "settings.json", "take CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC out"},

		{"state that everybody reads", newPatient, func(p *patient) {
			p.chmod(p.state, 0o755)
			p.chmod(filepath.Join(p.state, "admin.token"), 0o644)
		}, "fail", "admin.token", "chmod go="},
		{"a broken access.json", alone, func(p *patient) { p.write(filepath.Join(p.state, "access.json"), `{"policy": "nobody"}`) }, "fail", "access.json can't be used", "mend the file"},
		{"a broken access.json under the hub", newPatient, func(p *patient) {
			p.write(filepath.Join(p.state, "access.json"), `{`)
			eventually(p.t, "the hub reads it", func() bool { return strings.Contains(p.hub.aldis("status").stdout, "CLOSED") })
		}, "fail", "access.json can't be used", "mend the file"},
		{"a number that moved", alone, func(p *patient) {
			p.write(filepath.Join(p.state, "access.json"), `{"policy":"allowlist","people":[{"platform":"signal","id":"`+bob+`"}],
				"bindings":[{"platform":"signal","id":"`+bob+`","lasting":"b0b00000-0000-4000-8000-000000000101","moved":"2026-11-01T00:00:00Z"}]}`)
		}, "warn", "…01 was let in", "aldis access rebind"},
		{"a policy that is off", newPatient, func(p *patient) { p.hub.aldis("access", "policy", "disabled") }, "warn", "the policy is disabled", "aldis access policy allowlist"},

		{"a misspelled line in the env file", alone, func(p *patient) { p.set("--env-file", p.write(filepath.Join(p.home, "e"), "ALDIS_OPERATER=x\n")) }, "warn", "ALDIS_OPERATER", "write ALDIS_OPERATOR"},
		{"an env file that everybody reads", alone, func(p *patient) {
			p.set("--env-file", p.write(filepath.Join(p.home, "e"), "ALDIS_PREFIX=x\n"))
			p.chmod(filepath.Join(p.home, "e"), 0o644)
		}, "fail", "open to everybody", "chmod 600"},
		{"an env file that is not there", alone, func(p *patient) { p.set("--env-file", filepath.Join(p.home, "none")) }, "fail", "read the settings", "env file"},
		{"a setting that does not parse", alone, func(p *patient) { p.env = append(p.env, "ALDIS_HOLD=soon") }, "fail", "ALDIS_HOLD", "environment"},
		{"settings that contradict", alone, func(p *patient) { p.env = append(p.env, "SIGNAL_MCP_PREFIX= x", "ALDIS_ADMIN_TOKEN="+token) }, "fail", "--admin-token", "environment"},
		{"a record that cannot be written", alone, func(p *patient) { p.set("--db", filepath.Join(p.home, "none", "aldis.db")) }, "fail", "cannot be written", "--db"},
		{"a record that is a folder", alone, func(p *patient) { p.set("--db", p.home) }, "fail", "~", "--db"},
		{"a foreign record", alone, func(p *patient) {
			p.set("--db", p.write(filepath.Join(p.home, "letter"), strings.Repeat("Dear Bob, ", 20)))
		}, "fail", "is not a record", "--db"},
		{"a clock that was set back", alone, func(p *patient) {
			record := p.write(filepath.Join(p.state, "aldis.db"), "")
			later := time.Now().Add(48 * time.Hour)
			if err := os.Chtimes(record, later, later); err != nil {
				p.t.Fatal(err)
			}
		}, "fail", "set back", "NTP"},
		{"a key of the history that is nowhere", alone, func(p *patient) {
			p.args = append(p.args, "--history", "--history-db", filepath.Join(p.home, "sql", "db.sqlite"), "--history-public-url", "https://hub.example/history/mcp", "--history-bearer-token", strings.Repeat("h", 32))
		}, "fail", "cannot be opened", "--history-key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.Contains(tt.mend, "chmod") {
				t.Skip("files have no modes there")
			}
			p := tt.with(t)
			tt.broke(p)
			r, f := p.doctor()
			if want := map[string]int{"warn": 0, "fail": 1}[tt.state]; r.code < want {
				t.Errorf("exit code %d", r.code)
			}
			for _, x := range f.bad() {
				if x.State == tt.state && strings.Contains(x.Says, tt.says) && strings.Contains(x.Mend, tt.mend) {
					return
				}
			}
			t.Errorf("nothing says %q with the mend %q: %+v", tt.says, tt.mend, f.bad())
		})
	}
}

// alone is absent as newPatient is called.
func alone(t testing.TB, _ ...string) *patient { return absent(t) }

// everywhere is newPatient with a hub at every address of the machine.
func everywhere(t testing.TB, _ ...string) *patient {
	if runtime.GOOS != "linux" {
		t.Skip("127.0.0.2 leads nowhere there")
	}
	return newPatient(t, "--host", "0.0.0.0")
}

// says listens, and says one thing to whoever connects.
func says(t testing.TB, text string) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { nc.Close() })
			fmt.Fprint(nc, text)
		}
	}()
	return ln.Addr().String()
}

// stateOf is that of the agent's session.
func (p *patient) stateOf() string {
	for _, s := range p.hub.status().Sessions {
		if s.Agent == "bot" {
			return s.State
		}
	}
	return ""
}

func (p *patient) awaitState(want string) {
	p.t.Helper()
	eventually(p.t, "the agent is "+want, func() bool { return p.stateOf() == want })
}

// TestDoctorLosesNoMessages does not connect to a daemon that may keep messages
// for a hub which does not run.
func TestDoctorLosesNoMessages(t *testing.T) {
	t.Parallel()
	p := absent(t)
	p.args = p.args[:len(p.args)-1] // without --ask-signal-cli
	r, f := p.doctor()
	if n := p.daemon.Accepted(); n != 0 || r.code != 0 {
		t.Errorf("%d connections, exit code %d: %+v", n, r.code, f.bad())
	}
}

// TestDoctorSendsACanary follows a message through the gates.
func TestDoctorSendsACanary(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	canary := func(agent string, timeout string) (int, finding) {
		t.Helper()
		r, f := p.doctor("--canary", agent, "--timeout", timeout)
		return r.code, f.Checks[len(f.Checks)-1].Checks[0]
	}
	if code, got := canary("nobody-ever", "2s"); code != 1 || !strings.Contains(got.Says, "no agent of that name") {
		t.Errorf("to nobody: %d, %+v", code, got)
	}
	if code, got := canary("bot", "4s"); code != 0 || got.State != "warn" || !strings.Contains(got.Says, "handed over") {
		t.Errorf("to an agent that does nothing: %d, %+v", code, got)
	}
	acked := make(chan struct{})
	go func() {
		defer close(acked)
		for _, e := range p.agent.await(2) {
			p.agent.call("inbox", map[string]any{"ack": []string{e.Meta["id"]}})
		}
	}()
	if code, got := canary("bot", "15s"); code != 0 || got.State != "ok" || !strings.Contains(got.Says, "acknowledged") {
		t.Errorf("to an agent that reads it: %d, %+v", code, got)
	}
	<-acked
	p.agent.disconnect()
	p.awaitState("away")
	if code, got := canary("bot", "1s"); code != 1 || !strings.Contains(got.Says, "queued") {
		t.Errorf("to an agent without a stream: %d, %+v", code, got)
	}
	p.set("--auth-token", "another-secret")
	if code, got := canary("bot", "1s"); code != 1 || !strings.Contains(got.Says, "did not take it") {
		t.Errorf("with a wrong token: %d, %+v", code, got)
	}
}

// TestDoctorForPeople prints lines, and takes nonsense for a mistake.
func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	r := aldis(t, "doctor", "--auth-token", token, "--port", freePort(t))
	if r.code != 0 || !strings.Contains(r.stdout, "→ aldis serve\n") || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%+v", r)
	}
	if r := aldis(t, "doctor", "--colour"); r.code != 2 {
		t.Errorf("%+v", r)
	}
}
