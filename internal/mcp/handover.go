package mcp

import (
	"context"
	"sync"
	"time"

	"aldis/internal/hub"
)

// A proof is a batch that was written and is not known to have arrived.
type proof struct {
	due    time.Time
	first  time.Time // when it was due for the first time
	stream *stream
	offset int64 // bytes written on the stream, the batch included
	seq    hub.Seq
	taken  []*event // that are to be told
}

// proofs are all batches that wait to be proved. Each waits for the same time,
// so that one queue keeps them in order. It is bounded by what streams accept
// in a second.
type proofs struct {
	mu    sync.Mutex
	queue []proof
	wake  chan struct{} // cap 1
}

func (p *proofs) push(x proof) {
	p.mu.Lock()
	p.queue = append(p.queue, x)
	p.mu.Unlock()
	nudge(p.wake)
}

// nudge wakes who waits for c, now or when it next looks.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pop returns what is due, or when the next will be; zero: nothing waits.
func (p *proofs) pop(now time.Time) (due []proof, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.queue) && !p.queue[n].due.After(now) {
		n++
	}
	due, p.queue = p.queue[:n:n], p.queue[n:]
	if len(p.queue) > 0 {
		return due, p.queue[0].due
	}
	p.queue = nil
	return due, time.Time{}
}

// watch has the batch, just written to st, handed over when st outlives it.
func (t *Table) watch(st *stream, batch []*event) {
	x := proof{due: t.Now().Add(proofAfter), stream: st, offset: st.out.written(), seq: st.sent()}
	x.first = x.due
	for _, ev := range batch {
		if ev.taken != nil {
			x.taken = append(x.taken, ev)
		}
	}
	t.proofs.push(x)
}

// prove runs until ctx is done.
func (t *Table) prove(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due, next := t.proofs.pop(t.Now())
		for _, x := range due {
			t.proveOne(x)
		}
		if next.IsZero() {
			timer.Reset(time.Hour)
		} else {
			timer.Reset(next.Sub(t.Now()))
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-t.proofs.wake:
		}
	}
}

// proveOne hands over what x was a proof of, asks again in a while, or gives
// the stream up.
func (t *Table) proveOne(x proof) {
	switch {
	case x.stream.ended.Load(): // offered again when the session returns
	case x.stream.out.acknowledged(x.offset):
		if s := x.stream.session; !s.saved.Acks {
			t.handOver(s, x.seq)
			t.take(s, x.taken)
		}
	case t.Now().Sub(x.first) > unprovedFor:
		x.stream.end("half open") // its peer takes nothing and says nothing
	default:
		x.due = t.Now().Add(proofAfter)
		t.proofs.push(x)
	}
}

// handOver settles everything that was sent to s up to last.
func (t *Table) handOver(s *session, last hub.Seq) {
	if first, ok := s.advance(last); ok {
		t.Presence.Settled(hub.Settlement{Agent: s.saved.Agent, Session: s.saved.ID, First: first, Last: last, State: hub.HandedOver})
	}
}

// take tells events that s was handed them.
func (t *Table) take(s *session, taken []*event) {
	for _, ev := range taken {
		ev.taken(s.saved.Agent, s.saved.ID)
	}
}
