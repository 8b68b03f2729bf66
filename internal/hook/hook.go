package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// A Hook is one webhook: what a service calls to write to an agent.
type Hook struct {
	Name    string
	Agent   hub.AgentID
	Preset  string   // how its callers sign and what they send, see [Presets]
	Secret  string   // what they sign with; empty: they need the shared token
	Only    []string // events that have an effect; empty: all
	Created time.Time
}

var hookName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Check fails with Invalid, and says why, if h cannot be a webhook.
func (h Hook) Check() error {
	p, known := presets[h.Preset]
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	switch {
	case !hookName.MatchString(h.Name) || strings.Trim(h.Name, ".") == "": // a path's dots mean something else
		return hub.Errorf(hub.Invalid, "a hook's name is 1 to 64 letters, digits, dots, dashes and underscores")
	case !known:
		return hub.Errorf(hub.Invalid, "no preset %.64q: there are %s", h.Preset, strings.Join(Presets(), ", "))
	case len(h.Secret) > 1024 || strings.ContainsFunc(h.Secret, odd):
		return hub.Errorf(hub.Invalid, "a secret is at most 1,024 printable ASCII characters")
	case p.standard && strings.HasPrefix(h.Secret, tagged) && len(standardKeys(h.Secret)) == 0:
		return hub.Errorf(hub.Invalid, "a secret that starts with %s goes on in base64, and this one does not", tagged)
	case slices.ContainsFunc(h.Only, func(e string) bool { return e == "" || len(e) > hub.PreviewBytes }):
		return hub.Errorf(hub.Invalid, "the name of an event is 1 to %d bytes", hub.PreviewBytes)
	}
	if agent, err := hub.ParseAgentID(string(h.Agent)); err != nil || agent != h.Agent {
		return hub.Errorf(hub.Invalid, "the agent's name is 1 to 128 bytes of printable text, without blanks around it")
	}
	return nil
}

// wants reports whether an event is to have an effect.
func (h Hook) wants(event string) bool { return len(h.Only) == 0 || slices.Contains(h.Only, event) }

// Counts are what became of a hook's calls since the hub began.
type Counts struct {
	Accepted   uint64 `json:"accepted"`
	Refused    uint64 `json:"refused"` // without a valid token or signature
	Duplicates uint64 `json:"duplicates"`
	Ignored    uint64 `json:"ignored"` // of an event that is not wanted
}

// Hooks serve /hooks/NAME. They see to authentication themselves, for it
// depends on the hook.
type Hooks struct {
	// set before use
	Intake
	Tokens auth.Tokens
	Find   func(ctx context.Context, name string) (Hook, error) // or NotFound
	Now    func() time.Time

	mu     sync.Mutex
	counts map[string]Counts // guarded by mu
}

// Counts returns what became of the calls of the hook of that name.
func (s *Hooks) Counts(name string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[name]
}

// Forget begins to count anew for the hook of that name.
func (s *Hooks) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counts, name)
}

// An answer is what a call is told, and counted as.
type answer string

const (
	accepted  answer = "ok"
	duplicate answer = "duplicate"
	ignored   answer = "ignored"
	refused   answer = "" // told an error
)

func (s *Hooks) count(name string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[name]
	switch a {
	case accepted:
		c.Accepted++
	case duplicate:
		c.Duplicates++
	case ignored:
		c.Ignored++
	case refused:
		c.Refused++
	}
	if s.counts == nil {
		s.counts = make(map[string]Counts)
	}
	s.counts[name] = c
}

// A noToken is an error that [auth.Unauthorized] is to answer.
type noToken struct{ error }

// ServeHTTP answers a call of the hook {name}: ok, duplicate, ignored, or an
// error.
func (s *Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	h, err := s.Find(r.Context(), r.PathValue("name"))
	if hub.KindOf(err) == hub.NotFound {
		// Who may not call hooks does not learn which there are.
		err = errors.Join(s.checkToken(r), err)
	}
	var a answer
	if err == nil {
		a, err = s.call(w, r, h)
	}
	if e, ok := errors.AsType[noToken](err); ok {
		auth.Unauthorized(w, e.error)
		return nil
	}
	if err != nil {
		return err
	}
	s.count(h.Name, a)
	return say(w, a)
}

