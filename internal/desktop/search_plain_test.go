package desktop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

// A chatter makes texts out of few words of many scripts, so that parts of one
// are often in others.
type chatter struct{ *rand.Rand }

var words = strings.Fields(`the station at five o'clock 100% snake_case C:\temp "quoted" Straße STRAẞE ΟΔΥΣΣΕΎΣ ὀδυσσεύς
	Привет мир ЁЛКА ёлка İstanbul ısparta Isparta 300K 300` + "\u212a" + ` Wachſtube cafe` + "\u0301" + ` café 今天天气很好 你好 שלום عالم
	👩‍👩‍👧 👍🏽 🎉🎉 ﬁn fin` + " \ufffd " + `http://example.org/?q=a&b xxxxxxxxxxxxxxxxxxxxxx`)

func (c chatter) text() string {
	said := make([]string, 1+c.IntN(12))
	for i := range said {
		said[i] = words[c.IntN(len(words))]
	}
	if c.IntN(500) == 0 {
		said = append(said, strings.Repeat(said[0]+" ", 1000)) // past a page
	}
	return strings.Join(said, " ")
}

// needle is a part of a text, in any case, and sometimes with a wrong character.
func (c chatter) needle(text string) string {
	runes := []rune(text)
	from := c.IntN(len(runes))
	runes = runes[from:min(len(runes), from+1+c.IntN(14))]
	for i, r := range runes {
		if c.IntN(2) == 0 {
			runes[i] = unicode.SimpleFold(r)
		}
	}
	if c.IntN(4) == 0 {
		runes[c.IntN(len(runes))] = rune('a' + c.IntN(26))
	}
	return string(runes)
}

// query is a search in any direction and scope.
func (c chatter) query(text string) SearchQuery {
	q := SearchQuery{Text: c.needle(text), Exact: c.IntN(4) == 0}
	q.Newer, q.Limit = c.IntN(2) == 0, 1+c.IntN(100)
	if c.IntN(2) == 0 {
		q.Conversation = []string{"alice", "bob"}[c.IntN(2)]
	}
	if c.IntN(12) == 0 {
		q.After, q.Before = int64(1000+c.IntN(5_000)), int64(8_000+c.IntN(10_000))
	}
	return q
}

// A plain is a message as the real tool reads it.
type plain struct {
	id, chat, text, folded string
	at                     int64
}

// plains reads all messages that may be found, the oldest first.
func plains(t *testing.T, d desktop) (all []plain) {
	t.Helper()
	for _, row := range d.Rows(`SELECT CAST(id AS TEXT), conversationId, body, CAST(received_at_ms AS TEXT) FROM messages WHERE isStory = 0 AND storyId IS NULL
		AND isViewOnce = 0 AND isErased = 0 AND type IN ('incoming', 'outgoing') ORDER BY received_at, sent_at, rowid`) {
		p := plain{id: row[0].(string), chat: row[1].(string), text: row[2].(string)}
		p.folded = strings.Map(least, p.text)
		if _, err := fmt.Sscan(row[3].(string), &p.at); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// least is the first of all characters that fold into each other.
func least(r rune) rune {
	first := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		first = min(first, f)
	}
	return first
}

// among is what a search must find.
func among(all []plain, q SearchQuery) []string {
	folded, ids := strings.Map(least, q.Text), []string{}
	for _, p := range all {
		holds := q.Exact && strings.Contains(p.text, q.Text) || !q.Exact && strings.Contains(p.folded, folded)
		if holds && (q.Conversation == "" || q.Conversation == p.chat) && p.at > q.After && (q.Before == 0 || p.at < q.Before) {
			ids = append(ids, p.id)
		}
	}
	if !q.Newer {
		slices.Reverse(ids)
	}
	return ids
}

// chattering makes a database of so many messages, not all of which may be found.
func chattering(t *testing.T, c chatter, n int) desktop {
	msgs := make([]said, n)
	for i := range msgs {
		msgs[i] = said{
			Chat: []string{"alice", "alice", "bob", "carol"}[c.IntN(4)], Text: c.text(), Type: []string{"incoming", "outgoing"}[c.IntN(2)],
			Received: int64(1000 + i/2), SentAt: int64(1000 + i/4), ReceivedAtMS: int64(1000 + i + c.IntN(100)),
			ViewOnce: c.IntN(50) == 0, Erased: c.IntN(50) == 0,
		}
	}
	return talk(t, msgs...)
}

func TestSearchFindsWhatAPlainScanFinds(t *testing.T) {
	const messages, needles = 20_000, 1_000
	c := chatter{rand.New(rand.NewPCG(6, 6))}
	d := chattering(t, c, messages)
	all, r := plains(t, d), d.reader(t, Grants{})
	some := 0
	for i := range needles {
		q := c.query(all[c.IntN(len(all))].text)
		e := effort{patience: 1 + c.IntN(500), maxHits: c.IntN(10) * 100}
		if i%50 == 0 {
			e = walks
		}
		want := among(all, q)
		want = want[:min(len(want), q.Limit)]
		if len(want) > 0 {
			some++
		}
		if diff := gocmp.Diff(want, e.find(t, r, q)); diff != "" {
			t.Fatalf("%+v with %+v (-want +got):\n%s", q, e, diff)
		}
	}
	if some < needles/2 {
		t.Errorf("%d of %d needles are found at all", some, needles)
	}
}

func TestSearchGoesThroughAllPages(t *testing.T) {
	c := chatter{rand.New(rand.NewPCG(7, 7))}
	d := chattering(t, c, 3_000)
	all, r := plains(t, d), d.reader(t, Grants{})
	for range 20 {
		q := c.query(all[c.IntN(len(all))].text)
		want, got := among(all, q), []string{}
		for more := true; more; {
			page, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			part := ids(page.Messages)
			if !q.Newer {
				slices.Reverse(part)
			}
			got = append(got, part...)
			if more = page.HasMore; more == (page.NextCursor == "") {
				t.Fatalf("%+v: a page with more (%v) has the cursor %q", q, more, page.NextCursor)
			}
			q.Cursor = page.NextCursor
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", q, diff)
		}
	}
}

func TestScanReadsWhatTheRealToolReads(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema, Content: true, Messages: 3_000})
		want := map[int64]string{}
		for _, row := range d.Rows("SELECT CAST(id AS TEXT), c0 FROM messages_fts_content WHERE c0 IS NOT NULL") {
			var id int64
			if _, err := fmt.Sscan(row[0].(string), &id); err != nil {
				t.Fatal(err)
			}
			want[id] = row[1].(string)
		}
		got, err := read(t.Context(), d.reader(t, Grants{}), func(ctx context.Context, v *view) (map[int64]string, error) {
			index, err := v.textIndex(ctx)
			if err != nil {
				return nil, err
			}
			return scanned(ctx, v.snap, index.root, index.column)
		})
		if err != nil || len(want) == 0 {
			t.Fatalf("%d texts, error %v", len(want), err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("texts (-want +got):\n%.2000s", diff)
		}
	})
}
