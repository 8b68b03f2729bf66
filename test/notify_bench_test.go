package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkNotify posts to 50 live agents, one target each, 64 posts in flight
// on connections that are kept. What posts and what reads the streams has the
// same cores as the hub. Beside it stands what net/http alone answers, to see
// what the posting costs.
func BenchmarkNotify(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"id":"01890a5d-ac96-774b-bcce-b302099a8057"}`)
		}))
		defer bare.Close()
		acceptAll(b, &hub{url: bare.URL})
	})
	for _, record := range []string{"off", "preview"} {
		b.Run("record="+record, func(b *testing.B) {
			h := startHub(b, "--rate-limit", "0", "--record", record)
			for i := range flooded {
				name := fmt.Sprint("agent-", i)
				a := h.connectAs(agentOptions{header: name, deaf: true})
				drain(b, a)
				h.awaitPresence(name, true)
			}
			acceptAll(b, h)
			h.kill()
			spent := h.cmd.ProcessState.UserTime() + h.cmd.ProcessState.SystemTime()
			b.ReportMetric(micros([]time.Duration{spent / time.Duration(b.N)}, 0), "hub-cpu-µs")
		})
	}
}

// acceptAll has b.N messages accepted by a hub.
func acceptAll(b *testing.B, h *hub) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range flooders {
		wg.Go(func() {
			w := &wire{hub: h}
			defer w.close()
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := w.notify(fmt.Sprint("agent-", n%flooded), "Build 214 is green on main"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepted/s")
}

// drain opens an agent's stream, and reads it until the end of the benchmark.
func drain(b *testing.B, a *agent) {
	conn := dialStream(b, a)
	go func() { // ends with the connection
		buf := make([]byte, 64<<10)
		for {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
}

// BenchmarkNotifyLatency takes the time from a post to the event on the stream
// of the agent that it is for, one at a time.
func BenchmarkNotifyLatency(b *testing.B) {
	for _, record := range []string{"off", "preview"} {
		b.Run("record="+record, func(b *testing.B) {
			h := startHub(b, "--rate-limit", "0", "--record", record)
			a := h.connectAs(agentOptions{header: "deploy-bot", deaf: true})
			events := openStream(b, a)
			w := &wire{hub: h}
			defer w.close()
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				if err := w.send(http.MethodPost, "/notify?label=load", `{"content":"Build 214 is green on main","target":"deploy-bot"}`); err != nil {
					b.Fatal(err)
				}
				events(b)
				times = append(times, time.Since(start))
				if status, answer, err := w.receive(); status != http.StatusAccepted {
					b.Fatalf("%d %s %v", status, answer, err)
				}
			}
			b.ReportMetric(micros(times, 50), "p50-µs")
			b.ReportMetric(micros(times, 99), "p99-µs")
		})
	}
}
