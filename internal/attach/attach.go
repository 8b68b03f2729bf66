// Package attach is a channel for one agent over stdio that is a line to a
// running hub: an MCP server towards the agent that started it, an MCP client
// (streamable HTTP, 2025-11-25) towards the hub. What the two say to each other
// passes as it is; the line adds what makes it last: it answers while the hub
// is away, keeps its session, repeats what may be repeated and drops what has
// come before.
//
// The one rule: the hub is told that the agent has something only once that was
// written to the agent whole, and the line has outlived it by a second.
package attach

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/hub"
)

const (
	holdFor   = 30 * time.Second // how long a call waits for a hub that is away
	lineBytes = 4 << 20          // of one line, either way
	endFor    = 2 * time.Second  // how long the hub, and then the agent, may take to hear that we go
)

// A Line carries one agent's MCP to a hub and back.
type Line struct {
	// set before use
	Hub     string      // the hub's address, like http://127.0.0.1:8765
	Token   string      // empty: none is sent
	Agent   hub.AgentID // empty: whom the token is for
	Version string      // our own
	Log     *slog.Logger

	// The results of initialize and tools/list while the hub is away.
	Initialize, Tools json.RawMessage

	Hold time.Duration                                                     // how long a call waits for a hub that is away; zero: 30 s
	Dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
}

// Run serves the agent whose requests come from in until in or ctx ends, which
// is no error. Then the hub is told. Where a read of in or a write to out can't
// be interrupted, it outlives Run.
func (l *Line) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	outer := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	up := newUplink(l)
	p := &pipe{outputs: make(chan output), gone: ctx.Done(), ended: make(chan struct{})}
	a := newAgent(l, up, p)
	up.take, up.raised = a.take, a.raised

	go p.run(out, stop)
	var parts sync.WaitGroup
	parts.Go(func() { up.run(ctx) })
	parts.Go(func() { up.acknowledge(ctx) })
	parts.Go(func() { up.watchClock(ctx) })
	parts.Go(func() { a.act(ctx) })
	parts.Go(func() { a.inform(ctx) })
	err := a.serve(ctx, read(ctx, in))
	stop(nil)
	parts.Wait()
	a.carrying.Wait()

	bye, cancel := context.WithTimeout(context.WithoutCancel(outer), endFor)
	defer cancel()
	up.leave(bye)
	select {
	case <-p.ended:
	case <-bye.Done(): // the agent does not read, and holds the pipe
	}
	return err
}

// An input is a line of the agent's, or why there are no more.
type input struct {
	line []byte
	err  error
}

// read reads lines until in or ctx ends. A read can't be interrupted: on ctx's
// end the goroutine stays until in has something, or the process ends.
func read(ctx context.Context, in io.Reader) <-chan input {
	inputs := make(chan input)
	put := func(i input) bool {
		select {
		case inputs <- i:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, lineBytes)
		for lines.Scan() {
			if !put(input{line: append([]byte(nil), lines.Bytes()...)}) {
				return
			}
		}
		put(input{err: cmp.Or(lines.Err(), io.EOF)})
	}()
	return inputs
}

// A pipe is the agent's end of our standard output: one goroutine writes it, a
// line at a time.
type pipe struct {
	outputs chan output
	gone    <-chan struct{} // closed when nothing is to be written any more
	ended   chan struct{}   // run has
}

// An output is a line on its way to the agent.
type output struct {
	line    []byte // without its end
	written chan struct{}
}

// run writes until the pipe is gone, or the agent takes no more.
func (p *pipe) run(out io.Writer, stop context.CancelCauseFunc) {
	defer close(p.ended)
	for {
		select {
		case <-p.gone:
			return
		case o := <-p.outputs:
			if _, err := out.Write(append(o.line, '\n')); err != nil {
				stop(fmt.Errorf("write to the agent: %w", err))
				return
			}
			close(o.written)
		}
	}
}

// put returns once the line was written whole. When ctx ends before its turn it
// is not written; from then on nothing keeps it from being so but the pipe's end.
func (p *pipe) put(ctx context.Context, text []byte) error {
	o := output{text, make(chan struct{})}
	select {
	case p.outputs <- o:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.gone:
		return io.ErrClosedPipe
	}
	select {
	case <-o.written:
		return nil
	case <-p.gone:
		return io.ErrClosedPipe
	}
}

// say writes a message to the agent, and reports whether it was written. What
// was not, the pipe's end tells.
func (p *pipe) say(ctx context.Context, m jsonrpc.Message) bool {
	text, err := jsonrpc.EncodeMessage(m)
	return err == nil && p.put(ctx, text) == nil
}
