package hook

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/store"
)

// A desk has webhooks in front of a real record.
type desk struct {
	t       *testing.T
	path    string
	store   *store.Store
	hooks   *Hooks
	clock   time.Time
	got     []hub.Message
	fails   error // what Receive fails with
	limited bool
	ids     int
}

func newDesk(t *testing.T, hooks ...Hook) *desk {
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "a.db"), clock: now}
	d.open()
	for _, h := range hooks {
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.store.AddHook(t.Context(), store.Hook(h)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = d.store.Close() })
	return d
}

// open opens the record, again if it was open.
func (d *desk) open() {
	if d.store != nil {
		_ = d.store.Close()
	}
	var err error
	if d.store, err = store.Open(d.t.Context(), store.Options{Path: d.path, Now: func() time.Time { return d.clock }}); err != nil {
		d.t.Fatal(err)
	}
	d.hooks = &Hooks{
		Intake: Intake{
			Receiver: d, Once: d.store.Once,
			NewID: func() hub.MessageID { d.ids++; return hub.MessageID(fmt.Sprint("m", d.ids)) },
			Allow: func(string) (time.Duration, bool) { return 1500 * time.Millisecond, !d.limited },
		},
		Tokens: auth.Tokens{Shared: []string{"shared"}, Admin: "admin", Agents: func(hash [sha256.Size]byte) (hub.AgentID, bool) {
			return "a", hash == auth.Hash("agents")
		}},
		Find: func(ctx context.Context, name string) (Hook, error) {
			h, err := d.store.Hook(ctx, name)
			return Hook(h), err
		},
		Now: func() time.Time { return d.clock },
	}
}

// Receive implements [hub.Receiver]: it records, as the relay does.
func (d *desk) Receive(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	if d.fails != nil {
		return hub.Receipt{}, d.fails
	}
	stored := m
	if stored.ID == "" {
		stored.ID = d.hooks.NewID()
	}
	if _, err := d.store.Append(ctx, stored, &hub.Decision{To: []hub.AgentID{m.To}}, nil); err != nil {
		return hub.Receipt{}, fmt.Errorf("record: %w", err)
	}
	d.got = append(d.got, m)
	return hub.Receipt{ID: stored.ID}, nil
}

func (*desk) Late(context.Context, hub.MessageID, hub.Ref) {}

