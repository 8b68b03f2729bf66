package relay

import (
	"context"
	"fmt"
	"slices"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/permit"
	"aldis/internal/route"
)

// Receive implements [hub.Receiver].
func (r *Relay) Receive(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	m = r.accept(m)
	receipt, err := r.receive(ctx, m)
	if err == nil && receipt.Dropped == "" && !receipt.Repeated {
		r.taken.Add(1)
	}
	r.Watch.Received(m, receipt, err, r.Now().Sub(m.Time))
	return receipt, err
}

func (r *Relay) receive(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	if m.Via != hub.ViaPlatform {
		return r.receiveAddressed(ctx, m)
	}
	origin := r.origin(ctx, m)
	m.Addressed = m.Addressed || origin != nil
	verdict := m.Kind == hub.Text && permit.IsVerdict(m.Text)
	m, admission := r.admit(m, verdict)
	if admission != gate.Admitted {
		if admission == gate.Stranger {
			r.offerPairing(m)
		}
		r.Log.Debug("message dropped", "message", m.ID, "platform", m.Ref.Platform, "why", string(admission))
		return hub.Receipt{ID: m.ID, Dropped: string(admission)}, nil
	}
	r.Gate.Open(m.Ref.Platform, m.Ref.Chat)
	m = r.fillQuote(ctx, m)
	if p, outcome, ok := r.takes(ctx, m); ok {
		return r.answered(ctx, m, p, outcome, r.recordNew)
	}
	if !verdict && r.holds.take(r, m) {
		return r.wait(ctx, m)
	}
	d := r.route(ctx, m, origin)
	if len(d.To) == 0 || r.waiting.Load() > 0 { // behind those that wait already
		return r.wait(ctx, m)
	}
	return r.offer(ctx, m, d)
}

// admit has the gate judge m. Neither a verdict nor the answer to a prompt
// needs a prefix.
func (r *Relay) admit(m hub.Message, verdict bool) (hub.Message, gate.Admission) {
	admitted, admission := r.Gate.Admit(m, false)
	if admission != gate.NoPrefix {
		return admitted, admission
	}
	if _, answers := r.desk.Match(m, r.Now()); !answers && !verdict {
		return m, admission
	}
	return r.Gate.Admit(m, true)
}

// A recorder records an answer to a prompt, what was decided about it, and the
// prompt as it is since then; nil: that has not changed. It reports false for
// an answer that is in the record already.
type recorder func(ctx context.Context, m hub.Message, d hub.Decision, p *hub.Prompt, then func(hub.Offer)) (fresh bool, err error)

func (r *Relay) recordNew(ctx context.Context, m hub.Message, d hub.Decision, p *hub.Prompt, then func(hub.Offer)) (bool, error) {
	if p == nil {
		return r.Record.Append(ctx, m, &d, then)
	}
	return r.Record.Answer(ctx, m, d, *p, then)
}

// recordWaiting records what became of an answer that waits in the record.
func (r *Relay) recordWaiting(ctx context.Context, m hub.Message, d hub.Decision, p *hub.Prompt, then func(hub.Offer)) (bool, error) {
	if p != nil {
		return r.Record.Answer(ctx, m, d, *p, then)
	}
	return true, r.Record.Decide(ctx, m.ID, nil, "", &d, then)
}

// route says where m goes. origin is what was decided of the message that m
// edits or deletes, if that is known.
func (r *Relay) route(ctx context.Context, m hub.Message, origin *hub.Decision) hub.Decision {
	if m.Quote == nil && origin != nil {
		return r.reroute(ctx, *origin)
	}
	return r.orHold(ctx, route.Decide(r.answer(m), r.Default, r.Sessions))
}

// reroute says where a message goes that was decided before.
func (r *Relay) reroute(ctx context.Context, d hub.Decision) hub.Decision {
	return r.orHold(ctx, route.Again(d, r.Default, r.Sessions))
}

// orHold keeps a reply for the agent that it is meant for, where that is not
// there and the operator wants it so. One without a name never comes back.
func (r *Relay) orHold(ctx context.Context, d hub.Decision) hub.Decision {
	if !r.HoldReplies || d.Status != hub.AgentOffline {
		return d
	}
	if known, _ := r.isKnown(ctx, d.Meant); !known {
		return d
	}
	return hub.Decision{Status: hub.Routed, Meant: d.Meant, To: []hub.AgentID{d.Meant}, Hold: true}
}

