package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/hub"
)

const (
	dialFor    = 5 * time.Second  // to make a connection
	answerFor  = 10 * time.Second // for an answer that the hub has at hand
	callFor    = 75 * time.Second // for one that it may have to wait for: ask and inbox wait up to 50 s
	silentFor  = time.Minute      // without a byte a stream is dead: the hub writes a comment every 20 s
	againAfter = time.Second      // at first, until a stream is opened again
	againMost  = 15 * time.Second // at most
	hurryEvery = 3 * time.Second  // how often at least it is tried while a call waits for it
	clockEvery = 5 * time.Second  // how often it is looked whether the machine slept
)

// An uplink is the line's side towards the hub: one session, and its stream.
type uplink struct {
	// set before use
	base   string // the hub's address
	header http.Header
	http   *http.Client
	self   implementation
	log    *slog.Logger
	take   func(context.Context, *session, event) error // takes what comes on the stream
	raised func(context.Context)                        // the stream is open
	wall   func() time.Time                             // the clock that goes on while the machine sleeps

	begun chan struct{} // closed once client and version are set
	// set before begun is closed
	client  implementation
	version string // of the protocol, as agreed with the agent

	// owned by run
	retry time.Duration // what the hub asked to wait before a stream is opened again; zero: nothing

	hasty chan struct{} // cap 1: somebody waits for the hub

	mu sync.Mutex
	// guarded by mu
	state   state
	changed chan struct{}           // closed when state changes
	session *session                // nil: none yet
	cut     context.CancelCauseFunc // ends the stream
}

// A session is ours on the hub.
type session struct {
	id      hub.SessionID
	version string
	welcome json.RawMessage // the hub's result of initialize
	acks    acks
}

// An implementation is what MCP calls one: the name and version of a program.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

var (
	errUnknown = errors.New("the hub does not know the session")
	errSilent  = errors.New("nothing came from the hub for too long")
	errSlept   = errors.New("the machine has slept")
	errDoubt   = errors.New("a request did not reach the hub")
)

// A refusal is an answer that will be the same next time.
type refusal struct {
	status int
	words  string // the hub's
}

func (r *refusal) Error() string { return fmt.Sprintf("the hub answered %d: %s", r.status, r.words) }

func newUplink(l *Line) *uplink {
	dial := l.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialFor, KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
		}}).DialContext
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if l.Token != "" {
		header.Set("Authorization", "Bearer "+l.Token)
	}
	if l.Agent != "" {
		header.Set("X-Signal-Agent-Id", string(l.Agent))
	}
	return &uplink{
		base: l.Hub, header: header, self: implementation{"aldis-attach", l.Version}, log: l.Log,
		http: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: dial, TLSHandshakeTimeout: dialFor,
				DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
			},
			// A token goes to the hub that was named, and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		begun: make(chan struct{}), hasty: make(chan struct{}, 1), changed: make(chan struct{}),
		state: state{since: time.Now()}, cut: func(error) {},
		wall: func() time.Time { return time.Now().Round(0) },
	}
}

// begin says for whom the line is. It is called once.
func (u *uplink) begin(client implementation, version string) {
	if client.Name == "" {
		client = u.self
	}
	u.client, u.version = client, version
	close(u.begun)
}

// run keeps a stream open until ctx ends.
func (u *uplink) run(ctx context.Context) {
	select {
	case <-u.begun:
	case <-ctx.Done():
		return
	}
	pauses := &backoff.ExponentialBackOff{InitialInterval: againAfter, Multiplier: 1.6, MaxInterval: againMost, RandomizationFactor: 0.3}
	for ctx.Err() == nil {
		err := u.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if u.lower(err) {
			pauses.Reset()
		}
		timer := time.NewTimer(max(u.retry, pauses.NextBackOff()))
		select {
		case <-timer.C:
		case <-u.hasty:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// connect opens the session's stream, a new session's if need be, and takes
// what comes until it ends. It returns why it did.
func (u *uplink) connect(ctx context.Context) error {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	dead := time.AfterFunc(answerFor, func() { cut(errSilent) })
	defer dead.Stop()
	u.mu.Lock()
	u.cut = cut
	u.mu.Unlock()

	s, stream, err := u.open(ctx)
	if errors.Is(err, errUnknown) { // deleted, or forgotten: begin another
		s, stream, err = u.open(ctx)
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	defer stream.Close()
	dead.Stop()
	u.raise(s)
	u.raised(ctx)
	err = readEvents(watched{stream, dead}, func(e event) error {
		if e.retry > 0 {
			u.retry = min(e.retry, againMost)
		}
		return u.take(ctx, s, e)
	})
	return causeOf(ctx, err)
}

// open opens the stream of the session, of a new one if there is none.
func (u *uplink) open(ctx context.Context) (*session, io.ReadCloser, error) {
	u.mu.Lock()
	s := u.session
	u.mu.Unlock()
	if s == nil {
		var err error
		if s, err = u.initialize(ctx); err != nil {
			return nil, nil, err
		}
		u.mu.Lock()
		u.session = s
		u.mu.Unlock()
	}
	resp, err := u.request(ctx, http.MethodGet, s, nil)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		_, err := readBody(resp)
		if err == nil {
			err = &refusal{resp.StatusCode, "and no stream"}
		}
		if errors.Is(err, errUnknown) {
			u.forget(s)
		}
		return nil, nil, err
	}
	return s, resp.Body, nil
}

// initialize begins a session of the agent's.
func (u *uplink) initialize(ctx context.Context) (*session, error) {
	params, err := json.Marshal(map[string]any{
		"protocolVersion": u.version, "clientInfo": u.client,
		"capabilities": map[string]any{"experimental": map[string]any{"aldis/attach": map[string]any{}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode initialize: %w", err)
	}
	id, err := jsonrpc.MakeID("attach")
	if err != nil {
		return nil, fmt.Errorf("number initialize: %w", err)
	}
	body, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: id, Method: "initialize", Params: params})
	if err != nil {
		return nil, fmt.Errorf("encode initialize: %w", err)
	}
	resp, err := u.request(ctx, http.MethodPost, nil, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := readAnswer(resp)
	if errors.Is(err, errUnknown) {
		return nil, &refusal{resp.StatusCode, "there is no /mcp: is that an aldis hub?"}
	}
	if err != nil {
		return nil, err
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	s := &session{id: hub.SessionID(resp.Header.Get(sessionHeader)), welcome: answer.Result}
	if answer.Error != nil {
		return nil, &refusal{resp.StatusCode, answer.Error.Error()}
	}
	if json.Unmarshal(answer.Result, &result) != nil || s.id == "" {
		return nil, &refusal{resp.StatusCode, "but with no session: is that an aldis hub?"}
	}
	s.version = result.ProtocolVersion
	return s, u.notify(ctx, s, "notifications/initialized", nil)
}

// watchClock notices when the machine has slept: the clock on the wall has gone
// on meanwhile. The stream is dead then, whether or not that shows.
func (u *uplink) watchClock(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	last := u.wall()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := u.wall()
		if now.Sub(last) > 3*clockEvery {
			u.doubt(errSlept)
		}
		last = now
	}
}

// leave tells the hub what the agent has, and that the line ends.
func (u *uplink) leave(ctx context.Context) {
	defer u.http.CloseIdleConnections()
	_, s, _ := u.look()
	if s == nil {
		return
	}
	u.flush(ctx)
	resp, err := u.request(ctx, http.MethodDelete, s, nil)
	if err != nil {
		u.log.Debug("end the session", "err", causeOf(ctx, err))
		return
	}
	_ = resp.Body.Close() // it is over either way
}
