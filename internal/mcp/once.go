package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// A client that may have to make a call again gives it a key, in
// params._meta: under one key a call of an agent is carried out once.
const (
	callKey = "aldis/key"
	keyMost = 128 // bytes
)

var (
	// keyless tools change nothing that a second call would change again.
	keyless = []string{"inbox", "get_message", "list_chats"}

	// unrepeatable tools have an effect that can't be looked up afterwards.
	unrepeatable = []string{"send", "reply", "react", "edit_message", "delete_message"}
)

const (
	unknownOutcome = "outcome unknown: the hub was restarted while it carried this call out; it may have been sent, and is not sent again"
	notCarriedOut  = "This call was not carried out: the hub cannot write to its record. Try again in a moment."
)

// keyOf returns the key of a tool call; empty: it has none, or needs none.
func keyOf(params json.RawMessage) (key string, err error) {
	var p struct {
		Name string                     `json:"name"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return "", nil // what is wrong with it the SDK will say
	}
	raw, ok := p.Meta[callKey]
	if !ok || slices.Contains(keyless, p.Name) {
		return "", nil
	}
	if json.Unmarshal(raw, &key) != nil || key == "" || len(key) > keyMost {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `_meta["` + callKey + `"] must be a string of 1 to 128 bytes`}
	}
	return key, nil
}

// scoped returns key as no other agent or token can have it. A session may
// change, and neither a name nor a subject has a newline.
func (s *session) scoped(key string) string {
	return s.saved.Subject + "\n" + string(s.saved.Agent) + "\n" + key
}

// A flight is a call with a key that is being carried out. The same call made
// again meanwhile waits for its result.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	call    *call        // whose answer is written when that of any who wait is
	waiting atomic.Int64 // calls whose answers were not written

	// set before done is closed
	result *mcp.CallToolResult
	err    error
}

// once has do carry c out, unless that was done before under its key: then it
// returns what came of it.
func (x *tools) once(ctx context.Context, tool string, c *call, do func(context.Context, *call) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	if c.key == "" {
		return do(ctx, c)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, first := x.board(c, cancel)
	if first {
		f.result, f.err = x.carryOut(ctx, tool, f.call, do)
		x.land(f)
		return f.result, f.err
	}
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		f.cancel() // whoever cancels one of them means them all
		return nil, context.Cause(ctx)
	}
}

// board joins c to the flight under its key, or begins one.
func (x *tools) board(c *call, cancel context.CancelFunc) (f *flight, first bool) {
	x.mu.Lock()
	f = x.flights[c.key]
	if first = f == nil; first {
		f = &flight{done: make(chan struct{}), cancel: cancel, call: &call{session: c.session, key: c.key, record: c.record}}
		x.flights[c.key] = f
	}
	f.waiting.Add(1)
	x.mu.Unlock()
	c.afterwards(f.leave)
	return f, first
}

// leave notes that one who waited has written the answer, or can't. The last
// one that can't speaks for all.
func (f *flight) leave(written bool) {
	if last := f.waiting.Add(-1) == 0; written || last {
		f.call.end(written)
	}
}

// land ends f: what comes under its key from now on finds the record.
func (x *tools) land(f *flight) {
	x.mu.Lock()
	delete(x.flights, f.call.key)
	x.mu.Unlock()
	close(f.done)
}

// carryOut has do carry c out between two notes in the record: that it was
// begun, and what came of it.
func (x *tools) carryOut(ctx context.Context, tool string, c *call, do func(context.Context, *call) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	if !x.table.enter() {
		return says(hub.Readable(errStopping), true), nil
	}
	defer x.table.tasks.Done()
	whole := context.WithoutCancel(ctx)
	outcome, again, err := c.record.BeginCall(whole, c.key)
	switch {
	case err != nil:
		x.table.Log.Error("note that a call begins", "tool", tool, "err", err)
		return says(notCarriedOut, true), nil
	case outcome != "":
		result := &mcp.CallToolResult{}
		return result, json.Unmarshal([]byte(outcome), result)
	case again && slices.Contains(unrepeatable, tool):
		return says(unknownOutcome, true), nil
	}
	result, err := do(ctx, c)
	if err != nil || x.cutShort(tool, result) {
		return result, err
	}
	b, err := json.Marshal(result)
	if err == nil {
		err = c.record.EndCall(whole, c.key, string(b))
	}
	if err != nil {
		x.table.Log.Error("note what came of a call", "tool", tool, "err", err)
	}
	return result, nil
}

// cutShort reports whether a result may be what it is because the hub stops:
// then it is not the last word.
func (x *tools) cutShort(tool string, r *mcp.CallToolResult) bool {
	return x.table.ctx.Err() != nil && (r.IsError || !slices.Contains(unrepeatable, tool))
}
