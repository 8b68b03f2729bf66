package hubtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A Client is an agent's MCP client over HTTP that hides nothing: a test sees
// each status, header and event, and can misbehave. Each request has a
// connection of its own. A connection that breaks ends the test.
type Client struct {
	// May be changed between requests.
	URL     string // of the hub's /mcp
	Token   string // empty: none is sent
	Agent   string // X-Signal-Agent-Id; empty: not sent
	Label   string // ?label=; empty: not sent
	Name    string // clientInfo.name
	Version string // of the protocol
	Session string // Mcp-Session-Id; Initialize sets it

	// Dial makes a connection to the hub. Nil: TCP to the host in URL.
	Dial func(context.Context) (net.Conn, error)

	t    testing.TB
	last atomic.Int64 // request id
}

// NewClient returns a client of the hub at url, which ends in /mcp.
func NewClient(t testing.TB, url, token string) *Client {
	return &Client{URL: url, Token: token, Name: "hubtest", Version: "2025-11-25", t: t}
}

// An Answer is what an HTTP request was answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// A Reply is what a JSON-RPC request was answered.
type Reply struct {
	Status int
	Result json.RawMessage
	Error  *ReplyError
}

// A ReplyError is a JSON-RPC error.
type ReplyError struct {
	Code    int
	Message string
}

// Do sends a request with the client's headers, and then those in header,
// pairs of name and value; an empty value takes a header away.
func (c *Client) Do(ctx context.Context, method, body string, header ...string) Answer {
	c.t.Helper()
	r := c.request(method, body, header...)
	r.Close = true
	a, err := c.exchange(ctx, r)
	if err != nil && ctx.Err() == nil {
		c.t.Fatalf("%s %s: %v", method, r.URL, err)
	}
	return a
}

func (c *Client) request(method, body string, header ...string) *http.Request {
	c.t.Helper()
	u, err := url.Parse(c.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.Label != "" {
		u.RawQuery = url.Values{"label": {c.Label}}.Encode()
	}
	r, err := http.NewRequest(method, u.String(), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	pairs := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	if c.Token != "" {
		pairs = append(pairs, "Authorization", "Bearer "+c.Token)
	}
	if c.Session != "" {
		pairs = append(pairs, "Mcp-Session-Id", c.Session, "Mcp-Protocol-Version", c.Version)
	}
	pairs = append(pairs, "X-Signal-Agent-Id", c.Agent)
	pairs = append(pairs, header...)
	for i := 0; i < len(pairs); i += 2 {
		switch {
		case pairs[i+1] == "":
			r.Header.Del(pairs[i])
		case pairs[i] == "Host":
			r.Host = pairs[i+1]
		case pairs[i] == "Transfer-Encoding":
			r.TransferEncoding, r.ContentLength = []string{pairs[i+1]}, -1
		default:
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
	return r
}

// exchange sends r while it waits for the answer: a server may refuse what it
// has not read to its end.
func (c *Client) exchange(ctx context.Context, r *http.Request) (Answer, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return Answer{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = r.Write(conn) // what is not taken shows in the answer
	}()
	defer func() {
		_ = conn.Close()
		<-written
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return Answer{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, body}, err
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp", u.Host)
}

// Initialize begins a session, whatever comes of it.
func (c *Client) Initialize(header ...string) Answer {
	c.t.Helper()
	c.Session = ""
	a := c.Do(context.Background(), "POST", c.rpc("initialize", map[string]any{
		"protocolVersion": c.Version, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": c.Name, "version": "1"},
	}), header...)
	if a.Status == http.StatusOK {
		c.Session = a.Header.Get("Mcp-Session-Id")
	}
	return a
}

// Connect begins a session as clients do, and returns c.
func (c *Client) Connect() *Client {
	c.t.Helper()
	if a := c.Initialize(); a.Status != http.StatusOK || c.Session == "" {
		c.t.Fatalf("initialize: %d %s", a.Status, a.Body)
	}
	if status := c.Notify("notifications/initialized", nil); status != http.StatusAccepted {
		c.t.Fatalf("notifications/initialized: %d", status)
	}
	return c
}

// rpc returns a request with the client's next id.
func (c *Client) rpc(method string, params any) string {
	c.t.Helper()
	return c.encode(map[string]any{"jsonrpc": "2.0", "id": c.last.Add(1), "method": method, "params": params})
}

func (c *Client) encode(m map[string]any) string {
	c.t.Helper()
	if m["params"] == nil {
		delete(m, "params")
	}
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// LastRequest returns the id of the newest request that was begun.
func (c *Client) LastRequest() int64 { return c.last.Load() }

// Notify sends a notification and returns the status.
func (c *Client) Notify(method string, params any) int {
	c.t.Helper()
	return c.Do(context.Background(), "POST", c.encode(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})).Status
}

// Call sends a request. What is no answer of JSON-RPC has a Status alone.
func (c *Client) Call(method string, params any) Reply {
	c.t.Helper()
	return c.CallContext(context.Background(), method, params)
}

// CallContext is Call, hung up on when ctx ends: then the Reply is zero.
func (c *Client) CallContext(ctx context.Context, method string, params any) Reply {
	c.t.Helper()
	a := c.Do(ctx, "POST", c.rpc(method, params))
	r := Reply{Status: a.Status}
	if a.Status == http.StatusOK {
		if err := json.Unmarshal(a.Body, &r); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, a.Body)
		}
	}
	return r
}

// A ToolResult is what a tool answered: text alone, in one piece.
type ToolResult struct {
	Text    string
	IsError bool
}

// Tool calls a tool, and ends the test unless there is a result.
func (c *Client) Tool(name string, args any) ToolResult {
	c.t.Helper()
	return c.ToolContext(context.Background(), name, args)
}

// ToolContext is Tool, hung up on when ctx ends: then the result is zero.
func (c *Client) ToolContext(ctx context.Context, name string, args any) ToolResult {
	c.t.Helper()
	r := c.CallContext(ctx, "tools/call", map[string]any{"name": name, "arguments": args})
	if ctx.Err() != nil {
		return ToolResult{}
	}
	out, err := parseTool(r)
	if err != nil {
		c.t.Fatalf("tool %s: %v", name, err)
	}
	return out
}

func parseTool(r Reply) (ToolResult, error) {
	if r.Error != nil || r.Status != http.StatusOK {
		return ToolResult{}, fmt.Errorf("status %d, error %+v", r.Status, r.Error)
	}
	var v struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal(r.Result, &v); err != nil {
		return ToolResult{}, err
	}
	if len(v.Content) != 1 || v.Content[0].Type != "text" || bytes.Contains(r.Result, []byte("structuredContent")) {
		return ToolResult{}, fmt.Errorf("not one text alone: %s", r.Result)
	}
	return ToolResult{v.Content[0].Text, v.IsError}, nil
}
