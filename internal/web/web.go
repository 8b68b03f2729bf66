// Package web serves the pages for people: the record with its filters, each
// message, the agents, what was allowed, and the login that they are behind.
//
// Its one rule: a page is whole and in order without its script. The script
// only puts times in the reader's zone and keeps the first page fresh.
package web

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

//go:embed page
var files embed.FS

// Pages are the pages of one hub.
type Pages struct {
	// set before use
	Tokens auth.Tokens
	Logins *auth.Logins
	Record hub.Log
	Log    *slog.Logger
	Now    func() time.Time
	Ended  <-chan struct{} // closed when the hub stops: streams end

	// Prompts returns what was asked of people since a time, and what is
	// still open, oldest first.
	Prompts func(ctx context.Context, since time.Time) ([]hub.Prompt, error)

	// Presence returns who is there, at this moment.
	Presence func(ctx context.Context) (Presence, error)

	viewers atomic.Int64 // of the live stream
}

// A Presence is who is there, each list in the order it is shown in.
type Presence struct {
	Agents    []Agent
	Sessions  []Session
	Platforms []hub.PlatformReport
}

// An Agent is one that has a name.
type Agent struct {
	Name    hub.AgentID
	Present bool
	Default bool // it gets what answers nobody
	Waiting int  // messages that no session of its was handed yet
	Held    int  // of these, until it comes
}

// A Session is one of an agent, with a name or without.
type Session struct {
	ID      string // its start
	Agent   hub.AgentID
	Client  string
	State   string // "new", "live", "away", "deaf", "pull", "gone"
	Seat    bool   // it came with a label
	Evicted bool   // another session took that label
	Used    time.Time
}

// Handler serves /, /login, /logout, /admin and what is below these, behind
// [httpd.Guard].
func (p *Pages) Handler() http.Handler {
	in := http.NewServeMux()
	for at, h := range map[string]httpd.Handler{
		"GET /{$}":                 p.home,
		"GET /admin":               p.messages,
		"GET /admin/messages/{id}": p.message,
		"GET /admin/agents":        p.agents,
		"GET /admin/prompts":       p.prompts,
		"GET /admin/live":          p.live,
		"/":                        nothing,
	} {
		in.Handle(at, p.handle(h))
	}
	in.Handle("GET /admin/admin.js", httpd.Static(files, "page/admin.js"))

	m := http.NewServeMux()
	m.Handle("GET /login", p.handle(p.loginPage))
	m.Handle("POST /login", p.handle(p.logIn))
	m.Handle("POST /logout", p.handle(p.logOut))
	m.Handle("GET /login/style.css", httpd.Static(files, "page/style.css"))
	m.Handle("GET /login/icon.svg", httpd.Static(files, "page/icon.svg"))
	m.Handle("/", p.inside(in))
	return m
}

func nothing(_ http.ResponseWriter, r *http.Request) error {
	return hub.Errorf(hub.NotFound, "nothing is at %s", r.URL.Path)
}

// handle shows why h failed as a page where one is wanted.
func (p *Pages) handle(h httpd.Handler) http.Handler {
	return httpd.HandleAs(p.Log, func(w http.ResponseWriter, r *http.Request, status int, msg string) {
		if !httpd.WantsPage(r) {
			httpd.WriteError(w, status, msg)
			return
		}
		_ = render(w, status, "error", errorPage{frame{Title: http.StatusText(status), In: p.Logins.In(r)}, msg}) // fails if the browser has gone
	}, h)
}

// inside lets the admin through: with a token as all that is the admin's, or a
// browser that has logged in. One that has not is sent to do so.
func (p *Pages) inside(next http.Handler) http.Handler {
	byToken := p.Tokens.Require(next, auth.Admin)
	byCookie := p.handle(func(w http.ResponseWriter, r *http.Request) error {
		if err := httpd.OwnPage(r); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch in := p.Logins.In(r); {
		case r.Header.Get("Authorization") == "" && in:
			byCookie.ServeHTTP(w, r)
		case r.Header.Get("Authorization") == "" && httpd.WantsPage(r):
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			byToken.ServeHTTP(w, r)
		}
	})
}

// home serves GET /.
func (p *Pages) home(w http.ResponseWriter, _ *http.Request) error {
	return render(w, http.StatusOK, "home", frame{Title: "Aldis", In: true})
}
