package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// An agent is a raw MCP client that behaves as Claude Code was seen to: it
// keeps its session, opens its stream again a second after that ended, with
// Last-Event-ID, and never deletes anything.
type agent struct {
	t       testing.TB
	hub     *hub
	options agentOptions
	session string
	next    int // id of the next request
	leave   context.CancelFunc
	left    sync.WaitGroup

	mu      sync.Mutex
	events  []event
	opened  int    // how many streams were
	last    string // id of the last event
	retry   int    // milliseconds, as the hub said last
	refused []int  // statuses of streams that were not opened
}

// agentOptions say how an agent connects. The zero value has no name.
type agentOptions struct {
	header string // X-Signal-Agent-Id
	label  string // ?label=
	token  string // empty: the shared one
	client string // clientInfo.name; empty: "test"
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
	if o.token == "" {
		o.token = token
	}
	if o.client == "" {
		o.client = "test"
	}
	a := &agent{t: h.t, hub: h, options: o, leave: func() {}}
	first := a.post("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": o.client, "version": "1"},
	}, false)
	if a.session = first.header.Get("Mcp-Session-Id"); first.status != http.StatusOK || a.session == "" {
		h.t.Fatalf("initialize: %d %s", first.status, first.body)
	}
	if r := a.post("notifications/initialized", nil, true); r.status != http.StatusAccepted {
		h.t.Fatalf("notifications/initialized: %d %s", r.status, r.body)
	}
	if o.deaf {
		return a
	}
	a.join()
	h.t.Cleanup(a.disconnect)
	eventually(h.t, "the stream opens", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.opened > 0 })
	if name := o.header + o.label; name != "" {
		h.awaitPresence(name, true)
	}
	return a
}

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

// post sends a request or, as a notification, one that has no answer.
func (a *agent) post(method string, params any, notification bool) answer {
	a.t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	if !notification {
		a.next++
		m["id"] = a.next
	}
	return a.hub.do(http.MethodPost, a.path(), m, a.header())
}

func (a *agent) path() string {
	if a.options.label == "" {
		return "/mcp"
	}
	return "/mcp?label=" + url.QueryEscape(a.options.label)
}

func (a *agent) header() map[string]string {
	h := bearer(a.options.token)
	h["Accept"] = "application/json, text/event-stream"
	if a.options.header != "" {
		h["X-Signal-Agent-Id"] = a.options.header
	}
	if a.session != "" {
		h["Mcp-Session-Id"] = a.session
		h["Mcp-Protocol-Version"] = "2025-11-25"
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

func (a *agent) callRaw(tool string, args map[string]any) (text string, isError bool) {
	a.t.Helper()
	r := a.post("tools/call", map[string]any{"name": tool, "arguments": args}, false)
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &m); err != nil || r.status != http.StatusOK {
		a.t.Fatalf("call %s: %d %s", tool, r.status, r.body)
	}
	if m.Error != nil {
		return m.Error.Message, true
	}
	for _, c := range m.Result.Content {
		text += c.Text
	}
	return text, m.Result.IsError
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
		Params event
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil || m.Method != "notifications/claude/channel" {
		a.t.Errorf("strange event %q: %v", data, err)
		return
	}
	a.events = append(a.events, m.Params)
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
	eventually(a.t, fmt.Sprintf("%s has %d events", a.options.header+a.options.label, n), func() bool { return len(a.got()) >= n })
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
