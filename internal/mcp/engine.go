package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// versions are the protocol versions spoken here. 2026-07-28 has neither
// sessions nor a stream, so nothing could be pushed.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// An engine has the SDK answer requests. Since a session here is a row and a
// cursor, the SDK need not know of it: one SDK session for each protocol
// version answers for everybody, and who calls comes along with the request.
// So a session costs the SDK nothing, and there is nothing to restore.
type engine struct {
	server *mcp.Server
	ctx    context.Context // what calls run under

	mu    sync.Mutex
	lines map[string]*line // by protocol version
}

// A call is one request of a session on its way through the SDK.
type call struct {
	session *session
	key     string    // see flight; empty: it is carried out as often as it comes
	record  hub.Calls // that knows the key

	mu    sync.Mutex
	ended bool
	hopes []func(written bool)
}

// afterwards has f called once, when the answer was written or can't be any
// more: the client has gone, or has cancelled the call.
func (c *call) afterwards(f func(written bool)) {
	c.mu.Lock()
	ended := c.ended
	if !ended {
		c.hopes = append(c.hopes, f)
	}
	c.mu.Unlock()
	if ended {
		f(false)
	}
}

// end notes what became of the answer. Only the first word counts.
func (c *call) end(written bool) {
	c.mu.Lock()
	fs := c.hopes
	c.ended, c.hopes = true, nil
	c.mu.Unlock()
	for _, f := range fs {
		f(written)
	}
}

// callOf returns the call that a tool handler serves.
func callOf(req *mcp.CallToolRequest) *call {
	return req.Extra.TokenInfo.Extra["call"].(*call)
}

// extra is how a call travels through the SDK.
func (c *call) extra() *mcp.RequestExtra {
	return &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{"call": c}}}
}

// do has the SDK answer req, in the given protocol version.
func (e *engine) do(ctx context.Context, version string, req *jsonrpc.Request, c *call) (*jsonrpc.Response, error) {
	l, err := e.line(version)
	if err != nil {
		return nil, err
	}
	return l.call(ctx, req, c.extra())
}

func (e *engine) line(version string) (*line, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.lines[version]; l != nil {
		return l, nil
	}
	l := newLine()
	state := &mcp.ServerSessionState{
		InitializeParams:          &mcp.InitializeParams{ProtocolVersion: version, ClientInfo: &mcp.Implementation{Name: "everybody"}},
		InitializedParams:         &mcp.InitializedParams{},
		NegotiatedProtocolVersion: version,
	}
	if _, err := e.server.Connect(e.ctx, l, &mcp.ServerSessionOptions{State: state}); err != nil {
		return nil, fmt.Errorf("start the SDK for protocol %s: %w", version, err)
	}
	if e.lines == nil {
		e.lines = make(map[string]*line)
	}
	e.lines[version] = l
	return l, nil
}

// initialize has the SDK answer an initialize, and returns the protocol
// version that was agreed.
func (e *engine) initialize(ctx context.Context, req *jsonrpc.Request) (resp *jsonrpc.Response, version string, err error) {
	l := newLine()
	ss, err := e.server.Connect(e.ctx, l, nil)
	if err != nil {
		return nil, "", fmt.Errorf("start the SDK: %w", err)
	}
	defer ss.Close()
	resp, err = l.call(ctx, req, nil)
	if err != nil || resp.Error != nil {
		return resp, "", err
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(resp.Result, &result); err != nil {
		return nil, "", fmt.Errorf("read the answer to initialize: %w", err)
	}
	return resp, result.ProtocolVersion, nil
}

// close ends the SDK's sessions: it reads from a line until that is closed.
func (e *engine) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lines {
		_ = l.Close()
	}
}

// A line is an [mcp.Connection] whose far end is a method call.
type line struct {
	in   chan jsonrpc.Message
	done chan struct{}
	once sync.Once

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *jsonrpc.Response
}

func newLine() *line {
	return &line{in: make(chan jsonrpc.Message), done: make(chan struct{}), waiting: make(map[int64]chan *jsonrpc.Response)}
}

// call sends req under an id of the line's own, and waits for the answer. When
// ctx ends first, the SDK is told to cancel, and the cause is returned.
func (l *line) call(ctx context.Context, req *jsonrpc.Request, extra *mcp.RequestExtra) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	l.mu.Lock()
	l.last++
	n := l.last
	l.waiting[n] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, n)
		l.mu.Unlock()
	}()
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil, fmt.Errorf("number a request: %w", err)
	}
	inner := &jsonrpc.Request{ID: id, Method: req.Method, Params: req.Params}
	if extra != nil {
		inner.Extra = extra
	}
	if err := l.put(inner); err != nil {
		return nil, err
	}
	select {
	case resp := <-answer:
		return &jsonrpc.Response{ID: req.ID, Result: resp.Result, Error: resp.Error}, nil
	case <-l.done:
		return nil, io.ErrClosedPipe
	case <-ctx.Done():
	}
	params, _ := json.Marshal(map[string]any{"requestId": n, "reason": context.Cause(ctx).Error()})
	if err := l.put(&jsonrpc.Request{Method: "notifications/cancelled", Params: params}); err != nil {
		return nil, err
	}
	return nil, context.Cause(ctx)
}

func (l *line) put(m jsonrpc.Message) error {
	select {
	case l.in <- m:
		return nil
	case <-l.done:
		return io.ErrClosedPipe
	}
}

// Connect implements [mcp.Transport].
func (l *line) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SupportsProtocolVersion keeps the SDK to what can be pushed to.
func (l *line) SupportsProtocolVersion(v string) bool { return slices.Contains(versions, v) }

// Read implements [mcp.Connection].
func (l *line) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection]. What the SDK says of its own accord has
// no listener: pushes are ours.
func (l *line) Write(_ context.Context, m jsonrpc.Message) error {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	n, ok := resp.ID.Raw().(int64)
	if !ok {
		return errors.New("answer with a foreign id")
	}
	l.mu.Lock()
	answer := l.waiting[n]
	l.mu.Unlock()
	if answer != nil {
		answer <- resp
	}
	return nil
}

// Close implements [mcp.Connection].
func (l *line) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// SessionID implements [mcp.Connection].
func (l *line) SessionID() string { return "" }
