package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"aldis/internal/hub"
	"aldis/internal/permit"
)

const (
	inboxFor     = 7 * 24 * time.Hour // how long a message stays whole in an inbox
	keepEvery    = time.Minute
	unsavedEvery = 5 * time.Second
	receiptEvery = time.Minute
	receiptWait  = 30 * time.Second
	noticeFor    = 10 * time.Minute // how long a notice is worth another try
	receiptPage  = 64
	settleAfter  = 20 * time.Millisecond // so that many settlements go into one transaction
)

// decideLater decides, in order, what had to wait: for somebody to be present,
// or for the name of a message that was sent. It alone does, so that the order
// is kept.
func (r *Relay) decideLater(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.decide:
		}
		next := r.holds.release(r)
		if r.waiting.Load() > 0 {
			if err := r.decideWaiting(ctx); err != nil && ctx.Err() == nil {
				r.Log.Error("decide what waits", "err", err)
				next = r.Now().Add(time.Second)
			}
		}
		if !next.IsZero() {
			timer.Reset(next.Sub(r.Now()))
		}
	}
}

// decideWaiting decides what waits in the record and may be decided. What comes
// in meanwhile nudges decideLater once more.
func (r *Relay) decideWaiting(ctx context.Context) error {
	before := r.waiting.Load()
	ms, err := r.Record.Undecided(ctx)
	if err != nil {
		return err
	}
	held, nobody := int64(0), false
	for _, m := range ms {
		if r.holds.has(m.ID) {
			held++
			continue
		}
		// An answer to a prompt that had no name yet when it came.
		if m.Quote != nil {
			if p, outcome, ok := r.takes(ctx, m); ok {
				if _, err := r.answered(ctx, m, p, outcome, r.recordWaiting); err != nil {
					return err
				}
				continue
			}
		}
		if nobody { // what is behind waits, too, unless it is an answer
			continue
		}
		d := r.route(ctx, m, r.origin(ctx, m))
		if len(d.To) == 0 {
			r.tellNobodyHere()
			nobody = true
			continue
		}
		if err := r.Record.Decide(ctx, m.ID, nil, "", &d, func(o hub.Offer) { r.Sessions.Deliver(o) }); err != nil {
			return fmt.Errorf("decide %s: %w", m.ID, err)
		}
	}
	if !nobody && !r.waiting.CompareAndSwap(before, held) {
		nudge(r.decide)
	}
	return nil
}

// tellNobodyHere tells the operator, once for each time that it is so, that
// what they write waits.
func (r *Relay) tellNobodyHere() {
	if r.told.CompareAndSwap(false, true) {
		r.tell(r.Operator, fmt.Sprintf("No agent is connected. What you write is kept for %s and delivered when one is.", spell(r.HoldFor)))
	}
}

