// Package demo plays the parts that a newcomer does not have yet: sample agents
// on a hub, and somebody who starts the hub's process again when it was killed.
//
// Its one rule: nothing here knows the hub from within. The agents are MCP
// clients as any other, so that what they show is true of any other.
package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	seenMost    = 10_000           // ids that are remembered, so that none is acted on twice
	joinEvery   = time.Second      // between attempts to join the hub
	callFor     = 30 * time.Second // how long a call is tried again while the hub is away
	askedMost   = 100              // requests for permission that are remembered
	eventsQueue = 1024             // events that wait for an agent, and for its answer; past them it stops reading its stream, and the hub keeps them
)

// An Event is what an agent was handed: params of notifications/claude/channel.
type Event struct {
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`

	Verdict *Verdict `json:"-"` // on what the event has made the agent ask for; nil: the event itself
}

// A Verdict is a person's answer to a request for permission: params of
// notifications/claude/channel/permission.
type Verdict struct {
	Request  string `json:"request_id"`
	Behavior string `json:"behavior"` // "allow" or "deny"
}

// A Reply is what an agent does about an event, one after the other.
type Reply struct {
	Say    []string
	Tell   []Note
	Ask    *Question
	Permit *Permit // the verdict comes as the same event once more
}

// A Note is for another agent.
type Note struct {
	To, Text string
	Meta     map[string]string
}

// A Question is for a person. The answer comes as an event.
type Question struct {
	Text    string
	Choices []string
}

// A Permit is a request for permission to use a tool.
type Permit struct {
	Tool, Description string
	Input             string // of the tool: JSON
}

// An Agent is a sample agent: it joins a hub, says its first words once, and
// answers by its rule.
type Agent struct {
	// set before use
	Name  string
	Hub   string // the hub's address, like http://127.0.0.1:8765
	Token string
	First string                       // what it writes to the operator at first; empty: nothing
	Rule  func(Event) Reply            // what it does about an event; nil: nothing
	Heard func(context.Context, Event) // is told of each event; nil: nobody is
	Pause func(ctx context.Context)    // before it answers, as if it worked; nil: a second
	Log   *slog.Logger

	// owned by Run
	greeted bool
	seen    map[string]bool
	work    chan Event       // heard and not answered yet, whatever session it came on
	asked   map[string]Event // what made it ask for permission, by the request that is open
}

// Run keeps the agent on the hub until ctx is done, then leaves it.
func (a *Agent) Run(ctx context.Context) error {
	if a.seen == nil {
		a.seen, a.work, a.asked = make(map[string]bool), make(chan Event, eventsQueue), make(map[string]Event)
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
		if _, err := a.call(ctx, session, "send", map[string]any{"text": a.First}); err != nil {
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
		if e.Verdict == nil && a.Heard != nil {
			a.Heard(ctx, e)
		}
		if a.Rule == nil || e.Verdict == nil && a.repeated(e) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case a.work <- e:
		}
	}
}

// repeated reports whether the event e was heard before.
func (a *Agent) repeated(e Event) bool {
	id := e.Meta["id"]
	if a.seen[id] {
		return true
	}
	if len(a.seen) >= seenMost {
		clear(a.seen) // what the hub hands over again, it does soon
	}
	a.seen[id] = true
	return false
}

// answer does what the rule has to do about e.
func (a *Agent) answer(ctx context.Context, session *mcp.ClientSession, e Event) error {
	if v := e.Verdict; v != nil {
		asked, open := a.asked[v.Request]
		if !open {
			return nil // it was told before
		}
		delete(a.asked, v.Request)
		e = asked
		e.Verdict = v
	}
	r := a.Rule(e)
	for _, text := range r.Say {
		a.dawdle(ctx)
		if err := a.say(ctx, session, e, text); err != nil {
			return err
		}
	}
	for _, n := range r.Tell {
		if _, err := a.call(ctx, session, "send_message", map[string]any{"target": n.To, "content": n.Text, "meta": n.Meta}); err != nil {
			return err
		}
	}
	if r.Ask != nil {
		a.dawdle(ctx)
		if err := a.ask(ctx, session, *r.Ask, e); err != nil {
			return err
		}
	}
	if r.Permit != nil {
		a.dawdle(ctx)
		return a.request(ctx, session, *r.Permit, e)
	}
	return nil
}

// dawdle takes the time that a model would.
func (a *Agent) dawdle(ctx context.Context) {
	if a.Pause != nil {
		a.Pause(ctx)
	} else {
		pause(ctx, time.Second)
	}
}

// ask asks a person because of e, and does not wait. Who answers at once has
// the answer in the outcome of the call: then there is no event with it.
func (a *Agent) ask(ctx context.Context, session *mcp.ClientSession, q Question, e Event) error {
	outcome, err := a.call(ctx, session, "ask", map[string]any{"question": q.Text, "choices": q.Choices, "timeout_seconds": 0})
	if m := answered.FindStringSubmatch(outcome); m != nil {
		meta := map[string]string{"answer": m[1]}
		for _, where := range []string{"chat_id", "message_id", "from"} {
			meta[where] = e.Meta[where]
		}
		return a.answer(ctx, session, Event{Content: m[1], Meta: meta})
	}
	return err
}

// answered is how the outcome of ask says what was answered.
var answered = regexp.MustCompile(`^Answer: (?:choice \d+, )?(.+)`)

// say says text where e came from.
func (a *Agent) say(ctx context.Context, session *mcp.ClientSession, e Event, text string) error {
	tool, args := "send_message", map[string]any{
		"target": e.Meta["from"], "content": text, "meta": map[string]string{"kind": "reply", "reply_to": e.Meta["id"]},
	}
	if chat := e.Meta["chat_id"]; chat != "" {
		tool, args = "reply", map[string]any{"chat_id": chat, "reply_to": e.Meta["message_id"], "text": text}
	}
	_, err := a.call(ctx, session, tool, args)
	return err
}

// call calls a tool, and returns what it says. One that refuses is not asked
// again.
func (a *Agent) call(ctx context.Context, session *mcp.ClientSession, tool string, args map[string]any) (outcome string, err error) {
	err = patiently(ctx, "call "+tool, func(ctx context.Context) error {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return err
		}
		if result.IsError {
			a.Log.Warn("the hub refused a call", "agent", a.Name, "tool", tool)
			return nil
		}
		for _, c := range result.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				outcome += text.Text
			}
		}
		return nil
	})
	return outcome, err
}

// request asks for permission because of e, as a client does by itself when its
// model wants to use a tool.
func (a *Agent) request(ctx context.Context, session *mcp.ClientSession, p Permit, e Event) error {
	id := newRequest()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request",
		"params": map[string]string{"request_id": id, "tool_name": p.Tool, "description": p.Description, "input_preview": p.Input},
	})
	if err != nil {
		return err
	}
	if len(a.asked) >= askedMost {
		clear(a.asked) // nobody has answered for long
	}
	a.asked[id] = e
	return patiently(ctx, "ask for permission", func(ctx context.Context) error { return a.notify(ctx, session, body) })
}

// notify sends a notification that the SDK's client does not know, in its name.
func (a *Agent) notify(ctx context.Context, session *mcp.ClientSession, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Hub+"/mcp", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", session.ID())
	r.Header.Set("Mcp-Protocol-Version", session.InitializeResult().ProtocolVersion)
	client := http.Client{Transport: &ear{name: a.Name, token: a.Token}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusAccepted {
		a.Log.Warn("the hub refused a notification", "agent", a.Name, "status", resp.StatusCode)
	}
	return resp.Body.Close()
}

// newRequest returns a name for a request for permission: five letters without
// l, which looks like 1.
func newRequest() string {
	const letters = "abcdefghijkmnopqrstuvwxyz"
	b := make([]byte, 5)
	_, _ = rand.Read(b) // it never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// patiently does f, again while the hub is away.
func patiently(ctx context.Context, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	for {
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || !away(err):
			return fmt.Errorf("%s: %w", what, err)
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

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
