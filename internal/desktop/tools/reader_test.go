package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/desktop"
	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/desktop/tools"
	"aldis/internal/hubtest/signaldesktop"
)

// A host finds a conversation, pages through it, searches it and reads on around
// what it has found, in a database that Signal's library has written. No body
// and no phone number of that database is in the log.
func TestAHostReadsADatabase(t *testing.T) {
	w := signaldesktop.Start(t)
	dir := t.TempDir()
	w.Create(dir, signaldesktop.Options{Schema: 1830, Content: true, Messages: 30})
	s, j := setup(nil)
	s.History = open(t, signaldesktop.Path(dir))
	for name, c := range connections(t, s) {
		t.Run(name, func(t *testing.T) { readAll(t, c) })
	}
	log := j.String()
	private := "SELECT body FROM messages WHERE length(body) > 3 UNION SELECT e164 FROM conversations WHERE e164 > '' UNION SELECT id FROM conversations UNION SELECT id FROM messages"
	for _, row := range w.Rows(private) {
		if text := row[0].(string); strings.Contains(log, text) {
			t.Errorf("%q is in the log", text)
		}
	}
}

func open(t *testing.T, path string) tools.History {
	t.Helper()
	key, err := sqlcipher.ParseKey(signaldesktop.Key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := desktop.Open(t.Context(), desktop.Options{Path: path, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func readAll(t *testing.T, c *mcp.ClientSession) {
	cs := ask[desktop.Conversations](t, c, "signal_list_conversations", nil)
	if len(cs.Conversations) == 0 {
		t.Fatal("no conversations")
	}
	for _, chat := range cs.Conversations {
		args := map[string]any{"conversationId": chat.ID, "limit": 3}
		older := pages(t, c, "signal_get_messages", args)
		args["direction"] = "newer"
		newer := pages(t, c, "signal_get_messages", args)
		slices.Reverse(older)
		if got, want := ids(slices.Concat(newer...)), ids(slices.Concat(older...)); !slices.Equal(got, want) {
			t.Errorf("forwards %v\nbackwards %v", got, want)
		}
	}
	for _, hit := range slices.Concat(pages(t, c, "signal_search_messages", map[string]any{"query": "e", "limit": 5})...) {
		around := ask[desktop.Messages](t, c, "signal_get_messages", map[string]any{"conversationId": hit.ConversationID, "around": hit.ID, "limit": 1})
		if n := len(around.Messages); n > 3 || !slices.Contains(ids(around.Messages), hit.ID) {
			t.Errorf("around %s: %v", hit.ID, ids(around.Messages))
		}
		one := ask[struct{ Message desktop.Message }](t, c, "signal_get_message", map[string]any{"messageId": hit.ID})
		if one.Message.ID != hit.ID || !hit.BodyTruncated && one.Message.Body != hit.Body {
			t.Errorf("one message is %s, and not as the search had it: %s", one.Message.ID, hit.ID)
		}
	}
}

// pages calls tool until there is no further page.
func pages(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (all [][]desktop.Message) {
	t.Helper()
	delete(args, "cursor")
	for {
		p := ask[desktop.Messages](t, c, tool, args)
		all = append(all, p.Messages)
		if !p.HasMore {
			return all
		}
		if p.NextCursor == "" || len(all) > 100 {
			t.Fatalf("%s: page %d has more, and the cursor %q", tool, len(all), p.NextCursor)
		}
		args["cursor"] = p.NextCursor
	}
}

func ids(ms []desktop.Message) (ids []string) {
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}

// ask calls a tool that must not fail.
func ask[T any](t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (answer T) {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	out, isError := call(t, c, tool, string(b))
	if isError {
		t.Fatalf("%s %s: %s", tool, b, out)
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", tool, err))
	}
	return answer
}
