package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"aldis/internal/config"
	"aldis/internal/doctor"
	"aldis/internal/hub"
)

const (
	canaryLabel = "aldis-doctor"
	canaryEvery = 250 * time.Millisecond // between looks at how far it got
	canaryText  = "This is a test by aldis doctor: it shows that messages arrive. Nothing is to be done, but for one thing: call the tool inbox, with ack naming the id of this message."
)

// canary sends the agent a message, and waits until it has been acknowledged.
func (p *prober) canary(ctx context.Context) {
	c := &doctor.Canary{Agent: p.Canary, Gate: doctor.NotAccepted}
	p.facts.Canary = c
	if p.facts.Hub.Presence != doctor.Ours {
		c.Why = "there is no hub at " + p.URL
		return
	}
	began := time.Now()
	defer func() { c.Waited = time.Since(began) }()
	if err := p.post(ctx, c); err != nil {
		c.Why = hub.OneLine(err.Error(), hub.PreviewBytes)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	tick := time.NewTicker(canaryEvery)
	defer tick.Stop()
	for p.look(ctx, c); c.Gate != doctor.Acknowledged && c.Gate != doctor.Undelivered && c.Gate != doctor.Decided; p.look(ctx, c) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// post has the hub accept the message.
func (p *prober) post(ctx context.Context, c *doctor.Canary) error {
	body, err := json.Marshal(map[string]string{"content": canaryText, "target": c.Agent})
	if err != nil {
		return err
	}
	n := notice{client: http.DefaultClient, hub: p.URL, token: bearer(config.Secret(p.shared())), label: canaryLabel, key: string(newID()), body: body}
	t, _, err := n.post(ctx)
	c.ID, c.Gate = string(t.ID), doctor.Queued
	if err != nil {
		c.Gate = doctor.NotAccepted
	}
	return err
}

// shared is the first shared token; empty: there is none.
func (p *prober) shared() string {
	if tokens := p.Tokens(); len(tokens) > 0 {
		return tokens[0]
	}
	return ""
}

// canaryGates are the gates that the hub's states stand for.
var canaryGates = map[string]doctor.Gate{
	hub.Queued.String(): doctor.Queued, hub.Written.String(): doctor.Written, hub.HandedOver.String(): doctor.HandedOver,
	hub.Acknowledged.String(): doctor.Acknowledged, hub.Failed.String(): doctor.Undelivered,
}

// look asks what became of the message. What is no answer changes nothing.
func (p *prober) look(ctx context.Context, c *doctor.Canary) {
	a := ask(ctx, http.MethodGet, p.URL+"/notify/"+url.PathEscape(c.ID), p.shared())
	var fate struct {
		Recipients []struct {
			State  string `json:"state"`
			Reason string `json:"reason"`
		} `json:"recipients"`
	}
	if a.err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &fate) != nil {
		return
	}
	if len(fate.Recipients) == 0 {
		c.Gate = doctor.Decided
		return
	}
	c.Gate, c.Why = canaryGates[fate.Recipients[0].State], hub.OneLine(fate.Recipients[0].Reason, hub.PreviewBytes)
}
