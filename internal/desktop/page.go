package desktop

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"aldis/internal/hub"
)

// Bounds of what an answer holds, in bytes.
const (
	pageBytes   = 64 << 10  // a page's JSON
	listBody    = 16 << 10  // a message's text in a page
	messageBody = 256 << 10 // the text of a message that is asked for alone
	envelope    = 256       // what a page's JSON has besides messages
)

// Encode writes an answer as hosts are given it: compact JSON, with <, > and &
// as they are. Pages are measured by it.
func Encode(answer any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// page is the answer of a query that got rows, in the order in which it walks,
// and one more than limit if there are more.
func (v *view) page(ctx context.Context, s scope, w Window, rows []row, limit int) (Messages, error) {
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	msgs, err := v.messages(ctx, rows, listBody)
	if err != nil {
		return Messages{}, err
	}
	if s.Conversation != "" {
		unnamed(msgs)
	}
	ans := fitting(msgs)
	if ans.HasMore = more || ans.SizeTruncated; ans.HasMore {
		ans.NextCursor = v.reader.cursor(s, w, rows[len(ans.Messages)-1].place)
	}
	if !w.Newer {
		slices.Reverse(ans.Messages)
	}
	return ans, nil
}

// surroundings is the answer of a query for what is around mid: the nearest
// first, so that what is too long for a page is lost at its ends. Its cursor
// goes on backwards.
func (v *view) surroundings(ctx context.Context, conversation string, older []row, mid row, newer []row, limit int) (Messages, error) {
	more := len(older) > limit
	older, newer = older[:min(len(older), limit)], newer[:min(len(newer), limit)]
	rows := []row{mid}
	for i := range max(len(older), len(newer)) {
		rows = append(rows, older[min(i, len(older)):min(i+1, len(older))]...)
		rows = append(rows, newer[min(i, len(newer)):min(i+1, len(newer))]...)
	}
	msgs, err := v.messages(ctx, rows, listBody)
	if err != nil {
		return Messages{}, err
	}
	unnamed(msgs)
	ans := fitting(msgs)
	before, after, oldest := []Message{}, []Message{}, mid.place
	for i, m := range ans.Messages {
		if rows[i].before(mid.place) {
			before, oldest = append(before, m), rows[i].place
		} else {
			after = append(after, m)
		}
	}
	slices.Reverse(before)
	if ans.HasMore = more || len(before) < len(older); ans.HasMore {
		ans.NextCursor = v.reader.cursor(scope{Tool: "messages", Conversation: conversation}, Window{}, oldest)
	}
	ans.Messages = append(before, after...)
	return ans, nil
}

// unnamed leaves out the conversation, which the query has named.
func unnamed(msgs []Message) {
	for i := range msgs {
		msgs[i].ConversationID = ""
	}
}

// fitting is an answer with as many of the messages, from the first on, as fit
// into a page, and at least one.
func fitting(msgs []Message) Messages {
	kept := fit(msgs)
	if kept == 0 && len(msgs) > 0 {
		shorten(&msgs[0])
		kept = 1
	}
	return Messages{Messages: append([]Message{}, msgs[:kept]...), SizeTruncated: kept < len(msgs)}
}

// fit returns how many of the values, from the first on, fit into a page.
func fit[T any](vals []T) int {
	left := pageBytes - envelope
	for i, val := range vals {
		if left -= size(val) + len(","); left < 0 {
			return i
		}
	}
	return len(vals)
}

// size is how long a value is in an answer.
func size(val any) int {
	b, _ := Encode(val) // of strings, numbers and flags, which always can be
	return len(b)
}

// shorten cuts a message until it fits into a page: first its text, some of
// whose characters are written with six bytes, then its lists, then what else is
// of a length that others chose.
func shorten(m *Message) {
	for fit([]Message{*m}) == 0 {
		m.BodyTruncated = true
		switch {
		case m.Body != "":
			m.Body = hub.Clip(m.Body, len(m.Body)/2)
		case len(m.Reactions)+len(m.Attachments)+len(m.Previews)+len(m.Contacts) > 0:
			m.Reactions, m.Attachments = half(m.Reactions), half(m.Attachments)
			m.Previews, m.Contacts = half(m.Previews), half(m.Contacts)
		default:
			m.Sender, m.Quote, m.Poll, m.Sticker = nil, nil, nil, nil
			return
		}
	}
}

func half[T any](vals []T) []T { return vals[:len(vals)/2] }
