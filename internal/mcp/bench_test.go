package mcp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

// Fan-out through relay, record (in memory) and sockets, to clients that read
// in the same process: to all sessions of one agent, and, as a broadcast, to as
// many agents, each with a delivery of its own in the record.
func BenchmarkFanOut(b *testing.B) {
	for _, bb := range []struct{ sessions, pushes int }{{200, 200}, {2000, 50}} {
		for name, to := range map[string]hub.AgentID{"sessions of one agent": "team", "agents": ""} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, bb.sessions, bb.pushes), func(b *testing.B) {
				h := startHub(b, setup{})
				var clients []*counter
				for i := range bb.sessions {
					agent := to
					if to == "" {
						agent = hub.AgentID(fmt.Sprint("agent-", i))
					}
					clients = append(clients, subscribe(b, h, agent))
				}
				const text = "The build of branch main is done: 412 tests passed, none failed, in 83 seconds."
				b.ResetTimer()
				for i := range b.N {
					for range bb.pushes {
						h.script(to, text)
					}
					for _, c := range clients {
						c.await(b, (i+1)*bb.pushes)
					}
				}
				b.ReportMetric(float64(b.N*bb.sessions*bb.pushes)/b.Elapsed().Seconds(), "deliveries/s")
			})
		}
	}
}

// A counter is a client that counts what comes on its stream.
type counter struct {
	mu   sync.Mutex
	cond sync.Cond
	n    int
	err  error
}

// subscribe opens the stream of a new session of an agent.
func subscribe(b *testing.B, h *testHub, agent hub.AgentID) *counter {
	b.Helper()
	client := h.mailbox(string(agent))
	u, err := url.Parse(h.url)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\n\r\n", u.Host, sharedToken, client.Session)
	if err != nil {
		b.Fatal(err)
	}
	c := &counter{}
	c.cond.L = &c.mu
	in := bufio.NewReaderSize(conn, 64<<10)
	for line := []byte{}; !bytes.Equal(line, []byte("data:\n")); { // its stream is open
		if line, err = in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.read(in)
	}()
	b.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return c
}

func (c *counter) read(in *bufio.Reader) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			c.add(0, err)
			return
		}
		if bytes.HasPrefix(line, []byte("data: {")) {
			c.add(1, nil)
		}
	}
}

func (c *counter) add(n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.err = c.n+n, err
	c.cond.Broadcast()
}

func (c *counter) await(b *testing.B, n int) {
	b.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n < n && c.err == nil {
		c.cond.Wait()
	}
	if c.err != nil {
		b.Fatalf("stream ended after %d of %d: %v", c.n, n, c.err)
	}
}

// Memory of the hub alone, for each session: its clients are another process.
// What the process had before, with everything warm, is subtracted. Settled:
// 3 s after the last request.
func BenchmarkSessionMemory(b *testing.B) {
	const sessions = 2000
	for _, kind := range []string{"live", "no stream"} {
		b.Run(kind, func(b *testing.B) {
			for range b.N {
				h := startHub(b, setup{path: recordIn(b)})
				startClients(b, h.url, 100, kind)() // warms up, and goes
				time.Sleep(time.Second)
				before := settledRSS(b)
				stop := startClients(b, h.url, sessions, kind)
				time.Sleep(3 * time.Second)
				after := settledRSS(b)
				there, live := 0, 0
				for _, s := range h.table.List() {
					there++
					if s.State == "live" {
						live++
					}
				}
				if there < sessions || kind == "live" && live != sessions {
					b.Fatalf("%d sessions, %d of them live", there, live)
				}
				b.ReportMetric(float64(after-before)/sessions, "B/session")
				stop()
				h.stop()
			}
		})
	}
}

// settledRSS returns the resident memory of this process, in bytes.
func settledRSS(b *testing.B) int {
	b.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what pools held goes with the second collection
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skipf("resident memory can't be told here: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return kb << 10
		}
	}
	b.Fatal("no VmRSS in /proc/self/status")
	return 0
}

// startClients runs n sessions of as many agents in another process, and
// returns once all are there. The function it returns ends that process.
func startClients(b *testing.B, url string, n int, kind string) (stop func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestClientProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "CLIENTS="+strconv.Itoa(n), "CLIENTS_URL="+url, "CLIENTS_KIND="+kind)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for in.Scan() && !strings.HasSuffix(in.Text(), "clients are ready") {
	}
	return func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Errorf("clients: %v", err)
		}
	}
}

// TestClientProcess is the other process of BenchmarkSessionMemory.
func TestClientProcess(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("CLIENTS"))
	if err != nil {
		t.Skip("only for BenchmarkSessionMemory")
	}
	h := &testHub{t: t, url: os.Getenv("CLIENTS_URL")}
	for i := range n {
		c := h.mailbox(fmt.Sprintf("agent-%s-%d", os.Getenv("CLIENTS"), i))
		if os.Getenv("CLIENTS_KIND") == "live" {
			c.Open("")
		}
	}
	fmt.Println("clients are ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
