package relay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aldis/internal/hub"
	"aldis/internal/permit"
)

// closesAfter is when a question that has a default ends by itself, after its
// call should have ended it.
const closesAfter = time.Second

// asking are the questions whose calls wait for the answer.
type asking struct {
	mu    sync.Mutex
	calls map[hub.MessageID]chan hub.Prompt // cap 1
}

// expect notes that a call waits for the answer to a question: the newest one
// gets it.
func (a *asking) expect(id hub.MessageID) <-chan hub.Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = make(map[hub.MessageID]chan hub.Prompt)
	}
	if old := a.calls[id]; old != nil {
		close(old)
	}
	c := make(chan hub.Prompt, 1)
	a.calls[id] = c
	return c
}

// take returns where the call that waits wants its answer, and that call waits
// for another one no more; nil: none waits.
func (a *asking) take(id hub.MessageID) chan<- hub.Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.calls[id]
	delete(a.calls, id)
	return c
}

// stop notes that the call that waits on c does so no more, and reports whether
// there is no answer on its way.
func (a *asking) stop(id hub.MessageID, c <-chan hub.Prompt) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[id] != c {
		return false
	}
	delete(a.calls, id)
	return true
}

// Ask asks the operator a question on the phone, and waits for the answer. It
// fails with Invalid, Limited or Unavailable where nothing was asked.
func (r *Relay) Ask(ctx context.Context, p hub.Prompt, question string, wait time.Duration) (hub.Answer, error) {
	until := r.Now().Add(wait)
	p, answer, err := r.question(ctx, p, question, until)
	if err != nil {
		return hub.Answer{}, err
	}
	if p.State == hub.Open {
		p = r.awaitAnswer(ctx, p, until, answer)
	}
	a := hub.Answer{Ticket: p.ID, State: p.State, Text: p.Answer, Choice: p.Choice, Reply: p.State == hub.Answered}
	switch {
	case a.Reply && !p.Settled:
		a.Done = func(handed bool) {
			if !handed {
				r.answerLater(context.WithoutCancel(ctx), p)
				return
			}
			r.desk.Settle(p.ID)
			nudge(r.settled)
		}
	case !a.Reply && p.Default != nil:
		a.Text = *p.Default
	}
	return a, nil
}

// question returns the question that was asked under p.Key, or asks it, with
// where its answer will come.
func (r *Relay) question(ctx context.Context, p hub.Prompt, question string, until time.Time) (hub.Prompt, <-chan hub.Prompt, error) {
	if known, ok := r.desk.Find(p.Key); ok {
		if known.State != hub.Open {
			return known, nil, nil
		}
		return known, r.asking.expect(known.ID), nil
	}
	if r.Operator.Platform == "" {
		return p, nil, errNoPhone
	}
	text, err := permit.Question(p, nameOf(p), question)
	if err != nil {
		return p, nil, err
	}
	now := r.Now()
	p.ID, p.Chat, p.Expires = r.NewID(), r.Operator, now.Add(r.HoldFor)
	if p.Default != nil {
		p.Expires = until.Add(closesAfter)
	}
	p, refused := r.desk.Open(p, now, func(hub.Prompt) string { return text })
	if refused != "" {
		return p, nil, hub.Errorf(hub.Limited, "too many questions are open on the phone: wait until some are answered")
	}
	answer := r.asking.expect(p.ID)
	r.savePrompt(ctx, p)
	if _, err := r.ask(ctx, p); err != nil {
		r.asking.take(p.ID)
		r.closePrompt(ctx, p.ID)
		return p, nil, fmt.Errorf("ask on %s: %w", p.Chat.Platform, err)
	}
	if sent, ok := r.desk.Sent(p.ID); ok {
		r.savePrompt(ctx, sent)
	}
	return p, answer, nil
}

