package desktop

import (
	"cmp"
	"context"
	"database/sql"
	"math"

	"aldis/internal/hub"
)

// chat is the condition that a message belongs to its conversation and not to a
// story. Signal's own indexes are made for these very words.
const chat = "m.isStory = 0 AND m.storyId IS NULL"

// A place is where a message stands in the order of all: first that in which
// messages came, which is a counter and no time, then the sender's clock, then
// the row. Of messages from long ago the first may be unknown; they are the
// oldest.
type place struct {
	received sql.NullInt64
	sent     int64 // unsent: unknown
	row      int64
}

// unsent is when a message was sent of which that is not noted: before all
// others, as SQLite orders NULL.
const unsent = math.MinInt64

// sent is when a message (m) was sent. Senders say that, so it may be a number
// that is none of 64 bits.
const sent = "CAST(COALESCE(m.sent_at, -9223372036854775808) AS INTEGER)"

// before reports whether p is older than q.
func (p place) before(q place) bool {
	if p.received.Valid != q.received.Valid {
		return q.received.Valid
	}
	return cmp.Or(cmp.Compare(p.received.Int64, q.received.Int64), cmp.Compare(p.sent, q.sent), cmp.Compare(p.row, q.row)) < 0
}

// sentAt is the sender's clock as hosts are shown it, in Unix milliseconds.
func (p place) sentAt() int64 {
	if p.sent == unsent {
		return 0
	}
	return p.sent
}

// visible is the condition on messages (m) that a host may see them at all. It
// is part of every query for messages.
func (v *view) visible() (c clause) {
	c.add(chat)
	c.add("m.type IN ('incoming', 'outgoing')")
	if ids := v.reader.grants.Conversations; len(ids) > 0 {
		c = c.and(in("m.conversationId", ids))
	}
	if since := v.reader.grants.Since; since > 0 {
		c.add(v.schema.time()+" >= ?", since)
	}
	return c
}

// time is when a message came, in Unix milliseconds: by our clock, or where
// that was not noted, as by Signal of before 2025, by the sender's.
func (s *schema) time() string {
	if s.has("messages", "received_at_ms") {
		return "COALESCE(m.received_at_ms, m.sent_at)"
	}
	return "m.sent_at"
}

// within is the condition that a message is visible and in the conversation, if
// one is named, and between the bounds of w.
func (v *view) within(conversation string, w Window) clause {
	c := v.visible()
	if conversation != "" {
		c.add("m.conversationId = ?", conversation)
	}
	if w.Before > 0 {
		c.add(v.schema.time()+" < ?", w.Before)
	}
	if w.After > 0 {
		c.add(v.schema.time()+" > ?", w.After)
	}
	return c
}

// walk returns at most limit of the messages (m) that a query begins with and c
// wants, in the order of places: those past from, or from the end if it is nil.
// An example of a query is "messages m INDEXED BY x".
func (v *view) walk(ctx context.Context, query string, c clause, newer bool, from *place, limit int) (rows []row, err error) {
	for _, part := range parts(newer, from) {
		c := c.and(part)
		more, err := all(ctx, v.db, scanListed, "SELECT "+v.schema.rowColumns()+" FROM "+query+" WHERE "+c.String()+inOrder(newer)+" LIMIT ?",
			append(c.args, limit-len(rows))...)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, more...); len(rows) == limit {
			break
		}
	}
	return rows, nil
}

// inOrder orders messages (m) by their places, as they are walked over.
func inOrder(newer bool) string {
	if newer {
		return " ORDER BY m.received_at, m.sent_at, m.rowid"
	}
	return " ORDER BY m.received_at DESC, m.sent_at DESC, m.rowid DESC"
}

