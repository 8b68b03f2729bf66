package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/hubtest"
	"aldis/internal/mcp"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/store"
)

// An agentHTTP is the round tripper of an agent's client: it adds the agent's
// headers, and listens in on the push stream.
type agentHTTP struct {
	mu     sync.Mutex
	stream bytes.Buffer
	body   io.Closer // of the newest stream
}

func (a *agentHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+sharedToken)
	r.Header.Set("X-Signal-Agent-Id", "alice")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		a.mu.Lock()
		a.body = resp.Body
		a.mu.Unlock()
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, a), resp.Body}
	}
	return resp, err
}

func (a *agentHTTP) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.Write(b)
}

// heard returns how often text came on the streams.
func (a *agentHTTP) heard(text string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Count(a.stream.String(), text)
}

func (a *agentHTTP) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.body.Close()
}

// The official client over a real socket: it opens its stream by itself, calls
// tools, and comes back by itself with the id of the last event.
func TestOfficialClientOverHTTP(t *testing.T) {
	t.Parallel()
	h := startHub(t, setup{})
	agent := &agentHTTP{}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: h.url, HTTPClient: &http.Client{Transport: agent}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return want("state", h.states("alice"), "live") })
	first := h.says("hello agent")
	eventually(t, func() error { return want("heard", agent.heard("hello agent"), 1) })

	out, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "send", Arguments: map[string]any{"text": "hello phone"}})
	if err != nil || out.IsError {
		t.Fatalf("send: %v %+v", err, out)
	}
	if sent := h.platform.Sent(); len(sent) != 1 || sent[0].Text != "hello phone" || sent[0].Agent != "alice" {
		t.Errorf("sent %+v", sent)
	}
	h.wantFate(first.ID, "alice", "handed_over")

	agent.cut()
	eventually(t, func() error { return want("state", h.states("alice"), "away") })
	h.says("in the gap")
	eventually(t, func() error { return want("heard", agent.heard("in the gap"), 1) })
	if n := agent.heard("hello agent"); n != 1 {
		t.Errorf("the first message came %d times", n)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	eventually(t, func() error { return want("sessions", len(h.states("alice")), 0) })
}

func want(what string, got any, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w && g != "["+w+"]" {
		return fmt.Errorf("%s: %s, want %s", what, g, w)
	}
	return nil
}

// A stdioHub is aldis channel without its platform.
type stdioHub struct {
	*testHub
	done chan error // what ServeStdio returned
}

func startStdio(t testing.TB, in io.ReadCloser, out io.Writer) *stdioHub {
	t.Helper()
	record, err := store.Open(t.Context(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	h := &testHub{t: t, store: record, table: mcp.NewTable(), platform: hubtest.NewPlatform("signal")}
	n := 0
	h.relay = &relay.Relay{
		Gate: &gate.Gate{}, Routes: &route.Table{TTL: time.Hour, Max: 100, Now: time.Now},
		Sessions: h.table, Record: record, Platforms: []hub.Platform{h.platform},
		Operator: hub.Ref{Platform: "signal", Chat: operator}, Labels: relay.LabelNever,
		HoldFor: 24 * time.Hour, Log: log, Now: time.Now,
		NewID: func() hub.MessageID { n++; return hub.MessageID(fmt.Sprint("id-", n)) },
	}
	admit(h.relay)
	h.table.Mail, h.table.Store, h.table.Presence, h.table.Log = record, record, h.relay, log
	if err := h.relay.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &stdioHub{h, make(chan error, 1)}
	h.run(func(ctx context.Context) error {
		s.done <- mcp.ServeStdio(ctx, h.table, h.relay, "0.test", "channel", in, out)
		return nil
	})
	return s
}

// A listener is a transport that listens in on what a client is sent.
type listener struct {
	sdk.Transport
	sdk.Connection
	mu     sync.Mutex
	pushes []hubtest.Push
}

func (l *listener) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := l.Transport.Connect(ctx)
	l.Connection = c
	return l, err
}

func (l *listener) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "notifications/claude/channel" {
		var p hubtest.Push
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.pushes = append(l.pushes, p)
		l.mu.Unlock()
	}
	return m, err
}

func (l *listener) heard() []hubtest.Push {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pushes)
}

// onStdio runs f with the official client on a stdio channel, in virtual time.
func onStdio(t *testing.T, f func(t *testing.T, h *stdioHub, agent *listener, session *sdk.ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		stdout, out := io.Pipe()
		h := startStdio(t, in, out)
		agent := &listener{Transport: &sdk.IOTransport{Reader: stdout, Writer: stdin}}
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		pass(0)
		f(t, h, agent, session)
		_ = stdout.Close() // as when a process ends
		_ = session.Close()
	})
}

