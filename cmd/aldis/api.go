package main

import (
	"encoding/json"
	"net/http"
	"time"

	"aldis/internal/auth"
	"aldis/internal/hook"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/mcp"
)

// handler returns everything that the hub serves.
func (h *hubProcess) handler(tokens auth.Tokens) http.Handler {
	limit := &httpd.Limiter{PerMinute: h.settings.RateLimit}
	agents := mcp.NewServer(h.table, h.relay, version())
	h.table.Salon = h.salon
	agents.Calls, agents.Limit = h.store, func(key string) bool { _, ok := limit.Allow(key); return ok }
	intake := hook.Intake{Receiver: h.relay, Once: h.store.Once, NewID: newID, Allow: limit.Allow}
	notify := &hook.Notify{Intake: intake, Mail: h.store}
	h.hooks = &hook.Hooks{Intake: intake, Tokens: tokens, Find: h.findHook, Now: time.Now}

	mux := http.NewServeMux()
	serve := func(pattern string, f httpd.Handler, kinds ...auth.Kind) {
		mux.Handle(pattern, tokens.Require(httpd.Handle(h.log, f), kinds...))
	}
	serve("/mcp", agents.ServeHTTP, auth.Shared, auth.Agent)
	serve("POST /notify", notify.Post, auth.Shared, auth.Agent)
	serve("GET /notify/{id}", notify.Get, auth.Shared, auth.Agent, auth.Admin)
	mux.Handle("/hooks/{name}", httpd.Handle(h.log, h.hooks.ServeHTTP))
	mux.Handle("/hooks/{name}/{rest...}", httpd.Handle(h.log, h.hooks.ServeHTTP))
	for _, r := range h.adminRoutes(hookAPI{h.hooks, h.store}) {
		serve(r.pattern, r.handle, auth.Admin)
	}
	// What is the admin's is closed to others, whether or not there is anything.
	for _, pattern := range []string{"/api/", "/metrics"} {
		serve(pattern, nothing, auth.Admin)
	}
	pages := h.pages(tokens).Handler()
	for _, pattern := range []string{"/{$}", "/login", "/login/", "/logout", "/admin", "/admin/"} {
		mux.Handle(pattern, pages)
	}
	if h.phone != nil {
		mux.Handle("/phone", h.phone.Handler())
		mux.Handle("/phone/", h.phone.Handler())
		serve("POST /phone/received", h.phone.Received, auth.Shared)
	}
	if h.door != nil {
		h.door.mount(mux, newTools(h.history, h.log))
	}
	mux.Handle("GET /healthz", httpd.Handle(h.log, healthy))
	mux.Handle("GET /readyz", httpd.Handle(h.log, h.ready))
	return httpd.Mux(mux)
}

// An adminRoute is something that manages the hub.
type adminRoute struct {
	pattern string
	handle  httpd.Handler
}

// adminRoutes returns all that manages the hub. No other token opens any of
// them: agents could let people in, or themselves.
func (h *hubProcess) adminRoutes(hooks hookAPI) []adminRoute {
	access := accessAPI{h.access, h.relay}
	return []adminRoute{
		{"GET /metrics", h.scrape},
		{"GET /api/status", h.status},
		{"GET /api/log", logAPI{h.store}.list},
		{"GET /api/access", access.list},
		{"POST /api/access/{order}", access.order},
		{"GET /api/hooks", hooks.list},
		{"POST /api/hooks", hooks.add},
		{"DELETE /api/hooks/{name}", hooks.remove},
		{"GET /api/tokens", h.listTokens},
		{"POST /api/tokens", h.addToken},
		{"DELETE /api/tokens/{id}", h.revokeToken},
	}
}

func (h *hubProcess) salon() mcp.Salon {
	return mcp.Salon{URL: h.server.URL(), Since: h.started, Messages: h.relay.Taken()}
}

func nothing(_ http.ResponseWriter, r *http.Request) error {
	return hub.Errorf(hub.NotFound, "nothing is at %s", r.URL.Path)
}

