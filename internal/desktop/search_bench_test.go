package desktop

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"aldis/internal/hubtest/signaldesktop"
)

// BenchmarkSearch searches 500,000 messages, two of five of them in one chat,
// and has Signal's own SQLite do the same beside it.
func BenchmarkSearch(b *testing.B) {
	d := newDesktop(b, signaldesktop.Options{Schema: 1830})
	const chats, messages, step = 500, 500_000, 5_000
	for i := range chats {
		d.put("conversations", columns{"id": fmt.Sprint("chat", i), "type": "private", "active_at": 1 << 50, "json": columns{}})
	}
	c, rest := chatter{rand.New(rand.NewPCG(8, 8))}, `{"profile":"`+strings.Repeat("x", 700)+`"}` // what else Signal keeps of a message
	for from := 0; from < messages; from += step {
		msgs := make([]said, step)
		for i := range msgs {
			msgs[i] = said{ID: fmt.Sprint("m", from+i), Chat: fmt.Sprint("chat", max(0, c.IntN(5*chats/3)-2*chats/3)), Text: c.text(), Received: int64(from + i + 1), JSON: rest}
		}
		if from%50_000 == 0 {
			msgs[step/2].Text, msgs[step/2].Chat = "a rare Xylophone and a rare Ёжик", "chat0"
		}
		say(b, d, msgs...)
	}
	d.Checkpoint("TRUNCATE")
	r := d.reader(b, Grants{})
	for _, bench := range []struct {
		name  string
		query SearchQuery
		hits  int
	}{
		{"rare", SearchQuery{Text: "xylophon"}, 10},
		{"rare, beyond ASCII", SearchQuery{Text: "ёжик"}, 10},
		{"common", SearchQuery{Text: "station"}, 50},
		{"rare in the largest chat", SearchQuery{Text: "xylophon", Conversation: "chat0"}, 10},
		{"rare in a small chat", SearchQuery{Text: "xylophon", Conversation: "chat7"}, 0},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bench.query.Limit = 50
			for b.Loop() {
				page, err := r.Search(b.Context(), bench.query)
				if err != nil || len(page.Messages) != bench.hits {
					b.Fatalf("%d messages, error %v", len(page.Messages), err)
				}
			}
		})
	}
	for _, bench := range []struct{ name, query string }{
		{"rare, with Signal's SQLite", `SELECT m.id FROM messages m INDEXED BY messages_searchOrder CROSS JOIN messages_fts_content c ON c.id = m.rowid
			WHERE c.c0 LIKE '%xylophon%' ORDER BY m.received_at DESC, m.sent_at DESC, m.rowid DESC LIMIT 51`},
		{"rare, with Signal's SQLite in all bodies", `SELECT id FROM messages WHERE body LIKE '%xylophon%' ORDER BY received_at DESC LIMIT 51`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if got := len(d.Rows(bench.query)); got != 10 {
					b.Fatalf("%d messages", got)
				}
			}
		})
	}
}