// call calls a path; headers are pairs of name and value.
func (d *desk) call(method, path, body string, pairs ...string) *httptest.ResponseRecorder {
	d.t.Helper()
	mux := http.NewServeMux()
	serve := httpd.Handle(slog.New(slog.DiscardHandler), d.hooks.ServeHTTP)
	mux.Handle("/hooks/{name}", serve)
	mux.Handle("/hooks/{name}/{rest...}", serve)
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for name, values := range headers(pairs...) {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func (d *desk) want(what string, w *httptest.ResponseRecorder, status int, says string) {
	d.t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), says) {
		d.t.Errorf("%s: answered %d %s, want %d with %q", what, w.Code, w.Body, status, says)
	}
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func signedByGitHub(body, event, delivery string) []string {
	return []string{"X-Hub-Signature-256", "sha256=" + hexMAC(secret, body), "X-GitHub-Event", event, "X-GitHub-Delivery", delivery}
}

func TestCalls(t *testing.T) {
	hooks := []Hook{
		{Name: "any", Agent: "a", Preset: "generic"},
		{Name: "repo", Agent: "a", Preset: "github", Secret: secret, Only: []string{"star", "ping"}},
	}
	const star = `{"action":"created","sender":{"login":"ann"},"repository":{"full_name":"o/r","stargazers_count":7}}`
	plain := hub.Message{
		Via: hub.ViaHook, Kind: hub.Text, Agent: "any", Subject: "hook:any", Addr: "192.0.2.1:1234", To: "a", Text: "build failed",
		Meta: map[string]string{"path": "/hooks/any", "method": "POST"},
	}
	with := func(m hub.Message, change func(*hub.Message)) []hub.Message {
		change(&m)
		return []hub.Message{m}
	}
	for _, tt := range []struct {
		name               string
		method, path, body string
		headers            []string
		limited            bool
		fails              error
		status             int
		says               string
		want               []hub.Message
		counts             Counts
	}{
		{name: "any body", method: "POST", path: "/hooks/any", body: "build failed", headers: bearer("shared"), status: 200, says: "ok", want: []hub.Message{plain}, counts: Counts{Accepted: 1}},
		{
			name: "any method and path", method: "PUT", path: "/hooks/any/x/a%20b?q=1", body: "build failed", headers: bearer("shared"), status: 200, says: "ok",
			want: with(plain, func(m *hub.Message) { m.Meta = map[string]string{"path": "/hooks/any/x/a%20b", "method": "PUT"} }), counts: Counts{Accepted: 1},
		},
		{
			name: "no body", method: "GET", path: "/hooks/any/", headers: bearer("shared"), status: 200, says: "ok",
			want: with(plain, func(m *hub.Message) { m.Text, m.Meta = "", map[string]string{"path": "/hooks/any/", "method": "GET"} }), counts: Counts{Accepted: 1},
		},
		{
			name: "bytes that are no text", method: "POST", path: "/hooks/any", body: "a\x00b\xffc\r\n\td", headers: bearer("shared"), status: 200,
			want: with(plain, func(m *hub.Message) { m.Text = "ab\uFFFDc\n\td" }), counts: Counts{Accepted: 1},
		},
		{
			name: "what it calls itself", method: "POST", path: "/hooks/any", body: "build failed",
			headers: append(bearer("shared"), "X-Event", "a\u202eb", "X-Delivery", "d1"), status: 200,
			want: with(plain, func(m *hub.Message) {
				m.ID, m.Meta = "m1", map[string]string{"path": "/hooks/any", "method": "POST", "event": "a\uFFFDb", "delivery": "d1"}
			}), counts: Counts{Accepted: 1},
		},
		{name: "no token", method: "POST", path: "/hooks/any", status: 401, says: "token", counts: Counts{Refused: 1}},
		{name: "a wrong token", method: "POST", path: "/hooks/any", headers: bearer("guess"), status: 401, says: "not valid", counts: Counts{Refused: 1}},
		{name: "an agent's token", method: "POST", path: "/hooks/any", headers: bearer("agents"), status: 403, says: "shared token", counts: Counts{Refused: 1}},
		{name: "the admin's token", method: "POST", path: "/hooks/any", headers: bearer("admin"), status: 403, says: "shared token", counts: Counts{Refused: 1}},
		{name: "an unknown hook", method: "POST", path: "/hooks/none", headers: bearer("shared"), status: 404, says: "no hook"},
		{name: "an unknown hook without a token", method: "POST", path: "/hooks/none", status: 401, says: "token"},
		{name: "an unknown hook with an agent's", method: "POST", path: "/hooks/none", headers: bearer("agents"), status: 403, says: "shared token"},
		{name: "too often", method: "POST", path: "/hooks/any", headers: bearer("shared"), limited: true, status: 429},
		{name: "too often, and not let in", method: "POST", path: "/hooks/any", limited: true, status: 401, counts: Counts{Refused: 1}},
		{name: "a full disk", method: "POST", path: "/hooks/any", headers: bearer("shared"), fails: hub.Errorf(hub.Unavailable, "full"), status: 503},
		{name: "a key that is none", method: "POST", path: "/hooks/any", headers: append(bearer("shared"), "Idempotency-Key", "é"), status: 400, says: "Idempotency-Key"},
		{name: "an empty key", method: "POST", path: "/hooks/any", headers: append(bearer("shared"), "Idempotency-Key", ""), status: 400, says: "Idempotency-Key"},
		{name: "a delivery that is too long", method: "POST", path: "/hooks/any", headers: append(bearer("shared"), "X-Delivery", strings.Repeat("x", 256)), status: 400, says: "delivery"},
		{
			name: "signed", method: "POST", path: "/hooks/repo", body: star, headers: signedByGitHub(star, "star", "d1"), status: 200, says: "ok", counts: Counts{Accepted: 1},
			want: []hub.Message{{
				ID: "m1", Via: hub.ViaHook, Kind: hub.Text, Agent: "repo", Subject: "hook:repo", Addr: "192.0.2.1:1234", To: "a", Text: "star created by ann: o/r has 7", Raw: star,
				Meta: map[string]string{"path": "/hooks/repo", "method": "POST", "event": "star", "delivery": "d1"},
			}},
		},
		{name: "a token is no signature", method: "POST", path: "/hooks/repo", body: star, headers: bearer("shared"), status: 401, says: "signature", counts: Counts{Refused: 1}},
		{name: "another body", method: "POST", path: "/hooks/repo", body: star + " ", headers: signedByGitHub(star, "star", "d1"), status: 401, says: "signature", counts: Counts{Refused: 1}},
		{name: "an event that is not wanted", method: "POST", path: "/hooks/repo", body: star, headers: signedByGitHub(star, "push", "d1"), status: 200, says: "ignored", counts: Counts{Ignored: 1}},
		{name: "not wanted, and not signed", method: "POST", path: "/hooks/repo", body: star, headers: []string{"X-GitHub-Event", "push"}, status: 401, says: "signature", counts: Counts{Refused: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, hooks...)
			d.limited, d.fails = tt.limited, tt.fails
			w := d.call(tt.method, tt.path, tt.body, tt.headers...)
			d.want("it is", w, tt.status, tt.says)
			if diff := cmp.Diff(tt.want, d.got); diff != "" {
				t.Errorf("taken in (-want +got):\n%s", diff)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(tt.path, "/hooks/"), "/")
			if got := d.hooks.Counts(name); got != tt.counts {
				t.Errorf("counted %+v, want %+v", got, tt.counts)
			}
			if kind := w.Header().Get("Content-Type"); tt.status == 200 && !strings.HasPrefix(kind, "text/plain") {
				t.Errorf("Content-Type %q", kind)
			}
			if got := w.Header().Get("Retry-After"); (got == "2") != (tt.status == 429) {
				t.Errorf("Retry-After %q", got)
			}
		})
	}
}

