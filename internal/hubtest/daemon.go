// Package hubtest has working stand-ins for the things around the hub. They are
// fakes, not mocks: they do the job, remember what they were asked, and can be
// told to fail. It imports package hub and nothing else of ours.
package hubtest

import (
	"bufio"
	"encoding/json"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Daemon is a signal-cli daemon without Signal: it speaks the daemon's
// JSON-RPC, a line for a value, and answers in the shapes that version 0.13.19
// was seen to answer in. Every message reaches its recipients. Tests can change
// any answer, and make the daemon say anything.
type Daemon struct {
	// May be changed until the first connection.
	Version  string
	Accounts []string
	Contacts []DaemonContact
	Groups   []DaemonGroup

	LinkNumber string // whose phone scans what startLink gives out

	t  testing.TB
	ln net.Listener
	wg sync.WaitGroup

	mu        sync.Mutex
	changed   sync.Cond                  // what is below has changed
	conns     map[net.Conn]chan struct{} // with whose turn it is to write to each
	accepted  int
	requests  []DaemonRequest
	answers   map[string]func(DaemonRequest) DaemonAnswer
	timestamp int64
	links     int // codes given out
	closed    bool
}

// A DaemonContact is somebody whom the account knows. Either name may be empty.
type DaemonContact struct {
	Number, UUID, Name string
	Blocked            bool
}

// A DaemonGroup is a group, by its id in standard base64.
type DaemonGroup struct {
	ID, Name string
	Left     bool // the account is no member any more
	Blocked  bool
	Members  []DaemonContact
}

// A DaemonRequest is a request that the daemon was sent.
type DaemonRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
}

// A DaemonAnswer is the answer to a request. The zero value answers null.
type DaemonAnswer struct {
	Result any
	Error  any             // if not nil, an object with code, message, data, instead of Result
	Wait   <-chan struct{} // if not nil, the answer waits until this is closed
	Delay  time.Duration   // the answer waits that long
	Drop   bool            // there is no answer
	Cut    bool            // the connection ends instead
}

// NewDaemon starts a daemon on a port of the loopback address.
func NewDaemon(t testing.TB) *Daemon { return ListenDaemon(t, "tcp", "127.0.0.1:0") }

// ListenDaemon starts a daemon that listens on an address of package net. It
// stops at the end of the test.
func ListenDaemon(t testing.TB, network, address string) *Daemon {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	d := PipeDaemon(t)
	d.ln = ln
	d.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			d.serve(nc)
		}
	})
	return d
}

// PipeDaemon makes a daemon that is reached by Dial alone, which works in a
// bubble of testing/synctest.
func PipeDaemon(t testing.TB) *Daemon {
	d := &Daemon{
		Version:  "0.13.19",
		Accounts: []string{"+15555550100"},
		Contacts: []DaemonContact{
			{Number: "+15555550100", UUID: "a11ce000-0000-4000-8000-000000000100", Name: "Operator"},
			{Number: "+15555550101", UUID: "b0b00000-0000-4000-8000-000000000101", Name: "Bob"},
		},
		LinkNumber: "+15555550100",

		t:         t,
		conns:     map[net.Conn]chan struct{}{},
		answers:   map[string]func(DaemonRequest) DaemonAnswer{},
		timestamp: 1796100000000,
	}
	d.changed.L = &d.mu
	t.Cleanup(d.Close)
	return d
}

// Address is where the daemon listens, as --signal-cli takes it.
func (d *Daemon) Address() string {
	if d.ln.Addr().Network() == "unix" {
		return "unix:" + d.ln.Addr().String()
	}
	return d.ln.Addr().String()
}

// Dial makes a connection in memory.
func (d *Daemon) Dial() net.Conn {
	ours, theirs := net.Pipe()
	d.serve(ours)
	return theirs
}

// Close ends the daemon and every connection to it.
func (d *Daemon) Close() {
	d.mu.Lock()
	d.closed = true
	d.changed.Broadcast()
	d.mu.Unlock()
	if d.ln != nil {
		d.ln.Close()
	}
	d.Cut()
	d.wg.Wait()
}

// Cut ends every connection, as a daemon that dies does.
func (d *Daemon) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for nc := range d.conns {
		nc.Close()
	}
	clear(d.conns)
}

