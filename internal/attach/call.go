package attach

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// callsMost bounds the agent's requests that wait for their answer. What is
// past it is refused at once.
const callsMost = 64

// effects are the tools whose calls keep their order: what is said first
// arrives first.
var effects = []string{"send", "reply", "react", "edit_message", "delete_message", "send_message"}

// A call is a request of the agent's that the hub answers.
type call struct {
	job
	req    *jsonrpc.Request
	tool   string          // that it calls, if it calls one
	ctx    context.Context // ends when the agent cancels it
	cancel context.CancelFunc
}

// call has the hub answer req.
func (a *agent) call(ctx context.Context, req *jsonrpc.Request) {
	out, tool, err := keyed(req)
	if err != nil {
		a.pipe.say(ctx, &jsonrpc.Response{ID: req.ID, Error: err})
		return
	}
	body, err := jsonrpc.EncodeMessage(out)
	if err != nil {
		a.pipe.say(ctx, &jsonrpc.Response{ID: req.ID, Error: err})
		return
	}
	c := &call{job: job{body: body, begun: time.Now(), hold: a.hold()}, req: req, tool: tool}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if refused := a.enter(c); refused != nil {
		c.cancel()
		a.pipe.say(ctx, refused)
		return
	}
	if slices.Contains(effects, tool) {
		a.effects <- c // which has room for all that enter lets in
		return
	}
	a.carrying.Go(func() { a.carry(ctx, c) })
}

func (a *agent) hold() time.Duration {
	if a.line.Hold > 0 {
		return a.line.Hold
	}
	return holdFor
}

// enter counts a call as waiting, or returns why it may not.
func (a *agent) enter(c *call) (refused *jsonrpc.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := c.req.ID.Raw()
	switch {
	case a.calls[key] != nil:
		return &jsonrpc.Response{ID: c.req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with that id waits for its answer"}}
	case len(a.calls) >= callsMost:
		return failed(c.req.ID, fmt.Sprintf("%d calls wait for their answer, and this one would be too many. It was not carried out: wait for some of the others.", callsMost))
	default:
		a.calls[key] = c
		return nil
	}
}

// act carries calls with an effect, one after another.
func (a *agent) act(ctx context.Context) {
	for {
		select {
		case c := <-a.effects:
			a.carry(ctx, c)
		case <-ctx.Done():
			return
		}
	}
}

// carry has c answered. One that was cancelled is answered no more.
func (a *agent) carry(ctx context.Context, c *call) {
	answer := a.answer(c)
	a.mu.Lock()
	delete(a.calls, c.req.ID.Raw())
	a.mu.Unlock()
	if c.ctx.Err() == nil && a.pipe.say(ctx, answer) && c.tool == "inbox" {
		a.noteInbox(answer)
	}
	c.cancel()
}

// noteInbox notes that the agent was written what an answer of inbox lists.
func (a *agent) noteInbox(answer *jsonrpc.Response) {
	var result struct {
		Content []struct{ Text string } `json:"content"`
	}
	var inbox struct {
		Events []struct {
			Meta struct {
				ID string `json:"id"`
			} `json:"meta"`
		} `json:"events"`
	}
	_, s, _ := a.up.look()
	if s == nil || json.Unmarshal(answer.Result, &result) != nil || len(result.Content) == 0 ||
		json.Unmarshal([]byte(result.Content[0].Text), &inbox) != nil {
		return
	}
	for _, e := range inbox.Events {
		a.seen.add(e.Meta.ID)
		s.acks.note(mark{time.Now(), 0, e.Meta.ID})
	}
}

// answer returns what the hub answers, or why it does not.
func (a *agent) answer(c *call) *jsonrpc.Response {
	if c.req.Method != "tools/call" {
		return a.ask(c)
	}
	body, err := a.up.deliver(c.ctx, &c.job)
	if err != nil {
		return failed(c.req.ID, a.explain(c, err))
	}
	answer, err := parseAnswer(body)
	if err != nil {
		return failed(c.req.ID, a.explain(c, err))
	}
	return &jsonrpc.Response{ID: c.req.ID, Result: answer.Result, Error: answer.Error}
}

// ask asks the hub once: only calls are worth waiting for. What tools there
// are is known without it.
func (a *agent) ask(c *call) *jsonrpc.Response {
	body, err := a.up.once(c.ctx, c.body)
	var answer *jsonrpc.Response
	if err == nil {
		answer, err = parseAnswer(body)
	}
	switch {
	case err == nil:
		return &jsonrpc.Response{ID: c.req.ID, Result: answer.Result, Error: answer.Error}
	case c.req.Method == "tools/list":
		return &jsonrpc.Response{ID: c.req.ID, Result: a.line.Tools}
	default:
		return &jsonrpc.Response{ID: c.req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: a.explain(c, err)}}
	}
}

// explain says to the agent why there is no answer of the hub's.
func (a *agent) explain(c *call, err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		text := fmt.Sprintf("The hub at %s does not take this: %v.", a.line.Hub, r)
		if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
			text += " Check the token (ALDIS_TOKEN) and the name (--agent) that aldis attach was started with."
		}
		return text
	}
	fate := "It was not carried out."
	if c.sent {
		fate = "It may have been carried out: look before you repeat it."
	}
	return fmt.Sprintf("The hub at %s is not reachable (%v). %s Check that aldis serve runs there, and that --hub of aldis attach is its address.", a.line.Hub, err, fate)
}

// cancel has a call of the agent's end without an answer.
func (a *agent) cancel(params json.RawMessage) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	a.mu.Lock()
	c := a.calls[id.Raw()]
	a.mu.Unlock()
	if c != nil {
		c.cancel()
	}
}

// keyed returns req with a key of its own, by which the hub knows it again when
// it is repeated, and the name of the tool that it calls. What is no call of a
// tool stays as it is.
func keyed(req *jsonrpc.Request) (out *jsonrpc.Request, tool string, err error) {
	if req.Method != "tools/call" {
		return req, "", nil
	}
	var params, meta map[string]json.RawMessage
	wrong := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params of tools/call can't be read: want an object with a name, and _meta, if there is any, an object"}
	if json.Unmarshal(req.Params, &params) != nil || params == nil || json.Unmarshal(params["name"], &tool) != nil {
		return nil, "", wrong
	}
	if raw := params["_meta"]; raw != nil && json.Unmarshal(raw, &meta) != nil {
		return nil, "", wrong
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	meta["aldis/key"], _ = json.Marshal(rand.Text())
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return nil, "", wrong
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, "", wrong
	}
	return &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: raw}, tool, nil
}

// failed is the result of a tool that did not work.
func failed(id jsonrpc.ID, text string) *jsonrpc.Response {
	result, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": true}) // of strings alone
	return &jsonrpc.Response{ID: id, Result: result}
}
