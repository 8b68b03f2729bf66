package signal

import (
	"cmp"
	"strconv"

	"aldis/internal/hub"
)

// A reason says why a notice brought no message. They are counted by reason.
type reason int

const (
	kept         reason = iota
	otherAccount        // for another account of the same daemon
	trouble             // the daemon could not read the message
	anonymous           // nobody is named as its sender
	private             // what we wrote to others from another device
	syncing             // other traffic between our own devices
	receipt             // delivered, read, viewed
	typing
	ringing // a call
	story   // a story, a reply or a reaction to one
	viewOnce
	wordless // no text: sticker, contact, poll, payment, pin, expiry, group change, nothing
	unknown  // no body that we know
	reasons  // how many there are
)

var reasonNames = [reasons]string{"kept", "other_account", "trouble", "anonymous", "private", "sync", "receipt", "typing", "call", "story", "view_once", "no_text", "unknown"}

func (r reason) String() string { return reasonNames[r] }

// A decoder turns notices into messages. It does no I/O but for looking up
// attachments.
type decoder struct {
	people *people
	files  folder
	sole   bool // the daemon has one account: notices need not name ours
}

// A body is what an envelope says: who says it where, and what.
type body struct {
	who    *person
	device int64
	data   *dataMessage
	edits  int64 // the revision that it replaces; 0: none
	self   bool  // Note to Self
	chat   hub.ChatID
}

// decode makes a message of n, without ID and Time, or says why there is none.
func (d *decoder) decode(n notice) (hub.Message, reason) {
	if n.Result != nil {
		n = *n.Result
	}
	if !d.mine(n.Account) {
		return hub.Message{}, otherAccount
	}
	if n.Exception != nil || n.Envelope == nil {
		return hub.Message{}, trouble
	}
	b, why := d.open(n.Envelope)
	if why != kept {
		return hub.Message{}, why
	}
	m, why := d.message(b)
	if why != kept {
		return hub.Message{}, why
	}
	m.Dedup = dedup(cmp.Or(n.Account, d.people.account), b, m)
	return m, kept
}

// mine reports whether a notice for that account is for us. When the daemon
// has one account only, its number may be news.
func (d *decoder) mine(account string) bool {
	if account == "" {
		return true
	}
	a := addressOf(account)
	if d.sole && d.people.me().Number == "" {
		d.people.isMe(a)
	}
	return d.people.ours(a)
}

// open finds the body in e, and who wrote it to which chat.
func (d *decoder) open(e *envelope) (body, reason) {
	b := body{device: e.SourceDevice}
	sender := address{Number: e.SourceNumber, UUID: e.SourceUUID}
	b.who = d.people.learn(sender, hub.OneLine(e.SourceName, hub.PreviewBytes))
	var why reason
	switch {
	case b.who == nil:
		return b, anonymous
	case e.Data != nil:
		b.data = e.Data
	case e.Edit != nil && e.Edit.Data != nil:
		b.data, b.edits = e.Edit.Data, e.Edit.Target
	case e.Sync != nil:
		why = d.openSync(&b, e.Sync)
	default:
		why = e.bodiless()
	}
	if why != kept {
		return b, why
	}
	if b.data.Timestamp == 0 {
		b.data.Timestamp = e.Timestamp
	}
	return d.place(b)
}

// openSync lets through Note to Self alone: what we write to others from
// another device is private. An edit has no other fields.
func (d *decoder) openSync(b *body, s *syncMessage) reason {
	if s.Sent == nil {
		return syncing
	}
	to := address{Number: s.Sent.Number, UUID: s.Sent.UUID}
	b.data = &s.Sent.dataMessage
	if e := s.Sent.Edit; e != nil && e.Data != nil {
		b.data, b.edits = e.Data, e.Target
	}
	if !d.people.ours(b.who.address) || !d.people.ours(to) || b.data.Group != nil {
		return private
	}
	return kept
}

func (e *envelope) bodiless() reason {
	switch {
	case e.Receipt != nil:
		return receipt
	case e.Typing != nil:
		return typing
	case e.Call != nil:
		return ringing
	case e.Story != nil:
		return story
	default:
		return unknown
	}
}

// place names the chat: the group, or the person who writes, which in Note to
// Self is us.
func (d *decoder) place(b body) (body, reason) {
	b.self = d.people.ours(b.who.address)
	if g := b.data.Group; g != nil {
		id, ok := groupID(groupPrefix + g.ID)
		if !ok {
			return b, unknown
		}
		if b.self {
			return b, private
		}
		g.ID = id
		b.chat = hub.ChatID(groupPrefix + id)
		return b, kept
	}
	b.chat = hub.ChatID(b.who.id())
	return b, kept
}