// spell spells d without what is zero at its end: "24h", not "24h0m0s".
func spell(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Arrived implements [hub.Presence].
func (r *Relay) Arrived(context.Context, hub.AgentID) {
	r.told.Store(false)
	nudge(r.decide)
}

// Orphaned implements [hub.Presence].
func (r *Relay) Orphaned(ctx context.Context, agent hub.AgentID, last hub.Seq) {
	r.settleNow(ctx)
	if err := r.Record.Reoffer(ctx, agent, last, func(o hub.Offer) { r.Sessions.Deliver(o) }); err != nil {
		r.undone.add(agent, last)
		r.Log.Error("offer again", "agent", agent, "err", err)
	}
}

// Departed implements [hub.Presence]. What agent was not handed is decided
// again as if it were offline, or waits for it.
func (r *Relay) Departed(ctx context.Context, agent hub.AgentID) {
	r.settleNow(ctx)
	if err := r.depart(ctx, agent); err != nil {
		r.undone.add(agent, 0)
		r.Log.Error("decide again what an agent was not handed", "agent", agent, "err", err)
	}
}

// depart fails where the record can't be read or written.
func (r *Relay) depart(ctx context.Context, agent hub.AgentID) error {
	loose, err := r.Record.Unsettled(ctx, agent)
	if err != nil {
		return err
	}
	var hold []hub.MessageID
	for _, o := range loose {
		var err error
		switch m := o.Message; {
		case m.Via != hub.ViaPlatform && m.To == agent, isAnswer(m):
			hold = append(hold, m.ID)
		case m.Via != hub.ViaPlatform || o.Elsewhere:
			_, err = r.Record.Settle(ctx, []hub.Settlement{{Agent: agent, Message: m.ID, State: hub.Failed, Reason: "left before it was handed over"}})
		default:
			err = r.decideAgain(ctx, agent, o)
		}
		if hub.KindOf(err) == hub.Unavailable {
			return err
		}
		if err != nil {
			r.Log.Error("decide again", "message", o.Message.ID, "agent", agent, "err", err)
		}
	}
	if len(hold) == 0 {
		return nil
	}
	return r.Record.Hold(ctx, agent, hold)
}

// decideAgain finds another place for what agent was not handed.
func (r *Relay) decideAgain(ctx context.Context, agent hub.AgentID, o hub.Loose) error {
	d := r.reroute(ctx, o.Decision)
	if len(d.To) > 0 {
		return r.Record.Decide(ctx, o.Message.ID, []hub.AgentID{agent}, "left before it was handed over", &d,
			func(o hub.Offer) { r.Sessions.Deliver(o) })
	}
	if err := r.Record.Decide(ctx, o.Message.ID, []hub.AgentID{agent}, "left before it was handed over", nil, nil); err != nil {
		return err
	}
	r.waiting.Add(1)
	nudge(r.decide)
	return nil
}

// Settled implements [hub.Presence].
func (r *Relay) Settled(s hub.Settlement) { r.settler.add(s) }

// Handed implements [hub.Presence].
func (r *Relay) Handed(ctx context.Context, ss []hub.Settlement) {
	receipts, err := r.Record.Settle(ctx, ss)
	if err != nil {
		r.Log.Error("settle", "err", err)
		return
	}
	if receipts {
		nudge(r.receipts)
	}
}

// A settler collects settlements, so that many go into one transaction. It is
// bounded by the number of sessions: what follows on in one session is merged.
type settler struct {
	wake chan struct{}

	mu   sync.Mutex
	list []hub.Settlement
	last map[settled]int // where in list a session's newest one is
}

type settled struct {
	agent   hub.AgentID
	session hub.SessionID
	state   hub.State
}

func (s *settler) add(x hub.Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := settled{x.Agent, x.Session, x.State}
	if i, ok := s.last[k]; ok && x.Message == "" && s.list[i].Last+1 == x.First {
		s.list[i].Last = x.Last
		return
	}
	if s.last == nil {
		s.last = make(map[settled]int)
	}
	if x.Message == "" {
		s.last[k] = len(s.list)
	}
	s.list = append(s.list, x)
	nudge(s.wake)
}

func (s *settler) take() []hub.Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list, s.last = nil, nil
	return list
}

// settle writes settlements down as they come. What could not be written is
// tried again: until then a restart would offer it once more.
func (r *Relay) settle(ctx context.Context) {
	var list []hub.Settlement
	every(ctx, time.Second, r.settler.wake, func() {
		pause(ctx, settleAfter)
		if list = append(list, r.settler.take()...); len(list) == 0 {
			return
		}
		receipts, err := r.Record.Settle(ctx, list)
		if err != nil {
			if hub.KindOf(err) != hub.Unavailable && ctx.Err() == nil {
				r.Log.Error("settle", "err", err)
				list = nil
			}
			return
		}
		list = nil
		if receipts {
			nudge(r.receipts)
		}
	})
	if list = append(list, r.settler.take()...); len(list) > 0 {
		if _, err := r.Record.Settle(context.WithoutCancel(ctx), list); err != nil {
			r.Log.Error("settle", "err", err)
		}
	}
}

// settleNow writes down what there is to settle, before somebody goes by what
// the record says: an agent may leave in the moment that it was handed something.
func (r *Relay) settleNow(ctx context.Context) {
	list := r.settler.take()
	receipts, err := r.Record.Settle(ctx, list)
	if err != nil { // settle will try
		for _, s := range list {
			r.settler.add(s)
		}
	}
	if receipts {
		nudge(r.receipts)
	}
}

