package desktop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest/signaldesktop"
)

// A said is a message of a test, in the columns that Signal has for it. Numbers
// that are zero are put in as they come.
type said struct {
	ID           string `json:"id"`
	Chat         string `json:"chat"`
	Text         string `json:"text"`
	Type         string `json:"type"` // empty: incoming
	StoryID      string `json:"story,omitempty"`
	Erased       bool   `json:"erased"`
	ViewOnce     bool   `json:"once"`
	SentAt       int64  `json:"sent"`
	Received     int64  `json:"received"` // the counter
	ReceivedAtMS int64  `json:"at"`
	JSON         string `json:"json"` // empty: an object without fields
}

// talk makes a database with chats with Alice and Bob, and what was said.
func talk(t testing.TB, msgs ...said) desktop {
	t.Helper()
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	for _, id := range []string{"alice", "bob"} {
		d.put("conversations", columns{"id": id, "type": "private", "active_at": 1 << 50, "serviceId": id + "'s", "json": columns{}})
	}
	say(t, d, msgs...)
	return d
}

func say(t testing.TB, d desktop, msgs ...said) {
	t.Helper()
	for i := range msgs {
		m := &msgs[i]
		m.ID = cmp.Or(m.ID, fmt.Sprint("m", i))
		m.Chat, m.Type, m.JSON = cmp.Or(m.Chat, "alice"), cmp.Or(m.Type, "incoming"), cmp.Or(m.JSON, "{}")
		m.Received = cmp.Or(m.Received, int64(1000+i))
		m.SentAt, m.ReceivedAtMS = cmp.Or(m.SentAt, m.Received), cmp.Or(m.ReceivedAtMS, m.Received)
	}
	for part := range slices.Chunk(msgs, 5_000) {
		list, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		d.Exec(`INSERT INTO messages (id, conversationId, body, type, storyId, isErased, isViewOnce, sent_at, received_at, received_at_ms, json)
			SELECT value ->> 'id', value ->> 'chat', value ->> 'text', value ->> 'type', value ->> 'story', value ->> 'erased', value ->> 'once',
				value ->> 'sent', value ->> 'received', value ->> 'at', value ->> 'json' FROM json_each(?)`, string(list))
	}
}

// effort is how a search is to be done.
type effort struct{ patience, maxHits int }

var (
	walks   = effort{patience: 1 << 30}
	scans   = effort{patience: 1, maxHits: 1 << 30}
	givesUp = effort{patience: 1} // the scan, so that it walks on
)

var efforts = map[string]effort{"walk": walks, "scan": scans, "scan in vain": givesUp}

