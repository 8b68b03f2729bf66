package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"aldis/internal/auth"
	"aldis/internal/gate"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/hubtest"
	"aldis/internal/mcp"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/store"
)

const (
	sharedToken = "shared-token-of-the-test"
	aliceToken  = "token-of-alice"
	operator    = "+100"
)

// A testHub is a whole hub but for its platform: real sessions, relay, store
// and HTTP. It stops at the end of the test.
type testHub struct {
	t        testing.TB
	table    *mcp.Table
	store    *store.Store
	relay    *relay.Relay
	presence *presence
	platform *hubtest.Platform
	url      string
	dial     func(context.Context) (net.Conn, error)
	key      int
	stop     func()
}

// setup says what is different about a hub.
type setup struct {
	path    string // of the record; empty: in memory
	limit   func(key string) bool
	inPipes bool // connections are pipes, for virtual time
	deflt   hub.AgentID
	wrap    func(hub.Record) hub.Record // what the relay has for a record; nil: the record
	calls   func(hub.Calls) hub.Calls   // what the server has for the record of calls; nil: the record
}

// startHub starts a hub on a port of the loopback address.
func startHub(t testing.TB, s setup) *testHub {
	t.Helper()
	ctx := t.Context()
	record, err := store.Open(ctx, store.Options{Path: s.path})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	h := &testHub{t: t, store: record, table: mcp.NewTable(), platform: hubtest.NewPlatform("signal")}
	h.relay = &relay.Relay{
		Gate: &gate.Gate{}, Routes: &route.Table{TTL: 7 * 24 * time.Hour, Max: 1000, Now: time.Now},
		Sessions: h.table, Record: record, Platforms: []hub.Platform{h.platform}, Default: s.deflt,
		Operator: hub.Ref{Platform: "signal", Chat: operator}, Labels: relay.LabelNever,
		HoldFor: 24 * time.Hour, Log: log, Now: time.Now,
		NewID: func() hub.MessageID { return hub.MessageID(uuid.Must(uuid.NewV7()).String()) },
	}
	if s.wrap != nil {
		h.relay.Record = s.wrap(record)
	}
	admit(h.relay)
	h.presence = &presence{relay: h.relay}
	h.table.Mail, h.table.Store, h.table.Presence, h.table.Log = record, record, h.presence, log
	h.table.Salon = func() mcp.Salon {
		return mcp.Salon{URL: "http://hub.test", Since: time.Unix(0, 0), Messages: h.relay.Taken()}
	}
	if err := h.table.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	if err := h.relay.Start(ctx); err != nil {
		t.Fatal(err)
	}
	server := mcp.NewServer(h.table, h.relay, "0.test")
	server.Limit, server.Calls = s.limit, record
	if s.calls != nil {
		server.Calls = s.calls(record)
	}
	tokens := auth.Tokens{Shared: []string{sharedToken}, Agents: agentTokens}
	mux := http.NewServeMux()
	mux.Handle("/mcp", tokens.Require(httpd.Handle(log, server.ServeHTTP), auth.Shared, auth.Agent))
	h.run(h.serveHTTP(mux, log, s.inPipes))
	return h
}

// admit lets the operator of r in, who may also give verdicts.
func admit(r *relay.Relay) {
	r.Gate.Operate("signal", operator)
	r.Gate.Approve("signal", operator)
	r.Gate.Open("signal", operator)
	r.PermissionTimeout = 10 * time.Minute
	n := 0
	r.NewCode = func() string { n++; return fmt.Sprintf("zzzz%c", 'a'+n) }
}

func agentTokens(hash [32]byte) (hub.AgentID, bool) {
	return "alice", hash == auth.Hash(aliceToken)
}

// serveHTTP returns what serves handler until its context ends.
func (h *testHub) serveHTTP(handler http.Handler, log *slog.Logger, inPipes bool) func(context.Context) error {
	h.t.Helper()
	if inPipes {
		ln := hubtest.NewPipeListener()
		h.url, h.dial = "http://127.0.0.1:80/mcp", ln.Dial
		srv := &http.Server{Handler: httpd.Guard(log, httpd.NewHosts("127.0.0.1", "80", nil), httpd.MaxBody, handler)}
		return func(ctx context.Context) error {
			go func() { _ = srv.Serve(ln) }()
			<-ctx.Done()
			grace, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = srv.Shutdown(grace)
			return srv.Close()
		}
	}
	srv := &httpd.Server{Addr: "127.0.0.1:0", Handler: handler, Log: log, Grace: time.Second}
	if err := srv.Listen(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.url = srv.URL() + "/mcp"
	return srv.Serve
}

// run runs everything in the order of cmd/aldis, until stop is called.
func (h *testHub) run(serve func(context.Context) error) {
	edges, stopEdges := context.WithCancel(context.Background())
	rest, stopRest := context.WithCancel(context.Background())
	var first, last sync.WaitGroup
	first.Go(func() { _ = h.table.Run(edges) })
	first.Go(func() {
		if err := serve(edges); err != nil {
			h.t.Errorf("serve: %v", err)
		}
	})
	last.Go(func() { _ = h.relay.Run(rest) })
	h.stop = sync.OnceFunc(func() {
		stopEdges()
		first.Wait()
		stopRest()
		last.Wait()
		if err := h.store.Close(); err != nil {
			h.t.Errorf("close the record: %v", err)
		}
	})
	h.t.Cleanup(h.stop)
}

// inBubble runs f with a hub in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, h *testHub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f(t, startHub(t, setup{inPipes: true}))
	})
}

