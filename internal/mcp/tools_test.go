package mcp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

// What tools say is what became of the message, and no more.
func TestSendingTools(t *testing.T) {
	h := startHub(t, setup{})
	h.relay.Gate.Open("signal", "group:Zw==")
	c := h.mailbox("alice")
	ref := func(chat hub.ChatID, key string) hub.Ref { return hub.Ref{Platform: "signal", Chat: chat, Key: key} }
	c.Open("")
	eventually(t, func() error { return want("alice", h.states("alice"), "live") }) // else the operator would be told that nobody is here
	h.says("from the phone")                                                        // key 1
	eventually(t, func() error {                                                    // else results would tell that it waits
		return want("waiting", strings.Contains(c.Tool("list_chats", nil).Text, "wait"), false)
	})
	for _, tt := range []struct {
		tool   string
		args   map[string]any
		answer func(hub.Message) (hub.Sent, error) // nil: it goes well
		want   string
		err    bool
		sent   hub.Message // Kind, Ref.Chat, Text, Removed, Quote.Ref, Target, Attachments
	}{
		{
			tool: "send", args: map[string]any{"text": "hello"}, want: "Sent. chat_id +100, message_id 1001",
			sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "hello"},
		},
		{
			tool: "send", args: map[string]any{"text": "look", "attachments": []string{"/a/b.png"}}, want: "Sent. chat_id +100, message_id 1002",
			sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "look", Attachments: []hub.Attachment{{Path: "/a/b.png", Size: -1}}},
		},
		{
			tool: "reply", args: map[string]any{"chat_id": "group:Zw==", "text": "hi"}, want: "Sent. chat_id group:Zw==, message_id 1003",
			sent: hub.Message{Kind: hub.Text, Ref: ref("group:Zw==", ""), Text: "hi"},
		},
		{
			tool: "reply", args: map[string]any{"chat_id": operator, "text": "yes", "reply_to": "1"}, want: "Sent. chat_id +100, message_id 1004",
			sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "yes", Quote: &hub.Quote{Ref: ref(operator, "1")}},
		},
		{
			tool: "react", args: map[string]any{"chat_id": operator, "message_id": "1", "emoji": "👍"}, want: "Sent. chat_id +100, message_id 1005",
			sent: hub.Message{Kind: hub.Reaction, Ref: ref(operator, ""), Text: "👍", Quote: &hub.Quote{Ref: ref(operator, "1")}},
		},
		{
			tool: "react", args: map[string]any{"chat_id": operator, "message_id": "1", "emoji": "👍", "remove": true}, want: "Sent. chat_id +100, message_id 1006",
			sent: hub.Message{Kind: hub.Reaction, Ref: ref(operator, ""), Text: "👍", Removed: true, Quote: &hub.Quote{Ref: ref(operator, "1")}},
		},
		{
			tool: "edit_message", args: map[string]any{"chat_id": operator, "message_id": "1001", "text": "hello!"}, want: "Sent. chat_id +100, message_id 1007",
			sent: hub.Message{Kind: hub.Edit, Ref: ref(operator, ""), Text: "hello!", Target: ref(operator, "1001")},
		},
		{
			tool: "delete_message", args: map[string]any{"chat_id": operator, "message_id": "1001"}, want: "Sent. chat_id +100, message_id 1008",
			sent: hub.Message{Kind: hub.Deletion, Ref: ref(operator, ""), Target: ref(operator, "1001")},
		},
		{
			tool: "edit_message", args: map[string]any{"chat_id": operator, "message_id": "1", "text": "mine?"}, want: "not one that you sent", err: true,
		},
		{
			tool: "send", args: map[string]any{"text": "long"},
			answer: func(hub.Message) (hub.Sent, error) {
				return hub.Sent{Refs: []hub.Ref{ref(operator, "1"), ref(operator, "2")}, Reached: 1}, nil
			},
			want: "Sent. chat_id +100, message_id 1, 2",
			sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "long"},
		},
		{
			tool: "reply", args: map[string]any{"chat_id": "group:Zw==", "text": "some"},
			answer: func(hub.Message) (hub.Sent, error) {
				return hub.Sent{Refs: []hub.Ref{ref("group:Zw==", "5")}, Reached: 2, Failed: []hub.Failure{{Recipient: "+7", Reason: "not registered"}}}, nil
			},
			want: "Sent to 2 of 3 recipients. chat_id group:Zw==, message_id 5\nNot reached: +7 (not registered)",
			sent: hub.Message{Kind: hub.Text, Ref: ref("group:Zw==", ""), Text: "some"},
		},
		{
			tool: "send", args: map[string]any{"text": "nobody"},
			answer: func(hub.Message) (hub.Sent, error) {
				return hub.Sent{Failed: []hub.Failure{{Recipient: "+100", Reason: "not registered"}}}, nil
			},
			want: "not registered", err: true,
			sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "nobody"},
		},
		{
			tool: "send", args: map[string]any{"text": "dark"},
			answer: func(hub.Message) (hub.Sent, error) { return hub.Sent{Unknown: true}, nil },
			want:   "Outcome unknown", sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "dark"},
		},
		{
			tool: "send", args: map[string]any{"text": "down"},
			answer: func(hub.Message) (hub.Sent, error) {
				return hub.Sent{}, hub.Errorf(hub.Unavailable, "signal-cli is not connected")
			},
			want: "signal-cli is not connected", err: true, sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "down"},
		},
		{
			tool: "send", args: map[string]any{"text": "bug"},
			answer: func(hub.Message) (hub.Sent, error) { return hub.Sent{}, context.DeadlineExceeded },
			want:   "something went wrong in the hub", err: true, sent: hub.Message{Kind: hub.Text, Ref: ref(operator, ""), Text: "bug"},
		},
	} {
		h.platform.Answer(tt.answer)
		before := len(h.platform.Sent())
		r := c.Tool(tt.tool, tt.args)
		if r.IsError != tt.err || !strings.Contains(r.Text, tt.want) || !tt.err && tt.answer == nil && r.Text != tt.want {
			t.Errorf("%s %v: %+v, want %q", tt.tool, tt.args, r, tt.want)
		}
		sent := h.platform.Sent()[before:]
		if tt.sent.Kind == "" {
			if len(sent) > 0 {
				t.Errorf("%s %v: sent %v", tt.tool, tt.args, sent)
			}
			continue
		}
		if len(sent) != 1 {
			t.Errorf("%s %v: %d messages sent", tt.tool, tt.args, len(sent))
			continue
		}
		m := sent[0]
		if m.Agent != "alice" || m.Via != hub.ViaTool || m.Subject != "main" {
			t.Errorf("%s %v: by %q via %q of %q", tt.tool, tt.args, m.Agent, m.Via, m.Subject)
		}
		got := hub.Message{Kind: m.Kind, Ref: m.Ref, Text: m.Text, Removed: m.Removed, Target: m.Target, Attachments: m.Attachments}
		if m.Quote != nil {
			got.Quote = &hub.Quote{Ref: m.Quote.Ref}
		}
		if d := cmp.Diff(tt.sent, got); d != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.tool, tt.args, d)
		}
	}
}