// say answers in plain text, as the seed's receiver does.
func say(w http.ResponseWriter, a answer) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(w, string(a))
	return err
}

// call takes a call of h in.
func (s *Hooks) call(w http.ResponseWriter, r *http.Request, h Hook) (answer, error) {
	body, proof, err := s.admit(r, h)
	if err != nil {
		return refused, err
	}
	if err := s.limit(w, "hook\x00"+h.Name); err != nil {
		return refused, err
	}
	d := presets[h.Preset].describe(r.Header, body)
	if !h.wants(d.event) {
		return ignored, nil
	}
	keys, err := h.keys(r.Header, &d, proof)
	if err != nil {
		return refused, err
	}
	m := message(h, r, body, d)
	if len(keys) > 0 {
		if m.ID, err = s.Once(r.Context(), keys, s.NewID()); err != nil {
			return refused, err
		}
	}
	_, repeated, err := s.receive(r.Context(), m)
	if repeated {
		return duplicate, err
	}
	return accepted, err
}

// admit returns the body of a call that may be made, and, if it is signed, what
// no other call has. A body is read before it is known to be signed: its
// signature is over all of it.
func (s *Hooks) admit(r *http.Request, h Hook) (body []byte, proof string, err error) {
	err = checkSite(r.Header)
	if err == nil && h.Secret == "" {
		err = s.checkToken(r)
	}
	if err == nil {
		if body, err = httpd.ReadBody(r); err != nil {
			return nil, "", err
		}
	}
	if err == nil && h.Secret != "" {
		proof, err = presets[h.Preset].verify(h.Secret, r.Header, body, s.Now())
	}
	if err != nil {
		s.count(h.Name, refused)
	}
	return body, proof, err
}

// checkToken fails without the shared token.
func (s *Hooks) checkToken(r *http.Request) error {
	p, err := s.Tokens.Authenticate(r)
	if err != nil {
		return noToken{err}
	}
	if p.Kind != auth.Shared {
		return hub.Errorf(hub.Denied, "webhooks take the shared token alone")
	}
	return nil
}

// keys are what a call has in common with its repetitions: the id of the
// delivery, or its Idempotency-Key, or, where a signed call has neither, the
// signature. Not that besides an id: two events may well have one body. A hook that
// is added anew has seen nothing.
func (h Hook) keys(header http.Header, d *description, proof string) (keys []string, err error) {
	key, err := idempotencyKey(header)
	if err != nil {
		return nil, err
	}
	if err := checkKey("the id of the delivery", d.delivery); err != nil {
		return nil, err
	}
	if d.delivery == "" {
		d.delivery = key
	}
	since := h.Created.UTC().Format(time.RFC3339Nano)
	for _, id := range []string{d.delivery, key} {
		if id != "" {
			keys = append(keys, onceKey(id, "hook", h.Name, since, "delivery"))
		}
	}
	if len(keys) == 0 && proof != "" {
		keys = append(keys, onceKey(proof, "hook", h.Name, since, "signature"))
	}
	return slices.Compact(keys), nil
}

// message is what the agent of h is told of a call.
func message(h Hook, r *http.Request, body []byte, d description) hub.Message {
	m := hub.Message{
		Via: hub.ViaHook, Kind: hub.Text, Agent: hub.AgentID(h.Name), Subject: "hook:" + h.Name, Addr: r.RemoteAddr, To: h.Agent,
		Text: readable(body), Meta: map[string]string{},
	}
	if d.text != "" {
		m.Text, m.Raw = d.text, m.Text
	}
	for key, value := range map[string]string{
		"path": r.URL.EscapedPath(), "method": r.Method, "event": d.event, "delivery": d.delivery,
	} {
		if value != "" {
			m.Meta[key] = hub.OneLine(value, hub.PreviewBytes)
		}
	}
	return m
}

// readable is a body as text.
func readable(body []byte) string {
	return hub.StripControl(strings.ToValidUTF8(string(body), "\uFFFD"))
}