// answer says what is known of the message that m quotes or reacts to.
func (r *Relay) answer(m hub.Message) route.Answer {
	if m.Quote == nil || !m.Quote.Ours {
		return route.Answer{}
	}
	known, ok := r.Routes.Find(m.Quote.Ref)
	return route.Answer{Ours: true, Known: ok, Agent: known.Agent}
}

// offer records m and what was decided, and has it delivered.
func (r *Relay) offer(ctx context.Context, m hub.Message, d hub.Decision) (hub.Receipt, error) {
	receipt := hub.Receipt{ID: m.ID, Decision: d, Known: true}
	fresh, err := r.Record.Append(ctx, m, &d, func(o hub.Offer) { receipt.Sessions = r.Sessions.Deliver(o) })
	receipt.Repeated = err == nil && !fresh
	if receipt.Repeated && m.Via != hub.ViaPlatform {
		receipt.ID, err = r.Record.First(ctx, m.Dedup)
	}
	if hub.KindOf(err) == hub.Unavailable && m.Via == hub.ViaPlatform {
		r.deliverUnsaved(ctx, m, &d, err)
		return receipt, nil
	}
	if err != nil {
		return hub.Receipt{}, fmt.Errorf("record %s: %w", m.ID, err)
	}
	return receipt, nil
}

// wait records m undecided: it is decided as soon as it can be. It is counted
// once it is there to be found, or decideLater could miss it.
func (r *Relay) wait(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	fresh, err := r.Record.Append(ctx, m, nil, nil)
	if err != nil || !fresh {
		r.holds.drop(m.ID)
	}
	if hub.KindOf(err) == hub.Unavailable {
		r.deliverUnsaved(ctx, m, nil, err)
		return hub.Receipt{ID: m.ID}, nil
	}
	if err != nil {
		return hub.Receipt{}, fmt.Errorf("record %s: %w", m.ID, err)
	}
	if fresh {
		r.waiting.Add(1)
		nudge(r.decide)
	}
	return hub.Receipt{ID: m.ID, Repeated: !fresh}, nil
}

// origin returns what was decided of the message that m edits or deletes; nil
// if m does neither, or the record does not have it from the same person.
func (r *Relay) origin(ctx context.Context, m hub.Message) *hub.Decision {
	if m.Target.Key == "" {
		return nil
	}
	found, ok := r.find(ctx, m.Target.Platform, m.Ref.Chat, m.Target.Key)
	if !ok || found.Message.Via != hub.ViaPlatform || !samePerson(found.Message.From, m.From) {
		return nil
	}
	return &found.Decision
}

func samePerson(a, b hub.Sender) bool {
	names := append([]hub.SenderID{b.ID}, b.Aliases...)
	return slices.Contains(names, a.ID) || slices.ContainsFunc(a.Aliases, func(x hub.SenderID) bool { return slices.Contains(names, x) })
}

// find returns the newest message of a chat that its platform calls key.
func (r *Relay) find(ctx context.Context, p hub.PlatformID, chat hub.ChatID, key string) (hub.Filed, bool) {
	all, err := r.Record.Find(ctx, p, key)
	if err != nil {
		r.Log.Error("look a message up", "platform", p, "err", err)
		return hub.Filed{}, false
	}
	for _, f := range all {
		if r.SameChat(p, f.Message.Ref.Chat, chat) {
			return f, true
		}
	}
	return hub.Filed{}, false
}

// fillQuote gives the quote of one of our messages its text, where the platform
// has not, and takes the agent's name off its front.
func (r *Relay) fillQuote(ctx context.Context, m hub.Message) hub.Message {
	if m.Quote == nil || !m.Quote.Ours {
		return m
	}
	q := *m.Quote
	known, ok := r.Routes.Find(q.Ref)
	if ok {
		q.Text = cutLabel(q.Text, known.Agent)
		if q.Text == "" {
			q.Text = known.Preview
		}
	}
	if q.Text == "" {
		f, found := r.find(ctx, q.Ref.Platform, q.Ref.Chat, q.Ref.Key)
		if found && (f.Message.Via != hub.ViaPlatform || samePerson(f.Message.From, hub.Sender{ID: q.From, Aliases: q.Aliases})) {
			q.Text = hub.Clip(f.Message.Text, hub.PreviewBytes) // without a label: that is put on last
		}
	}
	m.Quote = &q
	return m
}
