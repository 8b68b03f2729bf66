package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

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

// A listener takes channel events and verdicts out of a stream of server-sent events.
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
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if !ok || json.Unmarshal(data, &n) != nil {
		return
	}
	var e Event
	var into any = &e
	switch n.Method {
	case "notifications/claude/channel":
	case "notifications/claude/channel/permission":
		e.Verdict = new(Verdict)
		into = e.Verdict
	default:
		return
	}
	if json.Unmarshal(n.Params, into) != nil {
		return
	}
	select {
	case l.events <- e:
	case <-l.ctx.Done():
	}
}