func healthy(w http.ResponseWriter, _ *http.Request) error {
	return httpd.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says whether messages can be taken in and sent.
func (h *hubProcess) ready(w http.ResponseWriter, r *http.Request) error {
	if h.relay.Healthy() != nil || h.store.Healthy(r.Context()) != nil {
		return hub.Errorf(hub.Unavailable, "the record cannot be written")
	}
	for _, p := range h.reports() {
		if p.State == "connecting" || p.State == "down" {
			return hub.Errorf(hub.Unavailable, "%s is not connected", p.Platform)
		}
	}
	return healthy(w, r)
}

// reports describes the platforms that have a connection.
func (h *hubProcess) reports() []hub.PlatformReport {
	list := []hub.PlatformReport{}
	for _, p := range h.relay.Platforms {
		if r, ok := p.(hub.Reporter); ok {
			list = append(list, r.Report())
		}
	}
	return list
}

// A status describes the running hub. aldis status prints it.
type status struct {
	Version   string               `json:"version"`
	Started   time.Time            `json:"started"`
	Sessions  []mcp.SessionInfo    `json:"sessions"`
	Agents    []agentStatus        `json:"agents"`
	Routes    int                  `json:"routes"`
	Waiting   int64                `json:"waiting"` // messages that nobody was there for
	Prompts   int                  `json:"prompts"` // requests for permission and questions that are open
	Platforms []hub.PlatformReport `json:"platforms"`
	Access    accessTrouble        `json:"access"`
}

type agentStatus struct {
	Agent   hub.AgentID `json:"agent"`
	Present bool        `json:"present"`
	Default bool        `json:"default,omitempty"`
}

func (h *hubProcess) status(w http.ResponseWriter, _ *http.Request) error {
	s := status{
		Version: version(), Started: h.started.UTC(), Sessions: h.table.List(),
		Routes: h.relay.Routes.Len(), Waiting: h.relay.Waiting(), Prompts: h.relay.OpenPrompts(), Agents: []agentStatus{}, Platforms: h.reports(),
		Access: h.access.status(),
	}
	seen := map[hub.AgentID]bool{}
	add := func(agent hub.AgentID) {
		if agent == "" || seen[agent] {
			return
		}
		seen[agent] = true
		s.Agents = append(s.Agents, agentStatus{agent, h.table.Present(agent), agent == h.settings.DefaultAgent})
	}
	for _, session := range s.Sessions { // by agent
		add(session.Agent)
	}
	add(h.settings.DefaultAgent)
	return httpd.WriteJSON(w, http.StatusOK, s)
}

func (h *hubProcess) listTokens(w http.ResponseWriter, r *http.Request) error {
	list, err := h.store.Tokens(r.Context())
	if err != nil {
		return err
	}
	return httpd.WriteJSON(w, http.StatusOK, map[string]any{"tokens": list})
}

// A newToken is a token as it is shown once.
type newToken struct {
	ID     string      `json:"id"`
	Agent  hub.AgentID `json:"agent"`
	Secret string      `json:"token"`
}

func (h *hubProcess) addToken(w http.ResponseWriter, r *http.Request) error {
	b, err := httpd.ReadBody(r)
	if err != nil {
		return err
	}
	var in struct {
		Agent string `json:"agent"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return httpd.Statusf(http.StatusUnprocessableEntity, `the body must be like {"agent": "NAME"}`)
	}
	agent, err := hub.ParseAgentID(in.Agent)
	if err != nil {
		return err
	}
	t := newToken{Agent: agent}
	if t.ID, t.Secret, err = h.store.AddToken(r.Context(), agent); err != nil {
		return err
	}
	return httpd.WriteJSON(w, http.StatusCreated, t)
}

// revokeToken ends a token, and at once the sessions of its agent that were
// opened with one.
func (h *hubProcess) revokeToken(w http.ResponseWriter, r *http.Request) error {
	agent, err := h.store.RevokeToken(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	who := auth.Principal{Kind: auth.Agent, Agent: agent}
	if err := h.table.EndSubject(r.Context(), who.Subject()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
