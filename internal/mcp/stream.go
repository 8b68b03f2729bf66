package mcp

import (
	"context"
	"sync/atomic"
	"time"

	"aldis/internal/hub"
)

const (
	proofAfter  = time.Second      // how long a stream must outlive a write to prove it
	unprovedFor = 30 * time.Second // how long a peer may leave bytes unacknowledged
	writeWait   = 10 * time.Second // how long one write may take
	keepAlive   = 20 * time.Second // how often a comment is written
	batchBytes  = 64 << 10
	replayPage  = 64 // events read from the record at a time
)

// An outlet is what a stream writes to: a hijacked HTTP connection or a pipe.
type outlet interface {
	// write frames and writes the events, or a comment if there are none.
	write(batch []*event) error
	// written returns how many bytes were written so far.
	written() int64
	// acknowledged reports whether the far end has taken the first n bytes.
	acknowledged(n int64) bool
	// close ends the stream at once. It may be called more than once.
	close()
	// finish ends it in order, telling the client when to come again.
	finish(retry time.Duration)
}

// A stream is one opening of a session's push stream.
type stream struct {
	session *session
	table   *Table
	out     outlet

	replay hub.Seq       // what came before it opened: read from the record
	upto   atomic.Uint64 // the Seq of the last event written; drain alone writes it

	// guarded by session.mu
	from     hub.Seq   // the cursor when it opened
	replayed []hub.Seq // what of the replay was written
	writing  bool      // drain runs
	comment  bool      // a comment is due

	last  atomic.Int64 // Unix milliseconds of the last write
	ended atomic.Bool
}

// wake makes sure that drain runs. session.mu is held.
func (st *stream) wake() {
	if !st.writing {
		st.writing = true
		st.table.tasks.Go(st.drain)
	}
}

// drain writes what waits until nothing does. One drain runs at a time, and
// none while the stream is idle: an idle stream costs no writer.
func (st *stream) drain() {
	if !st.catchUp() {
		st.end("cannot be written to")
		return
	}
	for {
		batch, ok := st.session.next(st, batchBytes)
		if !ok {
			return
		}
		if !st.put(batch) {
			st.end("cannot be written to")
			return
		}
	}
}

// sent returns the Seq of the last event that was written.
func (st *stream) sent() hub.Seq { return hub.Seq(st.upto.Load()) }

// catchUp writes what the record has for the session from before the stream
// was opened. The session's queue holds what has come since.
func (st *stream) catchUp() bool {
	for st.sent() < st.replay {
		page, err := st.page()
		if err != nil {
			st.table.Log.Error("replay", "session", st.session.saved.ID, "err", err)
			return false
		}
		if !st.putPage(page) {
			return false
		}
		if len(page) < replayPage {
			st.upto.Store(uint64(st.replay))
		}
	}
	return true
}

// page reads the next offers of a replay: none for a session that has lost its
// seat meanwhile.
func (st *stream) page() ([]hub.Offer, error) {
	t, s := st.table, st.session
	t.mu.Lock()
	receives := s.receives()
	t.mu.Unlock()
	if !receives {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, writeWait)
	defer cancel()
	return t.Mail.Since(ctx, s.saved.Agent, s.saved.ID, s.birth(), st.sent(), st.replay, replayPage)
}

// putPage writes offers, some at a time. It reports false when the stream is
// no more.
func (st *stream) putPage(offers []hub.Offer) bool {
	var batch []*event
	size, done := 0, 0
	for i, o := range offers {
		if !st.session.hasFromInbox(o.Message.ID) {
			ev := &event{seq: o.Seq, id: o.Message.ID, line: st.table.view.render(o)}
			batch, size = append(batch, ev), size+len(ev.line)
		}
		if size < batchBytes && i < len(offers)-1 {
			continue
		}
		if len(batch) > 0 && !st.put(batch) {
			return false
		}
		st.session.noteReplayed(st, offers[done:i+1])
		st.upto.Store(uint64(o.Seq))
		batch, size, done = nil, 0, i+1
	}
	return true
}

// put writes a batch, or a comment if it is empty, and has its hand-over
// watched. It reports false when the stream is no more.
func (st *stream) put(batch []*event) bool {
	t := st.table
	if st.session.saved.Acks {
		st.session.expect(batch)
	}
	if err := st.out.write(batch); err != nil || st.ended.Load() {
		return false
	}
	st.last.Store(t.Now().UnixMilli())
	if len(batch) == 0 {
		return true
	}
	first, last := st.sent()+1, st.sent()
	for _, ev := range batch {
		last = max(last, ev.seq)
	}
	st.upto.Store(uint64(last))
	t.watch(st, batch)
	if last >= first {
		t.Presence.Settled(hub.Settlement{Agent: st.session.saved.Agent, First: first, Last: last, State: hub.Written})
	}
	return true
}

// cut ends a stream that is not its session's any more.
func (st *stream) cut(why string) {
	if st.stop() {
		st.table.Log.Debug("stream ended", "session", st.session.saved.ID, "why", why)
	}
}

// stop ends the stream, and reports whether it had not ended before.
func (st *stream) stop() bool {
	first := st.ended.CompareAndSwap(false, true)
	st.out.close()
	return first
}

// end cuts the stream and tells the table that the session has none.
func (st *stream) end(why string) {
	st.cut(why)
	st.table.leave(st)
}
