package test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rows of seed agent-salon.md that no other story tells.

// TestSenderIsInTheAddress posts as a script whose body claims to be another's:
// agents see the label, and it is decoded here as it is where they connect.
func TestSenderIsInTheAddress(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.connectAs(agentOptions{label: "café +1"}) // sent as caf%C3%A9+%2B1
	for i, path := range []string{"/notify?label=b%C3%BCro%201", "/notify?label=b%C3%BCro+1"} {
		got := h.do(http.MethodPost, path, map[string]any{
			"content": "hello", "target": "café +1", "source": "boss", "meta": map[string]any{"from": "boss", "ticket": 7},
		}, bearer(token))
		if got.status != http.StatusAccepted || fmt.Sprint(got.object(t)["dropped_meta"]) != "[from]" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		wantEvent(t, path, a.await(i + 1)[i], "hello", map[string]string{"source": "büro 1", "from": "büro 1", "ticket": "7"})
	}
	again := h.agent(agentOptions{})
	again.URL += "?label=caf%C3%A9%20%2B1" // another spelling of the same
	again.Connect()
	again.Call("tools/call", map[string]any{"name": "inbox", "arguments": map[string]any{}})
	if text, isError := a.callRaw("inbox", nil); !isError || !strings.Contains(text, "another session has taken the name café +1") {
		t.Errorf("who had the label is told %q", text)
	}
}

// TestWhoGetsAMessage sends to one, to all, under another name and to nobody:
// from a tool and from a script.
func TestWhoGetsAMessage(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--alias", "notes=laptop-a", "--alias", "laptop-b=laptop-a", "--pair-rate", "0")
	a := h.connectAs(agentOptions{label: "laptop-a"})
	b := h.connectAs(agentOptions{label: "laptop-b"})
	c := h.connectAs(agentOptions{label: "laptop-c"})
	nameless := h.connectAs(agentOptions{})
	eventually(t, "all are live", func() bool {
		live := 0
		for _, x := range h.status().Sessions {
			if x.State == "live" {
				live++
			}
		}
		return live == 4
	})
	everybody := []*agent{a, b, c, nameless}
	for _, tt := range []struct {
		name, target string
		gets         []*agent
		told         string
	}{
		{"one", "laptop-a", []*agent{a}, "sent to 1 sessions of laptop-a"},
		{"blanks around a name", " laptop-a ", []*agent{a}, "sent to 1 sessions of laptop-a"},
		{"an alias", "notes", []*agent{a}, "sent to 1 sessions of notes"},
		{"an alias that is somebody's name too", "laptop-b", []*agent{a}, "sent to 1 sessions of laptop-b"},
		{"all", "", []*agent{a, b, nameless}, "sent to 3 sessions"},
		{"nobody", "laptop-z", nil, "no agent laptop-z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := map[*agent]int{}
			for _, x := range everybody {
				before[x] = len(x.got())
			}
			if got := c.call("send_message", map[string]any{"content": "by " + tt.name, "target": tt.target}); !strings.HasPrefix(got, tt.told) {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			h.notify("laptop-c", tt.target, "script to "+tt.name) // a script with an agent's label: it comes back to it neither
			for _, x := range everybody {
				var want []string
				if slices.Contains(tt.gets, x) {
					want = []string{"by " + tt.name, "script to " + tt.name}
				}
				if got := contents(x.await(before[x] + len(want))[before[x]:]); !slices.Equal(got, want) {
					t.Errorf("%s got %q, want %q", x.name(), got, want)
				}
			}
		})
	}
}

// TestNobodySpeaksWithoutAName calls send_message without an identity: an error
// of the protocol, with the code that the seed names.
func TestNobodySpeaksWithoutAName(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	nameless := h.connectAs(agentOptions{deaf: true})
	r := nameless.Call("tools/call", map[string]any{"name": "send_message", "arguments": map[string]any{"content": "x"}})
	if r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("answered %+v, want error -32602", r)
	}
	if text := nameless.call("salon_status", nil); !strings.Contains(text, "You have no name") {
		t.Errorf("it is told %q", text)
	}
}

