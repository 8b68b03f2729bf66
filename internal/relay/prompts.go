package relay

import (
	"context"
	"fmt"
	"time"

	"aldis/internal/hub"
	"aldis/internal/permit"
)

const (
	promptsEvery = 5 * time.Second // between attempts to show what could not be shown
	settleEvery  = time.Second     // between looks at what has expired
	promptsFor   = 24 * time.Hour  // how long a prompt's code means something
)

// openDesk takes up what agents have asked in an earlier run.
func (r *Relay) openDesk(ctx context.Context) error {
	r.desk = &permit.Desk{
		Timeout: r.PermissionTimeout, Devices: r.Devices, NewCode: r.NewCode,
		Approves: r.Gate.Approves, Operates: r.Gate.Operates, SameChat: r.SameChat,
	}
	r.prompts, r.settled = make(chan struct{}, 1), make(chan struct{}, 1)
	ps, err := r.Record.Prompts(ctx, r.Now().Add(-promptsFor))
	if err != nil {
		return err
	}
	for i, p := range ps {
		if p.Question() && p.State == hub.Open && !p.Sent && len(p.Refs) == 0 {
			ps[i] = r.neverAsked(ctx, p)
		}
	}
	r.desk.Restore(ps)
	for _, p := range ps {
		switch {
		case p.State == hub.Open || p.Settled:
		case p.State == hub.Expired:
			r.tellUnanswered(ctx, p)
		case p.Question():
			r.answerLater(ctx, p)
		default:
			r.decideFor(p, p.Chat)
		}
	}
	nudge(r.prompts)
	return nil
}

// neverAsked closes a question that the hub had no time to send. The call that
// is made again asks another one.
func (r *Relay) neverAsked(ctx context.Context, p hub.Prompt) hub.Prompt {
	p.State, p.At, p.Settled, p.Key, p.Rev = hub.Closed, r.Now(), true, "", p.Rev+1
	r.savePrompt(ctx, p)
	return p
}

// Permission shows an agent's request for permission on the operator's phone.
// It does not wait for the platform. Where there is no phone, or too much is
// open, the dialog at the agent decides alone.
func (r *Relay) Permission(ctx context.Context, p hub.Prompt, description, preview string) {
	if r.Operator.Platform == "" {
		return
	}
	p.ID, p.Chat = r.NewID(), r.Operator
	name := nameOf(p)
	p, refused := r.desk.Open(p, r.Now(), func(p hub.Prompt) string { return permit.Text(p, name, description, preview) })
	switch refused {
	case "":
		r.savePrompt(ctx, p)
		nudge(r.prompts)
	case permit.TooManyNow:
		r.tell(r.Operator, name+" asks for more permissions than may be open at a time. The newest are not shown here: answer those that are, or at the agent itself.")
	}
}

// nameOf names the agent that asks.
func nameOf(p hub.Prompt) string {
	if string(p.Agent) == string(p.Session) {
		return "an agent without a name (" + p.Session.Short() + ")"
	}
	return string(p.Agent)
}

// savePrompt records p, now or when that works again.
func (r *Relay) savePrompt(ctx context.Context, p hub.Prompt) {
	if err := r.Record.SavePrompt(context.WithoutCancel(ctx), p); err != nil {
		r.Log.Error("record a prompt", "message", p.ID, "err", err)
		r.desk.Unsave(p.ID) // settlePrompts tries again
	}
}

// sendPrompts shows requests for permission, in order. One that can't be sent
// now is tried again for as long as it is open.
func (r *Relay) sendPrompts(ctx context.Context) {
	every(ctx, promptsEvery, r.prompts, func() {
		for _, p := range r.desk.All() {
			if p.State == hub.Open && !p.Sent && !p.Question() && !r.sendPrompt(ctx, p) {
				return
			}
		}
	})
}

// sendPrompt reports whether the next one is worth a try.
func (r *Relay) sendPrompt(ctx context.Context, p hub.Prompt) bool {
	_, err := r.ask(ctx, p)
	switch k := hub.KindOf(err); {
	case err == nil:
	case k == hub.Unavailable || k == hub.Limited:
		return false
	default:
		r.Log.Warn("a request for permission cannot be shown", "message", p.ID, "agent", p.Agent, "err", err)
		r.closePrompt(ctx, p.ID)
		return true
	}
	if p, ok := r.desk.Sent(p.ID); ok {
		r.savePrompt(ctx, p)
	}
	return true
}

func (r *Relay) closePrompt(ctx context.Context, id hub.MessageID) bool {
	p, ok := r.desk.Close(id, r.Now())
	if ok {
		r.savePrompt(ctx, p)
	}
	return ok
}

