package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

// An outlet whose peer takes the bytes and acknowledges none of them: half
// open, as far as can be told.
type halfOpen struct {
	mu     sync.Mutex
	bytes  int64
	closed bool
}

func (o *halfOpen) write(batch []*event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errors.New("closed")
	}
	for _, ev := range batch {
		o.bytes += int64(len(ev.line))
	}
	return nil
}

func (o *halfOpen) written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func (o *halfOpen) acknowledged(n int64) bool { return n == 0 }

func (o *halfOpen) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

func (o *halfOpen) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

func (o *halfOpen) finish(time.Duration) { o.close() }

// nowhere is a record that keeps nothing, and counts hand-overs.
type nowhere struct {
	hub.Mail
	hub.SessionStore
	hub.Presence
	mu     sync.Mutex
	handed int
}

func (*nowhere) Since(context.Context, hub.AgentID, hub.SessionID, hub.Seq, hub.Seq, hub.Seq, int) ([]hub.Offer, error) {
	return nil, nil
}
func (*nowhere) SaveSession(context.Context, hub.SavedSession) error { return nil }
func (*nowhere) Arrived(context.Context, hub.AgentID)                {}
func (*nowhere) Departed(context.Context, hub.AgentID)               {}
func (*nowhere) Orphaned(context.Context, hub.AgentID, hub.Seq)      {}
func (*nowhere) Handed(context.Context, []hub.Settlement)            {}

func (n *nowhere) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handed
}

func (n *nowhere) Settled(s hub.Settlement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.State == hub.HandedOver {
		n.handed++
	}
}

// runTable runs a table without a record until the function it returns is
// called.
func runTable(t *testing.T) (tb *Table, record *nowhere, stop func()) {
	t.Helper()
	record, tb = &nowhere{}, NewTable()
	tb.Mail, tb.Store, tb.Presence, tb.Log = record, record, record, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = tb.Run(ctx) })
	return tb, record, func() {
		cancel()
		running.Wait()
	}
}

// stream opens a stream of a new session of alice's on out.
func (t *Table) stream(tt *testing.T, id hub.SessionID, out outlet) {
	tt.Helper()
	s, err := t.create(tt.Context(), hub.SavedSession{ID: id, Agent: "alice", Named: true})
	if err != nil {
		tt.Fatal(err)
	}
	t.attach(s, &stream{session: s, table: t, out: out}, 0)
}

func TestStreamWhosePeerAcknowledgesNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, record, stop := runTable(t)
		defer stop()
		out := &halfOpen{}
		tb.stream(t, "s", out)
		taken := make(chan bool, 1)
		tb.Deliver(hub.Offer{Seq: 1, Message: hub.Message{ID: "m"}, Decision: hub.Decision{To: []hub.AgentID{"alice"}}, Taken: func(hub.AgentID, hub.SessionID) { taken <- true }})
		time.Sleep(unprovedFor - time.Second)
		synctest.Wait()
		if state := tb.List()[0].State; state != "live" || out.ended() {
			t.Errorf("after %s: %s", unprovedFor-time.Second, state)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if state := tb.List()[0].State; state != "away" || !out.ended() {
			t.Errorf("in the end: %s", state)
		}
		if record.count() > 0 || len(taken) > 0 {
			t.Error("it counts as handed over")
		}
	})
}

// What the record could not take lives in memory: who hands it over says to
// whom.
func TestOfferThatIsNotInTheRecordIsTakenByEachSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, _, stop := runTable(t)
		defer stop()
		for _, id := range []hub.SessionID{"a", "b"} {
			tb.stream(t, id, &pipeOutlet{pipe: newPipe(io.Discard)})
		}
		taken := make(chan string, 4)
		tb.Deliver(hub.Offer{
			Message: hub.Message{ID: "m"}, Decision: hub.Decision{To: []hub.AgentID{"alice"}},
			Taken: func(a hub.AgentID, s hub.SessionID) { taken <- string(a) + " " + string(s) },
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(taken) != 2 {
			t.Fatalf("taken %d times, want twice", len(taken))
		}
		got := []string{<-taken, <-taken}
		slices.Sort(got)
		if want := []string{"alice a", "alice b"}; !slices.Equal(got, want) {
			t.Errorf("taken by %q, want %q", got, want)
		}
	})
}

// lastWord is a Presence that notes whether it was told in a context that ended.
type lastWord struct {
	nowhere
	err error
}

func (w *lastWord) Handed(ctx context.Context, _ []hub.Settlement) { w.err = ctx.Err() }

func TestAnswerOfInboxIsNotedThoughTheHubStops(t *testing.T) {
	w, tb := &lastWord{err: errStopping}, NewTable()
	tb.Presence = w
	tb.stop()
	tb.handedByInbox(&session{}, nil)
	if w.err != nil {
		t.Errorf("told in a context that has ended: %v", w.err)
	}
}

// A lineCounter counts the lines written to it.
type lineCounter struct{ n atomic.Int64 }

func (c *lineCounter) Write(b []byte) (int, error) {
	c.n.Add(1)
	return len(b), nil
}

// An offer that gets its next number while a stream is opened, too late for the
// replay and too early for the queue, is sent under that one.
func TestOfferRenumberedDuringAReplayIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, _, stop := runTable(t) // its record has nothing to replay: the offer has left it
		defer stop()
		s, err := tb.create(t.Context(), hub.SavedSession{ID: "a", Agent: "alice", Named: true})
		if err != nil {
			t.Fatal(err)
		}
		offer := hub.Offer{Seq: 5, Message: hub.Message{ID: "m"}, Decision: hub.Decision{To: []hub.AgentID{"alice"}}}
		tb.Deliver(offer)
		var lines lineCounter
		tb.attach(s, &stream{session: s, table: tb, out: &pipeOutlet{pipe: newPipe(&lines)}}, 0)
		synctest.Wait()
		offer.Seq, offer.Was = 6, 5
		tb.Deliver(offer)
		offer.Seq, offer.Was = 7, 6 // the session has it by now
		tb.Deliver(offer)
		synctest.Wait()
		if n := lines.n.Load(); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
	})
}

// backlog is a record that always has more.
type backlog struct{ nowhere }

func (*backlog) Since(_ context.Context, _ hub.AgentID, _ hub.SessionID, _, after, last hub.Seq, limit int) ([]hub.Offer, error) {
	offers := make([]hub.Offer, min(limit, int(last-after)))
	for i := range offers {
		offers[i] = hub.Offer{Seq: after + hub.Seq(i) + 1, Message: hub.Message{ID: "m", Text: "x"}}
	}
	return offers, nil
}

// slowPipe takes a line each 10 ms.
type slowPipe struct{ lineCounter }

func (p *slowPipe) Write(b []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return p.lineCounter.Write(b)
}

func TestReplayEndsWhenTheSeatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, _, stop := runTable(t)
		defer stop()
		tb.Mail = &backlog{}
		session := func(id hub.SessionID) *session {
			s, err := tb.create(t.Context(), hub.SavedSession{ID: id, Agent: "alice", Named: true, Seat: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := session("first")
		tb.Deliver(hub.Offer{Seq: 1000, Decision: hub.Decision{To: []hub.AgentID{"alice"}, Hold: true}})
		var lines slowPipe
		tb.attach(first, &stream{session: first, table: tb, out: &pipeOutlet{pipe: newPipe(&lines)}}, 0)
		second := session("second")
		time.Sleep(time.Second) // 100 lines
		tb.call(second)()
		time.Sleep(time.Minute)
		if n := lines.n.Load(); n > 100+replayPage {
			t.Errorf("%d lines went to the evicted session, want no page more", n)
		}
	})
}
