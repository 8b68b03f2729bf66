package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"aldis/internal/hub"
)

const (
	maxLine    = 64 << 20         // bytes of one line; what is longer is skipped
	maxOpen    = 1024             // requests without an answer
	writeChunk = 64 << 10         // bytes
	writeStall = 10 * time.Second // for one chunk: a daemon that takes longer has stopped reading
)

var (
	// errUnsent means that the daemon has not seen the request.
	errUnsent = errors.New("the request did not reach the daemon")

	// errUnanswered means that the daemon may have acted on the request, and
	// that no answer to it will come any more.
	errUnanswered = errors.New("the connection to the daemon ended before it answered")

	// errLate means that the daemon may have acted on the request, and that
	// an answer may come yet.
	errLate = errors.New("the daemon did not answer in time")
)

// A conn is one connection to the daemon. One goroutine reads, one writes, and
// any may call.
type conn struct {
	nc     net.Conn
	out    chan *call
	done   <-chan struct{} // closed when the connection ends
	heard  atomic.Int64    // when the last line came, in Unix nanoseconds
	arrive func(arrival)   // is given what comes unasked, in order, by the reader
	skip   func(why error) // hears of lines that can't be read
	lastID atomic.Uint64

	mu    sync.Mutex
	open  map[uint64]*call // guarded by mu; without an answer
	ended bool             // guarded by mu; no answers any more
}

// A call is a request and the wait for its answer.
type call struct {
	line   []byte
	answer chan frame   // has room for one
	begun  bool         // guarded by conn.mu; some of it may have reached the daemon
	given  bool         // guarded by conn.mu; nobody waits: late hears of the answer
	late   func(*frame) // nil frame: no answer will come
}

// do sends a request and waits for the answer, until ctx ends. If it returns
// errLate, late is called once: with the answer, when it comes after all, or
// with nil when the connection ends. late must not wait for a request; it may
// be nil.
func (n *conn) do(ctx context.Context, method string, p params, late func(*frame)) (frame, error) {
	id := n.lastID.Add(1)
	line, err := json.Marshal(request{Version: "2.0", ID: id, Method: method, Params: p})
	if err != nil {
		return frame{}, fmt.Errorf("encode %s: %w: %w", method, errUnsent, err)
	}
	c := &call{line: append(line, '\n'), answer: make(chan frame, 1), late: late}
	if err := n.register(id, c); err != nil {
		return frame{}, err
	}
	select {
	case n.out <- c:
	case <-ctx.Done():
	case <-n.done:
	}
	select {
	case f := <-c.answer:
		return f, nil
	case <-ctx.Done():
		return n.giveUp(id, c, errLate)
	case <-n.done:
		return n.giveUp(id, c, errUnanswered)
	}
}

func (n *conn) register(id uint64, c *call) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.ended:
		return errUnsent
	case len(n.open) >= maxOpen:
		return &hub.Error{Kind: hub.Unavailable, Msg: "too many requests wait for an answer of signal-cli; try again later", Err: errUnsent}
	}
	n.open[id] = c
	return nil
}

// giveUp ends the wait for an answer, unless it has just come.
func (n *conn) giveUp(id uint64, c *call, why error) (frame, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case f := <-c.answer:
		return f, nil
	default:
	}
	switch {
	case !c.begun:
		delete(n.open, id) // the writer passes over it
		c.given = true
		return frame{}, errUnsent
	case why == errLate && c.late == nil:
		delete(n.open, id)
		return frame{}, errLate
	case why == errLate && !n.ended:
		c.given = true
		return frame{}, errLate
	default:
		delete(n.open, id)
		return frame{}, errUnanswered
	}
}