// TestAnAnswerFindsItsAuthor has agents and a script answer by reply_to alone.
func TestAnAnswerFindsItsAuthor(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b, c := h.connect("deploy-bot"), h.connect("crush-signal"), h.connect("night-shift")
	a.call("send_message", map[string]any{"content": "Is the cache warm?", "meta": map[string]any{"kind": "question"}})
	asked := b.await(1)[0]
	c.await(1)
	answer := map[string]any{"content": "It is.", "meta": map[string]any{"kind": "reply", "reply_to": asked.Meta["id"]}}
	if got := b.call("send_message", answer); !strings.HasPrefix(got, "sent to 1 sessions of deploy-bot") {
		t.Errorf("told %q", got)
	}
	h.do(http.MethodPost, "/notify?label=cron", answer, bearer(token))
	for _, e := range a.await(2) {
		wantEvent(t, "answer", e, "It is.", map[string]string{"kind": "reply", "reply_to": asked.Meta["id"]})
	}
	answer["meta"] = map[string]any{"reply_to": "nothing"}
	if got := b.call("send_message", answer); !strings.Contains(got, "sent to 2 sessions") || !strings.Contains(got, "this was for everybody") {
		t.Errorf("in answer to nothing: told %q", got)
	}
	c.await(2)
	if got := contents(c.got()); !slices.Equal(got, []string{"Is the cache warm?", "It is."}) {
		t.Errorf("who was not asked got %q", got)
	}
}

// TestSalonStatus asks who is here: addresses that work, no token, nobody who
// has gone.
func TestSalonStatus(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.connect("deploy-bot"), h.connect("crush-signal")
	b.Do(t.Context(), http.MethodDelete, "")
	h.notify("cron", "deploy-bot", "one")
	text := a.call("salon_status", nil)
	for _, want := range []string{h.url + "/mcp", h.url + "/notify", "* deploy-bot: live (you)", "1 messages were taken in"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in %q", want, text)
		}
	}
	for _, secret := range []string{token, "crush-signal"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %q", secret, text)
		}
	}
}

// TestMovesOverFromAgentSalon starts a hub with the environment and the config
// file of a deployment of agent-salon, and no flag but those for tokens.
func TestMovesOverFromAgentSalon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, conf := filepath.Join(dir, "salon.db"), filepath.Join(dir, "agent-salon.conf")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	lines := []string{
		"# of the package manager", "", "AGENT_SALON_BIND=127.0.0.1", "AGENT_SALON_PORT=1", "no setting", "=nothing",
		`AGENT_SALON_ALLOWED_HOSTS="hub.tail1234.ts.net,box:9000"`, `  AGENT_SALON_ALIASES = "notes:laptop-a,drafts:home-mac"`, "AGENT_SALON_DB=" + db,
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, stateDir: t.TempDir(), log: &buffer{}}
	h.args = []string{"serve", "--auth-token", token, "--state-dir", h.stateDir, "--log-format", "json"}
	h.env = []string{"AGENT_SALON_CONFIG=" + conf, "AGENT_SALON_PORT=" + port} // the environment wins
	t.Cleanup(h.kill)
	h.start()
	if h.port() != port {
		t.Errorf("it listens on %s, want port %s", h.url, port)
	}
	if _, err := os.Stat(db); err != nil {
		t.Errorf("the record is elsewhere: %v", err)
	}
	a := h.connectAs(agentOptions{label: "laptop-a"})
	h.notify("ci", "notes", "under the other name")
	a.await(1)
	for host, want := range map[string]int{
		"hub.tail1234.ts.net": 200, "hub.tail1234.ts.net:443": 200, "box:9000": 200, "localhost": 200, "127.0.0.1:" + port: 200,
		"box": 403, "box:9001": 403, "evil.example": 403, "hub.tail1234.ts.net.evil.example": 403,
	} {
		if got := h.do(http.MethodPost, "/mcp", initialize, with(bearer(token), "Host", host)); got.status != want {
			t.Errorf("called as %s: %d %s, want %d", host, got.status, got.body, want)
		}
	}
}

