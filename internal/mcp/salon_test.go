package mcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

func TestSalonStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		live, away, deaf := h.mailbox("live-one"), h.mailbox("away-one"), h.label("deaf-one")
		live.Open("")
		gone := h.mailbox("gone-one").Open("")
		lost := deaf.Open("")
		h.client().Connect().Open("")
		pass(time.Second)
		gone.Close()
		lost.Close()
		pass(20 * time.Second)
		old := h.label("seat")
		old.Open("")
		pass(2 * time.Second)
		left := away.Open("")
		pass(0)
		left.Close()
		deaf.Tool("list_chats", nil)
		pull := h.mailbox("pull-one")
		pull.Tool("list_chats", nil)
		h.label("seat").Open("")
		pass(2 * time.Second) // now old has lost its seat
		h.script("live-one", "hello")
		for _, tt := range []struct {
			name string
			text string
			want string
		}{
			{"a session that is live", live.Tool("salon_status", nil).Text, `Agents join at http://hub.test/mcp?label=NAME, scripts POST to http://hub.test/notify?label=NAME.
1 messages were taken in since 1970-01-01T00:00:00Z.
5 sessions with a name are present:
* live-one: live (you)
* away-one: away
* deaf-one: deaf
* pull-one: pull
* seat: live
1 without a name: they get what is for everybody.
Write to one with send_message and its name as target, to all others without a target.`},
			{"one that has lost its name", old.Tool("salon_status", nil).Text, "another session has taken the name seat"},
			{"one without a name", h.client().Connect().Tool("salon_status", nil).Text, "You have no name"},
		} {
			if !strings.Contains(tt.text, tt.want) {
				t.Errorf("%s is told\n%s\nwant\n%s", tt.name, tt.text, tt.want)
			}
		}
	})
}

func TestSalonStatusIsBounded(t *testing.T) {
	h := startHub(t, setup{})
	for i := range 150 {
		h.mailbox(fmt.Sprintf("%0125d", i)).Tool("list_chats", nil)
	}
	text := h.mailbox("zoe").Tool("salon_status", nil).Text
	if len(text) >= 8<<10 || !strings.Contains(text, "151 sessions") || !strings.Contains(text, "more\n") || !strings.Contains(text, "* zoe: pull (you)") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestAnswerSaysWhereItWent(t *testing.T) {
	h := startHub(t, setup{})
	bob := h.mailbox("bob")
	bob.Tool("list_chats", nil)
	first := h.script("bob", "Build 7 is broken") // cron, whom nobody listens for
	for _, tt := range []struct {
		from, replyTo string
		args          map[string]any
		want, not     string
	}{
		{"bob", string(first.ID), nil, "no agent cron", "for everybody"},
		{"bob", "nothing", nil, "names no message of another agent or script that is known here: this was for everybody", "no agent"},
		{"bob", "nothing", map[string]any{"target": "bob"}, "sent to 1 sessions of bob", "for everybody"},
		{"bob", "", nil, "sent to 0 sessions", "for everybody"},
	} {
		args := map[string]any{"content": "x", "meta": map[string]any{"reply_to": tt.replyTo}}
		for k, v := range tt.args {
			args[k] = v
		}
		if r := bob.Tool("send_message", args); !strings.Contains(r.Text, tt.want) || strings.Contains(r.Text, tt.not) {
			t.Errorf("in answer to %q: %q, want %q", tt.replyTo, r.Text, tt.want)
		}
	}
}

// Who wrote by an alias is not told whom that stands for, even with more to say.
func TestAttackWhoIsBehindAnAlias(t *testing.T) {
	h := startHub(t, setup{})
	h.relay.Aliases = map[hub.AgentID]hub.AgentID{"notes": "bob"}
	alice := h.mailbox("alice")
	for _, want := range []string{"held for ", "sent to 1 sessions of "} {
		first := alice.Tool("send_message", map[string]any{"content": "x", "target": "notes"}).Text
		id := first[strings.Index(first, "(id ")+len("(id ") : strings.Index(first, ")")]
		more := alice.Tool("send_message", map[string]any{"content": "y", "meta": map[string]any{"reply_to": id}}).Text
		if !strings.HasPrefix(first, want+"notes") || !strings.HasPrefix(more, want+"the same agent") || strings.Contains(first+more, "bob") {
			t.Errorf("%q, then %q", first, more)
		}
		h.mailbox("bob").Tool("list_chats", nil)
	}
}

// What an agent says is recorded with the session that said it.
func TestSessionOfAnAgentsMessageIsKnown(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice")
	c.Tool("send", map[string]any{"text": "to a person"})
	if m := h.platform.Sent()[0]; m.Session != hub.SessionID(c.Session) {
		t.Errorf("session %q, want %q", m.Session, c.Session)
	}
	text := c.Tool("send_message", map[string]any{"content": "to all"}).Text
	id := text[strings.Index(text, "(id ")+len("(id ") : strings.Index(text, ")")]
	if f, err := h.store.Lookup(t.Context(), hub.MessageID(id)); err != nil || f.Message.Session != hub.SessionID(c.Session) {
		t.Errorf("session %q, %v", f.Message.Session, err)
	}
}