// pass lets virtual time pass, and all settle: the relay writes settlements
// down a moment later.
func pass(d time.Duration) {
	time.Sleep(d + 30*time.Millisecond)
	synctest.Wait()
}

// client returns a client with the shared token.
func (h *testHub) client() *hubtest.Client {
	c := hubtest.NewClient(h.t, h.url, sharedToken)
	c.Dial = h.dial
	return c
}

// mailbox returns a session of a shared mailbox.
func (h *testHub) mailbox(agent string) *hubtest.Client {
	h.t.Helper()
	c := h.client()
	c.Agent = agent
	return c.Connect()
}

// label returns a session that came with a label.
func (h *testHub) label(agent string) *hubtest.Client {
	h.t.Helper()
	c := h.client()
	c.Label = agent
	return c.Connect()
}

// says has the operator write text.
func (h *testHub) says(text string) hub.Receipt {
	h.t.Helper()
	return h.receive(hub.Message{Kind: hub.Text, Text: text})
}

// receive has the operator send m.
func (h *testHub) receive(m hub.Message) hub.Receipt {
	h.t.Helper()
	h.key++
	m.Via, m.Ref, m.From = hub.ViaPlatform, hub.Ref{Platform: "signal", Chat: operator, Key: strconv.Itoa(h.key)}, hub.Sender{ID: operator, Name: "Op"}
	m.Dedup, m.Receipt = "op/"+m.Ref.Key, m.Kind == hub.Text
	r, err := h.relay.Receive(context.Background(), m)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// script has a script send text to an agent.
func (h *testHub) script(to hub.AgentID, text string) hub.Receipt {
	h.t.Helper()
	r, err := h.relay.Receive(context.Background(), hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "cron", Subject: "main", To: to, Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// fate returns the state of the delivery of a message to agent; "waiting" for
// queued and written: the relay may note the latter late or never.
func (h *testHub) fate(id hub.MessageID, agent hub.AgentID) string {
	h.t.Helper()
	all, err := h.store.Fate(context.Background(), "", id)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, d := range all {
		switch {
		case d.Agent != agent:
		case d.State < hub.HandedOver:
			return "waiting"
		default:
			return d.State.String()
		}
	}
	return "none"
}

// wantFate waits, for real sockets, until the delivery has the state.
func (h *testHub) wantFate(id hub.MessageID, agent hub.AgentID, want string) {
	h.t.Helper()
	eventually(h.t, func() error {
		if got := h.fate(id, agent); got != want {
			return fmt.Errorf("delivery to %s is %s, want %s", agent, got, want)
		}
		return nil
	})
}

// state returns the states of an agent's sessions, in the order of their ids.
func (h *testHub) states(agent hub.AgentID) []string {
	var all []string
	for _, s := range h.table.List() {
		if s.Agent == agent {
			all = append(all, s.State)
		}
	}
	return all
}

// eventually waits for check to be content.
func eventually(t testing.TB, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// contents are what pushes say.
func contents(ps []hubtest.Push) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, p.Content)
	}
	return out
}

// wantPushes fails the test unless exactly these contents have come on s.
func wantPushes(t testing.TB, who string, s *hubtest.Stream, want ...string) []hubtest.Push {
	t.Helper()
	got := s.Pushes()
	if !slices.Equal(contents(got), want) {
		t.Errorf("%s got %q, want %q", who, contents(got), want)
	}
	return got
}

// A presence is the relay, and remembers what the table told it.
type presence struct {
	relay *relay.Relay
	mu    sync.Mutex
	log   []string
}

func (p *presence) note(what string, agent hub.AgentID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what+" "+string(agent))
}

// took returns what was noted since the last time.
func (p *presence) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.log
	p.log = nil
	return log
}

func (p *presence) Arrived(ctx context.Context, agent hub.AgentID) {
	p.note("arrived", agent)
	p.relay.Arrived(ctx, agent)
}

func (p *presence) Departed(ctx context.Context, agent hub.AgentID) {
	p.note("departed", agent)
	p.relay.Departed(ctx, agent)
}

func (p *presence) Orphaned(ctx context.Context, agent hub.AgentID, last hub.Seq) {
	p.relay.Orphaned(ctx, agent, last)
}

func (p *presence) Settled(s hub.Settlement)                        { p.relay.Settled(s) }
func (p *presence) Handed(ctx context.Context, ss []hub.Settlement) { p.relay.Handed(ctx, ss) }

func recordIn(t testing.TB) string { return filepath.Join(t.TempDir(), "aldis.db") }
