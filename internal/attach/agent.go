package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	welcomeFor   = time.Second      // how long initialize waits for the hub's own words
	promptFor    = 10 * time.Minute // how long a request for permission is worth to be told
	tellsMost    = 16               // notifications that wait for the hub; past them the newest are dropped
	seenMost     = 10_000           // ids of events that are remembered, so that none is written twice
	methodPrompt = "notifications/claude/channel/permission_request"
)

// versions are the protocol's that an agent may speak, the newest first. Later
// ones have no sessions, and nothing could be pushed.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// An agent is the line's side towards the agent, which speaks MCP over stdio.
type agent struct {
	line  *Line
	up    *uplink
	pipe  *pipe
	begun bool          // it has initialized; owned by serve
	ready chan struct{} // closed once it can be told things of our own accord
	seen  memory        // owned by the stream
	tells chan tell

	carrying sync.WaitGroup
	effects  chan *call
	mu       sync.Mutex
	calls    map[any]*call // by the agent's request id
}

// A tell is a notification on its way to the hub.
type tell struct {
	job
	lasting bool // it is tried again
}

func newAgent(l *Line, up *uplink, p *pipe) *agent {
	return &agent{
		line: l, up: up, pipe: p,
		ready: make(chan struct{}), seen: memory{ids: make(map[string]bool)}, tells: make(chan tell, tellsMost),
		effects: make(chan *call, callsMost), calls: make(map[any]*call),
	}
}

// serve takes what the agent says until that or ctx ends.
func (a *agent) serve(ctx context.Context, inputs <-chan input) error {
	for {
		select {
		case in := <-inputs:
			if in.err != nil && in.err != io.EOF {
				return fmt.Errorf("read from the agent: %w", in.err)
			}
			if in.err != nil {
				return nil
			}
			a.hear(ctx, in.line)
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}

// noMessage answers what is no JSON-RPC.
const noMessage = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not one JSON-RPC message (batches are not taken)"}}`

func (a *agent) hear(ctx context.Context, text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	m, err := jsonrpc.DecodeMessage(text)
	req, ok := m.(*jsonrpc.Request)
	switch {
	case err != nil:
		_ = a.pipe.put(ctx, []byte(noMessage))
	case !ok: // an answer: the hub asks nothing
	case req.IsCall():
		a.request(ctx, req)
	default:
		a.notification(req)
	}
}

func (a *agent) request(ctx context.Context, req *jsonrpc.Request) {
	answer := &jsonrpc.Response{ID: req.ID}
	switch req.Method {
	case "initialize":
		answer.Result, answer.Error = a.initialize(ctx, req.Params)
	case "ping":
		answer.Result = json.RawMessage("{}")
	case "server/discover": // it would lead to a version that has no pushes
		answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "server/discover is not served here: initialize"}
	default:
		if a.begun {
			a.call(ctx, req)
			return
		}
		answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "initialize first"}
	}
	a.pipe.say(ctx, answer)
}

// initialize answers with the hub's words if it is quick, else with ours.
func (a *agent) initialize(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		ProtocolVersion string         `json:"protocolVersion"`
		ClientInfo      implementation `json:"clientInfo"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "initialize has no params that can be read"}
	}
	if !slices.Contains(versions, p.ProtocolVersion) {
		p.ProtocolVersion = versions[0]
	}
	if !a.begun {
		a.begun = true
		a.up.begin(p.ClientInfo, p.ProtocolVersion)
	}
	words := a.line.Initialize
	if s := a.up.first(ctx, welcomeFor); s != nil {
		words = s.welcome
	}
	return welcome(words, p.ProtocolVersion)
}

// welcome is the result of an initialize in another version of the protocol,
// with the word that tools may change.
func welcome(result json.RawMessage, version string) (json.RawMessage, error) {
	var m map[string]any
	if err := json.Unmarshal(result, &m); err != nil {
		return nil, fmt.Errorf("read the hub's result of initialize: %w", err)
	}
	m["protocolVersion"] = version
	can, _ := m["capabilities"].(map[string]any)
	if can == nil {
		can = make(map[string]any)
	}
	can["tools"] = map[string]any{"listChanged": true}
	m["capabilities"] = can
	return json.Marshal(m)
}

func (a *agent) notification(req *jsonrpc.Request) {
	switch req.Method {
	case "notifications/initialized":
		select {
		case <-a.ready:
		default:
			close(a.ready)
		}
		return
	case "notifications/cancelled":
		a.cancel(req.Params)
	}
	body, err := jsonrpc.EncodeMessage(req)
	if err != nil {
		return
	}
	t := tell{job{body: body, begun: time.Now(), hold: promptFor}, req.Method == methodPrompt}
	if state, _, _ := a.up.look(); !state.up && !t.lasting {
		return // it says something of now
	}
	select {
	case a.tells <- t:
	default:
		a.line.Log.Warn("too many notifications wait for the hub: one is dropped", "method", req.Method)
	}
}

// inform brings notifications to the hub, in order.
func (a *agent) inform(ctx context.Context) {
	for {
		select {
		case t := <-a.tells:
			if err := a.bring(ctx, &t); err != nil && ctx.Err() == nil {
				a.line.Log.Warn("the hub did not take a notification", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (a *agent) bring(ctx context.Context, t *tell) error {
	if t.lasting {
		_, err := a.up.deliver(ctx, &t.job)
		return err
	}
	_, err := a.up.once(ctx, t.body)
	return err
}

// raised tells the agent that the hub's tools may be others than before.
func (a *agent) raised(ctx context.Context) {
	select {
	case <-a.ready:
		a.pipe.say(ctx, &jsonrpc.Request{Method: "notifications/tools/list_changed"})
	default: // it has not asked for them yet
	}
}

// take writes what came on the stream to the agent, once that is ready, and has
// it acknowledged.
func (a *agent) take(ctx context.Context, s *session, e event) error {
	if e.data == "" {
		return nil
	}
	select {
	case <-a.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Meta struct {
				ID string `json:"id"`
			} `json:"meta"`
			RequestID string `json:"request_id"`
		} `json:"params"`
	}
	var text bytes.Buffer // in one line
	if json.Unmarshal([]byte(e.data), &m) != nil || json.Compact(&text, []byte(e.data)) != nil || m.ID != nil || m.Method == "" {
		a.line.Log.Warn("the hub sent what is no notification")
		return nil
	}
	id := m.Params.Meta.ID
	if id == "" || !a.seen.has(id) {
		if err := a.pipe.put(ctx, text.Bytes()); err != nil {
			return err
		}
		a.seen.add(id)
	}
	if id == "" {
		id = m.Params.RequestID
	}
	if e.id != 0 || id != "" {
		s.acks.note(mark{time.Now(), e.id, id})
	}
	return nil
}

// A memory knows the ids of the last seenMost events.
type memory struct {
	mu   sync.Mutex
	ids  map[string]bool
	last []string // a ring, once it is full
	next int
}

func (m *memory) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[id]
}

func (m *memory) add(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == "" || m.ids[id] {
		return
	}
	if len(m.last) < seenMost {
		m.last = append(m.last, id)
	} else {
		delete(m.ids, m.last[m.next])
		m.last[m.next] = id
		m.next = (m.next + 1) % seenMost
	}
	m.ids[id] = true
}