// TestAttackReplay sends a captured call again.
func TestAttackReplay(t *testing.T) {
	for _, tt := range []struct {
		name        string
		hook        Hook
		first, next []string
		after       time.Duration
		status      int
		says        string
	}{
		{name: "as it was", hook: Hook{Preset: "github", Secret: secret}, first: signedByGitHub(testBody, "x", "d1"), next: signedByGitHub(testBody, "x", "d1"), status: 200, says: "duplicate"},
		{name: "another delivery of the same body", hook: Hook{Preset: "github", Secret: secret}, first: signedByGitHub(testBody, "x", "d1"), next: signedByGitHub(testBody, "x", "d2"), status: 200, says: "ok"},
		{name: "without delivery ids", hook: Hook{Preset: "github", Secret: secret}, first: signedByGitHub(testBody, "x", ""), next: signedByGitHub(testBody, "x", ""), status: 200, says: "duplicate"},
		{
			name: "under another header, in capitals", hook: Hook{Preset: "generic", Secret: secret}, status: 200, says: "duplicate",
			first: []string{"X-Signature", hexMAC(secret, testBody)}, next: []string{"X-Signature-256", "sha256=" + strings.ToUpper(hexMAC(secret, testBody))},
		},
		{
			name: "another event with the same body", hook: Hook{Preset: "generic", Secret: secret}, status: 200, says: "ok",
			first: []string{"X-Signature", hexMAC(secret, testBody), "X-Event", "on"}, next: []string{"X-Signature", hexMAC(secret, testBody), "X-Event", "off"},
		},
		{name: "in time", hook: Hook{Preset: "generic", Secret: whsec}, first: standard(whsecKey(), "m1", nowSec), next: standard(whsecKey(), "m1", nowSec), status: 200, says: "duplicate"},
		{name: "too late", hook: Hook{Preset: "generic", Secret: whsec}, first: standard(whsecKey(), "m1", nowSec), next: standard(whsecKey(), "m1", nowSec), after: 301 * time.Second, status: 401, says: "seconds off"},
		{
			name: "an honest retry, signed anew", hook: Hook{Preset: "generic", Secret: whsec}, status: 200, says: "duplicate",
			first: standard(whsecKey(), "m1", nowSec), next: standard(whsecKey(), "m1", at(time.Hour)), after: time.Hour,
		},
		{
			name: "the id of the event", hook: Hook{Preset: "stripe", Secret: secret}, status: 200, says: "duplicate",
			first: stripe(nowSec, hexMAC(secret, nowSec, ".", testBody)), next: stripe(at(time.Minute), hexMAC(secret, at(time.Minute), ".", testBody)), after: time.Minute,
		},
		{name: "an id without a secret", hook: Hook{Preset: "generic"}, first: append(bearer("shared"), "X-Delivery", "d1"), next: append(bearer("shared"), "X-Delivery", "d1"), status: 200, says: "duplicate"},
		{name: "a key", hook: Hook{Preset: "generic"}, first: append(bearer("shared"), "Idempotency-Key", "k"), next: append(bearer("shared"), "Idempotency-Key", "k"), after: 24 * time.Hour, status: 200, says: "duplicate"},
		{
			name: "a key beside another delivery id", hook: Hook{Preset: "generic"}, status: 200, says: "duplicate",
			first: append(bearer("shared"), "Idempotency-Key", "k", "X-Delivery", "d1"), next: append(bearer("shared"), "Idempotency-Key", "k", "X-Delivery", "d2"),
		},
		{name: "a key the day after", hook: Hook{Preset: "generic"}, first: append(bearer("shared"), "Idempotency-Key", "k"), next: append(bearer("shared"), "Idempotency-Key", "k"), after: 24*time.Hour + time.Second, status: 200, says: "ok"},
		{name: "nothing to know it by", hook: Hook{Preset: "generic"}, first: bearer("shared"), next: bearer("shared"), status: 200, says: "ok"},
		{
			name: "what GitLab calls all that one event brought about", hook: Hook{Preset: "gitlab", Secret: secret}, status: 200, says: "ok",
			first: []string{"X-Gitlab-Token", secret, "Idempotency-Key", "k1", "X-Gitlab-Event-UUID", "u"}, next: []string{"X-Gitlab-Token", secret, "Idempotency-Key", "k2", "X-Gitlab-Event-UUID", "u"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.hook.Name, tt.hook.Agent = "h", "a"
			d := newDesk(t, tt.hook)
			d.want("at first", d.call("POST", "/hooks/h", testBody, tt.first...), 200, "ok")
			d.open() // a restart in between
			d.clock = d.clock.Add(tt.after)
			d.want("then", d.call("POST", "/hooks/h", testBody, tt.next...), tt.status, tt.says)
			if again := len(d.got) == 2; again != (tt.says == "ok") {
				t.Errorf("%d messages taken in", len(d.got))
			}
		})
	}
}

