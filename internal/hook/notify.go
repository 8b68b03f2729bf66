// Package hook takes messages in over HTTP: from scripts, POST /notify, with
// GET /notify/ID, which says what became of one; and from services, /hooks/NAME.
//
// Its one rule: who a message is from stands in the address, which the calling
// environment controls, never in the body, which a model may have written.
package hook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// A Notify serves /notify (seed agent-salon.md, POST /notify). Requests must
// have passed package auth.
type Notify struct {
	Intake
	Mail hub.Mail
}

// body is what a script posts. A source in it is ignored.
type body struct {
	Content *string         `json:"content"`
	Target  *string         `json:"target"`
	Meta    json.RawMessage `json:"meta"`
}

// Post takes a message in: 202 once it is in the record and queued. One that
// comes again with the same Idempotency-Key from the same label within 24 h has
// no effect, and the answer names the first.
func (n *Notify) Post(w http.ResponseWriter, r *http.Request) error {
	who := auth.From(r.Context())
	label, err := hub.ParseAgentID(r.URL.Query().Get("label"))
	if err != nil {
		return hub.Errorf(hub.Invalid, "say who you are with ?label=NAME: %w", err)
	}
	if who.Kind == auth.Agent && label != who.Agent {
		return hub.Errorf(hub.Denied, "this token is for agent %s alone: use ?label=%[1]s", who.Agent)
	}
	if err := n.limit(w, who.Subject()+"\x00"+string(label)); err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	b, meta, dropped, err := read(r)
	if err != nil {
		return err
	}
	m := hub.Message{
		Via: hub.ViaNotify, Kind: hub.Text, Agent: label, Subject: who.Subject(), Addr: r.RemoteAddr,
		To: target(b.Target), Text: hub.StripControl(*b.Content), Meta: meta,
	}
	if key != "" {
		if m.ID, err = n.first(r.Context(), onceKey(key, "notify", who.Subject(), string(label)), m); err != nil {
			return err
		}
	}
	id, repeated, err := n.receive(r.Context(), m)
	if err != nil {
		return err
	}
	answer := map[string]any{"id": id}
	if repeated {
		answer["repeated"] = true
	}
	if len(dropped) > 0 {
		answer["dropped_meta"] = dropped
	}
	return httpd.WriteJSON(w, http.StatusAccepted, answer)
}

// first returns the id of the message that m, which comes with key, is or
// repeats. It fails, as draft-ietf-httpapi-idempotency-key-header-07 (section
// 2.7) has it, if another one came with that key: it would be lost in silence.
func (n *Notify) first(ctx context.Context, key string, m hub.Message) (hub.MessageID, error) {
	said, err := json.Marshal([]any{m.To, m.Text, m.Meta})
	if err != nil {
		return "", fmt.Errorf("encode a message: %w", err)
	}
	id, err := n.Once(ctx, []string{fmt.Sprintf("%s\n%x", key, sha256.Sum256(said))}, n.NewID())
	if err != nil {
		return "", err
	}
	first, err := n.Once(ctx, []string{key}, id)
	if err == nil && first != id {
		err = httpd.Statusf(http.StatusUnprocessableEntity, "this Idempotency-Key came with another message in the last 24 h: give each message a key of its own")
	}
	return id, err
}

func read(r *http.Request) (b body, meta map[string]string, dropped []string, err error) {
	raw, err := httpd.ReadJSON(r)
	if err != nil {
		return b, nil, nil, err
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, nil, nil, httpd.Statusf(http.StatusUnprocessableEntity, `the body must be a JSON object like {"content": "…", "target": "AGENT"}`)
	}
	if b.Content == nil {
		return b, nil, nil, httpd.Statusf(http.StatusUnprocessableEntity, "content is missing")
	}
	if meta, dropped, err = hub.ParseMeta(b.Meta); err != nil {
		return b, nil, nil, httpd.Statusf(http.StatusUnprocessableEntity, "%s", hub.Readable(err))
	}
	return b, meta, dropped, nil
}

func target(s *string) hub.AgentID {
	if s == nil {
		return ""
	}
	return hub.AgentID(strings.TrimSpace(*s))
}

// fate is one recipient in an answer of Get.
type fate struct {
	Agent  hub.AgentID `json:"agent"`
	State  string      `json:"state"`
	Reason string      `json:"reason,omitempty"`
	Time   time.Time   `json:"time"`
}

// Get says what became of a message, to the subject that posted it or the
// admin.
func (n *Notify) Get(w http.ResponseWriter, r *http.Request) error {
	who := auth.From(r.Context())
	subject := who.Subject()
	if who.Kind == auth.Admin {
		subject = ""
	}
	id := hub.MessageID(r.PathValue("id"))
	ds, err := n.Mail.Fate(r.Context(), subject, id)
	if err != nil {
		return err
	}
	fates := make([]fate, len(ds))
	for i, d := range ds {
		fates[i] = fate{d.Agent, d.State.String(), d.Reason, d.Time.UTC()}
	}
	return httpd.WriteJSON(w, http.StatusOK, map[string]any{"id": id, "recipients": fates})
}
