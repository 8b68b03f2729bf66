package test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// An agent is a raw MCP client that behaves as Claude Code was seen to: it
// keeps its session, opens its stream again a second after that ended, with
// Last-Event-ID, and never deletes anything.
type agent struct {
	*hubtest.Client
	t     testing.TB
	hub   *hub
	leave context.CancelFunc
	left  sync.WaitGroup

	mu       sync.Mutex
	events   []event
	verdicts []string // "request_id behavior"
	opened   int      // how many streams were
	last     string   // id of the last event
	retry    int      // milliseconds, as the hub said last
	refused  []int    // statuses of streams that were not opened
}

// agentOptions say how an agent connects. The zero value has no name.
type agentOptions struct {
	header string // X-Signal-Agent-Id
	label  string // ?label=
	token  string // empty: the shared one
	client string // clientInfo.name; empty: that of hubtest
	deaf   bool   // opens no stream
}

// An event is one notifications/claude/channel.
type event struct {
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`
}

// connect joins the hub as a named agent, and waits until it counts as present.
func (h *hub) connect(name string) *agent {
	h.t.Helper()
	return h.connectAs(agentOptions{header: name})
}

// connectAs joins the hub. With a name and a stream it waits until the hub
// counts the agent as present.
func (h *hub) connectAs(o agentOptions) *agent {
	h.t.Helper()
	a := h.agent(o)
	a.Connect()
	if o.deaf {
		return a
	}
	a.join()
	h.t.Cleanup(a.disconnect)
	eventually(h.t, "the stream opens", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.opened > 0 })
	if name := a.name(); name != "" {
		h.awaitPresence(name, true)
	}
	return a
}

// agent returns one that has not joined the hub yet.
func (h *hub) agent(o agentOptions) *agent {
	a := &agent{Client: hubtest.NewClient(h.t, h.url+"/mcp", cmp.Or(o.token, token)), t: h.t, hub: h, leave: func() {}}
	a.Agent, a.Label, a.Name = o.header, o.label, cmp.Or(o.client, a.Name)
	return a
}

func (a *agent) name() string { return a.Agent + a.Label }

// join opens the stream, and keeps it open.
func (a *agent) join() {
	ctx, leave := context.WithCancel(context.Background())
	a.leave = leave
	a.left.Go(func() { a.listen(ctx) })
}

// disconnect closes the stream, as a client that ends does.
func (a *agent) disconnect() {
	a.leave()
	a.left.Wait()
}

// header is what goes with each request of the session.
func (a *agent) header() map[string]string {
	h := bearer(a.Token)
	h["Accept"] = "application/json, text/event-stream"
	h["Mcp-Session-Id"], h["Mcp-Protocol-Version"] = a.Session, a.Version
	if a.Agent != "" {
		h["X-Signal-Agent-Id"] = a.Agent
	}
	return h
}

// call calls a tool and returns its text. An error of the tool ends the test.
func (a *agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	text, isError := a.callRaw(tool, args)
	if isError {
		a.t.Fatalf("%s: %s", tool, text)
	}
	return text
}

// callRaw is call for when an error may come, of the tool or of the protocol.
func (a *agent) callRaw(tool string, args map[string]any) (text string, isError bool) {
	a.t.Helper()
	r := a.Call("tools/call", map[string]any{"name": tool, "arguments": args})
	if r.Error != nil {
		return r.Error.Message, true
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Content) != 1 {
		a.t.Fatalf("call %s: status %d, %s, %v", tool, r.Status, r.Result, err)
	}
	return result.Content[0].Text, result.IsError
}

// reopenAfter is how long Claude Code waits before it opens its stream again.
const reopenAfter = time.Second

// listen keeps a stream open. It gives up where Claude Code would: when the
// hub refuses one.
func (a *agent) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if refused := a.stream(ctx); refused {
			return
		}
		select {
		case <-time.After(reopenAfter):
		case <-ctx.Done():
		}
	}
}

func (a *agent) stream(ctx context.Context) (refused bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.hub.url+"/mcp", nil)
	if err != nil {
		return true
	}
	for k, v := range a.header() {
		req.Header.Set(k, v)
	}
	a.mu.Lock()
	if a.last != "" {
		req.Header.Set("Last-Event-ID", a.last)
	}
	a.mu.Unlock()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.refused = append(a.refused, resp.StatusCode)
		return true
	}
	a.mu.Lock()
	a.opened++
	a.mu.Unlock()
	a.read(bufio.NewReader(resp.Body))
	return false
}

// read takes server-sent events until the stream ends (WHATWG HTML, section
// 9.2). What has not come whole does not count.
func (a *agent) read(r *bufio.Reader) {
	var id, data string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "data":
			data = value
		case "retry":
			a.mu.Lock()
			a.retry, _ = strconv.Atoi(value)
			a.mu.Unlock()
		case "":
			a.take(id, data)
			id, data = "", ""
		}
	}
}

func (a *agent) take(id, data string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id != "" {
		a.last = id
	}
	if data == "" {
		return
	}
	var m struct {
		Method string
		Params struct {
			event
			RequestID string `json:"request_id"`
			Behavior  string `json:"behavior"`
		}
	}
	err := json.Unmarshal([]byte(data), &m)
	switch {
	case err == nil && m.Method == "notifications/claude/channel":
		a.events = append(a.events, m.Params.event)
	case err == nil && m.Method == "notifications/claude/channel/permission":
		a.verdicts = append(a.verdicts, m.Params.RequestID+" "+m.Params.Behavior)
	default:
		a.t.Errorf("strange event %q: %v", data, err)
	}
}

// asksFor asks for permission to use a tool, as Claude Code does.
func (a *agent) asksFor(request, command string) {
	a.t.Helper()
	status := a.Notify("notifications/claude/channel/permission_request", map[string]string{
		"request_id": request, "tool_name": "Bash", "description": "Run a command", "input_preview": fmt.Sprintf(`{"command":%q}`, command),
	})
	if status != http.StatusAccepted {
		a.t.Fatalf("a request for permission is answered %d", status)
	}
}

// told returns the verdicts so far.
func (a *agent) told() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.verdicts)
}

// got returns the events so far.
func (a *agent) got() []event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// await waits until there are n events, and returns them.
func (a *agent) await(n int) []event {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("%s has %d events", a.name(), n), func() bool { return len(a.got()) >= n })
	return a.got()
}

// contents returns what the events say.
func contents(events []event) []string {
	all := make([]string, len(events))
	for i, e := range events {
		all[i] = e.Content
	}
	return all
}
