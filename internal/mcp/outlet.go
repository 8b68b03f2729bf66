package mcp

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// An sse is the outlet of a GET: its hijacked connection. Once hijacked,
// nothing of net/http stays with it: an idle stream costs a connection and one
// goroutine that waits for its end.
//
// It speaks HTTP/1.1 chunked transfer coding (RFC 9112, section 7.1) and
// server-sent events (WHATWG HTML, section 9.2).
type sse struct {
	conn net.Conn
	now  func() time.Time

	mu  sync.Mutex   // held while writing; bounded by the write deadline
	off atomic.Int64 // bytes written; not behind mu: who asks must not wait for the peer
}

// open hijacks the connection of a GET and answers it with header, then with
// the first event: an id without data, so that the client can say where it was.
func open(w http.ResponseWriter, now func() time.Time, id, retry string) (*sse, error) {
	header := w.Header().Clone()
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over the connection of a stream: %w", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("take over the connection of a stream: %w", err)
	}
	_ = buf // a GET has no body; what a client sends after it is not read
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Set("Transfer-Encoding", "chunked")
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(&head)
	head.WriteString("\r\n")
	o := &sse{conn: conn, now: now}
	first := chunk(fmt.Appendf(newChunk(), "retry: %s\nid: %s\ndata:\n\n", retry, id))
	if err := o.send(append(head.Bytes(), first...)); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func (o *sse) write(batch []*event) error {
	p := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	b := append((*p)[:0], sizeField...)
	if len(batch) == 0 {
		b = append(b, ":\n\n"...)
	}
	for _, ev := range batch {
		b = append(b, "event: message\n"...)
		if ev.seq != 0 {
			b = append(b, "id: "...)
			b = strconv.AppendUint(b, uint64(ev.seq), 10)
			b = append(b, '\n')
		}
		b = append(b, "data: "...)
		b = append(b, ev.line...)
		b = append(b, "\n\n"...)
	}
	*p = chunk(b)
	return o.send(*p)
}

func (o *sse) send(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.conn.SetWriteDeadline(o.now().Add(writeWait)); err != nil {
		return err
	}
	n, err := o.conn.Write(b)
	o.off.Add(int64(n))
	return err
}

func (o *sse) written() int64 { return o.off.Load() }

// acknowledged counts first and then asks: what a write under way adds in
// between makes the answer no for now, never yes too early.
func (o *sse) acknowledged(n int64) bool {
	written := o.written()
	unacked, ok := unacknowledged(o.conn)
	return !ok || written-int64(unacked) >= n
}

func (o *sse) close() { _ = o.conn.Close() }

func (o *sse) finish(retry time.Duration) {
	b := chunk(fmt.Appendf(newChunk(), "retry: %d\n\n", retry.Milliseconds()))
	_ = o.send(append(b, "0\r\n\r\n"...)) // it closes either way
	o.close()
}

// wait blocks until the far end closes the connection, or we do. What it sends
// is none of our business: a request after a GET that has not ended.
func (o *sse) wait() {
	var b [64]byte
	for {
		if _, err := o.conn.Read(b[:]); err != nil {
			return
		}
	}
}

// sizeField stands where a chunk's size goes: leading zeros are allowed.
const sizeField = "00000000\r\n"

func newChunk() []byte { return []byte(sizeField) }

// chunk fills in the size of a chunk that starts with sizeField, and ends it.
func chunk(b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, n := 7, len(b)-len(sizeField); i >= 0; i, n = i-1, n>>4 {
		b[i] = digits[n&15]
	}
	return append(b, "\r\n"...)
}
