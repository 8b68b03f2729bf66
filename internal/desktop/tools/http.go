package tools

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// writeTime is how long a host may take to read an answer.
const writeTime = 30 * time.Second

// Handler serves /mcp, in all protocol versions from 2024-11-05 to 2026-07-28.
// Who calls has passed the authentication, see auth.From, the check of Host and
// Origin, and the bound of the body.
//
// There are no sessions. Versions before 2026-07-28 let a server do without
// (2025-11-25, Transports, Session Management), and a server that only answers
// has nothing to remember: so no session can be stolen or has to be evicted,
// and a restart cuts nobody off. GET and DELETE are answered 405 for the same
// reason: nothing is ever pushed.
func (s *Server) Handler() http.Handler { return handler(s.sdk(httpCaller)) }

func handler(srv *mcp.Server) http.Handler {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{
		Stateless:                  true,
		JSONResponse:               true,
		DisableLocalhostProtection: true, // httpd.Guard knows which hosts are ours; behind a proxy they are not local
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answering{ResponseWriter: w}
		h.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), requestKey{}, &request{ctx: r.Context()})))
		a.finish()
	})
}

// requestKey is where a request travels through the SDK, which keeps the values
// of its context but not its end: a call whose host has hung up would go on.
type requestKey struct{}

// A request has one call in it, or up to 2025-03-26 a batch, whose answers are
// all in memory until the last is there.
type request struct {
	ctx   context.Context
	calls atomic.Int32
}

func httpCaller(ctx context.Context, req *mcp.CallToolRequest) caller {
	p := auth.From(ctx)
	c := caller{who: p.Subject(), client: cmp.Or(hub.OneLine(p.Client, 100), clientOf(req))}
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		c.patience, c.greedy = r.ctx, r.calls.Add(1) > maxBatch
	}
	return c
}

// clientOf returns what the host calls itself. Before 2026-07-28 it says so
// in another request only, so that its User-Agent has to do.
func clientOf(req *mcp.CallToolRequest) string {
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return hub.OneLine(p.ClientInfo.Name, 100)
	}
	if req.Extra == nil {
		return ""
	}
	return hub.OneLine(req.Extra.Header.Get("User-Agent"), 100)
}

// answering turns refusals that the SDK writes as plain text into JSON, as all
// others of ours are, and bounds the time that a host may take to read.
type answering struct {
	http.ResponseWriter
	refused int // status; 0: not refused
	text    strings.Builder
}

func (a *answering) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.refused = status
		return
	}
	a.deadline(time.Now().Add(writeTime))
	a.ResponseWriter.WriteHeader(status)
}

func (a *answering) Write(b []byte) (int, error) {
	if a.refused != 0 {
		return a.text.Write(b)
	}
	a.deadline(time.Now().Add(writeTime))
	return a.ResponseWriter.Write(b)
}

// finish writes a refusal, and sees the answer off before it lifts the
// deadline: that is the connection's, which may live on.
func (a *answering) finish() {
	if a.refused != 0 {
		httpd.WriteError(a.ResponseWriter, a.refused, strings.TrimSpace(a.text.String()))
		return
	}
	// An error means that the host has gone; there is nobody to tell.
	_ = http.NewResponseController(a.ResponseWriter).Flush()
	a.deadline(time.Time{})
}

// deadline bounds the writing. Not supported means no connection to guard: a
// test's recorder.
func (a *answering) deadline(t time.Time) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(t)
}

// Unwrap is for [http.ResponseController].
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
