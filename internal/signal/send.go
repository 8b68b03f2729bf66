package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

// uploadTimes is how much longer an answer may take when files are uploaded.
const uploadTimes = 4

// An outgoing is a message as the daemon shall send it: one request, or, for a
// text that is too long for the daemon, several in order.
type outgoing struct {
	id     hub.MessageID
	chat   hub.ChatID
	method string
	parts  []params
	files  *spool // nil: none
}

// Send carries m to its chat. The errors are those of [hub.Platform]; their
// texts are for the agent and hold no secrets. A message whose recipients all
// refused it is an error too, though its Ref is returned: the daemon counts it
// as sent. Nothing is ever sent twice.
func (c *Client) Send(ctx context.Context, m hub.Message) (hub.Sent, error) {
	n, err := c.connection()
	if err != nil {
		return hub.Sent{}, err
	}
	o, err := c.prepare(m)
	if err != nil {
		return hub.Sent{}, err
	}
	return c.sendParts(ctx, n, o)
}

// prepare makes the requests for m.
func (c *Client) prepare(m hub.Message) (outgoing, error) {
	o := outgoing{id: m.ID, chat: m.Ref.Chat, method: "send"}
	var err error
	switch m.Kind {
	case hub.Text:
		err = c.prepareText(&o, m)
	case hub.Edit:
		err = c.prepareEdit(&o, m)
	case hub.Reaction:
		err = c.prepareReaction(&o, m)
	case hub.Deletion:
		err = c.prepareDeletion(&o, m)
	default:
		err = hub.Errorf(hub.Invalid, "Signal has no message of kind %q", m.Kind)
	}
	return o, err
}

func (c *Client) prepareText(o *outgoing, m hub.Message) error {
	if m.Text == "" && len(m.Attachments) == 0 {
		return hub.Errorf(hub.Invalid, "the message is empty: give text or attachments")
	}
	first, err := c.quoting(c.sendTo(o.chat), m)
	if err != nil {
		return err
	}
	if o.files, err = c.copyOut(m.Attachments); err != nil {
		return err
	}
	first.Attachments = o.files.names()
	chunks := []string{labelled(m)}
	if !c.takesLongText() {
		chunks = split(labelled(m), chunkBytes)
	}
	for i, text := range chunks {
		p := c.sendTo(o.chat)
		if i == 0 {
			p = first
		}
		p.Message = text
		o.parts = append(o.parts, p)
	}
	return nil
}

// prepareEdit leaves the text whole: one message cannot become several.
func (c *Client) prepareEdit(o *outgoing, m hub.Message) error {
	if m.Text == "" {
		return hub.Errorf(hub.Invalid, "the new text is empty: to withdraw a message, delete it")
	}
	p, err := c.quoting(c.sendTo(o.chat), m)
	if err != nil {
		return err
	}
	p.EditTimestamp, err = timestamp(m.Target)
	p.Message = labelled(m)
	o.parts = []params{p}
	return err
}

func (c *Client) prepareReaction(o *outgoing, m hub.Message) (err error) {
	if m.Quote == nil || m.Text == "" {
		return hub.Errorf(hub.Invalid, "a reaction needs an emoji and the message that it is for")
	}
	o.method = "sendReaction"
	p := c.params()
	p.to(o.chat)
	p.Emoji, p.Remove = m.Text, m.Removed
	if p.TargetTimestamp, err = timestamp(m.Quote.Ref); err != nil {
		return err
	}
	p.TargetAuthor, err = c.author(o.chat, m.Quote)
	o.parts = []params{p}
	return err
}

func (c *Client) prepareDeletion(o *outgoing, m hub.Message) (err error) {
	o.method = "remoteDelete"
	p := c.params()
	p.to(o.chat)
	p.TargetTimestamp, err = timestamp(m.Target)
	o.parts = []params{p}
	return err
}

// sendTo are the params of a send to chat. A chat with ourselves is asked for
// by its own name.
func (c *Client) sendTo(chat hub.ChatID) params {
	p := c.params()
	if !isGroup(chat) && c.people.ours(addressOf(string(chat))) {
		p.NoteToSelf = true
		return p
	}
	p.to(chat)
	return p
}

func (c *Client) quoting(p params, m hub.Message) (params, error) {
	if m.Quote == nil {
		return p, nil
	}
	var err error
	if p.QuoteTimestamp, err = timestamp(m.Quote.Ref); err != nil {
		return p, err
	}
	p.QuoteAuthor, err = c.author(m.Ref.Chat, m.Quote)
	p.QuoteMessage = m.Quote.Text
	return p, err
}