// TestNotifyFromAShell sends from scripts: exit codes tell what became of it.
func TestNotifyFromAShell(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.connect("deploy-bot")
	run := func(stdin string, args ...string) ran {
		cmd := command(t, append([]string{"notify"}, args...)...)
		cmd.Env = append(cmd.Env, "ALDIS_HUB="+h.url, "ALDIS_TOKEN="+token)
		cmd.Stdin = strings.NewReader(stdin)
		return runCommand(t, cmd)
	}
	got := run("", "--label", "ci", "--to", "deploy-bot", "--meta", "kind=status", "--meta", "url=http://ci/?a=1,2", "--meta", "id=x", "Build", "214 is green")
	e := a.await(1)[0]
	if got.code != 0 || got.stdout != e.Meta["id"]+"\n" || !strings.Contains(got.stderr, "not passed on: meta id") {
		t.Errorf("%+v, want the id %s", got, e.Meta["id"])
	}
	wantEvent(t, "words", e, "Build 214 is green", map[string]string{"from": "ci", "kind": "status", "url": "http://ci/?a=1,2"})
	run("line one\nline two\n", "--label", "ci", "-")
	wantEvent(t, "standard input, to all", a.await(2)[1], "line one\nline two", nil)
	first, second := run("", "--label", "ci", "--key", "k", "once"), run("", "--label", "ci", "--key", "k", "once")
	if first.code != 0 || second != first {
		t.Errorf("under one key: %+v, then %+v", first, second)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no name", []string{"x"}, 2, "--label"},
		{"no text", []string{"--label", "ci"}, 2, "text"},
		{"an empty text", []string{"--label", "ci", ""}, 2, "empty"},
		{"nothing on standard input", []string{"--label", "ci", "-"}, 2, "empty"},
		{"a variable that is not set as the target", []string{"--label", "ci", "--to", "", "x"}, 2, "--to"},
		{"an attribute that is none", []string{"--label", "ci", "--meta", "kind", "x"}, 2, "KEY=VALUE"},
		{"a key that is none", []string{"--label", "ci", "--key", "é", "x"}, 2, "--key"},
		{"a wrong token", []string{"--label", "ci", "--token", "guess", "x"}, 1, "not valid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run("", tt.args...); got.code != tt.code || got.stdout != "" || !strings.Contains(got.stderr, tt.says) {
				t.Errorf("%+v, want exit code %d and %q", got, tt.code, tt.says)
			}
		})
	}

	h.kill()
	done := make(chan ran)
	go func() { done <- run("", "--label", "ci", "--to", "deploy-bot", "while it was away") }()
	h.start()
	if got := <-done; got.code != 0 {
		t.Errorf("across a restart: %+v", got)
	}
	if got, want := contents(a.await(4)), []string{"Build 214 is green", "line one\nline two", "once", "while it was away"}; !slices.Equal(got, want) {
		t.Errorf("the agent got %q, want %q", got, want)
	}
}

// salonPage has commands that people copy.
const salonPage = "../docs/salon.md"

// TestSmokeOfThePage runs the commands at the end of docs/salon.md: initialize,
// initialized, the stream, POST /notify, the event.
func TestSmokeOfThePage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl", "mktemp"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of %s need %s", salonPage, program)
		}
	}
	page, err := os.ReadFile(salonPage)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- A test runs exactly this. -->\n```sh\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("%s has no such commands", salonPage)
	}
	h := startHub(t)
	cmd := exec.Command("sh", "-eu", "-c", string(block[1]))
	cmd.Env = append(os.Environ(), "ALDIS_HUB="+h.url, "ALDIS_AUTH_TOKEN="+token)
	got := runCommand(t, cmd)
	if got.code != 0 || got.stderr != "" {
		t.Errorf("exit code %d, and on standard error %q", got.code, got.stderr)
	}
	for _, want := range []string{`{"id":"`, `"method":"notifications/claude/channel"`, `"content":"Build finished"`, `"from":"ci"`, `"kind":"status"`} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("nothing of %s in:\n%s", want, got.stdout)
		}
	}
	if s := h.status().Sessions; len(s) != 0 {
		t.Errorf("sessions are left: %v", s)
	}
}
