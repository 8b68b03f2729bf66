package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"aldis/internal/hub"
)

const (
	sweepEvery  = time.Second
	usedEvery   = time.Hour // how often a session's last use is written down
	forgetAfter = time.Hour // a session that is gone for so long is kept on disk alone
	seatAfter   = time.Second
)

// A Table is the hub's sessions. It implements [hub.Sessions].
type Table struct {
	// set before use
	Mail     hub.Mail
	Store    hub.SessionStore
	Presence hub.Presence
	Watch    hub.Watchers // hear Session; nil: nobody does
	Log      *slog.Logger
	Now      func() time.Time
	Salon    func() Salon // what agents are told of the hub, over HTTP

	view   view
	ctx    context.Context // what tasks run under, until Run has ended
	stop   context.CancelFunc
	tasks  sync.WaitGroup // writers and readers of streams, and calls
	last   func()         // ends what serves calls, once there are none; nil: nothing does
	proofs proofs
	wake   chan struct{} // cap 1: there is something for herald to do

	mu        sync.Mutex
	sessions  map[hub.SessionID]*session
	boxes     map[hub.AgentID]*box
	delivered hub.Seq // the highest Seq that Deliver has seen
	order     int64   // the last place given out in a queue for a seat
	unsaved   map[*session]struct{}
	changed   map[*box]struct{}    // whose presence may have changed since it was told
	news      []func(*slog.Logger) // lines for the log
	dones     []func()             // that settle verdicts
	closing   bool
}

// A box is an agent's mailbox: its sessions, and who holds its seat.
type box struct {
	agent    hub.AgentID
	sessions []*session
	holder   *session      // of the seat; nil: nobody
	bell     chan struct{} // closed when there is mail; nil: nobody waits
	told     bool          // the last that Presence heard: present
	missed   bool          // an offer found nobody present: tell Presence again
}

// NewTable returns an empty table. Its exported fields are to be set, and
// Restore and Run called.
func NewTable() *Table {
	ctx, stop := context.WithCancel(context.Background())
	return &Table{
		ctx:      ctx,
		stop:     stop,
		view:     view{routes: true},
		Now:      time.Now,
		proofs:   proofs{wake: make(chan struct{}, 1)},
		wake:     make(chan struct{}, 1),
		sessions: make(map[hub.SessionID]*session),
		boxes:    make(map[hub.AgentID]*box),
		unsaved:  make(map[*session]struct{}),
		changed:  make(map[*box]struct{}),
	}
}

// Restore takes up the sessions that were present when the hub last ended: for
// 15 s they count as away.
func (t *Table) Restore(ctx context.Context) error {
	saved, err := t.Store.Sessions(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(saved, func(a, b hub.SavedSession) int { return cmp.Compare(a.Order, b.Order) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivered = max(t.delivered, t.Mail.Last())
	for _, sv := range saved {
		s := t.add(sv)
		s.left = t.Now()
		if s.state = gone; sv.Present {
			s.state = away
			t.report(s, away.String())
		}
		if sv.Seat && sv.Order > 0 { // the highest comes last
			s.box.holder = s
			t.order = max(t.order, sv.Order)
		}
		s.box.told = s.box.told || sv.Present
	}
	return nil
}

// Run keeps the table until ctx is done, then ends every stream in order.
func (t *Table) Run(ctx context.Context) error {
	var own sync.WaitGroup
	own.Go(func() { t.prove(ctx) })
	own.Go(func() { t.herald(ctx) })
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.sweep()
		case <-ctx.Done():
			t.close()
			t.stop()
			own.Wait()
			t.tasks.Wait()
			if t.last != nil {
				t.last()
			}
			return nil
		}
	}
}

// enter counts a task that Run waits for; false once the table closes. The end
// of the task is tasks.Done.
func (t *Table) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.tasks.Add(1)
	}
	return !t.closing
}

// task runs f in a goroutine that Run waits for; not at all once the table
// closes: by then nothing is left for it to do.
func (t *Table) task(f func()) {
	if !t.enter() {
		return
	}
	go func() {
		defer t.tasks.Done()
		f()
	}()
}

// Present implements [hub.Sessions].
func (t *Table) Present(agent hub.AgentID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.boxes[agent]
	return b != nil && b.present() > 0
}

// Everybody implements [hub.Sessions].
func (t *Table) Everybody() []hub.AgentID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []hub.AgentID
	for _, b := range t.boxes {
		if b.present() > 0 {
			all = append(all, b.agent)
		}
	}
	slices.Sort(all)
	return all
}

// Deliver implements [hub.Sessions].
func (t *Table) Deliver(o hub.Offer) int {
	var ev *event
	n := 0
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivered = max(t.delivered, o.Seq)
	for _, agent := range o.Decision.To {
		b := t.boxes[agent]
		present := 0
		if b != nil {
			for _, s := range b.sessions {
				if !s.receives() {
					continue
				}
				if s.state.present() {
					present++
				}
				b.ring()
				if s.state == live {
					if ev == nil {
						ev = &event{seq: o.Seq, was: o.Was, id: o.Message.ID, line: t.view.render(o), taken: o.Taken}
					}
					s.offer(ev)
				}
			}
		}
		if present == 0 && !o.Decision.Hold {
			t.missed(agent)
		}
		n += present
	}
	return n
}