// Answer makes f answer the requests for method from now on; nil brings the
// daemon's own answer back. Each request is answered in a goroutine of its own.
func (d *Daemon) Answer(method string, f func(DaemonRequest) DaemonAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[method] = f
}

// Emit writes raw bytes to every connection, as they are: a line needs its
// newline.
func (d *Daemon) Emit(raw string) {
	d.mu.Lock()
	conns := make(map[net.Conn]chan struct{}, len(d.conns))
	for nc, turn := range d.conns {
		conns[nc] = turn
	}
	d.mu.Unlock()
	for nc, turn := range conns {
		writeTo(nc, turn, []byte(raw))
	}
}

// Receive notifies every connection of an envelope, as JSON or as a value that
// becomes that JSON, to the daemon's first account.
func (d *Daemon) Receive(envelope any) {
	if s, ok := envelope.(string); ok {
		envelope = json.RawMessage(s)
	}
	d.Emit(line(map[string]any{
		"jsonrpc": "2.0", "method": "receive",
		"params": map[string]any{"envelope": envelope, "account": d.Accounts[0]},
	}))
}

// Requests returns the requests for method that have come so far; for all
// methods if it is empty.
func (d *Daemon) Requests(method string) []DaemonRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requestsFor(method)
}

// Await waits until n requests for method have come, and returns them all.
func (d *Daemon) Await(method string, n int) []DaemonRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.requestsFor(method)) < n && !d.closed {
		d.changed.Wait()
	}
	return d.requestsFor(method)
}

// Accepted returns how many connections were ever made.
func (d *Daemon) Accepted() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.accepted
}

func (d *Daemon) requestsFor(method string) []DaemonRequest {
	all := slices.Clone(d.requests)
	return slices.DeleteFunc(all, func(r DaemonRequest) bool { return method != "" && r.Method != method })
}

// serve answers the requests of one connection until it ends.
func (d *Daemon) serve(nc net.Conn) {
	turn := make(chan struct{}, 1)
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		nc.Close()
		return
	}
	d.conns[nc] = turn
	d.accepted++
	d.mu.Unlock()
	done := make(chan struct{})
	d.wg.Go(func() {
		defer close(done)
		defer nc.Close()
		lines := bufio.NewScanner(nc)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var r DaemonRequest
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				writeTo(nc, turn, []byte(line(answerTo(json.RawMessage("null"), DaemonAnswer{Error: DaemonError(-32700, "not JSON", nil)}))))
				continue
			}
			a := d.handle(r)
			d.wg.Go(func() { reply(nc, turn, r, a(), done) })
		}
		d.mu.Lock()
		delete(d.conns, nc)
		d.mu.Unlock()
	})
}

// handle notes a request and returns what makes its answer.
func (d *Daemon) handle(r DaemonRequest) func() DaemonAnswer {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r)
	d.changed.Broadcast()
	if f := d.answers[r.Method]; f != nil {
		return func() DaemonAnswer { return f(r) }
	}
	a := d.answer(r)
	return func() DaemonAnswer { return a }
}

func reply(nc net.Conn, turn chan struct{}, r DaemonRequest, a DaemonAnswer, done <-chan struct{}) {
	if a.Delay > 0 {
		t := time.NewTimer(a.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-done:
		}
	}
	if a.Wait != nil {
		select {
		case <-a.Wait:
		case <-done:
		}
	}
	switch {
	case a.Cut:
		nc.Close()
	case !a.Drop:
		writeTo(nc, turn, []byte(line(answerTo(r.ID, a))))
	}
}

func answerTo(id json.RawMessage, a DaemonAnswer) map[string]any {
	if a.Error != nil {
		return map[string]any{"jsonrpc": "2.0", "error": a.Error, "id": id}
	}
	return map[string]any{"jsonrpc": "2.0", "result": a.Result, "id": id}
}

// writeTo writes one piece to a connection. That it has ended is no error: a
// daemon does not care either.
//
// A channel keeps the turns, since a bubble of testing/synctest knows that
// those who wait for a channel wait.
func writeTo(nc net.Conn, turn chan struct{}, raw []byte) {
	turn <- struct{}{}
	_, _ = nc.Write(raw)
	<-turn
}
