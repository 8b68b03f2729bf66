package phone

import (
	"embed"
	"net/http"
	"slices"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// policy lets the page load what is its own, and show pictures that it is about
// to post.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

//go:embed page
var page embed.FS

// Handler serves everything below /phone but /phone/received, behind
// [httpd.Guard]. Its static parts are open; the rest asks for the cookie.
func (p *Phone) Handler() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /phone", httpd.Static(page, "page/index.html"))
	for _, name := range []string{"app.css", "app.js", "ask.js", "dom.js"} {
		m.Handle("GET /phone/"+name, httpd.Static(page, "page/"+name))
	}
	for at, h := range map[string]httpd.Handler{
		"GET /phone/session":    own(p.session),
		"POST /phone/session":   own(p.enter),
		"GET /phone/events":     p.inside(p.events),
		"GET /phone/files/{id}": p.inside(p.picture),
		"POST /phone/messages":  p.inside(p.receive),
		"POST /phone/agents":    p.inside(p.setAgent),
		"POST /phone/restart":   p.inside(p.restart),
	} {
		m.Handle(at, httpd.Handle(p.Log, h))
	}
	return withPolicy(httpd.Mux(m))
}

func withPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		next.ServeHTTP(w, r)
	})
}

// Received serves POST /phone/received: a sample agent reports what it was
// handed. 204 means that it is kept; the same report again changes nothing.
// The caller has checked the token.
func (p *Phone) Received(w http.ResponseWriter, r *http.Request) error {
	var in received
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if err := p.commit(func(s *state) (*line, error) { return s.heard(in) }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setAgent serves POST /phone/agents.
func (p *Phone) setAgent(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Agent  string `json:"agent"`
		Online bool   `json:"online"`
	}
	if err := readJSON(r, &in); err != nil {
		return err
	}
	sample := func(a AgentState) bool { return a.Sample && a.Name == in.Agent }
	if !slices.ContainsFunc(p.Agents(), sample) {
		return hub.Errorf(hub.NotFound, "the demo runs no agent of that name")
	}
	p.Switch(in.Agent, in.Online)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// restart serves POST /phone/restart. The answer goes out first.
func (p *Phone) restart(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Length", "0") // it is whole when it is flushed
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush() // an error means that the page has gone; its wish stands
	p.Restart()
	return nil
}

// picture serves GET /phone/files/ID: the pictures of bubbles, nothing else.
func (p *Phone) picture(w http.ResponseWriter, r *http.Request) error {
	x, ok := p.findPicture(r.PathValue("id"))
	if !ok {
		return hub.Errorf(hub.NotFound, "no picture of that name is on the phone")
	}
	b, err := p.pictures.load(x)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", x.Type)
	h.Set("Cache-Control", "private, max-age=3600, immutable")
	http.ServeContent(w, r, "", time.Time{}, b)
	return nil
}

func (p *Phone) findPicture(id string) (picture, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.state.chats {
		for _, b := range list {
			if i := slices.IndexFunc(b.Pictures, func(x picture) bool { return x.ID == id }); i >= 0 {
				return b.Pictures[i], true
			}
		}
	}
	return picture{}, false
}
