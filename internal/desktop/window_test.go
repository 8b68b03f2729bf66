package desktop

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aldis/internal/hub"
	"aldis/internal/hubtest/signaldesktop"
)

// fill puts n messages into the chat with Ada, many of which came in the same
// place of the order, and some in none. It returns their ids, the oldest first.
func (d desktop) fill(n int) []string {
	rows := make([]columns, n)
	for i := range rows {
		received := any(100 + i/3)
		if i < n/10 {
			received = nil // from long ago
		}
		rows[i] = columns{
			"id": fmt.Sprintf("m%03d", i), "conversationId": "c-ada", "type": []string{"incoming", "outgoing"}[i%2], "body": fmt.Sprint("text ", i),
			"sent_at": 1000 + i/2, "received_at": received, "received_at_ms": 5000 + i, "json": columns{},
		}
	}
	d.put("messages", rows...)
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("m%03d", i)
	}
	return list
}

// noise puts in what is no message of a chat, or of another one.
func (d desktop) noise() {
	base := columns{"conversationId": "c-ada", "type": "incoming", "body": "noise", "sent_at": 1010, "received_at": 105, "received_at_ms": 5010, "json": columns{}}
	for i, change := range []columns{
		{"type": "story"},
		{"storyId": "s1"},
		{"type": "group-v2-change"},
		{"type": "keychange"},
		{"type": "call-history"},
		{"type": "poll-terminate"},
		{"conversationId": "c-bob"},
		{"conversationId": "c-team"},
		{"conversationId": nil},
	} {
		row := columns{"id": fmt.Sprint("noise", i)}
		for _, part := range []columns{base, change} {
			for name, val := range part {
				row[name] = val
			}
		}
		d.put("messages", row)
	}
}

func TestPagesAreTheWholeList(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		want := d.fill(100)
		d.noise()
		r := d.reader(t, Grants{})
		rapid.Check(t, func(rt *rapid.T) {
			q := MessageQuery{Conversation: "c-ada"}
			q.Newer = rapid.Bool().Draw(rt, "newer")
			got, _, err := walked(t.Context(), r, q, func() int { return rapid.IntRange(1, 60).Draw(rt, "limit") })
			if !q.Newer {
				slices.Reverse(got)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				rt.Fatalf("%v (-want +got):\n%s", err, diff)
			}
		})
	})
}

