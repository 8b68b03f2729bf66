package hook

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// A taker takes messages in, or fails.
type taker struct {
	got []hub.Message
	err error
}

func (t *taker) Receive(_ context.Context, m hub.Message) (hub.Receipt, error) {
	t.got = append(t.got, m)
	return hub.Receipt{ID: "id-1"}, t.err
}

func (*taker) Late(context.Context, hub.MessageID, hub.Ref) {}

// post serves one POST of who's.
func post(t *taker, who auth.Principal, query, contentType, body string, limited bool) *httptest.ResponseRecorder {
	n := &Notify{Intake: Intake{Receiver: t, Allow: func(string) (time.Duration, bool) { return 1500 * time.Millisecond, !limited }}}
	r := httptest.NewRequest(http.MethodPost, "/notify"+query, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Forwarded-For", "203.0.113.9") // anybody can say so
	w := httptest.NewRecorder()
	httpd.Handle(slog.New(slog.DiscardHandler), n.Post).ServeHTTP(w, r.WithContext(auth.With(r.Context(), who)))
	return w
}

func TestPost(t *testing.T) {
	main, ci := auth.Principal{Kind: auth.Shared}, auth.Principal{Kind: auth.Agent, Agent: "ci"}
	const good = `{"content":"Build finished","target":" laptop-a ","source":"liar","meta":{"commit":"abc","source":"liar"}}`
	const addr = "192.0.2.1:1234" // httptest's
	taken := hub.Message{
		Via: hub.ViaNotify, Kind: hub.Text, Agent: "ci", Subject: "main", Addr: addr, To: "laptop-a", Text: "Build finished",
		Meta: map[string]string{"commit": "abc"},
	}
	for _, tt := range []struct {
		name              string
		who               auth.Principal
		query, kind, body string
		fails             error
		limited           bool
		status            int
		says              string
		want              []hub.Message
	}{
		{name: "a message", who: main, query: "?label=ci", body: good, status: 202, says: `{"dropped_meta":["source"],"id":"id-1"}`, want: []hub.Message{taken}},
		{name: "with a charset", who: main, query: "?label=ci", kind: "application/json; charset=utf-8", body: good, status: 202, want: []hub.Message{taken}},
		{name: "the label is decoded", who: main, query: "?label=a%2Bb+c", body: `{"content":""}`, status: 202, want: []hub.Message{{
			Via: hub.ViaNotify, Kind: hub.Text, Agent: "a+b c", Subject: "main", Addr: addr,
		}}},
		{name: "control characters go", who: main, query: "?label=ci", body: `{"content":"a\u0000b\nc"}`, status: 202, want: []hub.Message{{
			Via: hub.ViaNotify, Kind: hub.Text, Agent: "ci", Subject: "main", Addr: addr, Text: "ab\nc",
		}}},
		{name: "an agent's token as that agent", who: ci, query: "?label=ci", body: `{"content":"x"}`, status: 202, want: []hub.Message{{
			Via: hub.ViaNotify, Kind: hub.Text, Agent: "ci", Subject: "agent:ci", Addr: addr, Text: "x",
		}}},
		{name: "an agent's token as another", who: ci, query: "?label=desk", body: `{"content":"x"}`, status: 403, says: "agent ci alone"},
		{name: "no label", who: main, body: good, status: 400, says: "?label=NAME"},
		{name: "an empty label", who: main, query: "?label=%20", body: good, status: 400, says: "?label=NAME"},
		{name: "a label that is too long", who: main, query: "?label=" + strings.Repeat("x", 129), body: good, status: 400},
		{name: "not JSON by its type", who: main, query: "?label=ci", kind: "text/plain", body: good, status: 415},
		{name: "a form, as a foreign page could send", who: main, query: "?label=ci", kind: "application/x-www-form-urlencoded", body: good, status: 415},
		{name: "not JSON", who: main, query: "?label=ci", body: `{"content":`, status: 422},
		{name: "no body", who: main, query: "?label=ci", body: ``, status: 422},
		{name: "no content", who: main, query: "?label=ci", body: `{"target":"a"}`, status: 422, says: "content is missing"},
		{name: "null content", who: main, query: "?label=ci", body: `{"content":null}`, status: 422, says: "content is missing"},
		{name: "content of a wrong type", who: main, query: "?label=ci", body: `{"content":7}`, status: 422},
		{name: "a target of a wrong type", who: main, query: "?label=ci", body: `{"content":"x","target":[]}`, status: 422},
		{name: "meta of a wrong type", who: main, query: "?label=ci", body: `{"content":"x","meta":[]}`, status: 422, says: "meta must be an object"},
		{name: "two values", who: main, query: "?label=ci", body: `{"content":"x"}{}`, status: 422},
		{name: "too often", who: main, query: "?label=ci", body: good, limited: true, status: 429},
		{name: "a record that can't be written", who: main, query: "?label=ci", body: good, fails: hub.Errorf(hub.Unavailable, "the record cannot be written"), status: 503, want: []hub.Message{taken}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.kind == "" {
				tt.kind = "application/json"
			}
			in := &taker{err: tt.fails}
			w := post(in, tt.who, tt.query, tt.kind, tt.body, tt.limited)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("answered %d %s, want %d with %q", w.Code, w.Body, tt.status, tt.says)
			}
			if d := cmp.Diff(tt.want, in.got); d != "" {
				t.Errorf("taken in (-want +got):\n%s", d)
			}
			if got := w.Header().Get("Retry-After"); (got == "2") != tt.limited {
				t.Errorf("Retry-After %q", got)
			}
		})
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"content":"x","target":"a","meta":{"a":1.0}}`))
	f.Add([]byte(`{"content":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := &taker{}
		w := post(in, auth.Principal{Kind: auth.Shared}, "?label=ci", "application/json", string(raw), false)
		if w.Code != 202 && w.Code != 422 && w.Code != 413 || (w.Code == 202) != (len(in.got) == 1) {
			b, _ := io.ReadAll(w.Body)
			t.Errorf("%d %s, %d messages taken in", w.Code, b, len(in.got))
		}
	})
}
