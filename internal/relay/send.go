package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"aldis/internal/hub"
	"aldis/internal/permit"
	"aldis/internal/route"
)

// A send whose outcome is unknown may still be named, for so long and so many.
const (
	lateFor  = 10 * time.Minute
	lateMost = 1000
)

// Send carries m from the agent m.Agent to a chat, and remembers the agent so
// that answers find it. See mcp.Verbs for what m must have. What was sent, or
// may have been, is no error.
func (r *Relay) Send(ctx context.Context, m hub.Message) (hub.Sent, error) {
	p, chat, err := r.platform(m.Ref.Chat)
	if err != nil {
		return hub.Sent{}, err
	}
	m = r.accept(m)
	m.Ref = hub.Ref{Platform: p.ID(), Chat: chat}
	m.Text = permit.Unmark(hub.StripControl(m.Text))
	if m, err = r.prepare(ctx, m); err != nil {
		return hub.Sent{}, err
	}
	return r.transmit(ctx, p, m)
}

// transmit records m, sends it, and records what became of it.
func (r *Relay) transmit(ctx context.Context, p hub.Platform, m hub.Message) (hub.Sent, error) {
	// What is under way is not stopped: it may have left already.
	ctx = context.WithoutCancel(ctx)
	_, saved := r.Record.Append(ctx, m, &hub.Decision{}, nil)
	if saved != nil {
		r.Log.Error("record what an agent sends", "message", m.ID, "err", saved)
	}
	begun := r.Now()
	open := r.outbox.open(m, begun)
	sent, err := p.Send(ctx, m)
	r.Watch.Sent(m, sent, err, r.Now().Sub(begun))
	r.remember(ctx, m, sent.Refs)
	r.outbox.close(open, sent.Unknown, r.Now())
	nudge(r.decide)
	if saved == nil {
		if e := r.Record.Outcome(ctx, m.ID, sent, err); e != nil {
			r.Log.Error("record what became of a message", "message", m.ID, "err", e)
		}
	}
	if err != nil {
		return hub.Sent{}, fmt.Errorf("send to %s: %w", p.ID(), err)
	}
	return sent, nil
}

// Late implements [hub.Receiver].
func (r *Relay) Late(ctx context.Context, id hub.MessageID, ref hub.Ref) {
	m, ok := r.outbox.late(id)
	if !ok {
		return
	}
	r.remember(ctx, m, []hub.Ref{ref})
	nudge(r.decide)
	if err := r.Record.Outcome(ctx, id, hub.Sent{Refs: []hub.Ref{ref}, Unknown: true}, nil); err != nil {
		r.Log.Error("record what became of a message", "message", id, "err", err)
	}
}

// prepare checks m and completes it with what the record knows.
func (r *Relay) prepare(ctx context.Context, m hub.Message) (hub.Message, error) {
	if !r.Gate.MayReach(m.Ref.Platform, m.Ref.Chat) {
		return m, hub.Errorf(hub.Denied, "that chat is not one that agents may write to: only the operator's, those that wrote to an agent before, and those of --trusted-recipient")
	}
	switch m.Kind {
	case hub.Text, hub.Edit:
		if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
			return m, hub.Errorf(hub.Invalid, "text is empty")
		}
		if slices.ContainsFunc(m.Attachments, func(a hub.Attachment) bool { return permit.Unmark(a.Path) != a.Path }) {
			return m, hub.Errorf(hub.Invalid, "the name of a file has the mark of a request for permission in it: give it another")
		}
		m.Label = hub.AgentID(permit.Unmark(string(r.label(ctx, m.Agent))))
	case hub.Reaction:
		if m.Text = strings.TrimSpace(m.Text); m.Text == "" || len(m.Text) > 64 {
			return m, hub.Errorf(hub.Invalid, "emoji must be one emoji")
		}
	}
	if m.Quote != nil {
		return r.prepareQuote(ctx, m)
	}
	if m.Target.Key != "" {
		return r.prepareTarget(ctx, m)
	}
	return m, nil
}

// prepareQuote completes the quote of m. An agent that names a message has
// been handed it, and is done with it.
func (r *Relay) prepareQuote(ctx context.Context, m hub.Message) (hub.Message, error) {
	f, ok := r.find(ctx, m.Ref.Platform, m.Ref.Chat, m.Quote.Ref.Key)
	if !ok {
		return m, hub.Errorf(hub.NotFound, "no message %s is known in that chat: pass the message_id and chat_id of one event", m.Quote.Ref.Key)
	}
	q := &hub.Quote{
		Ref:  hub.Ref{Platform: m.Ref.Platform, Chat: m.Ref.Chat, Key: m.Quote.Ref.Key},
		Ours: f.Message.Via != hub.ViaPlatform, From: f.Message.From.ID, Aliases: f.Message.From.Aliases,
		Text: hub.Clip(f.Message.Text, hub.PreviewBytes),
	}
	m.Quote = q
	if !q.Ours {
		if _, err := r.Acknowledge(ctx, m.Agent, []hub.MessageID{f.Message.ID}); err != nil {
			r.Log.Error("acknowledge", "message", f.Message.ID, "err", err)
		}
	}
	return m, nil
}

