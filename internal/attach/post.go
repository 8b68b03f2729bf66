package attach

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/hub"
)

const sessionHeader = "Mcp-Session-Id"

// A job is a message that has to reach the hub.
type job struct {
	// set before use
	body  []byte        // the same at each attempt
	begun time.Time     // when it came
	hold  time.Duration // how long it waits for a hub that is away

	// owned by deliver
	end  time.Time // when it waits no longer; zero: the hub was always there
	sent bool      // the hub may have it
}

// endAt is when the job waits no longer for a hub that is away since then.
func (j *job) endAt(since time.Time) time.Time {
	if j.end.IsZero() {
		if since.Before(j.begun) {
			since = j.begun
		}
		j.end = since.Add(j.hold)
	}
	return j.end
}

// An awayError says that a job has waited in vain.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

// deliver posts a job until it is answered or refused, which is a *refusal. It
// ends with an *awayError when the hub stays away, and with ctx.
func (u *uplink) deliver(ctx context.Context, j *job) ([]byte, error) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: 250 * time.Millisecond, Multiplier: 2, MaxInterval: 5 * time.Second, RandomizationFactor: 0.5}
	for {
		s, err := u.await(ctx, j)
		if err != nil {
			return nil, err
		}
		body, err := u.attempt(ctx, s, j)
		if err == nil || errors.As(err, new(*refusal)) || ctx.Err() != nil {
			return body, err
		}
		u.log.Debug("a request did not reach the hub", "err", err)
		pause := time.NewTimer(min(pauses.NextBackOff(), time.Until(j.endAt(time.Now()))))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		if !time.Now().Before(j.end) {
			return nil, &awayError{err}
		}
	}
}

// await returns the session once the hub is there. Meanwhile it has the hub
// tried every now and then.
func (u *uplink) await(ctx context.Context, j *job) (*session, error) {
	tick := time.NewTicker(hurryEvery)
	defer tick.Stop()
	for hurry := true; ; {
		state, s, changed := u.look()
		if state.up && s != nil {
			return s, nil
		}
		if hurry {
			u.hurry()
		}
		if errors.As(state.err, new(*refusal)) {
			return nil, state.err
		}
		if state.up { // the session was forgotten just now
			state.since = time.Now()
		}
		end := time.NewTimer(time.Until(j.endAt(state.since)))
		hurry = false
		select {
		case <-changed:
		case <-tick.C:
			hurry = true
		case <-end.C:
			return nil, &awayError{cmp.Or(state.err, errSilent)}
		case <-ctx.Done():
			end.Stop()
			return nil, context.Cause(ctx)
		}
		end.Stop()
	}
}

// once posts a message if the hub is there, and does not wait for it.
func (u *uplink) once(ctx context.Context, body []byte) ([]byte, error) {
	state, s, _ := u.look()
	if !state.up || s == nil {
		return nil, cmp.Or(state.err, errSilent)
	}
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	return u.post(ctx, s, body)
}

// attempt posts a job once.
func (u *uplink) attempt(ctx context.Context, s *session, j *job) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	body, err := u.post(traced, s, j.body)
	j.sent = j.sent || connected.Load()
	switch {
	case errors.Is(err, errUnknown):
		u.forget(s)
		u.doubt(errUnknown)
	case err != nil && !connected.Load() && ctx.Err() == nil:
		u.doubt(errDoubt)
	}
	return body, err
}

// post posts a message, and returns the answer's body.
func (u *uplink) post(ctx context.Context, s *session, body []byte) ([]byte, error) {
	resp, err := u.request(ctx, http.MethodPost, s, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readBody(resp)
}

// notify tells the hub something, once.
func (u *uplink) notify(ctx context.Context, s *session, method string, params any) error {
	n := &jsonrpc.Request{Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("encode %s: %w", method, err)
		}
		n.Params = raw
	}
	body, err := jsonrpc.EncodeMessage(n)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	_, err = u.post(ctx, s, body)
	return err
}

// request makes a request of the session's, or of none.
func (u *uplink) request(ctx context.Context, method string, s *session, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.base+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call the hub: %w", err)
	}
	r.Header = u.header.Clone()
	if s != nil {
		r.Header.Set(sessionHeader, string(s.id))
		r.Header.Set("Mcp-Protocol-Version", s.version)
	}
	resp, err := u.http.Do(r)
	return resp, causeOf(ctx, err)
}

// causeOf is err, but why ctx ended if that is behind it, and without the
// address, which whoever reads it knows.
func causeOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// readBody reads an answer: errUnknown, a *refusal, or an error that may pass.
func readBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, lineBytes))
	if err != nil {
		return nil, fmt.Errorf("read the hub's answer: %w", err)
	}
	switch status := resp.StatusCode; {
	case status < 300:
		return body, nil
	case status == http.StatusNotFound:
		return nil, errUnknown
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return nil, fmt.Errorf("the hub answered %d: %s", status, wordsOf(body))
	default:
		return nil, &refusal{status, wordsOf(body)}
	}
}

// wordsOf are the hub's in the body of an error.
func wordsOf(body []byte) string {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error == "" {
		return "no word of why"
	}
	return hub.OneLine(e.Error, 1000)
}

// readAnswer reads the answer to a request of JSON-RPC.
func readAnswer(resp *http.Response) (*jsonrpc.Response, error) {
	body, err := readBody(resp)
	if err != nil {
		return nil, err
	}
	return parseAnswer(body)
}

func parseAnswer(body []byte) (*jsonrpc.Response, error) {
	m, err := jsonrpc.DecodeMessage(body)
	answer, ok := m.(*jsonrpc.Response)
	if err != nil || !ok {
		return nil, &refusal{http.StatusOK, "but with no answer of JSON-RPC: is that an aldis hub?"}
	}
	return answer, nil
}
