package signal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	tests := []struct {
		name    string
		in      string
		want    []string
		skipped int
	}{
		{"one", "a\n", []string{"a"}, 0},
		{"empty lines", "\n\na\n\n", []string{"a"}, 0},
		{"longer than the buffer", long + "\nb\n", []string{long, "b"}, 0},
		{"too long", "a\n" + long + long + long + "\nb\n", []string{"a", "b"}, 1},
		{"half a line at the end", "a\nb", []string{"a"}, 0},
		{"nothing", "", nil, 0},
	}
	for _, tt := range tests {
		for kind, r := range map[string]io.Reader{
			"": strings.NewReader(tt.in), " byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			" halved": iotest.HalfReader(strings.NewReader(tt.in)),
		} {
			t.Run(tt.name+kind, func(t *testing.T) {
				var got []string
				skipped := 0
				l := lines{r: bufio.NewReaderSize(r, 16), max: 100_000, skip: func(error) { skipped++ }}
				for {
					line, err := l.next()
					if err != nil {
						break
					}
					got = append(got, strings.TrimSuffix(string(line), "\n"))
				}
				if !slices.Equal(got, tt.want) || skipped != tt.skipped {
					t.Errorf("%d lines, %d skipped; want %d and %d", len(got), skipped, len(tt.want), tt.skipped)
				}
			})
		}
	}
}

func TestParserGetsOverErrors(t *testing.T) {
	var p parser
	for _, step := range []struct {
		line string
		ok   bool
	}{
		{`{"method":"receive"}`, true},
		{` {"method":"receive"} ` + "\r\n", true},
		{`{"method":`, false},
		{`{"method":"receive"}`, true},
		{`{"method":"receive"}{"method":"receive"}`, false},
		{`{"method":"receive"}`, true},
		{`5`, false},
		{`{"method":5}`, false},
		{`not JSON`, false},
		{``, false},
		{`{"method":"receive"}`, true},
	} {
		var f frame
		err := p.parse([]byte(step.line), &f)
		if (err == nil) != step.ok || step.ok && f.Method != "receive" {
			t.Errorf("%q: %+v, %v", step.line, f, err)
		}
	}
}

// TestOddLines: what is no message costs nothing but a count.
func TestOddLines(t *testing.T) {
	inBubble(t, func(r rig) {
		text, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "method": "receive",
			"params": map[string]any{"account": aliceNumber, "envelope": r.d.Text(bob, 7, strings.Repeat("long ", 1<<20), 0)},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.d.Emit("this is not JSON\n\n5\n[]\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"x\",\"data\":null},\"id\":null}\n")
		r.d.Emit(`{"jsonrpc":"2.0","method":"callEvent","params":{"subscription":0,"result":{"callId":1}}}` + "\n")
		r.d.Emit(string(text[:300]))
		time.Sleep(time.Second)
		r.d.Emit(string(text[300:]) + "\n")
		r.d.Receive(r.d.Text(bob, 8, "short", 0))
		synctest.Wait()
		got := r.inbox.texts()
		if len(got) != 2 || len(got[0]) != 5<<20 || got[1] != "short" {
			t.Errorf("%d messages", len(got))
		}
		if n := r.c.Report().Skipped; n != 3 {
			t.Errorf("%d lines skipped, want 3", n)
		}
	})
}

// TestHugeLine: a line past the bound is skipped, and the next one is read.
func TestHugeLine(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MiB")
	}
	inBubble(t, func(r rig) {
		r.d.Emit(strings.Repeat("x", maxLine+1) + "\n")
		r.d.Receive(r.d.Text(bob, 8, "short", 0))
		synctest.Wait()
		if got := r.inbox.texts(); len(got) != 1 || r.c.Report().Skipped != 1 || r.d.Accepted() != 1 {
			t.Errorf("%d messages, %d lines skipped", len(got), r.c.Report().Skipped)
		}
	})
}

// TestOverSockets: a real socket of each kind, and both shapes of "receive".
func TestOverSockets(t *testing.T) {
	for _, kind := range []string{"tcp", "unix"} {
		t.Run(kind, func(t *testing.T) {
			address := "127.0.0.1:0"
			if kind == "unix" {
				dir, err := os.MkdirTemp("", "aldis") // the path of a socket has to be short
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				address = filepath.Join(dir, "s")
			}
			d := hubtest.ListenDaemon(t, kind, address)
			c := &Client{Address: d.Address(), Account: aliceNumber}
			got := make(chan hub.Message, 8)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx, channel(got)) }()
			d.Await("listContacts", 1)
			d.Receive(d.Text(bob, 1, "plain", 0))
			params, err := json.Marshal(map[string]any{"subscription": 0, "result": map[string]any{"account": aliceNumber, "envelope": d.Text(bob, 2, "manual", 0)}})
			if err != nil {
				t.Fatal(err)
			}
			d.Emit(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"method\":\"receive\",\"params\":%s}\n", params))
			for _, want := range []string{"plain", "manual"} {
				if m := <-got; m.Text != want {
					t.Errorf("got %q, want %q", m.Text, want)
				}
			}
			sent, err := c.Send(t.Context(), hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(bobNumber, "")})
			if err != nil || len(sent.Refs) != 1 || sent.Reached != 1 {
				t.Errorf("sent %+v, %v", sent, err)
			}
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// A channel is a receiver that passes messages on.
type channel chan hub.Message

func (c channel) Receive(_ context.Context, m hub.Message) (hub.Receipt, error) {
	c <- m
	return hub.Receipt{}, nil
}

func (channel) Late(context.Context, hub.MessageID, hub.Ref) {}

func TestAddresses(t *testing.T) {
	tests := []struct {
		in, network, addr string
		local             bool
	}{
		{"127.0.0.1:7583", "tcp", "127.0.0.1:7583", true},
		{"localhost:7583", "tcp", "localhost:7583", true},
		{"[::1]:7583", "tcp", "[::1]:7583", true},
		{"::1:7583", "tcp", "[::1]:7583", true},
		{"signal.example.org:7583", "tcp", "signal.example.org:7583", false},
		{"192.0.2.1:7583", "tcp", "192.0.2.1:7583", false},
		{"unix:/run/signal-cli/socket", "unix", "/run/signal-cli/socket", true},
	}
	for _, tt := range tests {
		network, addr := network(tt.in)
		if network != tt.network || addr != tt.addr || local(tt.in) != tt.local {
			t.Errorf("%s: %s %s, local %v", tt.in, network, addr, local(tt.in))
		}
	}
}

// Requests that did not reach the daemon end with the connection, whoever
// notices first; nobody waits for a late answer to them.
func TestConnectionEndsWhileRequestsWaitToBeWritten(t *testing.T) {
	for range 100 {
		done := make(chan struct{})
		n := &conn{out: make(chan *call), done: done, open: make(map[uint64]*call)}
		var tasks sync.WaitGroup
		for range 20 {
			tasks.Go(func() {
				if _, err := n.do(t.Context(), "version", params{}, nil); !errors.Is(err, errUnsent) {
					t.Errorf("a request that was not written ended with %v, want errUnsent", err)
				}
			})
		}
		tasks.Go(n.end)
		close(done)
		tasks.Wait()
	}
}
