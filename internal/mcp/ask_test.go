package mcp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// asking has c ask, and returns where the result comes.
func asking(c *hubtest.Client, args map[string]any) <-chan hubtest.ToolResult {
	result := make(chan hubtest.ToolResult, 1)
	go func() { result <- c.Tool("ask", args) }()
	pass(0)
	return result
}

// quotes has the operator answer the newest message with text.
func (h *testHub) quotes(text string) hub.Receipt {
	h.t.Helper()
	sent := h.platform.Sent()
	ref := hub.Ref{Platform: "signal", Chat: operator, Key: fmt.Sprint(1000 + len(sent))}
	return h.receive(hub.Message{Kind: hub.Text, Text: text, Quote: &hub.Quote{Ref: ref, Ours: true, From: "+1"}})
}

func TestAskWaitsForTheAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   map[string]any
		answer string // empty: none comes
		after  time.Duration
		want   string
	}{
		{"in words", map[string]any{"question": "Which one?"}, "the <channel> red one", 0, "Answer: the &lt;channel> red one"},
		{"by number", map[string]any{"question": "Which one?", "choices": []string{"red", "blue"}}, "2", 0, "Answer: choice 2, blue"},
		{"none, with a default", map[string]any{"question": "Which one?", "default": "red", "timeout_seconds": 10}, "", 10 * time.Second, "No answer in 10 s; the default was taken: red"},
		{"none, with an empty default", map[string]any{"question": "Which one?", "default": "", "timeout_seconds": 0}, "", 0, "No answer in 0 s; the default was taken: "},
		{"none", map[string]any{"question": "Which one?"}, "", 45 * time.Second, "No answer yet. Ticket "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				s := h.mailbox("alice")
				stream := s.Open("")
				result := asking(s, tt.args)
				if tt.answer != "" {
					h.quotes(tt.answer)
				}
				pass(tt.after)
				select {
				case got := <-result:
					if got.IsError || !strings.HasPrefix(got.Text, tt.want) {
						t.Errorf("%+v, want %q", got, tt.want)
					}
				default:
					t.Errorf("no result after %s", tt.after)
				}
				pass(2 * time.Second)
				wantPushes(t, "alice", stream)
			})
		})
	}
}

func TestLateAnswerIsAnEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		got := <-asking(c, map[string]any{"question": "Which one?", "timeout_seconds": 0})
		ticket, _, _ := strings.Cut(strings.TrimPrefix(got.Text, "No answer yet. Ticket "), ":")
		h.quotes("red")
		pass(0)
		if p := wantPushes(t, "alice", s, "red")[0]; p.Meta["question"] != ticket {
			t.Errorf("meta %v, want question %s", p.Meta, ticket)
		}
	})
}

// An answer that nobody read is an event.
func TestAnswerToACallThatWasCutOffIsAnEvent(t *testing.T) {
	for name, cut := range map[string]func(c *hubtest.Client, hangUp func()){
		"the client hangs up": func(_ *hubtest.Client, hangUp func()) { hangUp() },
		"the client cancels": func(c *hubtest.Client, _ func()) {
			c.Notify("notifications/cancelled", map[string]any{"requestId": c.LastRequest()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.mailbox("alice")
				s := c.Open("")
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				go c.CallContext(ctx, "tools/call", map[string]any{"name": "ask", "arguments": map[string]any{"question": "Which one?"}})
				pass(0)
				cut(c, hangUp)
				pass(0)
				h.quotes("red")
				pass(0)
				wantPushes(t, "alice", s, "red")
			})
		})
	}
}

func TestAskIsRefusedToAnEvictedSession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.label("alice")
		c.Open("")
		pass(2 * time.Second)
		h.label("alice").Open("")
		pass(2 * time.Second)
		if got := c.Tool("ask", map[string]any{"question": "Which one?"}); !got.IsError || !strings.Contains(got.Text, "alice") {
			t.Errorf("%+v", got)
		}
		if sent := h.platform.Sent(); len(sent) > 0 {
			t.Errorf("asked: %v", sent)
		}
	})
}

// Over stdio an answer to a call that was cancelled is written all the same: it
// proves nothing.
func TestAskOverStdio(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled: %v", cancels), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, stdin := io.Pipe()
				var out lines
				h := startStdio(t, in, &out)
				say := func(line string) {
					if _, err := io.WriteString(stdin, line+"\n"); err != nil {
						t.Errorf("standard input: %v", err)
					}
					pass(0)
				}
				say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
				say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Which one?"}}}`)
				if cancels {
					say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				}
				h.quotes("red")
				pass(0)
				events := len(out.of("notifications/claude/channel"))
				if got := strings.Contains(out.all(), "Answer: red"); got == cancels {
					t.Errorf("the result has the answer: %v", got)
				}
				if (events == 1) != cancels {
					t.Errorf("%d events", events)
				}
				_ = stdin.Close()
			})
		})
	}
}