// author names who wrote what is quoted. In a direct chat that is the other
// person unless we know better.
func (c *Client) author(chat hub.ChatID, q *hub.Quote) (string, error) {
	switch {
	case q.Ours:
		return string(c.people.me().id()), nil
	case q.From != "":
		return string(q.From), nil
	case len(q.Aliases) > 0:
		return string(q.Aliases[0]), nil
	case !isGroup(chat):
		return string(chat), nil
	}
	return "", hub.Errorf(hub.NotFound, "message %s of this group is not known, so nobody can say whose it is: "+
		"leave reply_to out, or use the message_id of a message that you were sent", q.Ref.Key)
}

func timestamp(ref hub.Ref) (int64, error) {
	t, err := strconv.ParseInt(ref.Key, 10, 64)
	if err != nil || t <= 0 {
		return 0, hub.Errorf(hub.Invalid, "%q is no message id of Signal: give the message_id of a message, a number of milliseconds", hub.Clip(ref.Key, 40))
	}
	return t, nil
}

// labelled puts the agent's name before its words.
func labelled(m hub.Message) string {
	if m.Label == "" {
		return m.Text
	}
	return string(m.Label) + ": " + m.Text
}

// takesLongText reports whether the daemon can be given any length of text.
func (c *Client) takesLongText() bool {
	c.mu.Lock()
	version := c.report.Version
	c.mu.Unlock()
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	ma, err1 := strconv.Atoi(major)
	mi, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && (ma > 0 || mi >= 14)
}

// sendParts sends one part after another, as long as each is known to have
// been accepted: the rest of a text is worth nothing without its beginning.
func (c *Client) sendParts(ctx context.Context, n *conn, o outgoing) (hub.Sent, error) {
	var all hub.Sent
	for i, p := range o.parts {
		sent, err := c.sendPart(ctx, n, o, p)
		all.Refs = append(all.Refs, sent.Refs...)
		all.Unknown = sent.Unknown
		if i == 0 && err != nil {
			all.Failed = sent.Failed
			return all, err
		}
		if err != nil {
			all.Failed = append(all.Failed, hub.Failure{Recipient: part(i, len(o.parts)), Reason: err.Error()})
		} else {
			all.Failed = merged(all.Failed, sent.Failed)
			all.Reached = sent.Reached
		}
		if (err != nil || sent.Unknown) && i+1 < len(o.parts) {
			all.Failed = append(all.Failed, hub.Failure{Recipient: part(i+1, len(o.parts)), Reason: "it and what follows was not sent, because of the part before"})
			return all, nil
		}
	}
	return all, nil
}

func part(i, of int) string { return fmt.Sprintf("part %d of %d", i+1, of) }

// merged adds failures of recipients that are not there yet.
func merged(all, more []hub.Failure) []hub.Failure {
	for _, f := range more {
		known := false
		for _, a := range all {
			known = known || a == f
		}
		if !known {
			all = append(all, f)
		}
	}
	return all
}

// sendPart sends one request, and reads from its answer what became of it.
// Copies of files are kept for as long as the daemon may want to read them.
func (c *Client) sendPart(ctx context.Context, n *conn, o outgoing, p params) (hub.Sent, error) {
	if err := c.paused(); err != nil {
		o.files.remove()
		return hub.Sent{}, err
	}
	timeout := c.SendTimeout
	if len(p.Attachments) > 0 {
		timeout *= uploadTimes
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	f, err := n.do(ctx, o.method, p, func(f *frame) {
		o.files.remove()
		if f != nil {
			c.answeredLate(n, o, *f)
		}
	})
	if !errors.Is(err, errLate) {
		o.files.remove()
	}
	switch {
	case errors.Is(err, errUnsent):
		return hub.Sent{}, c.unreached(err)
	case err != nil:
		return hub.Sent{Unknown: true}, nil
	}
	return c.outcome(o, f)
}

// answeredLate reads the answer to a send that was given up. Even an error may
// hold the timestamp under which the message arrived.
func (c *Client) answeredLate(n *conn, o outgoing, f frame) {
	sent, _ := c.outcome(o, f)
	for _, ref := range sent.Refs {
		n.arrive(arrival{late: &late{o.id, ref}})
	}
}

// SendReceipt tells the sender of m that it was read.
func (c *Client) SendReceipt(ctx context.Context, m hub.Message) error {
	n, err := c.connection()
	if err != nil {
		return err
	}
	p := c.params()
	p.Recipient, p.Type = cmp.Or(string(m.From.ID), string(m.Ref.Chat)), "read"
	if p.TargetTimestamp, err = timestamp(m.Ref); err != nil {
		return err
	}
	sent, err := c.sendPart(ctx, n, outgoing{id: m.ID, chat: m.Ref.Chat, method: "sendReceipt"}, p)
	if err == nil && sent.Unknown {
		return hub.Errorf(hub.Unavailable, "signal-cli did not confirm the read receipt")
	}
	return err
}
