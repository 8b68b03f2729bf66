package signal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"aldis/internal/hub"
)

// FuzzDecode: whatever a line holds, a message made of it keeps the promises
// of hub.Message.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/[cr]*-*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	c := &Client{Account: aliceNumber}
	f.Fuzz(func(t *testing.T, line []byte) {
		var fr frame
		if json.Unmarshal(line, &fr) != nil {
			return
		}
		d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
		m, why := d.decode(fr.Params)
		if why != kept {
			return
		}
		if m.Ref.Chat == "" || m.Ref.Key == "" || m.From.ID == "" || m.Dedup == "" {
			t.Errorf("a message without a name or a sender: %+v", m)
		}
		if strings.ContainsFunc(m.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) || !utf8.ValidString(m.Text) {
			t.Errorf("text %q", m.Text)
		}
		if m.Quote != nil && (len(m.Quote.Text) > hub.PreviewBytes || m.Quote.Ref.Chat != m.Ref.Chat) {
			t.Errorf("quote %+v", m.Quote)
		}
		if m.Group != "" {
			if chat, err := c.Chat(string(m.Ref.Chat)); err != nil || chat != m.Ref.Chat {
				t.Errorf("chat %q is not our own spelling: %q, %v", m.Ref.Chat, chat, err)
			}
		}
	})
}

// FuzzChat: a chat id that was made is its own only spelling.
func FuzzChat(f *testing.F) {
	for _, s := range chatSpellings {
		f.Add(s.in)
	}
	c := &Client{Account: aliceNumber}
	f.Fuzz(func(t *testing.T, s string) {
		chat, err := c.Chat(s)
		if err != nil {
			if hub.KindOf(err) != hub.Invalid || chat != "" {
				t.Errorf("%q, %v", chat, err)
			}
			return
		}
		if again, err := c.Chat(string(chat)); err != nil || again != chat {
			t.Errorf("%q became %q, which becomes %q (%v)", s, chat, again, err)
		}
	})
}

// FuzzSplit: no text and no limit makes it fail or lose words.
func FuzzSplit(f *testing.F) {
	f.Add("one two\n\nthree", 5)
	f.Add("👩🏽‍💻e\u0301 \u0301", 4)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 4 || limit > 5000 || !utf8.ValidString(text) {
			return
		}
		chunks := split(text, limit)
		for _, c := range chunks {
			if len(c) > limit {
				t.Errorf("%d bytes, limit %d", len(c), limit)
			}
		}
		if inked(strings.Join(chunks, "")) != inked(text) {
			t.Errorf("%q became %q", text, chunks)
		}
	})
}