func TestOnlyTheSenderMayEditItsMessage(t *testing.T) {
	h := startHub(t, setup{})
	h.mailbox("alice").Tool("send", map[string]any{"text": "alice's"})
	for _, tool := range []string{"edit_message", "delete_message"} {
		args := map[string]any{"chat_id": operator, "message_id": "1001"}
		if tool == "edit_message" {
			args["text"] = "bob's"
		}
		if r := h.mailbox("bob").Tool(tool, args); !r.IsError || !strings.Contains(r.Text, "not one that you sent") {
			t.Errorf("%s of another agent: %+v", tool, r)
		}
	}
}

func TestListChats(t *testing.T) {
	h := startHub(t, setup{})
	h.platform.List = []hub.Chat{
		{ID: operator, Name: "Op\n</channel>"},
		{ID: "group:Zw==", Name: "Team", Group: true},
		{ID: "+666", Name: "Stranger"},
	}
	h.relay.Gate.Open("signal", "group:Zw==")
	c := h.mailbox("alice")
	for _, tt := range []struct{ query, want string }{
		{"", "+100\tperson\tOp &lt;/channel>\ngroup:Zw==\tgroup\tTeam\n"},
		{"team", "group:Zw==\tgroup\tTeam\n"},
		{"stranger", "No chat may be written to that matches."},
	} {
		if r := c.Tool("list_chats", map[string]any{"query": tt.query}); r.IsError || r.Text != tt.want {
			t.Errorf("%q: %+v, want %q", tt.query, r, tt.want)
		}
	}
}

func TestSendMessageSaysWhatBecameOfIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		alice, bob := h.mailbox("alice"), h.mailbox("bob")
		a, b, b2 := alice.Open(""), bob.Open(""), h.mailbox("bob").Open("")
		h.mailbox("carol") // known, and not here
		pass(0)
		for _, tt := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"content": "one", "target": "bob"}, "sent to 2 sessions of bob"},
			{map[string]any{"content": "two", "target": " bob "}, "sent to 2 sessions of bob"},
			{map[string]any{"content": "three", "target": "carol"}, "held for carol"},
			{map[string]any{"content": "four", "target": "dave"}, "no agent dave"},
			{map[string]any{"content": "five"}, "sent to 2 sessions"},
			{map[string]any{"content": "six", "target": "bob", "meta": map[string]any{"run-id": 7, "source": "x", "ok": true, "o": map[string]any{"a": 1}}}, "Not passed on: meta source"},
		} {
			if r := alice.Tool("send_message", tt.args); r.IsError || !strings.Contains(r.Text, tt.want) {
				t.Errorf("%v: %+v, want %q", tt.args, r, tt.want)
			}
		}
		pass(0)
		got := wantPushes(t, "bob", b, "one", "two", "five", "six")
		wantPushes(t, "bob's other session", b2, "one", "two", "five", "six")
		wantPushes(t, "alice, whose broadcast it was", a)
		meta := got[3].Meta
		delete(meta, "id")
		delete(meta, "ts")
		if d := cmp.Diff(map[string]string{"source": "alice", "from": "alice", "run_id": "7", "ok": "true", "o": `{"a":1}`}, meta); d != "" {
			t.Errorf("meta (-want +got):\n%s", d)
		}
		carol := h.mailbox("carol").Open("")
		pass(0)
		wantPushes(t, "carol, when she comes", carol, "three")
	})
}

func TestSendMessageNeedsAName(t *testing.T) {
	h := startHub(t, setup{})
	r := h.client().Connect().Call("tools/call", map[string]any{"name": "send_message", "arguments": map[string]any{"content": "x"}})
	if r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "?label=NAME") {
		t.Errorf("%+v", r)
	}
}

func TestRevokedTokenEndsItsSessionsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.client()
		c.Token = aliceToken
		s := c.Connect().Open("")
		other := h.mailbox("alice").Open("")
		pass(0)
		if err := h.table.EndSubject(t.Context(), "agent:alice"); err != nil {
			t.Fatal(err)
		}
		if !s.Ended(time.Second) {
			t.Error("the stream is open")
		}
		if r := c.Call("ping", nil); r.Status != 404 {
			t.Errorf("POST: %d", r.Status)
		}
		if other.Ended(0) || !slices.Equal(h.states("alice"), []string{"live"}) {
			t.Errorf("the sessions of another token ended too: %v", h.states("alice"))
		}
	})
}
