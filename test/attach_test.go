package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An attached is an agent that has started aldis attach, and speaks MCP to it.
type attached struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	log  *buffer
	done chan struct{} // its output has ended
	last atomic.Int64

	mu       sync.Mutex
	events   []event
	verdicts []string // "abcde allow"
	news     int      // notifications of tools/list_changed
	answers  map[int64]chan json.RawMessage
}

// attach starts aldis attach for an agent, in that environment, and greets it.
func (h *hub) attach(agent string, env ...string) *attached {
	h.t.Helper()
	cmd := command(h.t, "attach", "--hub", h.url, "--agent", agent, "--log-level", "debug")
	cmd.Env = append(append(cmd.Env, "ALDIS_TOKEN="+token), env...)
	a := &attached{t: h.t, cmd: cmd, log: &buffer{}, done: make(chan struct{}), answers: make(map[int64]chan json.RawMessage)}
	cmd.Stderr = a.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if a.in, err = cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go a.read(out)
	h.t.Cleanup(func() {
		a.leave()
		if h.t.Failed() {
			h.t.Logf("log of the line of %s:\n%s", agent, a.log)
		}
		if strings.Contains(a.log.String(), "DATA RACE") {
			h.t.Errorf("the line of %s has a data race:\n%s", agent, a.log)
		}
	})
	a.ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "claude-code", "version": "2"}})
	a.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return a
}

// leave ends the line in order, and returns its exit code.
func (a *attached) leave() int {
	_ = a.in.Close()
	<-a.done
	_ = a.cmd.Wait() // the exit code is what counts
	return a.cmd.ProcessState.ExitCode()
}