// TestAttackSignatureOfAnotherScheme sends a captured call of Standard Webhooks
// as a body, where its timestamp would count for nothing.
func TestAttackSignatureOfAnotherScheme(t *testing.T) {
	d := newDesk(t, Hook{Name: "h", Agent: "a", Preset: "generic", Secret: secret})
	d.want("as it was", d.call("POST", "/hooks/h", testBody, standard([]byte(secret), "msg_1", nowSec)...), 200, "ok")
	d.clock = d.clock.Add(time.Hour)
	signed := "msg_1." + nowSec + "." + testBody
	d.want("as a body", d.call("POST", "/hooks/h", signed, "X-Signature", hexMAC(secret, signed)), 401, "needs a signature")
	if len(d.got) != 1 {
		t.Errorf("%d messages taken in", len(d.got))
	}
}

// A call that could not be recorded is taken in when it is made again.
func TestRetryAfterAFullDisk(t *testing.T) {
	d := newDesk(t, Hook{Name: "h", Agent: "a", Preset: "github", Secret: secret})
	d.fails = hub.Errorf(hub.Unavailable, "full")
	d.want("at first", d.call("POST", "/hooks/h", testBody, signedByGitHub(testBody, "x", "d1")...), 503, "full")
	d.fails = nil
	d.want("again", d.call("POST", "/hooks/h", testBody, signedByGitHub(testBody, "x", "d1")...), 200, "ok")
	d.want("and again", d.call("POST", "/hooks/h", testBody, signedByGitHub(testBody, "x", "d1")...), 200, "duplicate")
	if got, want := d.hooks.Counts("h"), (Counts{Accepted: 1, Duplicates: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// TestAttackFromAPage has a page on the web point its visitor's browser at a
// hook that needs no token. A browser names no Origin then.
func TestAttackFromAPage(t *testing.T) {
	for site, status := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200, "": 200} {
		d := newDesk(t, Hook{Name: "h", Agent: "a", Preset: "generic"})
		d.hooks.Tokens.AllowUnauthenticated = true
		var from []string
		if site != "" {
			from = []string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors"}
		}
		d.want("a hook, "+site, d.call("GET", "/hooks/h/rm-rf", "", from...), status, "")
		l := Listener{Receiver: d, Agent: "a", Tokens: auth.Tokens{AllowUnauthenticated: true}, Log: slog.New(slog.DiscardHandler)}
		r, w := httptest.NewRequest("GET", "/rm-rf", nil), httptest.NewRecorder()
		r.Header = headers(from...)
		l.Handler().ServeHTTP(w, r)
		d.want("a channel that listens, "+site, w, status, "")
		if got := len(d.got); (got == 2) != (status == 200) || got == 1 {
			t.Errorf("%s: %d messages taken in", site, got)
		}
	}
}

// Two hooks do not share what they have seen.
func TestKeysAreAHooksOwn(t *testing.T) {
	d := newDesk(t, Hook{Name: "h", Agent: "a", Preset: "generic"}, Hook{Name: "i", Agent: "a", Preset: "generic"})
	for _, path := range []string{"/hooks/h", "/hooks/i"} {
		d.want(path, d.call("POST", path, "x", append(bearer("shared"), "Idempotency-Key", "k")...), 200, "ok")
	}
}

// Whoever adds a hook anew, for another agent, and has the service send once
// more what the first one got, is to see it arrive.
func TestHookThatIsAddedAnewHasSeenNothing(t *testing.T) {
	h := Hook{Name: "h", Agent: "a", Preset: "github", Secret: secret}
	d := newDesk(t, h)
	again := func() *httptest.ResponseRecorder {
		return d.call("POST", "/hooks/h", testBody, signedByGitHub(testBody, "x", "d1")...)
	}
	d.want("the first one", again(), 200, "ok")
	if err := d.store.RemoveHook(t.Context(), "h"); err != nil {
		t.Fatal(err)
	}
	d.clock = d.clock.Add(time.Minute)
	h.Agent = "b"
	if _, err := d.store.AddHook(t.Context(), store.Hook(h)); err != nil {
		t.Fatal(err)
	}
	d.want("the second one", again(), 200, "ok")
	d.want("the second one, again", again(), 200, "duplicate")
}

func TestNotifyOnce(t *testing.T) {
	d := newDesk(t)
	n := &Notify{Intake: d.hooks.Intake}
	post := func(label, key string) string {
		r := httptest.NewRequest("POST", "/notify?label="+label, strings.NewReader(`{"content":"x","target":"a"}`))
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		w := httptest.NewRecorder()
		httpd.Handle(slog.New(slog.DiscardHandler), n.Post).ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Principal{Kind: auth.Shared})))
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	for _, tt := range []struct{ name, label, key, want string }{
		{"a key", "ci", "k", `202 {"id":"m1"}`},
		{"again", "ci", "k", `202 {"id":"m1","repeated":true}`},
		{"another script's", "cron", "k", `202 {"id":"m3"}`},
		{"another key", "ci", "l", `202 {"id":"m4"}`},
		{"no key", "ci", "", `202 {"id":"m5"}`},
		{"a key that is none", "ci", "\x7f", `400 {"error":"Idempotency-Key: want 1 to 255 printable ASCII characters"}`},
	} {
		if got := post(tt.label, tt.key); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestHooksThatCannotBe(t *testing.T) {
	good := Hook{Name: "a.B-9_", Agent: "a", Preset: "gitlab", Secret: whsec, Only: []string{"Push Hook"}}
	if err := good.Check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for name, change := range map[string]func(*Hook){
		"no name":                  func(h *Hook) { h.Name = "" },
		"a name with a slash":      func(h *Hook) { h.Name = "a/b" },
		"a name that is a path":    func(h *Hook) { h.Name = ".." },
		"a name that is too long":  func(h *Hook) { h.Name = strings.Repeat("x", 65) },
		"no agent":                 func(h *Hook) { h.Agent = "" },
		"blanks around an agent":   func(h *Hook) { h.Agent = " a" },
		"no preset":                func(h *Hook) { h.Preset = "" },
		"a preset that is none":    func(h *Hook) { h.Preset = "github2" },
		"a secret of two lines":    func(h *Hook) { h.Secret = "a\n" },
		"a secret that is none":    func(h *Hook) { h.Secret = "whsec_" },
		"a secret not in base64":   func(h *Hook) { h.Secret = "whsec_!" },
		"an event without a name":  func(h *Hook) { h.Only = []string{""} },
		"a secret that is too big": func(h *Hook) { h.Secret = strings.Repeat("x", 1025) },
	} {
		h := good
		change(&h)
		if err := h.Check(); hub.KindOf(err) != hub.Invalid {
			t.Errorf("%s: %v, want an Invalid error", name, err)
		}
	}
}