// parts are the conditions of a walk, which are to be asked for one after the
// other: for comparisons, what is NULL is nowhere.
func parts(newer bool, from *place) []clause {
	known, unknown := clause{terms: []string{"m.received_at IS NOT NULL"}}, clause{terms: []string{"m.received_at IS NULL"}}
	than := " < "
	if newer {
		than = " > "
	}
	switch {
	case from == nil:
	case from.received.Valid:
		known = clause{}
		known.add("(m.received_at, "+sent+", m.rowid)"+than+"(?, ?, ?)", from.received.Int64, from.sent, from.row)
		if newer {
			return []clause{known}
		}
	default:
		unknown.add("("+sent+", m.rowid)"+than+"(?, ?)", from.sent, from.row)
		if !newer {
			return []clause{unknown}
		}
	}
	if newer {
		return []clause{unknown, known}
	}
	return []clause{known, unknown}
}

// Messages returns messages of one conversation. It fails with Invalid for a
// query that contradicts itself or has a cursor of another one, and with
// NotFound if there is no such conversation, or no such message to look around.
func (r *Reader) Messages(ctx context.Context, q MessageQuery) (Messages, error) {
	if q.Around != "" {
		return r.around(ctx, q)
	}
	s := scope{Tool: "messages", Conversation: q.Conversation}
	from, err := r.start(s, q.Window)
	if err != nil {
		return Messages{}, err
	}
	limit := capped(q.Limit, r.limits.messages)
	return read(ctx, r, func(ctx context.Context, v *view) (Messages, error) {
		if err := v.mustKnow(ctx, q.Conversation); err != nil {
			return Messages{}, err
		}
		rows, err := v.walk(ctx, v.inConversation(), v.within(q.Conversation, q.Window), q.Newer, from, limit+1)
		if err != nil {
			return Messages{}, err
		}
		return v.page(ctx, s, q.Window, rows, limit)
	})
}

// inConversation is the table of messages as a query for those of one
// conversation begins.
func (v *view) inConversation() string { return "messages m" + v.schema.hint(inConversation) }

// around returns a message of the conversation and its neighbours.
func (r *Reader) around(ctx context.Context, q MessageQuery) (Messages, error) {
	w := q.Window
	if w.Limit = 0; w != (Window{}) {
		return Messages{}, hub.Errorf(hub.Invalid, "around stands alone: leave out direction, before, after and cursor")
	}
	limit := min(capped(q.Limit, r.limits.messages), (r.limits.messages-1)/2)
	return read(ctx, r, func(ctx context.Context, v *view) (Messages, error) {
		if err := v.mustKnow(ctx, q.Conversation); err != nil {
			return Messages{}, err
		}
		mid, err := v.row(ctx, q.Around, q.Conversation)
		if err != nil {
			return Messages{}, err
		}
		c := v.within(q.Conversation, Window{})
		older, err := v.walk(ctx, v.inConversation(), c, false, &mid.place, limit+1)
		if err != nil {
			return Messages{}, err
		}
		newer, err := v.walk(ctx, v.inConversation(), c, true, &mid.place, max(limit, 1))
		if err != nil {
			return Messages{}, err
		}
		return v.surroundings(ctx, q.Conversation, older, mid, newer, limit)
	})
}

// Message returns one message, by its id. It fails with NotFound if there is
// none that may be seen.
func (r *Reader) Message(ctx context.Context, id string) (Message, error) {
	return read(ctx, r, func(ctx context.Context, v *view) (Message, error) {
		found, err := v.row(ctx, id, "")
		if err != nil {
			return Message{}, err
		}
		msgs, err := v.messages(ctx, []row{found}, messageBody)
		if err != nil {
			return Message{}, err
		}
		return msgs[0], nil
	})
}

// row returns the message of that id, if it may be seen, in the conversation if
// one is named.
func (v *view) row(ctx context.Context, id, conversation string) (row, error) {
	c := v.within(conversation, Window{})
	c.add("m.id = ?", id)
	found, ok, err := one(ctx, v.db, scanRow, "SELECT "+v.schema.rowColumns()+" FROM messages m WHERE "+c.String(), c.args...)
	if err == nil && !ok {
		err = hub.Errorf(hub.NotFound, "there is no such message; take ids from what another tool answered")
	}
	return found, err
}