// awaitAnswer waits for the answer to p. A question that has a default ends
// with the wait of the call that asked it first, but not with a call that is
// given up: that may be made again.
func (r *Relay) awaitAnswer(ctx context.Context, p hub.Prompt, until time.Time, answer <-chan hub.Prompt) hub.Prompt {
	if p.Default != nil {
		until = p.Expires.Add(-closesAfter)
	}
	timer := time.NewTimer(until.Sub(r.Now()))
	defer timer.Stop()
	select {
	case got, ok := <-answer:
		return answerOr(p, got, ok)
	case <-timer.C:
	case <-ctx.Done():
	}
	if p.Default != nil && ctx.Err() == nil {
		r.closePrompt(ctx, p.ID)
		if now, _ := r.desk.Get(p.ID); now.State != hub.Answered {
			r.asking.stop(p.ID, answer)
			p.State = hub.Closed
			return p
		}
	} else if r.asking.stop(p.ID, answer) {
		return p
	}
	got, ok := <-answer // it is being recorded at this moment
	return answerOr(p, got, ok)
}

// answerOr returns the answered question, or p for a call that has made way
// for a newer one.
func answerOr(p, got hub.Prompt, ok bool) hub.Prompt {
	if !ok {
		return p
	}
	return got
}

// answeredQuestion hands the answer m to the call that waits for it, or to the
// agent as an event.
func (r *Relay) answeredQuestion(ctx context.Context, m hub.Message, p hub.Prompt, record recorder) (hub.Receipt, error) {
	m.Meta = map[string]string{"question": string(p.ID), "answer": hub.Clip(p.Answer, hub.MetaValueBytes)}
	receipt := hub.Receipt{ID: m.ID, Known: true}
	if call := r.asking.take(p.ID); call != nil {
		_, err := record(ctx, m, hub.Decision{}, &p, nil)
		if err != nil {
			r.Log.Error("record an answer", "message", m.ID, "err", err)
			r.desk.Unsave(p.ID)
		}
		call <- p
		nudge(r.receipts)
		return receipt, nil
	}
	p.Settled = true
	receipt.Decision = r.toAsker(p)
	_, err := record(ctx, m, receipt.Decision, &p, func(o hub.Offer) { receipt.Sessions = r.Sessions.Deliver(o) })
	r.desk.Settle(p.ID) // not before: a prompt that is settled alone is an answer lost
	if hub.KindOf(err) == hub.Unavailable {
		r.deliverUnsaved(ctx, m, &receipt.Decision, err)
		return receipt, nil
	}
	return receipt, err
}

// isAnswer reports whether m was taken as the answer to a question: what a person
// writes has no meta else.
func isAnswer(m hub.Message) bool { return m.Via == hub.ViaPlatform && m.Meta["question"] != "" }

// toAsker sends the answer to a question to who asked it, now or later.
func (r *Relay) toAsker(p hub.Prompt) hub.Decision {
	return hub.Decision{Status: hub.Routed, Meant: p.Agent, To: []hub.AgentID{p.Agent}, Hold: !r.Sessions.Present(p.Agent)}
}

// answerLater has the answer to p, which is in the record, become an event.
func (r *Relay) answerLater(ctx context.Context, p hub.Prompt) {
	d := r.toAsker(p)
	if err := r.Record.Decide(ctx, p.Message, nil, "", &d, func(o hub.Offer) { r.Sessions.Deliver(o) }); err != nil {
		r.Log.Error("offer an answer", "message", p.Message, "agent", p.Agent, "err", err)
		return
	}
	r.desk.Settle(p.ID)
	nudge(r.settled)
}

// tellUnanswered tells the agent of a question that nobody will answer it.
func (r *Relay) tellUnanswered(ctx context.Context, p hub.Prompt) {
	m := r.accept(hub.Message{
		Via: hub.ViaPrompt, Kind: hub.Text, Agent: "aldis", To: p.Agent, Dedup: "unanswered|" + string(p.ID),
		Text: "[nobody has answered your question; it is closed]", Meta: map[string]string{"question": string(p.ID)},
	})
	d := hub.Decision{To: []hub.AgentID{p.Agent}, Hold: !r.Sessions.Present(p.Agent)}
	if _, err := r.offer(ctx, m, d); err != nil {
		r.Log.Error("tell that a question was not answered", "message", p.ID, "agent", p.Agent, "err", err)
		return
	}
	r.desk.Settle(p.ID)
	nudge(r.settled)
}