// message says in the hub's words what b says in Signal's.
func (d *decoder) message(b body) (hub.Message, reason) {
	data := b.data
	if data.Story != nil {
		return hub.Message{}, story
	}
	m := hub.Message{
		Via:   hub.ViaPlatform,
		Kind:  hub.Text,
		Ref:   b.ref(data.Timestamp),
		From:  b.sender(),
		Quote: d.quote(b),
	}
	if data.Group != nil {
		m.Group = data.Group.ID
	}
	switch {
	case data.Reaction != nil:
		d.reaction(&m, b)
	case data.RemoteDelete != nil:
		m.Kind, m.Target = hub.Deletion, b.ref(data.RemoteDelete.Timestamp)
	case data.AdminDelete != nil:
		m.Kind, m.Target = hub.Deletion, b.ref(data.AdminDelete.Target)
	case data.ViewOnce:
		return m, viewOnce
	default:
		d.text(&m, b)
	}
	if m.Kind != hub.Deletion && m.Text == "" && len(m.Attachments) == 0 {
		return m, wordless
	}
	m.Addressed = m.Quote != nil && m.Quote.Ours || d.mentioned(data.Mentions)
	return m, kept
}

func (d *decoder) text(m *hub.Message, b body) {
	text, attachments := d.files.longText(b.data.Message, b.data.Attachments)
	m.Text = hub.StripControl(withMentions(text, b.data.Mentions))
	m.Attachments = d.files.attachments(attachments)
	m.Receipt = !b.self
	if b.edits != 0 {
		m.Kind, m.Target, m.Receipt = hub.Edit, b.ref(b.edits), false
	}
}

func (d *decoder) reaction(m *hub.Message, b body) {
	r := b.data.Reaction
	m.Kind, m.Text, m.Removed = hub.Reaction, hub.StripControl(r.Emoji), r.Remove
	m.Quote = d.author(b, address{Number: r.Number, UUID: r.UUID})
	m.Quote.Ref = b.ref(r.Target)
}

func (d *decoder) quote(b body) *hub.Quote {
	q := b.data.Quote
	if q == nil {
		return nil
	}
	quote := d.author(b, address{Number: q.Number, UUID: q.UUID})
	quote.Ref = b.ref(q.ID)
	quote.Text = hub.Clip(hub.StripControl(withMentions(q.Text, q.Mentions)), hub.PreviewBytes)
	return quote
}

// author says who wrote what is quoted. In Note to Self that is always us.
func (d *decoder) author(b body, a address) *hub.Quote {
	if a.Number != "" && a.UUID != "" {
		d.people.learn(a, "") // the daemon has put them together, not the sender
	}
	if b.self || d.people.ours(a) {
		id, aliases := d.people.shown()
		return &hub.Quote{Ours: true, From: id, Aliases: aliases}
	}
	x := d.people.find(a)
	if x == nil {
		x = newPerson(address{Number: a.Number, UUID: normal(a.UUID)}, "")
	}
	return &hub.Quote{From: x.id(), Aliases: x.aliases()}
}

func (d *decoder) mentioned(mentions []mention) bool {
	for _, m := range mentions {
		if d.people.ours(address{Number: m.Number, UUID: m.UUID}) {
			return true
		}
	}
	return false
}

func (b body) sender() hub.Sender {
	s := hub.Sender{ID: b.who.id(), Aliases: b.who.aliases(), Lasting: b.who.lasting(), Name: b.who.name}
	if b.self {
		s.Device = cmp.Or(int(b.device), -1)
	}
	return s
}

func (b body) ref(timestamp int64) hub.Ref {
	return hub.Ref{Platform: ID, Chat: b.chat, Key: strconv.FormatInt(timestamp, 10)}
}

// dedup is the same for the same message brought twice: the daemon delivers
// again after a crash, and two ciphertexts can carry one message. The UUID
// stays the same where a number comes and goes.
func dedup(account string, b body, m hub.Message) string {
	sender := cmp.Or(b.who.UUID, string(b.who.id()))
	return account + "|" + sender + "|" + strconv.FormatInt(b.device, 10) + "|" + m.Ref.Key + "|" + string(m.Kind)
}
