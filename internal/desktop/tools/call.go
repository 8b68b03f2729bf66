package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// Bounds of what hosts can ask for at once.
const (
	maxTime    = 30 * time.Second // for one call, waiting included
	maxRunning = 2                // calls at once
	maxWaiting = 16               // for one of those to end; more are refused
	maxBatch   = 16               // in one HTTP request
)

// A desk carries out calls, a few at a time.
type desk struct {
	history History
	log     *slog.Logger
	running chan struct{} // cap maxRunning, holds one for each call
	waiting atomic.Int32
}

// A caller is who asks, as the audit names it.
type caller struct {
	who      string
	client   string          // what it says it is; perhaps empty
	patience context.Context // ends when it does not wait for the answer any more
	greedy   bool            // it has made too many calls in one request
}

// call carries out one call. Whatever comes of it, there is one line about it
// in the log, without a word of what was asked for or read.
func (d *desk) call(ctx context.Context, c caller, t tool, raw json.RawMessage) (*mcp.CallToolResult, error) {
	begun := time.Now()
	ctx, cancel := c.within(ctx)
	defer cancel()
	a, out, err := d.answer(ctx, c, t, raw)
	if err != nil {
		err = explain(ctx, err)
		out = d.readable(t, err)
	}
	d.log.LogAttrs(ctx, slog.LevelInfo, "history read", audit(c, t, a, len(out), err, time.Since(begun))...)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}, IsError: err != nil}, nil
}

// within bounds ctx by the time that a call has, and by the patience of c.
func (c caller) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	stop := context.AfterFunc(c.patience, cancel)
	return ctx, func() { stop(); cancel() }
}

// answer reads what was asked for, and returns it as JSON too. A panic is an
// error: the SDK calls us on goroutines of its own, where nobody else would keep
// it from ending the process, which may be the hub's.
func (d *desk) answer(ctx context.Context, c caller, t tool, raw json.RawMessage) (a answer, out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if c.greedy {
		return answer{}, "", errTooMany
	}
	v, err := parse(t.args, raw)
	if err != nil {
		return answer{}, "", err
	}
	if err := d.enter(ctx); err != nil {
		return answer{}, "", err
	}
	defer d.leave()
	if a, err = t.read(ctx, d.history, v); err != nil {
		return answer{}, "", err
	}
	out, err = compact(a.result)
	return a, out, err
}

// enter waits until one more call may run.
func (d *desk) enter(ctx context.Context) error {
	select {
	case d.running <- struct{}{}:
		return nil
	default:
	}
	defer d.waiting.Add(-1)
	if d.waiting.Add(1) > maxWaiting {
		return errTooMany
	}
	select {
	case d.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *desk) leave() { <-d.running }

// compact returns v as JSON in one line. What a person wrote stays as it was
// written: < is < and not \u003c.
func compact(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode an answer: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

var (
	errTooLong  = hub.Errorf(hub.Unavailable, "this took longer than %s and was given up: narrow it by conversationId, before and after", maxTime)
	errTooMany  = hub.Errorf(hub.Limited, "too many calls at once: wait a moment, then make them one after the other")
	errForsaken = hub.Errorf(hub.Unavailable, "cancelled")
)

// unreadable is all that a model is told of an error that it can do nothing about.
const unreadable = "the history could not be read: the log of the server says why. Asking again will not help before that is mended"

// explain returns err, or, if ctx ended, that this is why.
func explain(ctx context.Context, err error) error {
	switch {
	case hub.KindOf(err) != hub.Internal:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errTooLong
	case ctx.Err() != nil:
		return errForsaken
	default:
		return err
	}
}

// readable returns what the model may read of err. What it may not read goes
// to the log.
func (d *desk) readable(t tool, err error) string {
	e, ok := errors.AsType[*hub.Error](err)
	if ok && e.Kind != hub.Internal {
		if e.Kind == hub.Unavailable && e.Err != nil {
			d.log.Warn("history unavailable", "tool", t.name, "err", e.Err)
			return strings.TrimSuffix(e.Msg, ": "+e.Err.Error()) + "; the log of the server says more" // it may name files
		}
		return e.Msg
	}
	d.log.Error("history failed", "tool", t.name, "err", err)
	return unreadable
}

// audit describes a call.
func audit(c caller, t tool, a answer, size int, err error, took time.Duration) []slog.Attr {
	as := []slog.Attr{slog.String("who", c.who), slog.String("client", c.client), slog.String("tool", t.name)}
	if err != nil {
		as = append(as, slog.String("err", string(hub.KindOf(err))))
	} else {
		as = append(as, slog.String("scope", a.scope()), slog.Int("rows", a.rows))
	}
	return append(as, slog.Int("bytes", size), slog.Duration("duration", took))
}

// scope tells what was read of: everything, or one conversation under a name
// that is the same in each line but tells nothing to who has only the lines. An
// id is named only when something was read: then it is Signal's, which is
// random, and no word or number that a model tried.
func (a answer) scope() string {
	if a.of == "" || a.rows == 0 {
		return "all"
	}
	sum := sha256.Sum256([]byte(a.of))
	return "conversation:" + hex.EncodeToString(sum[:6])
}
