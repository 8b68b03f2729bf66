package attach_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/attach"
	"aldis/internal/hubtest"
)

const (
	ownWelcome = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"of the line"}`
	ownTools   = `{"tools":[{"name":"of the line"}]}`
)

// An agent is a client that started aldis attach, in virtual time.
type agent struct {
	t     *testing.T
	hub   *hubtest.Hub
	in    *io.PipeWriter
	leave func() error // closes in, and returns what Run does

	busy chan struct{} // cap 1; full while it reads nothing
	mu   sync.Mutex
	said []message // by the line
}

type message struct {
	ID     any
	Method string
	Params struct {
		Content   string
		Meta      map[string]string
		RequestID string `json:"request_id"`
		Behavior  string
	}
	Result struct {
		ProtocolVersion string
		Capabilities    struct {
			Tools        struct{ ListChanged bool }
			Experimental map[string]any
		}
		Instructions string
		Tools        []struct{ Name string }
		Content      []struct{ Text string }
		IsError      bool
		Of           string
	}
	Error struct {
		Code    int
		Message string
	}
}

// inBubble runs f with an agent, a line and a hub.
func inBubble(t *testing.T, f func(a *agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f(start(t, hubtest.NewHub(t)))
	})
}

func start(t *testing.T, h *hubtest.Hub) *agent {
	t.Helper()
	return startOver(t, h, h.Dial)
}

// startOver is start with connections that dial makes.
func startOver(t *testing.T, h *hubtest.Hub, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *agent {
	in, agentIn := io.Pipe()
	agentOut, out := io.Pipe()
	a := &agent{t: t, hub: h, in: agentIn, busy: make(chan struct{}, 1)}
	l := &attach.Line{
		Hub: "http://hub.test", Token: "sesame", Agent: "deploy-bot", Version: "1", Log: slog.New(slog.DiscardHandler),
		Initialize: json.RawMessage(ownWelcome), Tools: json.RawMessage(ownTools), Dial: dial,
	}
	ended := make(chan error, 1)
	go func() {
		err := l.Run(context.Background(), in, out)
		_ = out.Close()
		ended <- err
	}()
	go a.read(agentOut)
	a.leave = sync.OnceValue(func() error {
		_ = agentIn.Close()
		return <-ended
	})
	t.Cleanup(func() { _ = a.leave() })
	return a
}

func (a *agent) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		a.busy <- struct{}{}
		<-a.busy
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			a.t.Errorf("the line wrote %q: %v", lines.Text(), err)
		}
		a.mu.Lock()
		a.said = append(a.said, m)
		a.mu.Unlock()
	}
}

// writes has the agent write a line, and lets all settle that takes no time.
func (a *agent) writes(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
	synctest.Wait()
}

func (a *agent) asks(id any, method, params string) {
	a.t.Helper()
	a.writes(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params))
}

func (a *agent) tells(method, params string) {
	a.t.Helper()
	a.writes(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

func (a *agent) calls(id any, tool string) {
	a.t.Helper()
	a.asks(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"n":%v}}`, tool, id))
}

// begins initializes, and takes what is answered.
func (a *agent) begins() {
	a.t.Helper()
	a.asks(0, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}`)
	pass(time.Second)
	a.tells("notifications/initialized", "{}")
	a.heard()
}

// heard returns what the line has said since the last time.
func (a *agent) heard() []message {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.said
	a.said = nil
	return said
}

// one returns the only thing that the line has said.
func (a *agent) one() message {
	a.t.Helper()
	said := a.heard()
	if len(said) != 1 {
		a.t.Fatalf("the line said %+v, want one thing", said)
	}
	return said[0]
}

// contents are the events among what the line said.
func contents(said []message) []string {
	all := []string{}
	for _, m := range said {
		if m.Method == "notifications/claude/channel" {
			all = append(all, m.Params.Content)
		}
	}
	return all
}

// pass lets virtual time pass, and all settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestInitializeIsAnsweredWhileTheHubIsDown(t *testing.T) {
	for _, tt := range []struct{ asked, want string }{
		{"2025-11-25", "2025-11-25"},
		{"2025-06-18", "2025-06-18"},
		{"2025-03-26", "2025-03-26"},
		{"2024-11-05", "2024-11-05"},
		{"2026-07-28", "2025-11-25"},
		{"", "2025-11-25"},
	} {
		t.Run(tt.asked, func(t *testing.T) {
			inBubble(t, func(a *agent) {
				a.hub.Down()
				a.asks(1, "initialize", `{"protocolVersion":"`+tt.asked+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
				got := a.one().Result // without any time passing
				if got.ProtocolVersion != tt.want || got.Instructions != "of the line" || !got.Capabilities.Tools.ListChanged {
					t.Errorf("answered %+v", got)
				}
				a.tells("notifications/initialized", "{}")
				a.asks(2, "tools/list", "{}")
				if got := a.one().Result.Tools; len(got) != 1 || got[0].Name != "of the line" {
					t.Errorf("tools are %+v", got)
				}
				a.asks(`"p"`, "ping", "{}")
				if got := a.one(); got.ID != "p" || got.Error.Code != 0 {
					t.Errorf("ping is answered %+v", got)
				}
			})
		})
	}
}

func TestInitializeWaitsASecondForTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startOver(t, hubtest.NewHub(t), func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done() // as where packets are dropped
			return nil, ctx.Err()
		})
		a.asks(1, "initialize", `{"protocolVersion":"2025-11-25"}`)
		pass(999 * time.Millisecond)
		if said := a.heard(); len(said) != 0 {
			t.Errorf("said %+v", said)
		}
		pass(time.Millisecond)
		if got := a.one().Result; got.Instructions != "of the line" {
			t.Errorf("answered %+v", got)
		}
	})
}

func TestInitializeComesFirst(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.calls(1, "send")
		if got := a.one(); got.Error.Code != jsonrpc.CodeInvalidRequest {
			t.Errorf("answered %+v", got)
		}
	})
}

func TestInitializeHasTheHubsWords(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.asks(1, "initialize", `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}`)
		got := a.one().Result
		if got.ProtocolVersion != "2025-03-26" || got.Instructions != "of the hub" || got.Capabilities.Experimental["claude/channel"] == nil || !got.Capabilities.Tools.ListChanged {
			t.Errorf("answered %+v", got)
		}
		inits := a.hub.Requests("initialize")
		if len(inits) != 1 || !strings.Contains(string(inits[0].Params), `"aldis/attach":{}`) || !strings.Contains(string(inits[0].Params), `"name":"claude-code"`) {
			t.Errorf("the hub was asked %s", inits[0].Params)
		}
		h := a.hub.Header()
		if h.Get("Authorization") != "Bearer sesame" || h.Get("X-Signal-Agent-Id") != "deploy-bot" || h.Get("Mcp-Protocol-Version") != "2025-06-18" {
			t.Errorf("headers: %v", h)
		}
	})
}

