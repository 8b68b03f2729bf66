package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// ServeStdio serves one agent on in and out (MCP's stdio transport), as the
// only session of t, until in or ctx ends. It is told nothing of routes: there
// is nobody else. What is sent to name, which the agent is never told, reaches
// it. t must run.
func ServeStdio(ctx context.Context, t *Table, v Verbs, version string, name hub.AgentID, in io.ReadCloser, out io.Writer) error {
	t.view.routes = false
	id := hub.SessionID(rand.Text())
	s, err := t.create(ctx, hub.SavedSession{ID: id, Agent: name, Named: true, Subject: "main", Version: versions[0]})
	if err != nil {
		return err
	}
	w := newPipe(out)
	tap := &tap{
		transport: &mcp.IOTransport{Reader: in, Writer: w, MaxLineLength: 4 << 20},
		table:     t, verbs: v, session: s, pipe: w, calls: make(map[any]*running),
	}
	ss, err := newSDK(t, v, version).Connect(ctx, tap, nil)
	if err != nil {
		return fmt.Errorf("start the SDK: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = tap.Close() }) // in itself may not be ours to close
	defer stop()
	if err := ss.Wait(); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("read from the agent: %w", err)
	}
	return nil
}

// A tap is a transport that takes out what the SDK does not know, and tells
// tools whose call they serve.
type tap struct {
	transport mcp.Transport
	mcp.Connection
	table   *Table
	verbs   Verbs
	session *session
	pipe    *pipe
	ready   sync.Once // the client is

	mu    sync.Mutex
	calls map[any]*running // by request id
}

// A running is a call whose answer was not yet written.
type running struct {
	call *call
	done func()
}

// Connect implements [mcp.Transport].
func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.transport.Connect(ctx)
	t.Connection = c
	return t, err
}

// SupportsProtocolVersion keeps clients to versions that can be pushed to.
func (t *tap) SupportsProtocolVersion(v string) bool { return slices.Contains(versions, v) }

// Read implements [mcp.Connection].
func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := t.Connection.Read(ctx)
		if err != nil {
			return m, err
		}
		req, ok := m.(*jsonrpc.Request)
		switch {
		case !ok:
			return m, nil
		case req.IsCall():
			t.begin(req)
			return m, nil
		}
		switch req.Method {
		case "notifications/initialized":
			t.ready.Do(func() { t.pipe.open(t.table, t.session) })
			return m, nil
		case "notifications/cancelled":
			t.forsake(cancelled(req.Params))
			return m, nil
		case methodPermission:
			t.table.permission(ctx, t.verbs, t.session, req.Params)
		}
	}
}

// begin notes a call, and has it travel with its request.
func (t *tap) begin(req *jsonrpc.Request) {
	r := &running{call: &call{session: t.session}, done: func() {}}
	if req.Method == "tools/call" {
		r.done = t.table.call(t.session)
	}
	req.Extra = r.call.extra()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[req.ID.Raw()] = r
}

// forsake notes that nobody reads the answer to a request any more. It will be
// written nevertheless.
func (t *tap) forsake(id any) {
	t.mu.Lock()
	r := t.calls[id]
	t.mu.Unlock()
	if r != nil {
		r.call.end(false)
	}
}

// Write implements [mcp.Connection].
func (t *tap) Write(ctx context.Context, m jsonrpc.Message) error {
	err := t.Connection.Write(ctx, m)
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return err
	}
	t.mu.Lock()
	r := t.calls[resp.ID.Raw()]
	delete(t.calls, resp.ID.Raw())
	t.mu.Unlock()
	if r == nil {
		return err
	}
	r.done()
	r.call.end(err == nil)
	return err
}

// A pipe is standard output: the SDK's answers and our events share it, a line
// at a time.
type pipe struct {
	turn chan struct{} // cap 1, full while a line is written: the reader's pace is ours
	out  io.Writer
	off  atomic.Int64
}

func newPipe(out io.Writer) *pipe { return &pipe{turn: make(chan struct{}, 1), out: out} }

// Write implements [io.Writer] for the SDK, which writes whole lines.
func (p *pipe) Write(b []byte) (int, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	return p.out.Write(b)
}

// Close implements [io.Closer]. Standard output is not ours to close.
func (p *pipe) Close() error { return nil }

// open begins a stream of the session's events, once the pipe takes lines:
// until then they wait in the record.
func (p *pipe) open(t *Table, s *session) {
	p.turn <- struct{}{}
	<-p.turn
	st := &stream{session: s, table: t}
	st.out = &pipeOutlet{pipe: p, again: func() { t.tasks.Go(func() { p.open(t, s) }) }}
	st.last.Store(t.Now().UnixMilli())
	t.attach(s, st, 0)
}

// A pipeOutlet is one stream on a pipe.
type pipeOutlet struct {
	pipe   *pipe
	again  func() // opens the next one
	closed atomic.Bool
}

func (o *pipeOutlet) write(batch []*event) error {
	for _, ev := range batch { // a pipe needs no comment to stay open
		n, err := o.pipe.Write(append(slices.Clip(ev.line), '\n'))
		o.pipe.off.Add(int64(n))
		if err != nil {
			o.closed.Store(true) // for good
			return err
		}
	}
	return nil
}

func (o *pipeOutlet) written() int64 { return o.pipe.off.Load() }

// acknowledged is true of every line that was written whole: whether the
// process outlives it for a second is all that can be told.
func (o *pipeOutlet) acknowledged(int64) bool { return true }

// close begins anew from the record: the pipe itself can't be reopened.
func (o *pipeOutlet) close() {
	if o.closed.CompareAndSwap(false, true) {
		o.again()
	}
}

func (o *pipeOutlet) finish(time.Duration) { o.closed.Store(true) }