// write writes requests until ctx ends.
func (n *conn) write(ctx context.Context) error {
	for {
		select {
		case c := <-n.out:
			if !n.begin(c) {
				continue
			}
			if err := n.writeLine(c.line); err != nil {
				return fmt.Errorf("write to the daemon: %w", err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *conn) begin(c *call) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.begun = !c.given
	return c.begun
}

func (n *conn) writeLine(line []byte) error {
	for len(line) > 0 {
		if err := n.nc.SetWriteDeadline(time.Now().Add(writeStall)); err != nil {
			return err
		}
		m := min(len(line), writeChunk)
		if _, err := n.nc.Write(line[:m]); err != nil {
			return err
		}
		line = line[m:]
	}
	return nil
}

// read reads lines until the connection ends. It never waits for an agent or
// for a request: a daemon whose socket is not read stands still for everybody.
func (n *conn) read() error {
	l := lines{r: bufio.NewReaderSize(n.nc, 64<<10), max: maxLine, skip: n.skip}
	var p parser
	for {
		line, err := l.next()
		if err != nil {
			return fmt.Errorf("read from the daemon: %w", err)
		}
		n.heard.Store(time.Now().UnixNano())
		var f frame
		if err := p.parse(line, &f); err != nil {
			n.skip(fmt.Errorf("not the JSON of a daemon: %T", err)) // its text quotes the line
			continue
		}
		switch {
		case f.Method == "receive":
			n.arrive(arrival{notice: f.Params})
		case f.Method == "" && f.ID != nil:
			n.settle(f)
		}
	}
}

// settle gives an answer to whoever waits for it.
func (n *conn) settle(f frame) {
	id, err := strconv.ParseUint(string(f.ID), 10, 64)
	if err != nil {
		return // null: the daemon could not read a request, whose call will time out
	}
	n.mu.Lock()
	c, given := n.open[id], false
	delete(n.open, id)
	if c != nil {
		if given = c.given; !given {
			c.answer <- f
		}
	}
	n.mu.Unlock()
	if given {
		c.late(&f)
	}
}

// end lets go of everybody who still waits.
func (n *conn) end() {
	n.mu.Lock()
	var given []*call // now: those who still wait give up by themselves
	for _, c := range n.open {
		if c.given {
			given = append(given, c)
		}
	}
	n.open, n.ended = nil, true
	n.mu.Unlock()
	for _, c := range given {
		c.late(nil)
	}
}

// lines reads lines of at most max bytes, and skips those that are longer.
type lines struct {
	r    *bufio.Reader
	max  int
	skip func(why error)
	buf  []byte // of a line longer than the reader's buffer
}

// next returns the next line that is not empty, which is valid until the call
// after. A last line without its newline is no line.
func (l *lines) next() ([]byte, error) {
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	skipping := false
	for {
		part, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		whole := err == nil
		switch {
		case skipping:
		case len(l.buf)+len(part) > l.max:
			l.skip(fmt.Errorf("a line is longer than %d bytes", l.max))
			l.buf, skipping = nil, true
		case whole && len(l.buf) == 0 && len(part) > 1:
			return part, nil
		default:
			l.buf = append(l.buf, part...)
		}
		if !whole {
			continue
		}
		if len(l.buf) > 1 {
			return l.buf, nil
		}
		l.buf, skipping = l.buf[:0], false
	}
}

// A parser reads one JSON value from each line. It does what json.Unmarshal
// does, and keeps the memory that this needs from one line to the next.
type parser struct {
	src bytes.Reader
	dec *json.Decoder
}

var errTrailing = errors.New("more than one value in a line")

func (p *parser) parse(line []byte, v any) error {
	line = bytes.TrimSpace(line)
	p.src.Reset(line)
	if p.dec == nil {
		p.dec = json.NewDecoder(&p.src)
	}
	start := p.dec.InputOffset()
	err := p.dec.Decode(v)
	if err == nil && p.dec.InputOffset()-start != int64(len(line)) {
		err = errTrailing
	}
	if err != nil || len(line) > 1<<20 {
		p.dec = nil // it does not get over an error, and keeps its longest buffer
	}
	return err
}
