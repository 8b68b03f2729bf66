package desktop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

func TestTheLongestMessageFitsIntoAPage(t *testing.T) {
	wide := strings.Repeat("\x01", maxQuote) // of characters that JSON has six bytes for
	m := Message{
		ID: "m", Body: wide, Sender: &Person{Name: wide},
		Quote: &Quote{Text: wide, Attachments: slices.Repeat([]QuoteAttachment{{wide[:maxName], wide[:maxName]}}, maxItems)},
		Poll:  &Poll{Question: wide, Options: slices.Repeat([]string{wide[:maxName]}, maxItems)},
	}
	ans := fitting([]Message{m})
	if page, err := Encode(ans); err != nil || len(page) > pageBytes || !ans.Messages[0].BodyTruncated || ans.Messages[0].ID != "m" {
		t.Errorf("%d bytes, %v", len(page), err)
	}
}

// TestPagesHaveMessagesOfUnknownTimes walks over messages of which it is not
// noted when they came, or were sent, or neither.
func TestPagesHaveMessagesOfUnknownTimes(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	var want []string
	for i := range 24 {
		row := columns{"id": fmt.Sprintf("m%02d", i), "conversationId": "c-ada", "type": "incoming", "body": "word", "json": columns{}}
		if i%3 != 0 {
			row["received_at"] = 5 + i/12
		}
		if i%2 != 0 {
			row["sent_at"] = i%4 - 2
		}
		d.put("messages", row)
		want = append(want, row["id"].(string))
	}
	r := d.reader(t, Grants{})
	for _, newer := range []bool{false, true} {
		got, _, err := walked(t.Context(), r, MessageQuery{Conversation: "c-ada", Window: Window{Newer: newer}}, func() int { return 1 })
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("newer %v: %v (-want +got):\n%s", newer, err, diff)
		}
		q, found := SearchQuery{Text: "word", Window: Window{Newer: newer, Limit: 1}}, []string{}
		for more := true; more && err == nil; {
			var ans Messages
			ans, err = r.Search(t.Context(), q)
			found = append(found, ids(ans.Messages)...)
			q.Cursor, more = ans.NextCursor, ans.HasMore
		}
		slices.Sort(found)
		if diff := cmp.Diff(want, found); diff != "" || err != nil {
			t.Errorf("searched, newer %v: %v (-want +got):\n%s", newer, err, diff)
		}
	}
}

func TestNumbersOfSendersHideNothing(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	want := []string{}
	for i, at := range []any{1, 12.25, 18446744073709551615.0, 1e300, -1e300, "soon", nil} {
		want = append(want, fmt.Sprint("m", i))
		d.put("messages", columns{
			"id": want[i], "conversationId": "c-ada", "type": "incoming", "body": "word", "json": columns{},
			"sent_at": at, "received_at": i, "received_at_ms": at,
		})
	}
	r := d.reader(t, Grants{})
	got, _, err := walked(t.Context(), r, MessageQuery{Conversation: "c-ada", Window: Window{Newer: true}}, func() int { return 2 })
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	found, err := r.Search(t.Context(), SearchQuery{Text: "word"})
	if diff := cmp.Diff(want, ids(found.Messages)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestQuotesForgetWhatMayNotBeSeen(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		for i, tt := range []struct {
			what     string
			original columns
			kept     bool
		}{
			{"there", columns{}, true},
			{"of another conversation", columns{"conversationId": "c-bob", "isErased": 1}, true},
			{"erased", columns{"isErased": 1}, false},
			{"deleted for everybody", columns{"json": columns{"deletedForEveryone": true}}, false},
			{"seen once", columns{"isViewOnce": 1}, false},
			{"a story", columns{"type": "story"}, false},
			{"older than the grants", columns{"received_at_ms": 999}, false},
		} {
			original := columns{"id": tt.what, "conversationId": "c-ada", "type": "incoming", "sent_at": 2000 + i, "received_at": i, "received_at_ms": 3000, "json": columns{}}
			for name, val := range tt.original {
				original[name] = val
			}
			answer := columns{"id": "to " + tt.what, "conversationId": "c-ada", "type": "incoming", "sent_at": 5000, "received_at": 100 + i, "received_at_ms": 5000, "json": columns{
				"quote": columns{"id": 2000 + i, "text": "copy", "attachments": []columns{{"fileName": "copy"}}},
			}}
			d.put("messages", original, answer)
			m, err := d.reader(t, Grants{Since: 1000}).Message(t.Context(), "to "+tt.what)
			if err != nil {
				t.Fatal(err)
			}
			if got, kept := asJSON(m.Quote), strings.Contains(asJSON(m.Quote), "copy"); kept != tt.kept || m.Quote.SentAt == 0 {
				t.Errorf("%s: got %s", tt.what, got)
			}
		}
	})
}