func (a *attached) read(out io.Reader) {
	defer close(a.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var m struct {
			ID     int64
			Method string
			Params struct {
				event
				RequestID string `json:"request_id"`
				Behavior  string `json:"behavior"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			a.t.Errorf("the line wrote %q: %v", lines.Text(), err)
			continue
		}
		a.mu.Lock()
		switch m.Method {
		case "notifications/claude/channel":
			a.events = append(a.events, m.Params.event)
		case "notifications/claude/channel/permission":
			a.verdicts = append(a.verdicts, m.Params.RequestID+" "+m.Params.Behavior)
		case "notifications/tools/list_changed":
			a.news++
		case "":
			if answer := a.answers[m.ID]; answer != nil {
				answer <- slices.Clone(lines.Bytes())
			}
			delete(a.answers, m.ID)
		}
		a.mu.Unlock()
	}
}

func (a *attached) write(m map[string]any) {
	b, err := json.Marshal(m)
	if err != nil {
		a.t.Error(err)
	}
	if _, err := a.in.Write(append(b, '\n')); err != nil {
		a.t.Errorf("write to the line: %v", err)
	}
}

// begin sends a request, and returns where its answer comes.
func (a *attached) begin(method string, params any) <-chan json.RawMessage {
	id, answer := a.last.Add(1), make(chan json.RawMessage, 1)
	a.mu.Lock()
	a.answers[id] = answer
	a.mu.Unlock()
	a.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return answer
}

// ask sends a request and returns the answer.
func (a *attached) ask(method string, params any) json.RawMessage {
	a.t.Helper()
	select {
	case answer := <-a.begin(method, params):
		return answer
	case <-time.After(40 * time.Second):
		a.t.Fatalf("%s was not answered:\n%s", method, a.log)
		return nil
	}
}

// beginCall calls a tool.
func (a *attached) beginCall(tool string, args map[string]any) <-chan json.RawMessage {
	return a.begin("tools/call", map[string]any{"name": tool, "arguments": args})
}

// toolText is the text of the answer to a call.
func toolText(answer json.RawMessage) (text string, isError bool) {
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil || len(m.Result.Content) != 1 {
		return fmt.Sprintf("no text: %s", answer), true
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

// got returns the events so far.
func (a *attached) got() []event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// TestLineOutlivesTheHub begins a line while the hub is down: the agent is
// greeted all the same, and its call is carried out once the hub comes.
func TestLineOutlivesTheHub(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.kill()
	begin := time.Now()
	a := h.attach("deploy-bot")
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("greeted after %s", d)
	}
	tools := string(a.ask("tools/list", nil))
	answer := a.beginCall("inbox", nil)
	h.start()
	if text, isError := toolText(<-answer); isError {
		t.Errorf("the call is answered %q", text)
	}
	eventually(t, "the tools are said to have changed", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.news == 1 })
	if now := string(a.ask("tools/list", nil)); strings.Count(now, `"name"`) != strings.Count(tools, `"name"`) {
		t.Errorf("the tools without the hub are %s, those with it %s", tools, now)
	}
	h.notify("cron", "deploy-bot", "hello")
	eventually(t, "an event comes", func() bool { return len(a.got()) == 1 })
}

// TestLineWithARevokedToken ends an agent's token: it is told so at once.
func TestLineWithARevokedToken(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	secret := strings.TrimSpace(h.aldis("token", "add", "deploy-bot").stdout)
	a := h.attach("deploy-bot", "ALDIS_TOKEN="+secret)
	if text, isError := toolText(a.ask("tools/call", map[string]any{"name": "inbox"})); isError {
		t.Fatalf("with the token: %s", text)
	}
	list := h.aldis("token", "list").stdout
	id, _, _ := strings.Cut(list, "\t")
	if r := h.aldis("token", "revoke", id); r.code != 0 {
		t.Fatalf("revoke %s: %s", id, r.stderr)
	}
	begin := time.Now()
	text, isError := toolText(a.ask("tools/call", map[string]any{"name": "inbox"}))
	if !isError || !strings.Contains(text, "401") || !strings.Contains(text, "ALDIS_TOKEN") {
		t.Errorf("the call is answered %q", text)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("answered after %s", d)
	}
	eventually(t, "the log says so", func() bool { return strings.Contains(a.log.String(), "the hub refuses this line") })
	if strings.Contains(a.log.String(), secret) || strings.Contains(text, secret) {
		t.Error("the token is told")
	}
}

// TestEndOfALine ends lines as agents do: the hub hears of it at once, and what
// was not acknowledged goes to the next.
func TestEndOfALine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(a *attached)
	}{
		{"its input ends", func(a *attached) { _ = a.in.Close() }},
		{"it is asked to end", func(a *attached) {
			if runtime.GOOS == "windows" {
				a.t.Skip("a process cannot be asked to end on Windows")
			}
			if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				a.t.Error(err)
			}
			<-a.done // while its input is open
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t)
			a := h.attach("deploy-bot")
			h.awaitPresence("deploy-bot", true)
			begin := time.Now()
			tt.end(a)
			if code := a.leave(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			h.awaitPresence("deploy-bot", false)
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("the hub heard of it after %s", d)
			}
		})
	}
}

// TestPermissionOverALine asks for permission while the hub is down, and kills
// it again while the answer is under way.
func TestPermissionOverALine(t *testing.T) {
	t.Parallel()
	h, d, phone := startBobsHub(t)
	a := h.attach("ci")
	h.awaitPresence("ci", true)
	h.kill()
	a.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request", "params": map[string]string{
		"request_id": "abcde", "tool_name": "Bash", "description": "Run a command", "input_preview": `{"command":"make"}`,
	}})
	h.start()
	h.awaitReady()
	awaitSent(t, d, "make")
	told := func() []string { a.mu.Lock(); defer a.mu.Unlock(); return slices.Clone(a.verdicts) }
	phone.says("yes abcde", "")
	eventually(t, "the agent is told", func() bool { return len(told()) > 0 })
	h.kill() // before the line could say that the agent has it
	h.start()
	awaitSent(t, d, "abcde: allowed, sent to ci.")
	for _, v := range told() { // it may come again, and means the same
		if v != "abcde allow" {
			t.Errorf("told %q", v)
		}
	}
}

// TestLineThatIsCut kills the line right after an event was written: nobody can
// know that the agent has it, so the next line gets it too.
func TestLineThatIsCut(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	first := h.attach("deploy-bot")
	h.awaitPresence("deploy-bot", true)
	old := h.notify("cron", "deploy-bot", "old")
	eventually(t, "the first is acknowledged", func() bool { return h.fateOf(old) == "handed_over" })
	h.notify("cron", "deploy-bot", "new")
	eventually(t, "the second comes", func() bool { return len(first.got()) == 2 })
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	second := h.attach("deploy-bot")
	eventually(t, "it comes again", func() bool { return len(second.got()) > 0 })
	if got := contents(second.got()); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the next line got %q, want what was not acknowledged alone", got)
	}
}

// fateOf says what became of a message of a script's for its one recipient.
func (h *hub) fateOf(id string) string {
	h.t.Helper()
	var fate struct{ Recipients []struct{ State string } }
	a := h.do(http.MethodGet, "/notify/"+id, nil, bearer(token))
	if err := json.Unmarshal([]byte(a.body), &fate); err != nil || len(fate.Recipients) != 1 {
		h.t.Fatalf("GET /notify/%s: %d %s", id, a.status, a.body)
	}
	return fate.Recipients[0].State
}

// TestLineWithTheGoSDK has an agent that is the SDK's own client.
func TestLineWithTheGoSDK(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	cmd := command(t, "attach", "--hub", h.url, "--agent", "deploy-bot")
	cmd.Env = append(cmd.Env, "ALDIS_TOKEN="+token)
	changed := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if words := session.InitializeResult().Instructions; !strings.Contains(words, "deploy-bot") {
		t.Errorf("the instructions do not name the agent: %s", words)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "send_message" }) {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	h.kill()
	h.start()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send_message", Arguments: map[string]any{"content": "hello", "target": "nobody"}})
	if err != nil || r.IsError {
		t.Errorf("a call after a restart: %v, %v", r, err)
	}
	select {
	case <-changed:
	case <-ctx.Done():
		t.Error("it was not told that tools may have changed")
	}
}

// TestLineLosesNothing kills the hub twenty times while scripts write to one
// attached agent, and that to another: each message arrives once, in order.
func TestLineLosesNothing(t *testing.T) {
	t.Parallel()
	messages, kills := 2000, 20
	if testing.Short() || len(raceFlags) > 0 {
		messages, kills = 300, 4
	}
	h := startHub(t, "--rate-limit", "0", "--pair-rate", "0")
	one, two := h.attach("one"), h.attach("two")
	h.awaitPresence("one", true)
	h.awaitPresence("two", true)

	var count atomic.Int64 // of messages that were taken, either way
	var ids []string       // of what scripts posted
	var loads sync.WaitGroup
	loads.Go(func() {
		for i := range messages {
			ids = append(ids, h.notifyUntilTaken(i))
			count.Add(1)
		}
	})
	loads.Go(func() { sendAll(t, one, "two", messages, &count) })

	chance := rand.New(rand.NewPCG(1, 2))
	for k := range kills {
		at := (float64(k) + chance.Float64()) / float64(kills) * float64(2*messages)
		eventually(t, fmt.Sprintf("kill %d is due", k), func() bool { return float64(count.Load()) >= at })
		h.kill()
		time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond) // how long the hub is away is what this is about
		h.start()
	}
	loads.Wait()
	wantInOrder(t, "one", one, messages)
	wantInOrder(t, "two", two, messages)
	for i, e := range one.got() {
		if i < len(ids) && e.Meta["id"] != ids[i] {
			t.Errorf("event %d has the id %s, want %s", i, e.Meta["id"], ids[i])
		}
	}
}

// notifyUntilTaken posts message i to agent one until it is accepted, and
// returns its id.
func (h *hub) notifyUntilTaken(i int) string {
	header := bearer(token)
	header["Idempotency-Key"] = fmt.Sprint("message-", i)
	for {
		a, err := h.try(http.MethodPost, "/notify?label=cron", map[string]any{"content": fmt.Sprint(i), "target": "one"}, header)
		if err == nil && a.status == http.StatusAccepted {
			return a.object(h.t)["id"].(string)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sendAll has an attached agent send messages to another, some at a time.
func sendAll(t testing.TB, from *attached, to string, messages int, count *atomic.Int64) {
	const together = 32
	room := make(chan struct{}, together)
	var each sync.WaitGroup
	for i := range messages {
		room <- struct{}{}
		answer := from.beginCall("send_message", map[string]any{"target": to, "content": fmt.Sprint(i)})
		each.Go(func() {
			defer func() { <-room }()
			if text, isError := toolText(<-answer); isError {
				t.Errorf("message %d: %s", i, text)
			}
			count.Add(1)
		})
	}
	each.Wait()
}

// wantInOrder waits until the agent has all messages, and checks that it has
// each once and in order.
func wantInOrder(t testing.TB, name string, a *attached, messages int) {
	t.Helper()
	eventually(t, fmt.Sprintf("agent %s has %d events", name, messages), func() bool { return len(a.got()) >= messages })
	time.Sleep(2 * time.Second) // whatever might come twice
	got := a.got()
	if len(got) != messages {
		t.Errorf("agent %s got %d events, want %d", name, len(got), messages)
	}
	ids := make(map[string]bool)
	wrong := 0
	for i, e := range got {
		if ids[e.Meta["id"]] || e.Content != fmt.Sprint(i) {
			if wrong++; wrong <= 10 {
				t.Errorf("agent %s: event %d is %q with the id %s", name, i, e.Content, e.Meta["id"])
			}
		}
		ids[e.Meta["id"]] = true
	}
}