func TestStdioServesOneAgentAlone(t *testing.T) {
	onStdio(t, func(t *testing.T, h *stdioHub, agent *listener, session *sdk.ClientSession) {
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			if tool.Name == "send_message" {
				t.Error("send_message is offered: there is nobody else")
			}
		}
		out, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "send", Arguments: map[string]any{"text": "shall I?"}})
		if err != nil || out.IsError {
			t.Fatalf("send: %v %+v", err, out)
		}
		r := h.receive(hub.Message{Kind: hub.Text, Text: "yes", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		pass(800 * time.Millisecond)
		got := agent.heard()
		if len(got) != 1 || got[0].Content != "yes" {
			t.Fatalf("heard %+v", got)
		}
		meta := got[0].Meta
		if meta["in_reply_to_text"] != "shall I?" || meta["in_reply_to_timestamp"] != "1001" {
			t.Errorf("what it answers: %v", meta)
		}
		for _, key := range []string{"route_status", "routed_agent"} {
			if v, ok := meta[key]; ok {
				t.Errorf("%s is told: %q", key, v)
			}
		}
		agentID := h.table.Everybody()[0]
		if got := h.fate(r.ID, agentID); got != "waiting" {
			t.Errorf("after 0.8 s: %s", got)
		}
		pass(400 * time.Millisecond)
		if got := h.fate(r.ID, agentID); got != "handed_over" {
			t.Errorf("after 1.2 s: %s", got)
		}
		if got := h.platform.Receipts(); len(got) != 1 {
			t.Errorf("read receipts %v, want one", got)
		}
	})
}

func TestStdioEndsWithItsInput(t *testing.T) {
	onStdio(t, func(t *testing.T, h *stdioHub, agent *listener, session *sdk.ClientSession) {
		go session.CallTool(t.Context(), &sdk.CallToolParams{Name: "inbox", Arguments: map[string]any{"wait_seconds": 50}})
		pass(0)
		begin := time.Now()
		_ = agent.Transport.(*sdk.IOTransport).Writer.Close()
		select {
		case err := <-h.done:
			if err != nil {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it runs on without an input")
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("ended after %s", d)
		}
	})
}

// A client stops its server by a signal, or by closing standard input. The
// channel does not own standard input: a read of it may never return.
func TestStdioEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		h := startStdio(t, io.NopCloser(in), io.Discard)
		pass(0)
		h.stop()
		if err := <-h.done; err != nil {
			t.Errorf("ended with %v", err)
		}
		_ = stdin.Close() // the SDK still reads
	})
}

// Everything on standard output is one JSON-RPC message a line, however bad
// what comes in is.
func TestStdioOutputIsJSONRPCAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		var out lines
		h := startStdio(t, in, &out)
		say := func(format string, args ...any) {
			if _, err := fmt.Fprintf(stdin, format+"\n", args...); err != nil {
				t.Errorf("standard input: %v", err)
			}
			pass(0)
		}
		say(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
		say(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		h.says("before the client is ready")
		pass(time.Second)
		if got := out.of("notifications/claude/channel"); len(got) > 0 {
			t.Errorf("pushed before notifications/initialized: %v", got)
		}
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) // once more: nothing happens
		say(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":"abcde","tool_name":"x","description":"d","input_preview":"p"}}`)
		say(`{"jsonrpc":"2.0","method":"notifications/no/such"}`)
		say(`{"jsonrpc":"2.0","id":3,"method":"no/such"}`)
		say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"inbox","arguments":{"wait_seconds":"x"}}}`)
		h.says("line one\nline two\u2028three")
		pass(time.Second)
		if got := out.of("notifications/claude/channel"); len(got) != 2 {
			t.Errorf("%d events, want 2: %v", len(got), got)
		}
		if !strings.Contains(out.all(), `"protocolVersion":"2025-11-25"`) || !strings.Contains(out.all(), "-32601") {
			t.Errorf("answers: %s", out.all())
		}
		for line := range strings.Lines(out.all()) {
			if _, err := jsonrpc.DecodeMessage([]byte(line)); err != nil || !strings.HasSuffix(line, "\n") {
				t.Errorf("no message: %q: %v", line, err)
			}
		}
		_ = stdin.Close()
		if err := <-h.done; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// lines collects what is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) of(method string) (found []string) {
	for line := range strings.Lines(l.all()) {
		if strings.Contains(line, `"method":"`+method+`"`) {
			found = append(found, line)
		}
	}
	return found
}

// An agent that does not read its pipe for a while loses nothing, and one that
// has closed it does not keep the channel busy.
func TestStdioAgentThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		stdout, out := io.Pipe()
		h := startStdio(t, in, out)
		agent := &listener{Transport: &sdk.IOTransport{Reader: gated(t, stdout), Writer: stdin}}
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		pass(0)
		const n = 900 // 5 MB, more than the queue holds
		for i := range n {
			h.says(fmt.Sprint("n", i, strings.Repeat("x", 6000)))
		}
		pass(time.Minute)
		seen := map[string]bool{}
		for _, p := range agent.heard() {
			seen[p.Content] = true
		}
		if len(seen) != n {
			t.Errorf("%d of %d came", len(seen), n)
		}
		_ = stdout.Close()
		h.says("nobody reads this")
		pass(time.Minute)
		_ = session.Close()
		if err := <-h.done; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// gated returns a reader that sleeps for a second now and then.
func gated(t *testing.T, r io.ReadCloser) io.ReadCloser {
	t.Helper()
	n := 0
	return struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		if n++; n%200 == 0 {
			time.Sleep(time.Second)
		}
		return r.Read(p[:min(len(p), 4096)])
	}), r}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
