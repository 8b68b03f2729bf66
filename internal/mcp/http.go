package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	retryAfter    = "2000" // milliseconds until a client opens its stream again
)

// A Server serves /mcp: MCP's streamable HTTP transport (2025-11-25, Basic,
// Transports). Requests must have passed package auth.
type Server struct {
	Table *Table
	Verbs Verbs

	// Limit reports whether a call under key may go on; nil: all may.
	Limit func(key string) bool

	// Calls knows the calls that came with a key; nil: keys are ignored.
	Calls hub.Calls

	engine *engine
}

// NewServer returns a server for the sessions in t. version is the hub's own.
func NewServer(t *Table, v Verbs, version string) *Server {
	s := &Server{Table: t, Verbs: v}
	s.engine = &engine{server: newSDK(t, v, version), ctx: t.ctx}
	t.last = s.engine.close
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	switch r.Method {
	case http.MethodPost:
		return s.post(w, r)
	case http.MethodGet:
		return s.get(w, r)
	case http.MethodDelete:
		return s.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return httpd.Statusf(http.StatusMethodNotAllowed, "use GET, POST or DELETE")
	}
}

// session returns the session that r names, if r may use it.
func (s *Server) session(r *http.Request) (*session, error) {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return nil, hub.Errorf(hub.Invalid, "no %s header: initialize first", sessionHeader)
	}
	if v := r.Header.Get(versionHeader); v != "" && !slices.Contains(versions, v) {
		return nil, hub.Errorf(hub.Invalid, "protocol version %q is not spoken here; use one of %s", hub.Clip(v, 40), strings.Join(versions, ", "))
	}
	ss, err := s.Table.get(r.Context(), hub.SessionID(id))
	if err != nil {
		return nil, err
	}
	if ss.saved.Subject != auth.From(r.Context()).Subject() {
		return nil, hub.Errorf(hub.Denied, "that session was opened with another token")
	}
	s.Table.touch(ss)
	return ss, nil
}

// get opens a session's stream. Some clients never try again after any answer
// but a stream, 404 or 405, and some stay deaf after 5xx without a word.
func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get(sessionHeader) == "" {
		w.Header().Set("Allow", "POST")
		return httpd.Statusf(http.StatusMethodNotAllowed, "a stream belongs to a session: initialize first, then send its %s", sessionHeader)
	}
	ss, err := s.session(r)
	if k := hub.KindOf(err); err != nil && (k == hub.Unavailable || k == hub.Internal) {
		s.Table.Log.Error("look a session up", "err", err)
		return hub.Errorf(hub.NotFound, "session not found")
	}
	if err != nil {
		return err
	}
	last, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64) // not one of ours: replay all
	return s.Table.serve(ss, hub.Seq(last), w)
}

// serve makes w the session's stream and returns: the stream lives on.
func (t *Table) serve(s *session, last hub.Seq, w http.ResponseWriter) error {
	// The first event's id is where the stream begins. What last proves is
	// taken only once the stream stands.
	start := t.startOf(s, last)
	out, err := open(w, t.Now, strconv.FormatUint(uint64(start), 10), retryAfter)
	if err != nil {
		t.Log.Debug("open stream", "session", s.saved.ID, "err", err)
		return nil // nobody is there to be told
	}
	st := &stream{session: s, table: t, out: out}
	st.last.Store(t.Now().UnixMilli())
	if !t.attach(s, st, last) {
		out.finish(writeWait)
		return nil
	}
	t.task(func() {
		out.wait()
		st.end("closed by its client")
	})
	if t.waitsForSeat(s) {
		t.task(func() { t.claimLater(t.ctx, s, st) })
	}
	return nil
}

// startOf returns the Seq after which a stream of s begins.
func (t *Table) startOf(s *session, last hub.Seq) hub.Seq {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if last > t.delivered || s.saved.Acks {
		last = 0
	}
	return max(last, s.cursor)
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request) error {
	ss, err := s.session(r)
	if err != nil {
		return err
	}
	if err := s.Table.end(r.Context(), ss); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) error {
	body, err := httpd.ReadBody(r)
	if err != nil {
		return err
	}
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return hub.Errorf(hub.Invalid, "the body is not one JSON-RPC message (batches are not taken)")
	}
	req, isRequest := msg.(*jsonrpc.Request)
	if isRequest && req.IsCall() && r.Header.Get(sessionHeader) == "" {
		switch req.Method {
		case "initialize":
			return s.initialize(w, r, req)
		case "server/discover":
			// An answer that offers 2026-07-28 would make clients do without
			// a session, and nothing could be pushed to them.
			return writeError(w, req.ID, jsonrpc.CodeMethodNotFound, "server/discover is not served here: initialize")
		}
	}
	ss, err := s.session(r)
	if err != nil {
		return err
	}
	switch {
	case !isRequest: // an answer: we ask nothing over HTTP
		w.WriteHeader(http.StatusAccepted)
		return nil
	case !req.IsCall():
		s.notification(r.Context(), ss, req)
		w.WriteHeader(http.StatusAccepted)
		return nil
	case s.Table.mustStartAfresh(ss):
		return hub.Errorf(hub.NotFound, "the session has lost its stream: initialize again")
	default:
		return s.request(w, r, ss, req)
	}
}

