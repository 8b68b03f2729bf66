package signal

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
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

// BenchmarkReply is the way of a reply through the whole hub, in one process
// and without sockets: a line of the daemon's, decoded, admitted, recorded,
// routed, and framed on the stream of the agent that it answers.
func BenchmarkReply(b *testing.B) {
	for _, tt := range []struct {
		name string
		path func(b *testing.B) string
		skip bool // the record
	}{
		{"record=none", func(*testing.B) string { return "" }, true},
		{"record=memory", func(*testing.B) string { return "" }, false},
		{"record=disk", func(b *testing.B) string { return filepath.Join(b.TempDir(), "aldis.db") }, false},
	} {
		b.Run(tt.name, func(b *testing.B) { benchmarkReply(b, tt.path(b), tt.skip) })
	}
}

func benchmarkReply(b *testing.B, path string, skip bool) {
	ctx, stop := context.WithCancel(b.Context())
	record, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	table := mcp.NewTable()
	r := &relay.Relay{
		Gate: &gate.Gate{}, Routes: &route.Table{TTL: time.Hour, Max: 10, Now: time.Now}, Sessions: table, Record: record,
		HoldFor: time.Hour, Log: log, Now: time.Now, NewID: func() hub.MessageID { return hub.MessageID(uuid.Must(uuid.NewV7()).String()) },
	}
	if skip {
		r.Record = &noRecord{Record: record}
	}
	table.Mail, table.Store, table.Presence, table.Log = record, record, r, log
	daemon := hubtest.PipeDaemon(b)
	c := &Client{Account: "+15555550100", dial: func(context.Context) (net.Conn, error) { return daemon.Dial(), nil }}
	r.Platforms = []hub.Platform{c}
	r.Gate.Trust(ID, "+15555550101")
	r.Routes.Remember(route.Route{Ref: hub.Ref{Platform: ID, Chat: "+15555550101", Key: "1796055412657"}, Agent: "deploy-bot"})
	if err := r.Start(ctx); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 3)
	go func() { ended <- table.Run(ctx) }()
	go func() { ended <- r.Run(ctx) }()
	go func() { ended <- c.Run(ctx, r) }()
	events := openStream(b, table, r)
	daemon.Await("listGroups", 0)
	for c.Report().State != "connected" {
		time.Sleep(time.Millisecond)
	}

	line := []byte(`{"jsonrpc":"2.0","method":"receive","params":{"envelope":{"source":"+15555550101","sourceNumber":"+15555550101","sourceUuid":"b0b00000-0000-4000-8000-000000000101","sourceName":"Bob","sourceDevice":1,"timestamp":1000000000000,"serverReceivedTimestamp":1796055414214,"serverDeliveredTimestamp":0,"dataMessage":{"timestamp":1000000000000,"message":"yes, that one","expiresInSeconds":0,"viewOnce":false,"quote":{"id":1796055412657,"author":"+15555550100","authorNumber":"+15555550100","authorUuid":"a11ce000-0000-4000-8000-000000000100","text":"Deploy finished.","attachments":[]}}},"account":"+15555550100"}}` + "\n")
	at := []int{bytes.Index(line, []byte("1000000000000")), bytes.LastIndex(line, []byte("1000000000000"))}
	b.ReportAllocs()
	n := int64(1000000000000)
	for b.Loop() {
		n++
		for _, i := range at {
			for j, x := 12, n; j >= 0; j, x = j-1, x/10 {
				line[i+j] = byte('0' + x%10)
			}
		}
		daemon.Emit(string(line))
		<-events
	}
	b.StopTimer()
	stop()
	for range 3 {
		<-ended
	}
	if err := record.Close(); err != nil {
		b.Fatal(err)
	}
}

// noRecord takes everything and keeps nothing: what is left is the hub's own.
type noRecord struct {
	hub.Record
	seq hub.Seq
}

func (r *noRecord) Append(_ context.Context, m hub.Message, d *hub.Decision, then func(hub.Offer)) (bool, error) {
	r.seq = max(r.seq+1, hub.Seq(time.Now().UnixMicro()))
	then(hub.Offer{Seq: r.seq, Message: m, Decision: *d})
	return true, nil
}

func (r *noRecord) Settle(context.Context, []hub.Settlement) (bool, error) { return false, nil }

// openStream has deploy-bot join over connections in memory. The channel it
// returns gets a value for each event.
func openStream(b *testing.B, table *mcp.Table, r *relay.Relay) <-chan struct{} {
	server := mcp.NewServer(table, r, "bench")
	handler := httpd.Handle(slog.New(slog.DiscardHandler), server.ServeHTTP)
	dial := serveInMemory(b, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		handler.ServeHTTP(w, q.WithContext(auth.With(q.Context(), auth.Principal{Kind: auth.Shared})))
	}))
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	conn := dial()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: hub\r\nX-Signal-Agent-Id: deploy-bot\r\nContent-Length: %d\r\n\r\n%s", len(initialize), initialize)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	conn.Close()
	conn = dial()
	fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: hub\r\nMcp-Session-Id: %s\r\n\r\n", resp.Header.Get("Mcp-Session-Id"))
	events := make(chan struct{}, 1)
	opened := make(chan struct{})
	b.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 64<<10)
		for first := true; ; first = false {
			n, err := conn.Read(buf) // a pipe's read is one write
			if err != nil {
				return
			}
			if first {
				close(opened)
			}
			for range bytes.Count(buf[:n], []byte("event: message")) {
				events <- struct{}{}
			}
		}
	}()
	<-opened
	for !table.Present("deploy-bot") {
		time.Sleep(time.Millisecond)
	}
	return events
}

// serveInMemory serves h on pipes, and returns what makes one.
func serveInMemory(b *testing.B, h http.Handler) (dial func() net.Conn) {
	ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	go srv.Serve(ln)
	b.Cleanup(func() { srv.Close() })
	return func() net.Conn {
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		return ours
	}
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