// prepareTarget checks that the message which m edits or deletes is m.Agent's.
// What it has asked stays as a person has read it.
func (r *Relay) prepareTarget(ctx context.Context, m hub.Message) (hub.Message, error) {
	f, ok := r.find(ctx, m.Ref.Platform, m.Ref.Chat, m.Target.Key)
	switch {
	case !ok:
		return m, hub.Errorf(hub.NotFound, "no message %s is known in that chat: pass an id that send or reply named", m.Target.Key)
	case f.Message.Via != hub.ViaTool || f.Message.Agent != m.Agent:
		return m, hub.Errorf(hub.Denied, "message %s is not one that you sent", m.Target.Key)
	}
	m.Target = hub.Ref{Platform: m.Ref.Platform, Chat: m.Ref.Chat, Key: m.Target.Key}
	return m, nil
}

// label returns the name that what agent says shall start with, if any.
func (r *Relay) label(ctx context.Context, agent hub.AgentID) hub.AgentID {
	switch r.Labels {
	case LabelAlways:
		return agent
	case LabelNever:
		return ""
	}
	n, err := r.Record.Agents(ctx)
	if err != nil {
		r.Log.Error("count agents", "err", err)
	}
	if known, _ := r.isKnown(ctx, agent); n > 1 && known {
		return agent
	}
	return ""
}

// cutLabel takes agent's name off the front of what it said.
func cutLabel(text string, agent hub.AgentID) string {
	return strings.TrimPrefix(text, string(agent)+": ")
}

// remember makes each name of m a route to its agent, durable before anybody
// is told of the name.
func (r *Relay) remember(ctx context.Context, m hub.Message, refs []hub.Ref) {
	if m.Kind != hub.Text && m.Kind != hub.Edit || m.Agent == "" { // the hub itself takes no answers
		return
	}
	rs := make([]route.Route, len(refs))
	for i, ref := range refs {
		rs[i] = route.Route{Ref: ref, Agent: m.Agent, Preview: hub.Clip(m.Text, hub.PreviewBytes), Sent: r.Now()}
		r.Routes.Remember(rs[i])
	}
	if m.Via == hub.ViaPrompt {
		r.named(ctx, m.ID, refs)
	}
	if r.RouteLog == nil || len(rs) == 0 {
		return
	}
	if err := r.RouteLog.Append(ctx, rs...); err != nil {
		r.Log.Error("keep routes", "message", m.ID, "err", err)
	}
}

// An outbox is what is under way to platforms: an answer may come back sooner
// than the platform says what the message is called.
type outbox struct {
	mu   sync.Mutex
	list []*sending
}

type sending struct {
	message hub.Message
	unknown time.Time // since when its outcome is; zero: it is under way
}

func (b *outbox) open(m hub.Message, now time.Time) *sending {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	s := &sending{message: m}
	b.list = append(b.list, s)
	return s
}

// close notes that a send has ended. One with an unknown outcome stays for a
// while.
func (b *outbox) close(s *sending, unknown bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if unknown {
		s.unknown = now
		return
	}
	b.drop(s)
}

// late returns what was sent under that id, while it may still be named: it
// stays, for each of its parts may be.
func (b *outbox) late(id hub.MessageID) (hub.Message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.list {
		if s.message.ID == id {
			return s.message, true
		}
	}
	return hub.Message{}, false
}

// pending reports whether a send to the chat of ref is under way, or ended
// unknown no longer than limit ago.
func (b *outbox) pending(ref hub.Ref, now time.Time, limit time.Duration, same func(hub.PlatformID, hub.ChatID, hub.ChatID) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.list {
		if (s.unknown.IsZero() || now.Sub(s.unknown) < limit) && s.message.Ref.Platform == ref.Platform && same(ref.Platform, s.message.Ref.Chat, ref.Chat) {
			return true
		}
	}
	return false
}

// drop takes s out. b.mu is held.
func (b *outbox) drop(s *sending) {
	b.list = slices.DeleteFunc(b.list, func(x *sending) bool { return x == s })
}

// expire forgets sends that nobody will name any more, and the oldest of those
// that may be named late when there are too many. b.mu is held.
func (b *outbox) expire(now time.Time) {
	extra := len(b.list) - lateMost
	b.list = slices.DeleteFunc(b.list, func(s *sending) bool {
		old := !s.unknown.IsZero() && (extra > 0 || now.Sub(s.unknown) >= lateFor)
		if old {
			extra--
		}
		return old
	})
}
