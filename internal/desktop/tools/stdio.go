package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the most bytes that a message of a host may have.
const maxLine = 4 << 20

// ServeStdio serves one host that writes to in and reads from out, until in
// ends, after what was asked for has been answered, or until ctx does. Both are
// a clean end. Nothing but JSON-RPC goes to out. It closes in.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	srv := s.sdk(func(_ context.Context, req *mcp.CallToolRequest) caller {
		return caller{who: "stdio", client: clientOf(req), patience: ctx}
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &line{
		transport: &mcp.IOTransport{Reader: in, Writer: outlet{ctx, out}, MaxLineLength: maxLine},
		ctx:       ctx, giveUp: cancel, answered: make(chan struct{}, 1),
	}
	ss, err := srv.Connect(ctx, l, nil)
	if err != nil {
		return fmt.Errorf("start the SDK: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if err := ss.Wait(); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("serve the host on standard input and output: %w", err)
	}
	return nil
}

// A line is a connection whose end, for whatever reason, is told only when all
// that came over it was answered: the SDK would break off what is under way, and
// a host that is a shell's pipe has closed its end before the first answer.
type line struct {
	transport mcp.Transport
	mcp.Connection
	ctx    context.Context
	giveUp context.CancelFunc // ends ctx

	open     atomic.Int64  // requests that were not answered yet
	answered chan struct{} // cap 1
}

// Connect implements [mcp.Transport].
func (l *line) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := l.transport.Connect(ctx)
	l.Connection = c
	return l, err
}

// Read implements [mcp.Connection].
func (l *line) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
	if err != nil {
		l.finish()
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		l.open.Add(1)
	}
	return m, err
}

// finish waits until all is answered. Each call ends in time; a host that has
// closed its end may not read its answer, which must not keep us.
func (l *line) finish() {
	late := time.After(maxTime + writeTime)
	for l.open.Load() > 0 {
		select {
		case <-l.answered:
		case <-late:
			l.giveUp()
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// Write implements [mcp.Connection].
func (l *line) Write(ctx context.Context, m jsonrpc.Message) error {
	err := l.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		l.open.Add(-1)
		select {
		case l.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// An outlet writes lines to a host that perhaps does not read.
type outlet struct {
	ctx context.Context
	out io.Writer
}

// Write implements [io.Writer]. When ctx ends it waits no more: nothing can
// interrupt a write to a full pipe, and that one ends with the process.
func (o outlet) Write(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	written := make(chan error, 1)
	p = bytes.Clone(p)
	go func() {
		_, err := o.out.Write(p)
		written <- err
	}()
	select {
	case err := <-written:
		return len(p), err
	case <-o.ctx.Done():
		return 0, o.ctx.Err()
	}
}

// Close implements [io.Closer]. Standard output is not ours to close.
func (o outlet) Close() error { return nil }
