package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// BenchmarkReplyPath takes the time from a line on the daemon's socket to the
// bytes on the agent's stream, through the program as it is run. In turn with
// it, the same line takes two bare TCP hops through another process: ratio is
// what the hub costs, the machine taken out.
func BenchmarkReplyPath(b *testing.B) {
	for _, record := range []string{"off", "preview"} {
		b.Run("record="+record, func(b *testing.B) {
			d := hubtest.NewDaemon(b)
			h := startHub(b, "--operator", operator, "--signal-cli", d.Address(), "--record", record)
			h.awaitReady()
			a := h.connectAs(agentOptions{header: "deploy-bot", deaf: true})
			sent := messageIDs.FindStringSubmatch(a.call("send", map[string]any{"text": "Roll out?"}))[1]
			events := openStream(b, a)
			bare := startHop(b)
			through, past := make([]time.Duration, 0, b.N), make([]time.Duration, 0, b.N)
			line := replyLine(b, sent)
			for i := 0; b.Loop(); i++ {
				text := line(i)
				past = append(past, bare(text))
				start := time.Now()
				d.Emit(text)
				events(b)
				through = append(through, time.Since(start))
			}
			b.ReportMetric(micros(through, 50), "p50-µs")
			b.ReportMetric(micros(through, 99), "p99-µs")
			b.ReportMetric(micros(past, 50), "bare-p50-µs")
			b.ReportMetric(micros(through, 50)/micros(past, 50), "ratio")
		})
	}
}

func micros(times []time.Duration, percent int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*percent/100].Nanoseconds()) / 1e3
}

// replyLine returns what makes the lines of replies to our message.
func replyLine(b *testing.B, sent string) func(i int) string {
	const placeholder int64 = 1796055426040
	raw, err := json.Marshal(noteToSelf("sync_note_to_self_quote", sent, nil))
	if err != nil {
		b.Fatal(err)
	}
	return func(i int) string {
		return strings.ReplaceAll(string(raw), fmt.Sprint(placeholder), fmt.Sprint(placeholder+1000+int64(i))) + "\n"
	}
}

// openStream opens an agent's stream on a connection of its own, and returns
// what waits for the next event.
func openStream(b *testing.B, a *agent) (next func(*testing.B)) {
	in := bufio.NewReader(dialStream(b, a))
	next = func(b *testing.B) {
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.HasPrefix(string(line), "data: {") {
				return
			}
		}
	}
	a.hub.awaitPresence(a.name(), true)
	return next
}

// dialStream opens an agent's stream on a connection of its own, which ends
// with the benchmark.
func dialStream(b *testing.B, a *agent) net.Conn {
	host := strings.TrimPrefix(a.hub.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\n", host)
	for k, v := range a.header() {
		fmt.Fprintf(conn, "%s: %s\r\n", k, v)
	}
	fmt.Fprint(conn, "\r\n")
	return conn
}

// startHop starts another process that forwards bytes, and returns what sends
// a line through it and back to us, and how long that took.
func startHop(b *testing.B) func(line string) time.Duration {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hopVar+"="+ln.Addr().String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	in, err := net.Dial("tcp", strings.TrimSpace(address))
	if err != nil {
		b.Fatal(err)
	}
	back, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); back.Close() })
	lines := bufio.NewReader(back)
	return func(line string) time.Duration {
		start := time.Now()
		if _, err := in.Write([]byte(line)); err != nil {
			b.Fatal(err)
		}
		if _, err := lines.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
}
