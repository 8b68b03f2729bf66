package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/desktop"
	"aldis/internal/desktop/tools"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, d)
	}
}

// A journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// setup returns a server of b that logs all it can into j.
func setup(b *book) (s *tools.Server, j *journal) {
	j = new(journal)
	log := slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return &tools.Server{History: b, Log: log, Version: "0.test"}, j
}

// The SDK's client, over a real socket and over pipes.
func connections(t *testing.T, s *tools.Server) map[string]*mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return map[string]*mcp.ClientSession{
		"http":  connect(t, &mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}),
		"stdio": connect(t, pipes(t, s)),
	}
}

// pipes has s serve stdio until the client closes its end.
func pipes(t *testing.T, s *tools.Server) mcp.Transport {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(t.Context(), in, out) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("serve stdio: %v", err)
		}
		_ = out.Close()
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

func connect(t *testing.T, tr mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call calls a tool and returns the one text that it answers with.
func call(t *testing.T, c *mcp.ClientSession, tool, args string) (out string, isError bool) {
	t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(r.Content) != 1 || r.StructuredContent != nil {
		t.Fatalf("%s answers with %d contents and structured %v", tool, len(r.Content), r.StructuredContent)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestToolsAnswerCompactJSON(t *testing.T) {
	b := &book{}
	s, _ := setup(b)
	for name, c := range connections(t, s) {
		for _, tt := range []struct{ tool, args, want string }{
			{"signal_list_conversations", `{}`, `{"conversations":[{"id":"` + chat + `","type":"direct","name":"Zoë & Kim","activeAt":1767225660000,"unreadCount":2}],"hasMore":false}`},
			{"signal_get_messages", `{"conversationId":"` + chat + `"}`, `{"messages":[{"id":"` + hello + `","direction":"incoming","sentAt":1767225600000,"receivedAt":1767225600123,"sender":{"serviceId":"5e1f","name":"Zoë"},"body":"meet <at> 8 & bring a needle"},{"id":"` + reply + `","direction":"outgoing","sentAt":1767225660000,"body":"ok","quote":{"sentAt":1767225600000,"author":{"name":"Zoë"},"text":"meet <at> 8"}}],"hasMore":true,"nextCursor":"c1"}`},
			{"signal_search_messages", `{"query":"needle"}`, `{"messages":[{"id":"` + hello + `","conversationId":"` + chat + `","direction":"incoming","sentAt":1767225600000,"receivedAt":1767225600123,"sender":{"serviceId":"5e1f","name":"Zoë"},"body":"meet <at> 8 & bring a needle"}],"hasMore":false}`},
			{"signal_get_message", `{"messageId":"` + reply + `"}`, `{"message":{"id":"` + reply + `","conversationId":"` + chat + `","direction":"outgoing","sentAt":1767225660000,"body":"ok","quote":{"sentAt":1767225600000,"author":{"name":"Zoë"},"text":"meet <at> 8"}}}`},
		} {
			got, isError := call(t, c, tt.tool, tt.args)
			if isError || got != tt.want {
				t.Errorf("%s over %s: error %v\n got %s\nwant %s", tt.tool, name, isError, got, tt.want)
			}
		}
	}
}

func TestArgumentsReachTheHistory(t *testing.T) {
	b := &book{}
	s, _ := setup(b)
	c := connections(t, s)["stdio"]
	for _, tt := range []struct {
		name, tool, args string
		want             any
	}{
		{"conversations", "signal_list_conversations", `{}`, desktop.ConversationQuery{Limit: 50}},
		{"conversations of a name", "signal_list_conversations", `{"query":"kim","limit":500}`, desktop.ConversationQuery{Limit: 500, Name: "kim"}},
		{"a page", "signal_get_messages", `{"conversationId":"c"}`, desktop.MessageQuery{Conversation: "c", Window: desktop.Window{Limit: 50}}},
		{
			"all bounds", "signal_get_messages", `{"conversationId":"c","limit":3,"direction":"newer","before":9007199254740993,"after":9007199254740991,"cursor":"x"}`,
			desktop.MessageQuery{Conversation: "c", Window: desktop.Window{Limit: 3, Newer: true, Before: 9007199254740993, After: 9007199254740991, Cursor: "x"}},
		},
		{"around", "signal_get_messages", `{"conversationId":"c","around":"m"}`, desktop.MessageQuery{Conversation: "c", Around: "m", Window: desktop.Window{Limit: 10}}},
		{"around, so many", "signal_get_messages", `{"conversationId":"c","around":"m","limit":2}`, desktop.MessageQuery{Conversation: "c", Around: "m", Window: desktop.Window{Limit: 2}}},
		{"search", "signal_search_messages", `{"query":"100%"}`, desktop.SearchQuery{Text: "100%", Window: desktop.Window{Limit: 50}}},
		{
			"search, narrowly", "signal_search_messages", `{"query":"x","conversationId":"c","caseSensitive":true,"direction":"older","after":7}`,
			desktop.SearchQuery{Text: "x", Exact: true, Conversation: "c", Window: desktop.Window{Limit: 50, After: 7}},
		},
		{"one message", "signal_get_message", `{"messageId":"` + reply + `"}`, reply},
	} {
		if out, isError := call(t, c, tt.tool, tt.args); isError {
			t.Errorf("%s: %s", tt.name, out)
		}
		if d := cmp.Diff(tt.want, b.last()); d != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, d)
		}
	}
}

func TestToolsList(t *testing.T) {
	s, _ := setup(&book{})
	c := connections(t, s)["stdio"]
	r, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		if len(tool.Description) >= 2048 {
			t.Errorf("%s: description of %d bytes", tool.Name, len(tool.Description))
		}
	}
	if i := c.InitializeResult().Instructions; len(i) >= 2048 || !strings.Contains(i, "private correspondence") {
		t.Errorf("instructions of %d bytes: %s", len(i), i)
	}
	b, err := json.MarshalIndent(r.Tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", string(b)+"\n")
}
