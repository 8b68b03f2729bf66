package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"aldis/internal/hub"
)

// BenchmarkAppend is a message, its decision and its delivery: one after the
// other, and as 64 callers at the same time have it.
func BenchmarkAppend(b *testing.B) {
	for _, where := range []string{"memory", "file"} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", where, callers), func(b *testing.B) {
				s := benchStore(b, where)
				d := to("a")
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for range callers {
					wg.Go(func() {
						for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
							if _, err := s.Append(context.Background(), person(n), d, func(hub.Offer) {}); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkSettle is a call with the hand-over of 1,000 deliveries.
func BenchmarkSettle(b *testing.B) {
	for _, where := range []string{"memory", "file"} {
		b.Run(where, func(b *testing.B) {
			s := benchStore(b, where)
			d := crowd(1000)
			batch := make([]hub.Settlement, len(d.To))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				seq := add(b, s, script(n), d)
				for i, agent := range d.To {
					batch[i] = hub.Settlement{Agent: agent, Session: hub.SessionID(agent), First: seq, Last: seq, State: hub.HandedOver}
				}
				b.StartTimer()
				settle(b, s, batch...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/delivery")
		})
	}
}

// BenchmarkBroadcast is one message to 2,000 agents.
func BenchmarkBroadcast(b *testing.B) {
	s := benchStore(b, "file")
	d := crowd(2000)
	for n := 0; b.Loop(); n++ {
		add(b, s, script(n), d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.To)), "ns/delivery")
}

// crowd returns a decision for n agents.
func crowd(n int) *hub.Decision {
	d := to()
	for i := range n {
		d.To = append(d.To, hub.AgentID(fmt.Sprint("agent-", i)))
	}
	return d
}

func benchStore(b *testing.B, where string) *Store {
	var opts Options
	if where == "file" {
		opts.Path = filepath.Join(b.TempDir(), "a.db")
	}
	return open(b, opts)
}