// ask sends the message that asks p.
func (r *Relay) ask(ctx context.Context, p hub.Prompt) (hub.Sent, error) {
	if !r.Gate.MayReach(p.Chat.Platform, p.Chat.Chat) {
		return hub.Sent{}, hub.Errorf(hub.Denied, "the operator's number is somebody else's now: aldis status says more")
	}
	choices := make([]string, len(p.Choices))
	for i, c := range p.Choices {
		choices[i] = permit.Choice(c)
	}
	m := r.accept(hub.Message{
		ID: p.ID, Via: hub.ViaPrompt, Kind: hub.Text, Agent: p.Agent, Subject: p.Subject, Dedup: "prompt|" + string(p.ID),
		Ref: p.Chat, Text: p.Text, Asks: &hub.Asks{Code: p.Code, Choices: choices},
	})
	return r.transmit(ctx, r.platformOf(p.Chat.Platform), m)
}

// named notes what the platform calls the message that asks something.
func (r *Relay) named(ctx context.Context, id hub.MessageID, refs []hub.Ref) {
	if p, ok := r.desk.Named(id, refs); ok {
		r.savePrompt(ctx, p)
	}
}

// takes takes m as the answer to a prompt, if it is one. What comes too late for
// a question is an ordinary message, and so is what was brought before: its
// number could be meant for another question.
func (r *Relay) takes(ctx context.Context, m hub.Message) (p hub.Prompt, o permit.Outcome, ok bool) {
	a, ok := r.desk.Match(m, r.Now())
	if !ok || m.Quote == nil && r.broughtBefore(ctx, m) {
		return p, o, false
	}
	p, o = r.desk.Take(a, m, r.Now())
	return p, o, o == permit.Taken || !p.Question()
}

func (r *Relay) broughtBefore(ctx context.Context, m hub.Message) bool {
	if m.Dedup == "" {
		return false
	}
	_, err := r.Record.First(ctx, m.Dedup)
	return err == nil
}

// answered goes on with an answer that was taken, or came too late. It ends
// here, unless it is for an agent that asked something and waits no more.
func (r *Relay) answered(ctx context.Context, m hub.Message, p hub.Prompt, outcome permit.Outcome, record recorder) (hub.Receipt, error) {
	receipt := hub.Receipt{ID: m.ID, Known: true}
	if outcome != permit.Taken {
		fresh, err := record(ctx, m, hub.Decision{}, nil, nil)
		if fresh || err != nil {
			r.tell(m.Ref, fmt.Sprintf("%s: %s", p.Code, late(p, outcome)))
		}
		return receipt, nil
	}
	if p.Question() {
		return r.answeredQuestion(ctx, m, p, record)
	}
	// A verdict counts even where it can't be written down.
	if _, err := record(ctx, m, hub.Decision{}, &p, nil); err != nil {
		r.Log.Error("record a verdict", "message", m.ID, "err", err)
		r.desk.Unsave(p.ID)
	}
	r.Log.Info("verdict", "message", p.ID, "agent", p.Agent, "allow", p.Allow)
	r.Watch.Decided(p)
	nudge(r.receipts)
	r.decideFor(p, m.Ref)
	return receipt, nil
}

// late says why an answer came to nothing.
func late(p hub.Prompt, o permit.Outcome) string {
	switch {
	case o == permit.Again && p.Allow:
		return "already answered (allowed)."
	case o == permit.Again:
		return "already answered (denied)."
	case p.State == hub.Closed:
		return "too late: it could not be asked."
	default:
		return "too late: the request has expired. Nothing was allowed here; answer at the agent itself."
	}
}

// decideFor has the session that asked told the verdict, and then whoever gave
// it, in the chat of ref, what became of it.
func (r *Relay) decideFor(p hub.Prompt, ref hub.Ref) {
	r.Sessions.Decide(hub.Verdict{
		Session: p.Session, Begun: p.Begun, Agent: p.Agent, Subject: p.Subject, Request: p.Request, Allow: p.Allow,
		Done: func(handed bool) {
			word := "denied"
			if p.Allow {
				word = "allowed"
			}
			text := fmt.Sprintf("%s: %s, sent to %s.", p.Code, word, nameOf(p))
			if !handed {
				text = fmt.Sprintf("%s: session gone. The session of %s that asked has ended; it is not known to have heard that this was %s.", p.Code, nameOf(p), word)
			}
			r.tell(ref, text)
			r.desk.Settle(p.ID)
			nudge(r.settled)
		},
	})
}

// settlePrompts ends what nobody has answered in time, and writes down what
// has become of verdicts.
func (r *Relay) settlePrompts(ctx context.Context) {
	every(ctx, settleEvery, r.settled, func() {
		for _, p := range r.desk.Expire(r.Now()) {
			r.savePrompt(ctx, p)
			if !p.Settled {
				r.tellUnanswered(ctx, p)
			}
		}
		for _, p := range r.desk.Unsaved() {
			switch err := r.Record.SavePrompt(context.WithoutCancel(ctx), p); {
			case hub.KindOf(err) == hub.Unavailable:
				r.desk.Unsave(p.ID) // until it works
			case err != nil:
				r.Log.Error("record a prompt", "message", p.ID, "err", err)
			}
		}
	})
}

// OpenPrompts returns how many requests for permission and questions are open.
func (r *Relay) OpenPrompts() int {
	n := 0
	for _, p := range r.desk.All() {
		if p.State == hub.Open {
			n++
		}
	}
	return n
}