// find returns the ids that a search finds with an effort, in its order.
func (e effort) find(t testing.TB, r *Reader, q SearchQuery) []string {
	t.Helper()
	ids, err := read(t.Context(), r, func(ctx context.Context, v *view) ([]string, error) {
		s := &search{view: v, needle: newNeedle(q.Text, q.Exact), query: q, patience: e.patience, maxHits: e.maxHits, want: cmp.Or(q.Limit, 1000)}
		err := s.run(ctx)
		ids := []string{}
		for _, row := range s.rows {
			ids = append(ids, row.id)
		}
		return ids, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestSearchFindsTheTextItself(t *testing.T) {
	d := talk(t,
		said{ID: "signs", Text: `100% of snake_case in C:\temp isn't "it"`},
		said{ID: "letters", Text: "100 of snakescase"},
		said{ID: "cyrillic", Text: "Привет, МИР"},
		said{ID: "cjk", Text: "今天天气很好"},
		said{ID: "emoji", Text: "👩‍👩‍👧 🎉"},
		said{ID: "hebrew", Text: "שלום עולם"},
		said{ID: "marks", Text: "cafe\u0301 İstanbul"},
		said{ID: "long", Text: strings.Repeat("a long text. ", 9_000) + "Its end"},
		said{ID: "poll", JSON: `{"poll":{"question":"Where to eat?"}}`},
	)
	r := d.reader(t, Grants{})
	for text, want := range map[string][]string{
		"100%":       {"signs"},
		"0% OF":      {"signs"},
		"e_c":        {"signs"},
		`c:\TEMP`:    {"signs"},
		`N'T "it"`:   {"signs"},
		"100":        {"letters", "signs"},
		"akes":       {"letters"},
		"привет":     {"cyrillic"},
		"ивет, м":    {"cyrillic"},
		"天气":         {"cjk"},
		"🎉":          {"emoji"},
		"ום ע":       {"hebrew"},
		"CAFE\u0301": {"marks"},
		"café":       {},
		"i\u0307":    {},
		"İST":        {"marks"},
		"its END":    {"long"},
		"where to":   {"poll"},
		" ":          {"poll", "long", "marks", "hebrew", "emoji", "cyrillic", "letters", "signs"},
	} {
		for name, e := range efforts {
			if diff := gocmp.Diff(want, e.find(t, r, SearchQuery{Text: text})); diff != "" {
				t.Errorf("%s for %q (-want +got):\n%s", name, text, diff)
			}
		}
	}
	if got := walks.find(t, r, SearchQuery{Text: "ПРИВЕТ", Exact: true}); len(got) > 0 {
		t.Errorf("in exact case %q is found", got)
	}
}

func TestSearchKeepsToWhatMayBeSeen(t *testing.T) {
	const text = "the word"
	msgs := []said{
		{ID: "plain", Text: text, Received: 2000},
		{ID: "sent", Text: text, Received: 2001, Type: "outgoing"},
		{ID: "bob's", Text: text, Received: 2002, Chat: "bob"},
		{ID: "old", Text: text, Received: 1000},
		{ID: "late", Text: text, Received: 1001, ReceivedAtMS: 3000, SentAt: 3000}, // the counter is no time
		{ID: "story", Text: text, Received: 2003, Type: "story"},
		{ID: "answer", Text: text, Received: 2004, StoryID: "story"},
		{ID: "once", Text: text, Received: 2005, ViewOnce: true},
		{ID: "once, by json", Text: text, Received: 2006, JSON: `{"isViewOnce":true}`},
		{ID: "erased", Text: text, Received: 2007, Erased: true},
		{ID: "erased, by json", Text: text, Received: 2008, JSON: `{"isErased":true}`},
		{ID: "deleted", Text: text, Received: 2009, JSON: `{"deletedForEveryone":true}`},
		{ID: "event", Text: text, Received: 2010, Type: "group-v2-change"},
		{ID: "no json", Text: text, Received: 2012, JSON: `null`},
	}
	d := talk(t, msgs...)
	d.Exec("DELETE FROM messages_fts_content") // all of them are in the index, as if Signal put them there
	d.Exec("INSERT INTO messages_fts_content (id, c0) SELECT rowid, ? FROM messages", text)
	for _, c := range []struct {
		name   string
		grants Grants
		query  SearchQuery
		want   string
	}{
		{"all", Grants{}, SearchQuery{}, "no json, bob's, sent, plain, late, old"},
		{"from the oldest", Grants{}, SearchQuery{Window: Window{Newer: true}}, "old, late, plain, sent, bob's, no json"},
		{"of a conversation", Grants{}, SearchQuery{Conversation: "bob"}, "bob's"},
		{"of a conversation from the oldest", Grants{}, SearchQuery{Conversation: "alice", Window: Window{Newer: true, Limit: 3}}, "old, late, plain"},
		{"a granted conversation", Grants{Conversations: []string{"bob"}}, SearchQuery{}, "bob's"},
		{"granted conversations", Grants{Conversations: []string{"bob", "carol"}}, SearchQuery{}, "bob's"},
		{"granted time", Grants{Since: 2001}, SearchQuery{}, "no json, bob's, sent, late"},
		{"bounds", Grants{}, SearchQuery{Window: Window{After: 2000, Before: 2003}}, "bob's, sent"},
		{"bounds and grants", Grants{Since: 2002}, SearchQuery{Window: Window{After: 1000, Before: 2003}}, "bob's"},
		{"a few", Grants{}, SearchQuery{Window: Window{Limit: 2}}, "no json, bob's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := d.reader(t, c.grants)
			c.query.Text = text
			for name, e := range efforts {
				if got := strings.Join(e.find(t, r, c.query), ", "); got != c.want {
					t.Errorf("%s finds %s, want %s", name, got, c.want)
				}
			}
		})
	}
}

func TestScanCountsWhatIsGranted(t *testing.T) {
	d := talk(t, said{ID: "bob's", Text: "word", Chat: "bob"}, said{Text: "word"}, said{Text: "word"}, said{Text: "word"})
	r := d.reader(t, Grants{Conversations: []string{"bob", "carol"}})
	err := r.view(t.Context(), func(ctx context.Context, v *view) (err error) {
		s := &search{view: v, needle: newNeedle("word", false), maxHits: 1}
		if s.index, err = s.textIndex(ctx); err != nil {
			return err
		}
		found, err := s.scan(ctx)
		if len(found) != 1 {
			t.Errorf("%v are found", found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSearchWithoutTheIndex(t *testing.T) {
	for name, damage := range map[string][]string{
		"that is not there": {"DROP TABLE messages_fts"},
		"that is not kept up": {
			"DELETE FROM messages_fts_content",
			`INSERT INTO items (id, json) VALUES ('messageInsertTriggersDisabled', '{"id":"messageInsertTriggersDisabled","value":true}')`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := talk(t, said{ID: "body", Text: "Привет"}, said{ID: "poll", JSON: `{"poll":{"question":"ПРИВЕТ?"}}`},
				said{ID: "once", Text: "Привет", ViewOnce: true}, said{ID: "bob's", Text: "привет", Chat: "bob"})
			for _, query := range damage {
				d.Exec(query)
			}
			r := d.reader(t, Grants{})
			if diff := gocmp.Diff([]string{"bob's", "poll", "body"}, scans.find(t, r, SearchQuery{Text: "привет"})); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff([]string{"body", "poll"}, scans.find(t, r, SearchQuery{Text: "привет", Conversation: "alice", Window: Window{Newer: true}})); diff != "" {
				t.Errorf("found in a conversation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSearchRefuses(t *testing.T) {
	d := talk(t, said{Text: "a"}, said{Text: "a"})
	r := d.reader(t, Grants{})
	page, err := r.Search(t.Context(), SearchQuery{Text: "a", Window: Window{Limit: 1}})
	if err != nil || !page.HasMore {
		t.Fatalf("page %+v, error %v", page, err)
	}
	for name, c := range map[string]struct {
		query SearchQuery
		kind  hub.Kind
	}{
		"no text":                    {SearchQuery{}, hub.Invalid},
		"too long a text":            {SearchQuery{Text: strings.Repeat("a", 1025)}, hub.Invalid},
		"bytes that are no text":     {SearchQuery{Text: "\xff"}, hub.Invalid},
		"a cursor of none":           {SearchQuery{Text: "a", Window: Window{Cursor: "x"}}, hub.Invalid},
		"a cursor of another text":   {SearchQuery{Text: "b", Window: Window{Cursor: page.NextCursor}}, hub.Invalid},
		"a cursor of other case":     {SearchQuery{Text: "a", Exact: true, Window: Window{Cursor: page.NextCursor}}, hub.Invalid},
		"a conversation of nobody's": {SearchQuery{Text: "a", Conversation: "carol"}, hub.NotFound},
	} {
		if _, err := r.Search(t.Context(), c.query); hub.KindOf(err) != c.kind {
			t.Errorf("%s: error %v, want one of kind %v", name, err, c.kind)
		}
	}
}

func TestSearchNamesConversationsWhereTheQueryDoesNot(t *testing.T) {
	d := talk(t, said{Text: "hello", Chat: "bob"})
	r := d.reader(t, Grants{})
	for conversation, want := range map[string]string{"": "bob", "bob": ""} {
		page, err := r.Search(t.Context(), SearchQuery{Text: "hello", Conversation: conversation})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].ConversationID != want {
			t.Errorf("of conversation %q: page %+v, error %v", conversation, page, err)
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	d := talk(t)
	d.Exec(`INSERT INTO messages (id, conversationId, body, type, sent_at, received_at, json)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
		SELECT 'n' || i, 'alice', 'nothing that is looked for either', 'incoming', i, i, '{}' FROM n`)
	r := d.reader(t, Grants{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
	defer cancel()
	begun := time.Now()
	for ctx.Err() == nil {
		_, err := r.Search(ctx, SearchQuery{Text: "Привет"})
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want %v", err, context.DeadlineExceeded)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the search goes on for %v after its end", took)
	}
}

func TestSearchWhileSignalWrites(t *testing.T) {
	d := talk(t, slices.Repeat([]said{{Text: "the anchor"}}, 50)...)
	r := d.reader(t, Grants{})
	want := walks.find(t, r, SearchQuery{Text: "anchor"})
	for round := range 30 {
		var found []string
		var err error
		var searching sync.WaitGroup
		searching.Go(func() {
			var page Messages
			page, err = r.Search(t.Context(), SearchQuery{Text: "ANCHOR"})
			found = ids(page.Messages)
		})
		for i := range 10 {
			d.Exec("INSERT INTO messages (id, conversationId, body, type, sent_at, received_at, json) VALUES (?, 'bob', ?, 'incoming', 1, 2000, '{}')",
				fmt.Sprint("n", round, ".", i), strings.Repeat("something else ", round*i))
		}
		d.Exec("DELETE FROM messages WHERE conversationId = 'bob'")
		d.Checkpoint("TRUNCATE") // what has been read until now is of no use
		searching.Wait()
		slices.Reverse(found)
		if diff := gocmp.Diff(want, found); err != nil || diff != "" {
			t.Fatalf("error %v, found (-want +got):\n%s", err, diff)
		}
	}
}