func TestWhatIsAnsweredWithoutTheHub(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		code       int
	}{
		{"no JSON", `{"jsonrpc"`, jsonrpc.CodeParseError},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, jsonrpc.CodeParseError},
		{"another protocol's beginning", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, jsonrpc.CodeMethodNotFound},
		{"a call without params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, jsonrpc.CodeInvalidParams},
		{"a call without a name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, jsonrpc.CodeInvalidParams},
		{"a call with a strange _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":7}}`, jsonrpc.CodeInvalidParams},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(a *agent) {
				a.begins()
				a.writes(tt.line)
				if got := a.one(); got.Error.Code != tt.code {
					t.Errorf("answered %+v, want error %d", got, tt.code)
				}
			})
		})
	}
}

func TestCallIsHeldUntilTheHubComes(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Answer = echo
		a.hub.Down()
		a.begins()
		a.calls(7, "send")
		pass(20 * time.Second)
		if said := a.heard(); len(said) != 0 {
			t.Fatalf("answered %+v before the hub came", said)
		}
		a.hub.Up()
		pass(10 * time.Second)
		said := a.heard() // in either order
		changed := slices.IndexFunc(said, func(m message) bool { return m.Method == "notifications/tools/list_changed" })
		answer := slices.IndexFunc(said, func(m message) bool { return m.ID == 7.0 && m.Result.Of == "send 7" })
		if len(said) != 2 || changed < 0 || answer < 0 {
			t.Errorf("said %+v", said)
		}
	})
}

// echo answers a call with the tool's name and its argument n.
func echo(req *jsonrpc.Request) *jsonrpc.Response {
	var p struct {
		Name      string
		Arguments struct{ N int }
	}
	_ = json.Unmarshal(req.Params, &p)
	result, _ := json.Marshal(map[string]string{"of": fmt.Sprint(p.Name, " ", p.Arguments.N)})
	return &jsonrpc.Response{ID: req.ID, Result: result}
}

func TestCallThatWaitedInVainSaysWhatBecameOfIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		sent bool
		want string
	}{
		{"never sent", false, "It was not carried out."},
		{"sent once", true, "It may have been carried out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(a *agent) {
				a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
					if req.IsCall() {
						go a.hub.Down()
						return nil
					}
					return &jsonrpc.Response{ID: req.ID}
				}
				if !tt.sent {
					a.hub.Down()
				}
				a.begins()
				a.calls(7, "send")
				pass(29 * time.Second)
				if said := a.heard(); len(said) != 0 {
					t.Fatalf("answered %+v before 30 s were over", said)
				}
				pass(2 * time.Second)
				got := a.one().Result
				if !got.IsError || !strings.Contains(got.Content[0].Text, tt.want) || !strings.Contains(got.Content[0].Text, "http://hub.test is not reachable") {
					t.Errorf("answered %+v", got)
				}
			})
		})
	}
}

func TestCallIsRepeatedUnderTheSameKey(t *testing.T) {
	inBubble(t, func(a *agent) {
		broken := 0
		a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
			if req.Method == "tools/call" && broken < 3 {
				broken++
				return nil
			}
			return echo(req)
		}
		a.begins()
		a.asks(7, "tools/call", `{"name":"send","arguments":{"n":7},"_meta":{"progressToken":"p"}}`)
		pass(10 * time.Second)
		if got := a.one(); got.Result.Of != "send 7" {
			t.Errorf("answered %+v", got)
		}
		a.calls(8, "send")
		calls := a.hub.Requests("tools/call")
		if len(calls) != 5 {
			t.Fatalf("%d calls came, want 4 of one and 1 of another", len(calls))
		}
		first, second := keyOf(t, calls[0]), keyOf(t, calls[4])
		for _, c := range calls[:4] {
			if keyOf(t, c) != first || !strings.Contains(string(c.Params), `"progressToken":"p"`) {
				t.Errorf("repeated as %s", c.Params)
			}
		}
		if first == "" || first == second {
			t.Errorf("keys of two calls are %q and %q", first, second)
		}
	})
}

func keyOf(t *testing.T, req *jsonrpc.Request) string {
	t.Helper()
	var p struct {
		Meta map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(req.Params, &p); err != nil {
		t.Fatal(err)
	}
	key, _ := p.Meta["aldis/key"].(string)
	return key
}

func TestCallsWithAnEffectKeepTheirOrder(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
			time.Sleep(time.Second) // so long that they would run together
			return echo(req)
		}
		a.begins()
		pass(2 * time.Second) // the greeting takes a second too
		a.calls(1, "send")
		a.calls(2, "send_message")
		a.calls(3, "inbox")
		a.calls(4, "inbox")
		for i, want := range [][]string{{"send 1", "inbox 3", "inbox 4"}, {"send_message 2"}} {
			pass(time.Second)
			got := []string{}
			for _, m := range a.heard() {
				got = append(got, m.Result.Of)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("after %d s: %q, want %q", i+1, got, want)
			}
		}
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Down()
		a.begins()
		for i := range 64 {
			a.calls(i, []string{"send", "inbox"}[i%2])
		}
		if said := a.heard(); len(said) != 0 {
			t.Fatalf("said %+v", said)
		}
		a.calls(64, "send")
		if got := a.one(); got.ID != 64.0 || !got.Result.IsError {
			t.Errorf("the 65th is answered %+v", got)
		}
		a.hub.Up()
		pass(20 * time.Second)
		if said := a.heard(); len(said) != 65 { // with list_changed
			t.Errorf("%d answers in the end", len(said))
		}
	})
}

func TestRequestIDIsInUseOnce(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Down()
		a.begins()
		a.calls(1, "send")
		a.calls(1, "send")
		if got := a.one(); got.Error.Code != jsonrpc.CodeInvalidRequest {
			t.Errorf("answered %+v", got)
		}
	})
}

func TestCancelledCallIsAnsweredNoMore(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
			if req.Method == "tools/call" {
				time.Sleep(5 * time.Second)
			}
			return echo(req)
		}
		a.begins()
		a.calls(1, "inbox") // under way
		a.calls(2, "send")  // under way
		a.calls(3, "send")  // waits for its turn
		for _, id := range []string{"1", "3"} {
			a.tells("notifications/cancelled", `{"requestId":`+id+`}`)
		}
		pass(20 * time.Second)
		if got := a.one(); got.ID != 2.0 {
			t.Errorf("answered %+v", got)
		}
		if n := len(a.hub.Requests("notifications/cancelled")); n != 2 {
			t.Errorf("%d cancellations came, want 2", n)
		}
		if n := len(a.hub.Requests("tools/call")); n != 2 {
			t.Errorf("%d calls came, want 2", n)
		}
	})
}

func TestRefusalIsToldAtOnce(t *testing.T) {
	for _, status := range []int{400, 401, 403} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, func(a *agent) {
				a.begins()
				a.hub.Refuse(status, "that token was revoked")
				a.calls(1, "send") // on the stream's session
				got := a.one().Result
				if !got.IsError || !strings.Contains(got.Content[0].Text, "that token was revoked") {
					t.Errorf("answered %+v", got)
				}
				a.hub.Down()
				a.hub.Up()
				pass(5 * time.Second) // no stream either
				a.calls(2, "send")
				if got := a.one().Result; !got.IsError || !strings.Contains(got.Content[0].Text, "that token was revoked") {
					t.Errorf("answered %+v", got)
				}
				a.hub.Refuse(0, "")
				pass(20 * time.Second)
				a.heard()
				a.calls(3, "send")
				if got := a.one().Result; got.IsError {
					t.Errorf("answered %+v once the hub had thought better of it", got)
				}
			})
		})
	}
}
