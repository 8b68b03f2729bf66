package hubtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A Hub is a hub as a line of aldis attach sees it: MCP over HTTP, one session
// at a time. Its connections are pipes, so it runs in virtual time; it goes down
// and comes up when a test says so, and remembers all that it was told. What was
// pushed and not acknowledged comes again on each stream.
type Hub struct {
	// Answer answers all but initialize; nil: with an empty result. A nil
	// answer breaks the connection.
	Answer func(req *jsonrpc.Request) *jsonrpc.Response
	Retry  time.Duration // that each stream begins with; zero: none

	t   testing.TB
	srv *http.Server
	ln  *PipeListener

	mu       sync.Mutex
	down     bool
	status   int // that refuses everything; zero: none
	words    string
	session  int // number of the newest session
	opened   int // streams
	deleted  bool
	requests []*jsonrpc.Request
	header   http.Header // of the last one
	pushes   []*pushed
	wake     chan struct{} // closed when there is more
	conns    []net.Conn
}

type pushed struct {
	seq       uint64
	key, data string

	acknowledged bool // guarded by Hub.mu
}

// NewHub returns a hub that is up until the end of the test.
func NewHub(t testing.TB) *Hub {
	h := &Hub{t: t, wake: make(chan struct{}), ln: NewPipeListener()}
	h.srv = &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.srv.Serve(h.ln)
	}()
	t.Cleanup(func() {
		h.Down()
		_ = h.srv.Close()
		<-served
	})
	return h
}

// Dial connects to the hub, whatever the address.
func (h *Hub) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	down := h.down
	h.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	h.mu.Lock()
	h.conns = append(h.conns, near)
	h.mu.Unlock()
	return near, h.ln.Put(ctx, far)
}

// Down ends the hub as a crash does: its connections break. Up starts it again.
func (h *Hub) Down() {
	h.mu.Lock()
	conns := h.conns
	h.down, h.conns = true, nil
	h.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// Up has the hub take connections again.
func (h *Hub) Up() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = false
}

// Refuse has every request answered with a status and words; 0 ends that.
func (h *Hub) Refuse(status int, words string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status, h.words = status, words
}

// Forget has the hub know no session that there is, and breaks connections.
func (h *Hub) Forget() {
	h.mu.Lock()
	h.session++
	h.mu.Unlock()
	h.Down()
	h.Up()
}

// Event pushes a channel event; seq 0 is one without a number.
func (h *Hub) Event(seq uint64, id, content string) {
	h.push(seq, id, map[string]any{"content": content, "meta": map[string]string{"id": id}}, "notifications/claude/channel")
}

// Verdict pushes the answer to a request for permission.
func (h *Hub) Verdict(request, behavior string) {
	h.push(0, request, map[string]string{"request_id": request, "behavior": behavior}, "notifications/claude/channel/permission")
}

func (h *Hub) push(seq uint64, key string, params any, method string) {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pushes = append(h.pushes, &pushed{seq: seq, key: key, data: string(data)})
	close(h.wake)
	h.wake = make(chan struct{})
}

// Requests returns, in order, what was posted with one of these methods.
func (h *Hub) Requests(methods ...string) []*jsonrpc.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*jsonrpc.Request
	for _, r := range h.requests {
		if slices.Contains(methods, r.Method) {
			all = append(all, r)
		}
	}
	return all
}

// Header returns the header of the last request.
func (h *Hub) Header() http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.header
}

// Opened returns how many streams were opened.
func (h *Hub) Opened() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened
}

// Deleted reports whether the session was ended in order.
func (h *Hub) Deleted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted
}

// Unacknowledged returns how many events wait for an acknowledgement.
func (h *Hub) Unacknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.pushes {
		if !e.acknowledged {
			n++
		}
	}
	return n
}

// ServeHTTP implements [http.Handler].
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.header = r.Header
	status, words, known := h.status, h.words, r.Header.Get("Mcp-Session-Id") == h.id()
	h.mu.Unlock()
	switch {
	case status != 0:
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q}`, words)
	case r.Method == http.MethodPost:
		h.post(w, r, known)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		h.stream(w, r)
	default:
		h.mu.Lock()
		h.deleted = true
		h.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}
}

func (h *Hub) id() string { return fmt.Sprint("session-", h.session) }

func (h *Hub) post(w http.ResponseWriter, r *http.Request, known bool) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := jsonrpc.DecodeMessage(body)
	req, ok := m.(*jsonrpc.Request)
	if err != nil || !ok {
		h.t.Errorf("posted: %s", body)
		return
	}
	if !known && req.Method != "initialize" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h.mu.Lock()
	h.requests = append(h.requests, req)
	h.mu.Unlock()
	answer := &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	if req.Method == "initialize" {
		answer.Result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"claude/channel":{}},"tools":{}},"instructions":"of the hub"}`)
		h.mu.Lock()
		h.session++
		w.Header().Set("Mcp-Session-Id", h.id())
		h.mu.Unlock()
	} else if h.Answer != nil {
		answer = h.Answer(req)
	}
	switch {
	case answer == nil:
		panic(http.ErrAbortHandler)
	case !req.IsCall():
		h.acknowledge(req)
		w.WriteHeader(http.StatusAccepted)
	default:
		b, err := jsonrpc.EncodeMessage(answer)
		if err != nil {
			h.t.Error(err)
		}
		_, _ = w.Write(b)
	}
}

func (h *Hub) acknowledge(req *jsonrpc.Request) {
	var p struct {
		Last uint64
		IDs  []string
	}
	if req.Method != "notifications/aldis/handed" || json.Unmarshal(req.Params, &p) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.pushes {
		if e.seq != 0 && e.seq <= p.Last || e.seq == 0 && slices.Contains(p.IDs, e.key) {
			e.acknowledged = true
		}
	}
}

func (h *Hub) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if h.Retry > 0 {
		fmt.Fprintf(w, "retry: %d\n", h.Retry.Milliseconds())
	}
	fmt.Fprint(w, "id: 1\ndata:\n\n")
	h.mu.Lock()
	h.opened++
	h.mu.Unlock()
	for next := 0; ; {
		h.mu.Lock()
		wake := h.wake
		todo := slices.DeleteFunc(slices.Clone(h.pushes[next:]), func(e *pushed) bool { return e.acknowledged })
		next = len(h.pushes)
		h.mu.Unlock()
		for _, e := range todo {
			if e.seq != 0 {
				fmt.Fprintf(w, "id: %d\n", e.seq)
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", e.data)
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}