func TestPagesStayTheSameWhileMessagesCome(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	want := d.fill(60)
	r, dice, come := d.reader(t, Grants{}), rand.New(rand.NewPCG(1, 2)), 0
	for _, newer := range []bool{false, true} {
		q := MessageQuery{Conversation: "c-ada", Window: Window{Newer: newer}}
		got, pages, err := walked(t.Context(), r, q, func() int {
			come++
			d.put("messages", columns{
				"id": fmt.Sprint("new", come), "conversationId": "c-ada", "type": "incoming",
				"sent_at": 9000, "received_at": 9000 + come/2, "received_at_ms": 9000, "json": columns{},
			})
			d.Exec("UPDATE messages SET json = ? WHERE id = ?", asJSON(columns{"n": come}), want[dice.IntN(len(want))]) // a receipt
			return 1 + dice.IntN(7)
		})
		got = slices.DeleteFunc(got, func(id string) bool { return strings.HasPrefix(id, "new") })
		if !newer {
			slices.Reverse(got)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || pages < 6 {
			t.Errorf("newer %v: %v, %d pages (-want +got):\n%s", newer, err, pages, diff)
		}
	}
}

func TestBoundsAreOnTheTime(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	d.fill(20) // which came at 5000 to 5019
	d.put("messages", columns{"id": "unnoted", "conversationId": "c-ada", "type": "incoming", "sent_at": 5005, "received_at": 999, "json": columns{}})
	r := d.reader(t, Grants{})
	for _, tt := range []struct {
		before, after int64
		want          string
	}{
		{5003, 0, "m000 m001 m002"},
		{0, 5017, "m018 m019"},
		{5007, 5004, "m005 m006 unnoted"},
		{5005, 5005, ""},
	} {
		q := MessageQuery{Conversation: "c-ada", Window: Window{Before: tt.before, After: tt.after}}
		ans, err := r.Messages(t.Context(), q)
		if got := strings.Join(ids(ans.Messages), " "); got != tt.want || err != nil || ans.HasMore {
			t.Errorf("before %d, after %d: got %q, %v", tt.before, tt.after, got, err)
		}
	}
}

func TestAroundAMessage(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	list := d.fill(40)
	o := d.options(t)
	o.MaxMessages = 20
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, tt := range []struct {
		at, limit, from, to int
	}{
		{20, 3, 17, 24},
		{0, 3, 0, 4},
		{39, 2, 37, 40},
		{2, 3, 0, 6},
		{20, 0, 11, 30}, // as many as there may be: 9 on either side
		{20, 99, 11, 30},
	} {
		q := MessageQuery{Conversation: "c-ada", Around: list[tt.at], Window: Window{Limit: tt.limit}}
		ans, err := r.Messages(t.Context(), q)
		if diff := cmp.Diff(list[tt.from:tt.to], ids(ans.Messages)); diff != "" || err != nil {
			t.Errorf("%+v: %v (-want +got):\n%s", tt, err, diff)
		}
		if ans.HasMore != (tt.from > 0) {
			t.Errorf("%+v: has more: %v", tt, ans.HasMore)
		}
		if ans.HasMore {
			before, _, err := walked(t.Context(), r, MessageQuery{Conversation: "c-ada", Window: Window{Cursor: ans.NextCursor}}, func() int { return 7 })
			slices.Reverse(before)
			if diff := cmp.Diff(list[:tt.from], before); diff != "" || err != nil {
				t.Errorf("%+v: what is before: %v (-want +got):\n%s", tt, err, diff)
			}
		}
	}
	for what, q := range map[string]MessageQuery{
		"of no message":             {Conversation: "c-ada", Around: "none"},
		"of one in another chat":    {Conversation: "c-bob", Around: list[3]},
		"in a chat that is not":     {Conversation: "none", Around: list[3]},
		"of what is to be searched": {Conversation: "", Around: list[3]},
	} {
		if _, err := r.Messages(t.Context(), q); hub.KindOf(err) != hub.NotFound {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err = r.Messages(t.Context(), MessageQuery{Conversation: "c-ada", Around: list[3], Window: Window{Newer: true}})
	if hub.KindOf(err) != hub.Invalid {
		t.Errorf("with a direction: got %v", err)
	}
}

func TestPagesHaveABound(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	want := d.fill(40)
	for i, id := range want {
		body := strings.Repeat("ж", 1000*(i%20))
		if i == 30 {
			body = strings.Repeat("\x01", 20_000) // six bytes each
		}
		d.Exec("UPDATE messages SET body = ? WHERE id = ?", body, id)
	}
	r := d.reader(t, Grants{})
	for _, q := range []MessageQuery{{}, {Window: Window{Newer: true}}} {
		q.Conversation = "c-ada"
		got := []string{}
		for more := true; more; {
			ans, err := r.Messages(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			page, _ := Encode(ans)
			if len(page) > pageBytes || len(ans.Messages) == 0 || ans.SizeTruncated != ans.HasMore {
				t.Errorf("%d bytes, %d messages, truncated %v", len(page), len(ans.Messages), ans.SizeTruncated)
			}
			for _, m := range ans.Messages {
				if long := len(m.Body) > 16_000; m.BodyTruncated != long && m.ID != "m030" {
					t.Errorf("%s: %d bytes, truncated %v", m.ID, len(m.Body), m.BodyTruncated)
				}
			}
			got = append(got, ids(ans.Messages)...)
			q.Cursor, more = ans.NextCursor, ans.HasMore
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	ans, err := r.Messages(t.Context(), MessageQuery{Conversation: "c-ada", Around: "m029"})
	if page, _ := Encode(ans); err != nil || len(page) > pageBytes || !ans.SizeTruncated || !slices.Contains(ids(ans.Messages), "m029") {
		t.Errorf("around: %d bytes, %v, %v", len(page), ids(ans.Messages), err)
	}
	m, err := r.Message(t.Context(), "m019")
	if err != nil || len(m.Body) != 38_000 || m.BodyTruncated {
		t.Errorf("alone it has %d bytes, %v", len(m.Body), err)
	}
}

func TestWindowsAreReadAlongAnIndex(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		r := d.reader(t, Grants{Since: 5, Conversations: []string{"a", "b"}})
		err := r.view(t.Context(), func(ctx context.Context, v *view) error {
			for _, from := range []*place{nil, {received: sql.NullInt64{Int64: 1, Valid: true}}, {}} {
				for _, newer := range []bool{false, true} {
					for _, part := range parts(newer, from) {
						c := v.within("c", Window{Before: 9}).and(part)
						plan, err := all(ctx, v.db, planned, "EXPLAIN QUERY PLAN SELECT "+v.schema.rowColumns()+
							" FROM "+v.inConversation()+" WHERE "+c.String()+inOrder(newer), c.args...)
						if text := strings.Join(plan, "; "); err != nil || !strings.Contains(text, "SEARCH m USING INDEX "+inConversation) || strings.Contains(text, "TEMP") {
							t.Errorf("newer %v from %v: %s, %v", newer, from, text, err)
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func planned(rows *sql.Rows) (step string, err error) {
	var ignored any
	err = rows.Scan(&ignored, &ignored, &ignored, &step)
	return step, err
}

// TestBeforeTimesWereNoted reads a database in which only json tells when a
// message came.
func TestBeforeTimesWereNoted(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 88})
	d.people()
	for i := range 4 {
		d.put("messages", columns{
			"id": fmt.Sprint("m", i), "conversationId": "c-ada", "type": "incoming", "sent_at": 1000 + i, "received_at": 10 - i,
			"json": columns{"received_at_ms": 5000},
		})
	}
	r := d.reader(t, Grants{Since: 30})
	ans, err := r.Messages(t.Context(), MessageQuery{Conversation: "c-ada", Window: Window{After: 1000, Before: 1003}})
	if diff := cmp.Diff([]string{"m2", "m1"}, ids(ans.Messages)); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if m := ans.Messages[0]; m.SentAt != 1002 || m.ReceivedAt != 5000 {
		t.Errorf("sent at %d, received at %d", m.SentAt, m.ReceivedAt)
	}
}
