package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"aldis/internal/auth"
	"aldis/internal/hub"
	"aldis/internal/web"
)

// pages returns the pages for people.
func (h *hubProcess) pages(tokens auth.Tokens) *web.Pages {
	return &web.Pages{
		Tokens: tokens, Logins: h.logins, Record: h.store, Log: h.log, Now: time.Now, Ended: h.ended,
		Prompts: h.store.Prompts, Presence: h.presence,
	}
}

// presence is who is there, and what waits for whom.
func (h *hubProcess) presence(ctx context.Context) (web.Presence, error) {
	p := web.Presence{Platforms: h.reports()}
	agents := map[hub.AgentID]web.Agent{}
	if h.settings.DefaultAgent != "" {
		agents[h.settings.DefaultAgent] = web.Agent{}
	}
	for _, s := range h.table.List() {
		p.Sessions = append(p.Sessions, web.Session{
			ID: s.Session, Agent: s.Agent, Client: s.Client, State: s.State, Seat: s.Seat, Evicted: s.Evicted, Used: s.Used,
		})
		if s.Named {
			agents[s.Agent] = web.Agent{}
		}
	}
	waiting, err := h.store.Waiting(ctx)
	for _, w := range waiting {
		agents[w.Agent] = web.Agent{Waiting: w.Count, Held: w.Held}
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		a.Name, a.Present, a.Default = name, h.table.Present(name), name == h.settings.DefaultAgent
		p.Agents = append(p.Agents, a)
	}
	return p, err
}
