package tools_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aldis/internal/auth"
	"aldis/internal/hub"
)

// A step is one request, and what is to be said of it.
type step struct {
	about, method, body string
	header              []string // names and values
}

const (
	older   = "Mcp-Protocol-Version: 2025-11-25"
	newest  = "Mcp-Protocol-Version: 2026-07-28"
	aboutMe = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

// The golden file is what goes over the wire in both kinds of protocol.
func TestWire(t *testing.T) {
	s, _ := setup(&book{})
	h := s.Handler()
	var doc strings.Builder
	for _, st := range []step{
		{"Up to 2025-11-25 a host says hello first. It is given no session: it needs none.", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`, nil},
		{"", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{older}},
		{"", "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"signal_list_conversations","arguments":{"limit":1}}}`, []string{older}},
		{"A wrong argument is for the model to mend.", "POST", `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"signal_get_messages","arguments":{"limit":0}}}`, []string{older}},
		{"", "POST", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"signal_get_message","arguments":{"messageId":"m"}}}`, []string{older}},
		{"A tool that is not there is the host's mistake.", "POST", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"signal_send","arguments":{}}}`, []string{older}},
		{"Nothing is pushed, and there is nothing to end.", "GET", "", []string{older, "Accept: text/event-stream"}},
		{"", "DELETE", "", []string{older}},
		{"A session of another server does no harm.", "POST", `{"jsonrpc":"2.0","id":6,"method":"ping"}`, []string{older, "Mcp-Session-Id: stale"}},
		{"Since 2026-07-28 there is no hello: each request says all.", "POST", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + aboutMe + `}}`, []string{newest, "Mcp-Method: server/discover"}},
		{"", "POST", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"signal_list_conversations","arguments":{},` + aboutMe + `}}`, []string{newest, "Mcp-Method: tools/call", "Mcp-Name: signal_list_conversations"}},
		{"It may listen for changes, but there are none.", "POST", `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + aboutMe + `}}`, []string{newest, "Mcp-Method: subscriptions/listen"}},
		{"What can't be understood is refused.", "POST", `{`, []string{older}},
		{"", "POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, []string{older}},
		{"", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Mcp-Protocol-Version: 1999-01-01"}},
		{"", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{older, "Content-Type: text/plain"}},
	} {
		st.write(&doc, h)
	}
	golden(t, "http.txt", doc.String())
}

// write makes the request and writes it down, with the answer.
func (st step) write(doc *strings.Builder, h http.Handler) {
	r := httptest.NewRequest(st.method, "/mcp", strings.NewReader(st.body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if st.about != "" {
		fmt.Fprintf(doc, "# %s\n\n", st.about)
	}
	fmt.Fprintf(doc, "> %s /mcp\n", st.method)
	for _, line := range st.header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
		fmt.Fprintf(doc, "> %s\n", line)
	}
	if st.body != "" {
		fmt.Fprintf(doc, "> %s\n", st.body)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Fprintf(doc, "< %d\n", w.Code)
	for _, name := range []string{"Content-Type", "Allow", "Mcp-Session-Id"} {
		if v := w.Header().Get(name); v != "" {
			fmt.Fprintf(doc, "< %s: %s\n", name, v)
		}
	}
	if body := strings.TrimSpace(w.Body.String()); body != "" {
		fmt.Fprintf(doc, "< %s\n", strings.ReplaceAll(body, "\n", "\n< "))
	}
	doc.WriteString("\n")
}

func TestInitializeAgreesOnAVersion(t *testing.T) {
	s, _ := setup(&book{})
	h := s.Handler()
	for _, tt := range []struct{ asked, want string }{
		{"2025-11-25", "2025-11-25"},
		{"2025-06-18", "2025-06-18"},
		{"2025-03-26", "2025-03-26"},
		{"2024-11-05", "2024-11-05"},
		{"1999-01-01", "2025-11-25"},
	} {
		body := post(h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+tt.asked+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "")
		if !strings.Contains(body, `"protocolVersion":"`+tt.want+`"`) {
			t.Errorf("asked for %s: %s, want %s", tt.asked, body, tt.want)
		}
		if body := post(h, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, tt.want); !strings.Contains(body, "signal_get_message") {
			t.Errorf("tools/list in %s: %s", tt.want, body)
		}
	}
}

// post returns the body of the answer.
func post(h http.Handler, body, version string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(context.Background(), body, version))
	return w.Body.String()
}

func request(ctx context.Context, body, version string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, "POST", "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("User-Agent", "curl/8")
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	return r
}

// Each request is its own principal's, whatever came before it.
func TestTheAuditNamesWhoAsked(t *testing.T) {
	s, j := setup(&book{})
	h := s.Handler()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"signal_list_conversations"}}`
	for _, p := range []auth.Principal{{Kind: auth.Shared}, {Kind: auth.Agent, Agent: "alice"}} {
		h.ServeHTTP(httptest.NewRecorder(), request(auth.With(t.Context(), p), call, "2025-06-18"))
	}
	_, err := io.WriteString(j, post(h, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"signal_list_conversations","arguments":{},`+aboutMe+`}}`, "x"))
	if err != nil {
		t.Fatal(err)
	}
	log := j.String()
	for _, want := range []string{
		"who=main client=curl/8 tool=signal_list_conversations scope=all rows=1",
		"who=agent:alice client=curl/8",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
}

// A batch, which is one request to the limit of requests, has a bound.
func TestAttackABatchOfCalls(t *testing.T) {
	s, j := setup(&book{})
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"signal_list_conversations"}}`
	var calls []string
	for i := range 100 {
		calls = append(calls, fmt.Sprintf(call, i))
	}
	out := post(s.Handler(), "["+strings.Join(calls, ",")+"]", "2025-03-26")
	if n := strings.Count(out, "hasMore"); n == 0 || n > 16 {
		t.Errorf("%d of 100 were answered, want 16 at most", n)
	}
	if n := strings.Count(j.String(), "history read"); n != 100 {
		t.Errorf("the log has %d lines, want one for each of 100", n)
	}
}

// A host that hangs up is not worked for any more, in the old protocol too.
func TestACallEndsWithItsRequest(t *testing.T) {
	begun, ended := make(chan bool), make(chan error, 1)
	s, j := setup(&book{hold: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}})
	ctx, hangUp := context.WithCancel(t.Context())
	served := make(chan bool)
	go func() {
		defer close(served)
		s.Handler().ServeHTTP(httptest.NewRecorder(), request(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"signal_get_message","arguments":{"messageId":"m"}}}`, "2025-11-25"))
	}()
	<-begun
	hangUp()
	<-ended
	<-served
	if log := j.String(); !strings.Contains(log, "err="+string(hub.Unavailable)) {
		t.Errorf("no line about it in %s", log)
	}
}