// ring wakes those who wait for the agent's mail. Table.mu is held.
func (b *box) ring() {
	if b.bell != nil {
		close(b.bell)
		b.bell = nil
	}
}

// bellOf returns a channel that is closed when there is mail for agent.
func (t *Table) bellOf(agent hub.AgentID) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.box(agent)
	if b.bell == nil {
		b.bell = make(chan struct{})
	}
	return b.bell
}

// missed notes that an offer to agent, decided when it was present, found it
// absent: Presence has to hear of it once more. t.mu is held.
func (t *Table) missed(agent hub.AgentID) {
	b := t.box(agent)
	b.missed = true
	t.change(b)
}

// Withdraw implements [hub.Sessions].
func (t *Table) Withdraw(agent hub.AgentID, ids []hub.MessageID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.boxes[agent]; b != nil {
		for _, s := range b.sessions {
			s.withdraw(ids)
		}
	}
}

// add puts a session into the table. t.mu is held.
func (t *Table) add(sv hub.SavedSession) *session {
	s := &session{saved: sv, kept: sv.Used, cursor: max(sv.Cursor, sv.Birth), reach: t.delivered, box: t.box(sv.Agent)}
	s.box.sessions = append(s.box.sessions, s)
	t.sessions[sv.ID] = s
	return s
}

// box returns agent's mailbox, a new one if there is none. t.mu is held.
func (t *Table) box(agent hub.AgentID) *box {
	b := t.boxes[agent]
	if b == nil {
		b = &box{agent: agent}
		t.boxes[agent] = b
	}
	return b
}

// drop takes a session out of memory. t.mu is held.
func (t *Table) drop(s *session) {
	delete(t.sessions, s.saved.ID)
	delete(t.unsaved, s)
	b := s.box
	b.sessions = slices.DeleteFunc(b.sessions, func(x *session) bool { return x == s })
	if b.holder == s {
		b.holder = nil
	}
	if len(b.sessions) == 0 && !b.told && !b.missed {
		delete(t.boxes, b.agent)
	}
	t.bequeath(s)
}

// get returns the session with that id, from memory or from the record.
// It fails with NotFound for one that never was, was deleted or has aged out.
func (t *Table) get(ctx context.Context, id hub.SessionID) (*session, error) {
	t.mu.Lock()
	s := t.sessions[id]
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	sv, err := t.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[id]; s != nil {
		return s, nil
	}
	s = t.add(sv)
	s.state = gone
	return s, nil
}

// create makes a session for a client that has initialized.
func (t *Table) create(ctx context.Context, sv hub.SavedSession) (*session, error) {
	sv.Used = t.Now()
	sv.Begun = sv.Used.Truncate(time.Microsecond) // as it is read back from the record
	t.mu.Lock()
	sv.Birth = t.delivered
	b := t.box(sv.Agent)
	s := t.add(sv)
	if sv.Seat && (b.holder == nil || !b.holder.state.present()) {
		t.seat(b, s)
	}
	sv = s.saved
	t.report(s, "connected")
	t.mu.Unlock()
	if err := t.write(ctx, s, sv); err != nil {
		t.mu.Lock()
		t.drop(s)
		t.mu.Unlock()
		return nil, err
	}
	return s, nil
}

// end removes a session for good: DELETE, or its token was revoked.
func (t *Table) end(ctx context.Context, s *session) error {
	t.mu.Lock()
	s.closed = true
	b := s.box
	t.setState(s, gone)
	t.report(s, "ended")
	t.drop(s)
	t.passSeat(b)
	t.mu.Unlock()
	if st := s.unhook(nil); st != nil {
		st.cut("deleted")
	}
	if err := t.Store.DeleteSession(ctx, s.saved.ID); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// EndSubject ends all sessions that a token opened, at once.
func (t *Table) EndSubject(ctx context.Context, subject string) error {
	t.mu.Lock()
	var theirs []*session
	for _, s := range t.sessions {
		if s.saved.Subject == subject {
			theirs = append(theirs, s)
		}
	}
	t.mu.Unlock()
	var errs []error
	for _, s := range theirs {
		errs = append(errs, t.end(ctx, s))
	}
	return errors.Join(errs...)
}

// unhook takes the session's stream away; with st not nil, only if it is st.
func (s *session) unhook(st *stream) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st != nil && s.stream != st {
		return nil
	}
	st = s.stream
	s.stream, s.queue, s.queued = nil, nil, 0
	return st
}

// close ends every stream. The sessions stay what they were: they come back.
func (t *Table) close() {
	t.mu.Lock()
	t.closing = true
	all := slices.Collect(maps.Values(t.sessions))
	t.mu.Unlock()
	var each sync.WaitGroup
	for i, s := range all {
		if st := s.unhook(nil); st != nil {
			st.ended.Store(true)
			// Spread over 5 s, or they all come back in one moment.
			each.Go(func() { st.out.finish(5*time.Second + time.Duration(i%100)*50*time.Millisecond) })
		}
	}
	each.Wait()
}
