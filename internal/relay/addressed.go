package relay

import (
	"context"
	"slices"

	"aldis/internal/hub"
)

// receiveAddressed carries what an agent or a script says: to the agent that
// it names, else to the author of the message that it answers, else to all
// others. What is recorded names an agent by its real name alone.
func (r *Relay) receiveAddressed(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	if real, ok := r.Aliases[m.To]; ok {
		m.To = real
	}
	first, err := r.answersTo(ctx, m)
	if err != nil {
		return hub.Receipt{}, err
	}
	var author hub.AgentID
	if m.To == "" {
		if m.To = correspondent(m, first); m.To == first.Agent {
			author = m.To
		}
	}
	quiet := false
	if m.Via == hub.ViaTool {
		if first.Via == hub.ViaTool {
			m.Hops = first.Hops + 1
		}
		quiet = r.goesRound(m)
	}
	receipt, err := r.address(ctx, m, quiet)
	receipt.To, receipt.Author = m.To, author
	return receipt, err
}

// answersTo returns the message that m answers by its reply_to, without a Via
// if there is none in the record.
func (r *Relay) answersTo(ctx context.Context, m hub.Message) (hub.Message, error) {
	id := hub.MessageID(m.Meta["reply_to"])
	if id == "" || m.To != "" && m.Via != hub.ViaTool {
		return hub.Message{}, nil
	}
	f, err := r.Record.Lookup(ctx, id)
	if hub.KindOf(err) == hub.NotFound {
		err = nil
	}
	return f.Message, err
}

// correspondent returns who is meant by an answer to first that names nobody:
// who wrote that, or whom the same agent wrote it to. Empty: everybody.
func correspondent(m, first hub.Message) hub.AgentID {
	switch {
	case first.Via != hub.ViaTool && first.Via != hub.ViaNotify:
		return ""
	case first.Agent == m.Agent:
		return first.To
	default:
		return first.Agent
	}
}

// address has m delivered to the agent that it names, or to all others.
func (r *Relay) address(ctx context.Context, m hub.Message, quiet bool) (hub.Receipt, error) {
	if m.To == "" {
		itself := func(a hub.AgentID) bool { return a == m.Agent }
		return r.offer(ctx, m, hub.Decision{To: slices.DeleteFunc(r.Sessions.Everybody(), itself), Quiet: quiet})
	}
	known, err := r.isKnown(ctx, m.To)
	if err != nil {
		return hub.Receipt{}, err
	}
	if !known {
		return r.offerNobody(ctx, m)
	}
	return r.offer(ctx, m, hub.Decision{To: []hub.AgentID{m.To}, Hold: !r.Sessions.Present(m.To), Quiet: quiet})
}

// offerNobody records a message to a name that no agent ever had.
func (r *Relay) offerNobody(ctx context.Context, m hub.Message) (hub.Receipt, error) {
	receipt, err := r.offer(ctx, m, hub.Decision{})
	receipt.Known = false
	if err != nil || receipt.Repeated {
		return receipt, err
	}
	if err := r.Record.Outcome(ctx, m.ID, hub.Sent{}, hub.Errorf(hub.NotFound, "no agent of that name")); err != nil {
		r.Log.Error("record what became of a message", "message", m.ID, "err", err)
	}
	return receipt, nil
}

// isKnown reports whether there was ever an agent of that name.
func (r *Relay) isKnown(ctx context.Context, agent hub.AgentID) (bool, error) {
	if _, ok := r.known.Load(agent); ok {
		return true, nil
	}
	for _, target := range r.Aliases {
		if target == agent {
			return true, nil
		}
	}
	known, err := r.Record.Known(ctx, agent)
	if known {
		r.known.Store(agent, struct{}{})
	}
	return known, err
}
