package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"aldis/internal/config"
	"aldis/internal/hub"
)

// notifyFor is how long a message is tried again while the hub is away.
const notifyFor = 30 * time.Second

// notifyCmd is aldis notify: a script's message to agents.
type notifyCmd struct {
	config.HubSender
	To    *string  `placeholder:"AGENT" help:"Whom to write to. Default: everybody."`
	Label string   `vars:"ALDIS_LABEL" placeholder:"NAME" help:"Who sends, as agents see it; needed."`
	Meta  []string `sep:"none" placeholder:"KEY=VALUE" help:"Attribute of the event; repeat for more."`
	Key   string   `placeholder:"KEY" help:"Idempotency-Key: what comes again under it within 24 h has no effect. Default: a new one."`
	Text  []string `arg:"" help:"What to say; - reads standard input."`
}

func (c *notifyCmd) Run(ctx context.Context, e env) error {
	n, err := c.notice(e.stdin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, notifyFor)
	defer cancel()
	n.shown = newProgress(e)
	taken, err := n.deliver(ctx)
	if err != nil {
		return err
	}
	if len(taken.Dropped) > 0 {
		fmt.Fprintf(e.stderr, "aldis: not passed on: meta %s (reserved, or too many)\n", strings.Join(taken.Dropped, ", "))
	}
	_, err = fmt.Fprintln(e.stdout, taken.ID)
	return err
}

// notice returns what is to be posted. Its errors are those of usage.
func (c *notifyCmd) notice(stdin io.Reader) (*notice, error) {
	label, err := hub.ParseAgentID(c.Label)
	if err != nil {
		return nil, usageError{fmt.Errorf("--label (ALDIS_LABEL) says who sends: %w", err)}
	}
	unsendable := func(r rune) bool { return r < ' ' || r > '~' }
	if len(c.Key) > 255 || strings.ContainsFunc(c.Key, unsendable) {
		return nil, usageError{errors.New("--key: want 1 to 255 printable ASCII characters")}
	}
	body := map[string]any{}
	if c.To != nil { // --to "$TYPO" is not meant for everybody
		if body["target"] = *c.To; strings.TrimSpace(*c.To) == "" {
			return nil, usageError{errors.New("--to is empty; leave it out to write to everybody")}
		}
	}
	meta := map[string]string{}
	for _, pair := range c.Meta {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--meta: want KEY=VALUE, got %q", pair)}
		}
		meta[key] = value
	}
	body["meta"] = meta
	text, err := readText(c.Text, stdin)
	if err != nil {
		return nil, err
	}
	if body["content"] = text; strings.TrimSpace(text) == "" {
		return nil, usageError{errors.New("there is nothing to say: the text is empty")}
	}
	n := &notice{client: http.DefaultClient, hub: c.URL, token: bearer(c.Token), label: label, key: c.Key}
	if n.key == "" {
		n.key = string(newID())
	}
	n.body, err = json.Marshal(body)
	return n, err
}

// A notice is a message for /notify.
type notice struct {
	client     *http.Client
	hub, token string
	label      hub.AgentID
	key        string // the same for each attempt: one of them has an effect
	body       []byte
	shown      *progress
}

// taken is the answer of a hub that has accepted a notice.
type taken struct {
	ID      hub.MessageID `json:"id"`
	Dropped []string      `json:"dropped_meta"`
}

// deliver posts n until the hub has accepted or refused it, or ctx ends.
func (n *notice) deliver(ctx context.Context) (taken, error) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: 250 * time.Millisecond, Multiplier: 2, MaxInterval: 2 * time.Second, RandomizationFactor: 0.3}
	for {
		t, wait, err := n.post(ctx)
		if err == nil || wait < 0 {
			return t, err
		}
		n.shown.say("aldis: %v; trying again", err)
		select {
		case <-time.After(max(wait, pauses.NextBackOff())):
		case <-ctx.Done():
			return t, err
		}
	}
}

// post posts n once. What is worth another attempt fails with how long to wait
// before, at least; what is not, with less than zero.
func (n *notice) post(ctx context.Context) (t taken, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.hub+"/notify?label="+url.QueryEscape(string(n.label)), bytes.NewReader(n.body))
	if err != nil {
		return t, -1, fmt.Errorf("call the hub at %s: %w", n.hub, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", n.key)
	if n.token != "" {
		req.Header.Set("Authorization", n.token)
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return t, 0, fmt.Errorf("call the hub at %s: %w; is aldis serve running?", n.hub, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	err = readAnswer(resp, n.hub, &t)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return t, time.Duration(seconds) * time.Second, err
	case http.StatusAccepted:
		return t, 0, err // its body may have broken off
	default:
		return t, -1, err
	}
}