// initialize makes a session.
func (s *Server) initialize(w http.ResponseWriter, r *http.Request, req *jsonrpc.Request) error {
	who := auth.From(r.Context())
	agent, seat, err := identity(r, who)
	if err != nil {
		return err
	}
	if !s.allow(who, agent) {
		return hub.Errorf(hub.Limited, "too many requests: wait a moment")
	}
	resp, version, err := s.engine.initialize(r.Context(), req)
	if err != nil {
		return err
	}
	if resp.Error != nil {
		return writeMessage(w, resp)
	}
	var params struct {
		ClientInfo struct {
			Name string `json:"name"`
		} `json:"clientInfo"`
		Capabilities struct {
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(req.Params, &params) // the SDK has taken them
	_, acks := params.Capabilities.Experimental[capabilityAttach]
	sv := hub.SavedSession{
		ID: hub.SessionID(rand.Text()), Agent: agent, Named: agent != "", Seat: seat,
		Subject: who.Subject(), Acks: acks, Client: hub.OneLine(params.ClientInfo.Name, 100), Version: version,
	}
	if !sv.Named {
		sv.Agent = hub.AgentID(sv.ID)
	}
	if resp.Result, err = instruct(resp.Result, s.Table.view, agent); err != nil {
		return err
	}
	if _, err := s.Table.create(r.Context(), sv); err != nil {
		return err
	}
	w.Header().Set(sessionHeader, string(sv.ID))
	return writeMessage(w, resp)
}

// allow reports whether one more call is within the rate limit.
func (s *Server) allow(who auth.Principal, agent hub.AgentID) bool {
	return s.Limit == nil || s.Limit(who.Subject()+"\x00"+string(agent))
}

// request has the SDK answer a call, and writes the answer.
func (s *Server) request(w http.ResponseWriter, r *http.Request, ss *session, req *jsonrpc.Request) error {
	if !s.allow(auth.From(r.Context()), ss.saved.Agent) {
		if req.Method == "tools/call" {
			return writeMessage(w, &jsonrpc.Response{ID: req.ID, Result: limited})
		}
		return hub.Errorf(hub.Limited, "too many requests: wait a moment")
	}
	if !s.Table.enter() {
		return errStopping
	}
	defer s.Table.tasks.Done()
	c, err := s.newCall(ss, req)
	if err != nil {
		return writeMessage(w, &jsonrpc.Response{ID: req.ID, Error: err})
	}
	ctx := r.Context()
	if c.key != "" {
		var free func()
		ctx, free = s.Table.untilStop(ctx)
		defer free()
	}
	ctx, done := ss.begin(ctx, req)
	defer done()
	if req.Method == "tools/call" {
		defer s.Table.call(ss)()
	}
	written := false
	defer func() { c.end(written) }()
	resp, err := s.engine.do(ctx, ss.saved.Version, req, c)
	switch {
	case errors.Is(err, errStopping):
		return err
	case err != nil && ctx.Err() != nil:
		return writeError(w, req.ID, -32800, "cancelled")
	case err != nil:
		return err
	}
	written = r.Context().Err() == nil && s.answer(w, resp) == nil // else the client has gone
	return nil
}

// newCall returns the call that req is. It fails with an error of JSON-RPC.
func (s *Server) newCall(ss *session, req *jsonrpc.Request) (*call, error) {
	c := &call{session: ss}
	if s.Calls == nil || req.Method != "tools/call" {
		return c, nil
	}
	key, err := keyOf(req.Params)
	if key != "" {
		c.key, c.record = ss.scoped(key), s.Calls
	}
	return c, err
}

// untilStop returns ctx without its end: it ends when the hub stops.
func (t *Table) untilStop(ctx context.Context) (_ context.Context, free func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(t.ctx, func() { cancel(errStopping) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// answer writes resp to a client that has to read it in time, and returns when
// it has left: a buffer proves nothing.
func (s *Server) answer(w http.ResponseWriter, resp *jsonrpc.Response) error {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(s.Table.Now().Add(writeWait)); err != nil {
		return err
	}
	if err := writeMessage(w, resp); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil {
		return err
	}
	return rc.SetWriteDeadline(time.Time{}) // the connection may live on
}

// limited is the result of a tool call past the rate limit.
var limited = json.RawMessage(`{"content":[{"type":"text","text":"Too many calls. Wait a few seconds, then try again."}],"isError":true}`)

var errStopping = hub.Errorf(hub.Unavailable, "the hub is stopping: ask again in a moment")

var errCancelled = errors.New("cancelled by the client")

// begin notes that the session runs a call, so that it can be cancelled.
func (s *session) begin(ctx context.Context, req *jsonrpc.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := fmt.Sprint(req.ID.Raw())
	s.mu.Lock()
	if s.cancel == nil {
		s.cancel = make(map[string]*context.CancelCauseFunc)
	}
	s.cancel[key] = &cancel // a call that is made again may have the same id
	s.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		if s.cancel[key] == &cancel {
			delete(s.cancel, key)
		}
		if len(s.cancel) == 0 {
			s.cancel = nil
		}
		s.mu.Unlock()
	}
}

// mustStartAfresh reports, once a session, whether its client is to be told
// 404: it is known to initialize again by itself then, and would stay deaf
// otherwise.
func (t *Table) mustStartAfresh(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	sv := &s.saved
	if sv.Client != "claude-code" || sv.Acks || !sv.Streamed || sv.Refused || s.state == live || t.Now().Sub(s.left) < awayFor {
		return false
	}
	sv.Refused = true
	t.save(s)
	return true
}

func writeMessage(w http.ResponseWriter, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(b)
	return err
}

func writeError(w http.ResponseWriter, id jsonrpc.ID, code int64, msg string) error {
	return writeMessage(w, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: msg}})
}
