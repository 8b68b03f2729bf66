package hubtest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// A Stream is a client's push stream. It is read all the time, unless it was
// opened by [Client.Stall], and closed at the end of the test.
type Stream struct {
	Status int // of the answer; all but 200 have no events
	Header http.Header

	c    *Client
	conn net.Conn
	done chan struct{} // reading has ended

	mu      sync.Mutex
	events  []Event
	id      string        // of the last event that had one
	changed chan struct{} // closed when there is more
}

// An Event is what came on a stream: an event, or a comment.
type Event struct {
	ID, Name, Retry, Data string
	Comment               bool
}

// A Push is a channel event, as an agent gets it.
type Push struct {
	ID      string // of the event on the stream
	Content string
	Meta    map[string]string
}

// Open opens the push stream, with last as its Last-Event-ID unless that is
// empty.
func (c *Client) Open(last string) *Stream {
	c.t.Helper()
	s, body := c.open(last, 0)
	go func() {
		defer close(s.done)
		s.read(body)
	}()
	return s
}

// Stall opens the push stream and reads no more of it than the answer's header.
// Over TCP its receive buffer is as small as it can be.
func (c *Client) Stall() *Stream {
	c.t.Helper()
	s, _ := c.open("", 1)
	close(s.done)
	return s
}

func (c *Client) open(last string, buffer int) (*Stream, io.Reader) {
	c.t.Helper()
	conn, err := c.dial(context.Background())
	if err != nil {
		c.t.Fatalf("open a stream: %v", err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && buffer > 0 {
		if err := tcp.SetReadBuffer(buffer); err != nil {
			c.t.Fatal(err)
		}
	}
	r := c.request("GET", "", "Last-Event-ID", last, "Accept", "text/event-stream", "Content-Type", "")
	r.Body, r.ContentLength = nil, 0
	if err := r.Write(conn); err != nil {
		c.t.Fatalf("open a stream: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		c.t.Fatalf("open a stream: %v", err)
	}
	s := &Stream{Status: resp.StatusCode, Header: resp.Header, c: c, conn: conn, done: make(chan struct{}), changed: make(chan struct{})}
	c.t.Cleanup(s.Close)
	return s, resp.Body
}

// read collects events (WHATWG HTML, section 9.2) until the stream ends.
func (s *Stream) read(body io.Reader) {
	in := bufio.NewScanner(body)
	in.Buffer(nil, 1<<20)
	var ev Event
	for in.Scan() {
		line := in.Text()
		if line == "" {
			s.add(ev)
			ev = Event{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "":
			ev.Comment = true
		case "id":
			ev.ID = value
		case "event":
			ev.Name = value
		case "retry":
			ev.Retry = value
		case "data":
			ev.Data += value
		}
	}
}

func (s *Stream) add(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ev)
	if ev.ID != "" {
		s.id = ev.ID
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// LastID returns the id of the last event that came: what a client that opens
// its stream again sends.
func (s *Stream) LastID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Next returns what comes next, comments too; false if nothing does within
// wait, or the stream ends.
func (s *Stream) Next(wait time.Duration) (Event, bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s.mu.Lock()
		if len(s.events) > 0 {
			ev := s.events[0]
			s.events = s.events[1:]
			s.mu.Unlock()
			return ev, true
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.done:
			s.mu.Lock()
			more := len(s.events) > 0
			s.mu.Unlock()
			if !more {
				return Event{}, false
			}
		case <-timer.C:
			return Event{}, false
		}
	}
}

// Push returns the next channel event, and ends the test if none comes.
func (s *Stream) Push() Push {
	s.c.t.Helper()
	p, ok := s.TryPush(patience)
	if !ok {
		s.c.t.Fatal("no event came on the stream")
	}
	return p
}

// TryPush returns the next channel event; false if none comes within wait.
func (s *Stream) TryPush(wait time.Duration) (Push, bool) {
	s.c.t.Helper()
	end := time.Now().Add(wait)
	for {
		ev, ok := s.Next(time.Until(end))
		if !ok {
			return Push{}, false
		}
		if ev.Data == "" {
			continue
		}
		var v struct {
			Method string
			Params Push
		}
		if err := json.Unmarshal([]byte(ev.Data), &v); err != nil || v.Method != "notifications/claude/channel" {
			s.c.t.Fatalf("unexpected on the stream: %s (%v)", ev.Data, err)
		}
		v.Params.ID = ev.ID
		return v.Params, true
	}
}

// Pushes returns the channel events that have come so far.
func (s *Stream) Pushes() []Push {
	s.c.t.Helper()
	var all []Push
	for {
		p, ok := s.TryPush(0)
		if !ok {
			return all
		}
		all = append(all, p)
	}
}

// Ended reports whether the stream has ended, or does within wait.
func (s *Stream) Ended(wait time.Duration) bool {
	select {
	case <-s.done:
		return true
	case <-time.After(wait):
		return false
	}
}

// Close closes the connection in order.
func (s *Stream) Close() {
	_ = s.conn.Close()
	<-s.done
}

// Abort closes the connection without telling that all was read: over TCP with
// a reset.
func (s *Stream) Abort() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	s.Close()
}
