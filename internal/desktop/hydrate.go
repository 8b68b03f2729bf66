package desktop

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"aldis/internal/hub"
)

// Bounds of what is shown of one message besides its text.
const (
	maxQuote       = 4 << 10 // bytes of a text that is quoted, of a question
	maxLink        = 1 << 10 // bytes
	maxName        = 256     // bytes of a name, a title, a caption, an emoji
	maxReactions   = 50
	maxAttachments = 32
	maxItems       = 16 // choices of a poll, links, contacts, files of a quote
)

// messages makes of rows what hosts are shown, in the same order, with texts of
// at most bodyMax bytes.
func (v *view) messages(ctx context.Context, rows []row, bodyMax int) ([]Message, error) {
	files, err := v.attachments(ctx, rows)
	if err != nil {
		return nil, err
	}
	if err := v.meet(ctx, rows); err != nil {
		return nil, err
	}
	if err := v.forget(ctx, rows); err != nil {
		return nil, err
	}
	msgs := make([]Message, len(rows))
	for i, r := range rows {
		msgs[i] = v.message(r, files[r.id], bodyMax)
	}
	return msgs, nil
}

// message is one row as hosts are shown it. Of one whose content is gone, or
// may be seen once, it says that alone.
func (v *view) message(r row, f *files, bodyMax int) Message {
	m := Message{
		ID:             r.id,
		ConversationID: r.conversation,
		Direction:      Direction(r.kind),
		SentAt:         r.sentAt(),
		ReceivedAt:     cmp.Or(r.receivedAt.Int64, r.json.ReceivedAtMS),
		Sender:         v.sender(r),
		ViewOnce:       r.viewOnce,
		Deleted:        bool(r.json.Deleted),
		Erased:         r.erased && !bool(r.json.Deleted),
		Reactions:      v.reactions(r.json),
	}
	switch {
	case bool(r.json.Deleted) || r.erased:
	case r.viewOnce:
		m.Attachments = []Attachment{{ViewOnce: true}}
	default:
		v.fill(&m, r, f, bodyMax)
	}
	return m
}

// fill adds the content.
func (v *view) fill(m *Message, r row, f *files, bodyMax int) {
	m.Body, m.BodyTruncated = clip(withMentions(r.body, mentioned(r.json.BodyRanges), v.people.mention), bodyMax)
	m.EditedAt = r.json.EditedAt
	m.Quote = v.quote(r.json.Quote)
	m.Attachments, m.BodyPartial = attached(r, f)
	if s := r.json.Sticker; s != nil {
		m.Sticker = &Sticker{Emoji: short(s.Emoji)}
	}
	if p := r.json.Poll; p != nil {
		m.Poll = &Poll{Question: hub.Clip(p.Question, maxQuote), Options: some(p.Options, maxItems, short)}
	}
	m.Previews = some(r.json.Previews, maxItems, func(p previewJSON) Preview {
		return Preview{URL: hub.Clip(p.URL, maxLink), Title: short(p.Title)}
	})
	m.Contacts = some(r.json.Contacts, maxItems, contactJSON.title)
}

// clip is hub.Clip that says whether it did.
func clip(s string, most int) (clipped string, cut bool) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	clipped = hub.Clip(s, most)
	return clipped, len(clipped) < len(s)
}

func short(s string) string { return hub.Clip(s, maxName) }

// some makes at most so many values of others.
func some[T, U any](vals []T, most int, fn func(T) U) (made []U) {
	for _, val := range vals[:min(len(vals), most)] {
		made = append(made, fn(val))
	}
	return made
}

// sender is who wrote a message: our account wrote what went out, which its row
// often does not say.
func (v *view) sender(r row) *Person {
	switch source := cmp.Or(r.source, r.json.SourceServiceID); {
	case r.kind == string(Outgoing):
		return v.people.byService(cmp.Or(v.people.self, source))
	case source != "":
		return v.people.byService(source)
	default:
		return v.people.byConversation(r.conversation)
	}
}

func (v *view) reactions(m messageJSON) []Reaction {
	return some(m.Reactions, maxReactions, func(r reactionJSON) Reaction {
		return Reaction{Emoji: short(r.Emoji), From: v.people.byConversation(r.FromID), At: r.At}
	})
}

// quote is what a message answers. Its text and files are a copy, so they have
// gone with the message when that may be seen once only, or is from before the
// time of the grants.
func (v *view) quote(q *quoteJSON) *Quote {
	if q == nil {
		return nil
	}
	shown := &Quote{SentAt: q.ID, Author: v.people.byService(q.author()), ViewOnce: bool(q.ViewOnce), NotFound: q.NotFound}
	if bool(q.ViewOnce) || q.ID < v.reader.grants.Since {
		return shown
	}
	shown.Text = hub.Clip(withMentions(q.Text, mentioned(q.BodyRanges), v.people.mention), maxQuote)
	shown.Attachments = some(q.Attachments, maxItems, func(a attachmentJSON) QuoteAttachment {
		return QuoteAttachment{ContentType: short(a.ContentType), FileName: short(a.FileName)}
	})
	return shown
}

// forget takes from quotes their copy of what hosts may not see of the message
// itself: it is gone, may be seen once only, or is outside the grants.
func (v *view) forget(ctx context.Context, rows []row) error {
	type original struct {
		conversation string
		sent         int64
	}
	quotes, times := map[original][]*quoteJSON{}, []int64{}
	for _, r := range rows {
		if q := r.json.Quote; q != nil {
			o := original{r.conversation, q.ID}
			quotes[o], times = append(quotes[o], q), append(times, q.ID)
		}
	}
	if len(times) == 0 {
		return nil
	}
	list, err := json.Marshal(times)
	if err != nil {
		return err
	}
	c := v.visible()
	c.add(unspoilt)
	return each(ctx, v.db, func(rows *sql.Rows) (bool, error) {
		var o original
		err := rows.Scan(&o.conversation, &o.sent)
		for _, q := range quotes[o] {
			q.Text, q.Attachments = "", nil
		}
		return true, err
	}, "SELECT COALESCE(m.conversationId, ''), m.sent_at FROM messages m WHERE m.sent_at IN (SELECT value FROM json_each(?)) AND ("+
		c.String()+") IS NOT TRUE", append([]any{string(list)}, c.args...)...)
}

func (q *quoteJSON) author() string { return cmp.Or(q.AuthorACI, q.AuthorUUID) }

// title is the name of somebody whose contact was shared.
func (c contactJSON) title() string {
	return short(firstName("", c.Name.Nickname, c.Name.Display, joined(c.Name.Given, c.Name.Family), c.Organization))
}
