package relay

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aldis/internal/hub"
)

const (
	inboxFor     = 7 * 24 * time.Hour // how long a message stays whole in an inbox
	keepEvery    = time.Minute
	unsavedEvery = 5 * time.Second
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
