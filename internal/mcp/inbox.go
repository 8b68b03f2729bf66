package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"aldis/internal/hub"
)

const (
	inboxEvents  = 20
	inboxBytes   = 40_000 // past 50,000 characters one client writes a result to a file
	inboxContent = 8 << 10
)

type inboxArgs struct {
	WaitSeconds int             `json:"wait_seconds"`
	Ack         []hub.MessageID `json:"ack"`
}

// inboxEvent is one event as inbox lists it.
type inboxEvent struct {
	channelParams
	Seen bool `json:"seen"` // it was handed over before
}

type inboxAnswer struct {
	Events []inboxEvent    `json:"events"`
	More   bool            `json:"more"`
	NoSuch []hub.MessageID `json:"unknown_ack,omitempty"`
}

func (x *tools) inbox(ctx context.Context, c *call, in inboxArgs) (string, error) {
	if err := x.seated(c); err != nil {
		return "", err
	}
	agent := c.session.saved.Agent
	var answer inboxAnswer
	if len(in.Ack) > 0 {
		unknown, err := x.verbs.Acknowledge(ctx, agent, in.Ack)
		if err != nil {
			return "", err
		}
		answer.NoSuch = unknown
	}
	mail, more, err := x.await(ctx, agent, time.Duration(in.WaitSeconds)*time.Second)
	if err == nil {
		err = x.seated(c) // it may have lost its name while it waited
	}
	if err != nil {
		return "", err
	}
	answer.Events = []inboxEvent{}
	size := 0
	for i, o := range mail {
		ev := inboxEvent{x.table.view.params(o.Offer), o.Seen}
		if len(ev.Content) > inboxContent {
			note := fmt.Sprintf("\n[cut: get_message %s has all]", o.Message.ID)
			ev.Content = hub.Clip(ev.Content, inboxContent-len(note)) + note
		}
		b, err := json.Marshal(ev)
		if err != nil {
			return "", err
		}
		if size += len(b); i > 0 && size > inboxBytes {
			mail, more = mail[:i], true
			break
		}
		answer.Events = append(answer.Events, ev)
	}
	answer.More = more
	if c.session.saved.Acks {
		c.session.expect(x.table.inboxed(c.session, mail))
	} else {
		c.afterwards(func(written bool) {
			if written {
				x.table.handedByInbox(c.session, mail)
			}
		})
	}
	b, err := json.Marshal(answer)
	return string(b), err
}

// await returns agent's mail, after waiting for some if there is no new one.
func (x *tools) await(ctx context.Context, agent hub.AgentID, wait time.Duration) (mail []hub.Mailed, more bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		bell := x.table.bellOf(agent) // before looking, or a message could slip through
		mail, more, err = x.table.Mail.Inbox(ctx, agent, inboxEvents)
		if err != nil || len(mail) > 0 && !mail[0].Seen {
			return mail, more, err
		}
		select {
		case <-bell:
		case <-timer.C:
			return mail, more, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-x.table.ctx.Done():
			return nil, false, errStopping
		}
	}
}

// inboxed are mail as events that s, which acknowledges, may say it was handed.
func (t *Table) inboxed(s *session, mail []hub.Mailed) []*event {
	evs := make([]*event, len(mail))
	for i, o := range mail {
		evs[i] = &event{id: o.Message.ID, taken: func(hub.AgentID, hub.SessionID) { t.handedByInbox(s, []hub.Mailed{o}) }}
	}
	return evs
}

// handedByInbox notes that an answer with mail was written to s.
func (t *Table) handedByInbox(s *session, mail []hub.Mailed) {
	var ids []hub.MessageID
	var ss []hub.Settlement
	for _, o := range mail {
		ids = append(ids, o.Message.ID)
		ss = append(ss, hub.Settlement{
			Agent: s.saved.Agent, Session: s.saved.ID, Message: o.Message.ID, First: o.Seq, Last: o.Seq,
			State: hub.HandedOver, OutOfTurn: true,
		})
	}
	s.handOut(ids)
	t.Presence.Handed(context.WithoutCancel(t.ctx), ss) // it was written: that the hub stops changes nothing
}

type getArgs struct {
	ID     hub.MessageID `json:"id"`
	Offset int           `json:"offset"`
}

func (x *tools) getMessage(ctx context.Context, c *call, in getArgs) (string, error) {
	if err := x.seated(c); err != nil {
		return "", err
	}
	m, err := x.table.Mail.Message(ctx, c.session.saved.Agent, in.ID)
	if err != nil {
		return "", err
	}
	text := cmp.Or(m.Raw, m.Text) // what was shown may be a digest
	for in.Offset < len(text) && !utf8.RuneStart(text[in.Offset]) {
		in.Offset++
	}
	if in.Offset > len(text) {
		return "", hub.Errorf(hub.Invalid, "offset %d is past the end: the text has %d bytes", in.Offset, len(text))
	}
	part := hub.Clip(text[in.Offset:], contentBytes)
	var b strings.Builder
	b.WriteString(harmless(part))
	if end := in.Offset + len(part); end < len(text) {
		fmt.Fprintf(&b, "\n[%d of %d bytes: go on with offset %d]", end, len(text), end)
		return b.String(), nil
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, "\n[attachment: %s]", harmless(attachment(a)))
	}
	return b.String(), nil
}
