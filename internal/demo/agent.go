// Package demo plays the parts that a newcomer does not have yet: sample agents
// on a hub, and somebody who starts the hub's process again when it was killed.
//
// Its one rule: nothing here knows the hub from within. The agents are MCP
// clients as any other, so that what they show is true of any other.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	seenMost    = 10_000           // ids that are remembered, so that none is acted on twice
	joinEvery   = time.Second      // between attempts to join the hub
	callFor     = 30 * time.Second // how long a call is tried again while the hub is away
	eventsQueue = 1024             // events that wait for an agent, and for its answer; past them it stops reading its stream, and the hub keeps them
)

// An Event is what an agent was handed: params of notifications/claude/channel.
type Event struct {
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`
}

// An Agent is a sample agent: it joins a hub, says its first words once, and
// answers by its rule.
type Agent struct {
	// set before use
	Name  string
	Hub   string // the hub's address, like http://127.0.0.1:8765
	Token string
	First string                       // what it writes to the operator at first; empty: nothing
	Rule  func(Event) []string         // what it answers; nil: nothing
	Heard func(context.Context, Event) // is told of each event; nil: nobody is
	Pause func(ctx context.Context)    // before it answers, as if it worked; nil: a second
	Log   *slog.Logger

	// owned by Run
	greeted bool
	seen    map[string]bool
	work    chan Event // heard and not answered yet, whatever session it came on
}

// Run keeps the agent on the hub until ctx is done, then leaves it.
func (a *Agent) Run(ctx context.Context) error {
	if a.seen == nil {
		a.seen, a.work = make(map[string]bool), make(chan Event, eventsQueue)
	}
	for ctx.Err() == nil {
		if err := a.session(ctx); err != nil && ctx.Err() == nil {
			a.Log.Debug("left the hub", "agent", a.Name, "err", err)
		}
		pause(ctx, joinEvery)
	}
	return nil
}

// session is one session of the agent, from joining to leaving.
func (a *Agent) session(ctx context.Context) error {
	events := make(chan Event, eventsQueue)
	transport := &mcp.StreamableClientTransport{
		Endpoint: a.Hub + "/mcp", MaxRetries: 100,
		HTTPClient: &http.Client{Transport: &ear{a.Name, a.Token, events}},
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "aldis-demo", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return fmt.Errorf("join the hub at %s: %w", a.Hub, err)
	}
	var parts sync.WaitGroup
	ctx, leave := context.WithCancelCause(ctx)
	defer parts.Wait()
	defer session.Close() // which ends the parts
	parts.Go(func() { leave(session.Wait()) })
	parts.Go(func() { a.listen(ctx, events) })
	if !a.greeted && a.First != "" {
		if err := a.call(ctx, session, "send", map[string]any{"text": a.First}); err != nil {
			return err
		}
	}
	a.greeted = true
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-a.work:
			if err := a.answer(ctx, session, e); err != nil {
				return err
			}
		}
	}
}

// listen hears events as they come, however long an answer takes. One that was
// heard before is not acted on twice.
func (a *Agent) listen(ctx context.Context, events <-chan Event) {
	for {
		var e Event
		select {
		case <-ctx.Done():
			return
		case e = <-events:
		}
		if a.Heard != nil {
			a.Heard(ctx, e)
		}
		if a.seen[e.Meta["id"]] || a.Rule == nil {
			continue
		}
		if len(a.seen) >= seenMost {
			clear(a.seen) // what the hub hands over again, it does soon
		}
		a.seen[e.Meta["id"]] = true
		select {
		case <-ctx.Done():
			return
		case a.work <- e:
		}
	}
}

// answer says what the rule has to say to e.
func (a *Agent) answer(ctx context.Context, session *mcp.ClientSession, e Event) error {
	for _, text := range a.Rule(e) {
		if a.Pause != nil {
			a.Pause(ctx)
		} else {
			pause(ctx, time.Second)
		}
		if err := a.say(ctx, session, e, text); err != nil {
			return err
		}
	}
	return nil
}

// say says text where e came from.
func (a *Agent) say(ctx context.Context, session *mcp.ClientSession, e Event, text string) error {
	if chat := e.Meta["chat_id"]; chat != "" {
		return a.call(ctx, session, "reply", map[string]any{"chat_id": chat, "reply_to": e.Meta["message_id"], "text": text})
	}
	return a.call(ctx, session, "send_message", map[string]any{"target": e.Meta["from"], "content": text})
}

// call calls a tool, again while the hub is away. A tool that refuses is not
// asked again.
func (a *Agent) call(ctx context.Context, session *mcp.ClientSession, tool string, args map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	for {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err == nil {
			if result.IsError {
				a.Log.Warn("the hub refused a call", "agent", a.Name, "tool", tool)
			}
			return nil
		}
		if ctx.Err() != nil || !away(err) {
			return fmt.Errorf("call %s: %w", tool, err)
		}
		pause(ctx, joinEvery)
	}
}

// away reports whether err means that the hub was not reached, or went away
// before it had answered. Where nobody takes the connection the SDK makes a
// JSON-RPC error of that too.
func away(err error) bool {
	_, unreached := errors.AsType[*url.Error](err)
	_, answered := errors.AsType[*jsonrpc.Error](err)
	return unreached || !answered && !errors.Is(err, mcp.ErrConnectionClosed)
}

// An ear sets an agent's headers on each request, and listens in on its push
// stream: the SDK's client has no place for notifications that it does not know.
type ear struct {
	name, token string
	events      chan<- Event
}

// RoundTrip implements [http.RoundTripper].
func (e *ear) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Signal-Agent-Id", e.name)
	r.Header.Set("Authorization", "Bearer "+e.token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		resp.Body = heard{io.TeeReader(resp.Body, &listener{ctx: r.Context(), events: e.events}), resp.Body}
	}
	return resp, err
}

// heard is a body that was listened in on.
type heard struct {
	io.Reader
	io.Closer
}

// A listener takes channel events out of a stream of server-sent events.
type listener struct {
	ctx    context.Context
	events chan<- Event
	line   []byte // the part of it that has come
}

// Write takes in what was read from the stream.
func (l *listener) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		l.line, rest = append(l.line, line...), after
		if !whole {
			break
		}
		l.take(l.line)
		l.line = l.line[:0]
	}
	return len(b), nil
}

func (l *listener) take(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	var n struct {
		Method string `json:"method"`
		Params Event  `json:"params"`
	}
	if !ok || json.Unmarshal(data, &n) != nil || n.Method != "notifications/claude/channel" {
		return
	}
	select {
	case l.events <- n.Params:
	case <-l.ctx.Done():
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
