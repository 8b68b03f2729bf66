package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// BenchmarkLog is a page of the log of a record with 1,000,000 messages, 97 of
// 100 of which one script sends. It takes a minute to make.
func BenchmarkLog(b *testing.B) {
	s := benchStore(b, "file")
	fillRecord(b, s, 1_000_000)
	noon := newClock().Now()
	for _, bb := range []struct {
		name string
		f    hub.LogFilter
	}{
		{"first page", hub.LogFilter{}},
		{"page 200", hub.LogFilter{Skip: 200 * logPage}},
		{"half way", hub.LogFilter{Before: "m500000"}},
		{"the other direction", hub.LogFilter{After: "m500000"}},
		{"a source", hub.LogFilter{Source: "rare"}},
		{"a target", hub.LogFilter{Target: "home"}},
		{"a participant", hub.LogFilter{ParticipantA: "rare"}},
		{"two participants", hub.LogFilter{ParticipantA: "rare", ParticipantB: "home"}},
		{"without the script", hub.LogFilter{Exclude: []string{"ci"}}},
		{"without all", hub.LogFilter{Exclude: []string{"ci", "rare"}}},
		{"a day", hub.LogFilter{Since: noon.Add(24 * time.Hour), Until: noon.Add(48 * time.Hour)}},
		{"a day, a source", hub.LogFilter{Since: noon.Add(24 * time.Hour), Until: noon.Add(48 * time.Hour), Source: "rare"}},
		{"a rare word", hub.LogFilter{Text: "needle"}},
		{"a word in all", hub.LogFilter{Text: "build"}},
		{"a word in all, only begun", hub.LogFilter{Text: "bu"}},
		{"two words", hub.LogFilter{Text: "needle build"}},
		{"a word in all, of a rare source", hub.LogFilter{Text: "build", Source: "rare"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := s.Log(b.Context(), bb.f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.Names(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// fillRecord adds n messages, each second one, with a delivery and in the index.
func fillRecord(b *testing.B, s *Store, n int) {
	_, err := write(b.Context(), s, func(tx *txn) (none struct{}, err error) {
		first := micros(newClock().Now())
		for _, query := range []string{
			`INSERT INTO record (seq, id, ts, platform, subject, status, meant, receipt, live, body, via, source, target)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
				SELECT $2 + i * 1000000, 'm' || i, $2 + i * 1000000, '', 'main', '', '', 0, FALSE,
					json_object('id', 'm' || i, 'via', 'notify', 'kind', 'text', 'agent', iif(i % 33, 'ci', 'rare'), 'to', 'home',
						'text', printf('the build %d of branch %d has finished%s', i, i % 1000, iif(i % 10000, '', ' with a needle')),
						'meta', json_object('commit', hex(i * 7919))),
					'notify', iif(i % 33, 'ci', 'rare'), iif(i % 33, 'home', 'away') FROM n`,
			`INSERT INTO deliveries (message, agent, seq, state, reason, open, size, changed)
				SELECT id, 'home', 0, 3, '', FALSE, 0, ts FROM record WHERE $1 > 0 AND $2 > 0`,
		} {
			if _, err := tx.exec(query, n, first); err != nil {
				return none, err
			}
		}
		tx.newest = first + int64(n)*1_000_000
		return none, nil
	})
	must(b, err)
	indexed(b, s)
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