// sendReceipts sends the read receipts that are due. The record is their queue;
// sent are those that it does not know to be out of it.
func (r *Relay) sendReceipts(ctx context.Context) {
	sent := make(map[hub.MessageID]bool)
	every(ctx, receiptEvery, r.receipts, func() {
		for {
			due, err := r.Record.DueReceipts(ctx, receiptPage)
			if err != nil && ctx.Err() == nil {
				r.Log.Error("look for receipts", "err", err)
			}
			if !r.sendPage(ctx, due, sent) || len(due) < receiptPage {
				return
			}
		}
	})
}

// sendPage sends some, and reports whether none of them is left. One that can't
// be sent now keeps back no other.
func (r *Relay) sendPage(ctx context.Context, due []hub.Message, sent map[hub.MessageID]bool) bool {
	left := false
	for _, m := range due {
		if !sent[m.ID] {
			err := r.sendReceipt(ctx, m)
			if err != nil && (hub.KindOf(err) != hub.Unavailable || ctx.Err() != nil) {
				return false
			}
			if err != nil {
				left = true
				continue
			}
		}
		sent[m.ID] = true
		if err := r.Record.ReceiptSent(ctx, m.ID); err != nil {
			r.Log.Error("record a read receipt", "message", m.ID, "err", err)
			return false
		}
		delete(sent, m.ID)
	}
	return !left
}

// sendReceipt sends one. One that fails is not worth another try, unless the
// platform is not there at all or takes nothing for now: that alone is an error.
func (r *Relay) sendReceipt(ctx context.Context, m hub.Message) error {
	p, ok := r.platformOf(m.Ref.Platform).(hub.Receipter)
	if !ok {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	err := p.SendReceipt(within, m)
	if k := hub.KindOf(err); err != nil && (k == hub.Unavailable || k == hub.Limited || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		r.Log.Warn("read receipt", "message", m.ID, "platform", m.Ref.Platform, "err", err)
	}
	return nil
}

// A notice is what the hub tells somebody in its own name.
type notice struct {
	to   hub.Ref // the chat
	text string
}

// tell tells somebody something in the hub's own name, which an agent's may be
// part of. It does not wait: the notice goes out from a queue, and is dropped
// with a line in the log when that is full.
func (r *Relay) tell(to hub.Ref, text string) {
	to.Key = ""
	if to.Platform == "" || to == r.Operator && !r.Gate.MayReach(to.Platform, to.Chat) { // the operator's number may be another's now
		return
	}
	select {
	case r.notices <- notice{to, strings.TrimSpace(permit.Unmark(text))}:
	default:
		r.Log.Warn("notice dropped: too many")
	}
}

func (r *Relay) sendNotices(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-r.notices:
			r.sendNotice(ctx, n)
		}
	}
}

// sendNotice tries again for a while where the platform is not there: what
// became of a verdict should be heard.
func (r *Relay) sendNotice(ctx context.Context, n notice) {
	m := r.accept(hub.Message{Via: hub.ViaTool, Kind: hub.Text, Text: n.text, Ref: n.to})
	m.Dedup = "notice|" + string(m.ID)
	for {
		_, err := r.transmit(ctx, r.platformOf(n.to.Platform), m)
		if err == nil {
			return
		}
		k := hub.KindOf(err)
		if k != hub.Unavailable && k != hub.Limited || r.Now().Sub(m.Time) > noticeFor || ctx.Err() != nil {
			r.Log.Warn("notice", "platform", n.to.Platform, "err", err)
			return
		}
		pause(ctx, promptsEvery)
	}
}

// keep ends what has waited for too long, and cuts what has left every inbox.
func (r *Relay) keep(ctx context.Context) {
	every(ctx, keepEvery, nil, func() {
		now := r.Now()
		n, err := r.Record.Expire(ctx, now.Add(-r.HoldFor), now.Add(-inboxFor))
		switch {
		case err != nil:
			r.Log.Error("expire", "err", err)
		case n > 0:
			r.Log.Info("mail expired", "count", n)
		}
	})
}
