package hook

import (
	"log/slog"
	"net/http"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// A Listener is the receiver of seed channels-reference.md: a call of any path
// and method becomes a message to one agent.
type Listener struct {
	Receiver hub.Receiver
	Tokens   auth.Tokens
	Agent    hub.AgentID
	Log      *slog.Logger
}

// Handler returns what serves every path.
func (l Listener) Handler() http.Handler {
	return l.Tokens.Require(httpd.Handle(l.Log, l.call), auth.Shared)
}

func (l Listener) call(w http.ResponseWriter, r *http.Request) error {
	if err := checkSite(r.Header); err != nil {
		return err
	}
	body, err := httpd.ReadBody(r)
	if err != nil {
		return err
	}
	m := message(Hook{Name: "webhook", Agent: l.Agent}, r, body, description{})
	if _, err := l.Receiver.Receive(r.Context(), m); err != nil {
		return err
	}
	return say(w, accepted)
}
