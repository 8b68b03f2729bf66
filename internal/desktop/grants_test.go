package desktop

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"aldis/internal/hubtest/signaldesktop"
)

func TestGrantsHoldInEveryAnswer(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	type told struct {
		chat string
		at   int64
	}
	chats, all := []string{"c-ada", "c-bob", "c-team"}, map[string]told{}
	for i := range 60 {
		id, m := fmt.Sprint("m", i), told{chats[i%3], int64(1000 + i)}
		all[id] = m
		d.put("messages", columns{
			"id": id, "conversationId": m.chat, "type": "incoming", "body": "word " + id, "sent_at": m.at, "received_at": i, "received_at_ms": m.at,
			"json": columns{"quote": columns{"id": 1000 + i/2, "text": fmt.Sprint("quoted ", i/2)}},
		})
		d.Exec("UPDATE conversations SET active_at = ? WHERE id = ?", m.at, m.chat)
	}
	rapid.Check(t, func(rt *rapid.T) {
		g := Grants{Conversations: rapid.SliceOfDistinct(rapid.SampledFrom(append(chats, "none")), rapid.ID[string]).Draw(rt, "chats")}
		if rapid.Bool().Draw(rt, "bounded") {
			g.Since = rapid.Int64Range(990, 1070).Draw(rt, "since")
		}
		o := d.options(t)
		o.Grants = g
		r, err := Open(t.Context(), o)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		granted := func(chat string, at int64) bool {
			return at >= g.Since && (len(g.Conversations) == 0 || slices.Contains(g.Conversations, chat))
		}
		seen := map[string]bool{}
		see := func(msgs []Message) {
			for _, m := range msgs {
				if seen[m.ID] = true; !granted(all[m.ID].chat, all[m.ID].at) {
					rt.Errorf("%s is shown", m.ID)
				}
				if m.Quote != nil && m.Quote.SentAt < g.Since && m.Quote.Text != "" {
					rt.Errorf("%s quotes %q", m.ID, m.Quote.Text)
				}
			}
		}
		list, err := r.Conversations(t.Context(), ConversationQuery{})
		if err != nil {
			rt.Fatal(err)
		}
		for _, c := range list.Conversations {
			if !granted(c.ID, c.ActiveAt) {
				rt.Errorf("%s is listed", c.ID)
			}
		}
		_, absent := r.Messages(t.Context(), MessageQuery{Conversation: "absent"})
		for _, chat := range chats {
			ans, err := r.Messages(t.Context(), MessageQuery{Conversation: chat})
			if see(ans.Messages); !granted(chat, 1059) && !equal(err, absent) {
				rt.Errorf("%s: %v", chat, err)
			}
			found, err := r.Search(t.Context(), SearchQuery{Text: "word", Conversation: chat})
			if see(found.Messages); !granted(chat, 1059) && !equal(err, absent) {
				rt.Errorf("searched in %s: %v", chat, err)
			}
		}
		found, err := r.Search(t.Context(), SearchQuery{Text: "word"})
		if err != nil {
			rt.Fatal(err)
		}
		see(found.Messages)
		_, absent = r.Message(t.Context(), "absent")
		_, away := r.Messages(t.Context(), MessageQuery{Conversation: chats[0], Around: "absent"})
		for id, m := range all {
			one, err := r.Message(t.Context(), id)
			switch ok := granted(m.chat, m.at); {
			case ok && err == nil:
				see([]Message{one})
			case ok || !equal(err, absent):
				rt.Errorf("%s, which is granted: %v, alone: %v", id, ok, err)
			}
			if ok := granted(m.chat, m.at); ok != seen[id] {
				rt.Errorf("%s, which is granted: %v, was seen: %v", id, ok, seen[id])
			}
			if m.chat == chats[0] {
				ans, err := r.Messages(t.Context(), MessageQuery{Conversation: chats[0], Around: id})
				if see(ans.Messages); !granted(m.chat, m.at) && !equal(err, away) {
					rt.Errorf("around %s: %v", id, err)
				}
			}
		}
	})
}

// equal reports whether two errors say the same.
func equal(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
