package mcp_test

import (
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// asks has c ask for permission under that id.
func asks(t *testing.T, c *hubtest.Client, request, tool string) {
	t.Helper()
	params := map[string]any{"request_id": request, "tool_name": tool, "description": "why", "input_preview": "ls"}
	if status := c.Notify("notifications/claude/channel/permission_request", params); status != 202 {
		t.Errorf("permission_request: %d", status)
	}
	pass(0)
}

// prompts returns what was shown on the phone of h and can be allowed.
func (h *testHub) prompts() (all []hub.Message) {
	for _, m := range h.platform.Sent() {
		if m.Asks != nil && m.Asks.Code != "" {
			all = append(all, m)
		}
	}
	return all
}

// The whole way: two sessions of one agent ask at once, and each is told the
// verdict on what it asked.
func TestTwoSessionsAskAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first, second := h.mailbox("alice"), h.mailbox("alice")
		a, b := first.Open(""), second.Open("")
		pass(0)
		asks(t, first, "abcde", "Bash")
		asks(t, second, "fghij", "Write")
		if got := h.prompts(); len(got) != 2 || got[0].Asks.Code != "abcde" || !strings.Contains(got[1].Text, "Write") {
			t.Fatalf("on the phone: %+v", got)
		}
		h.says("no fghij")
		h.says("yes abcde")
		pass(0)
		wantVerdicts(t, "the first", a, verdictOf("abcde", "allow"))
		wantVerdicts(t, "the second", b, verdictOf("fghij", "deny"))
	})
}

// The id of a request is the session's own affair: two may use the same one.
func TestTwoSessionsAskUnderOneID(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first, second := h.mailbox("alice"), h.mailbox("bob")
		a, b := first.Open(""), second.Open("")
		pass(0)
		asks(t, first, "abcde", "Bash")
		asks(t, second, "abcde", "Bash")
		got := h.prompts()
		if len(got) != 2 || got[1].Asks.Code == "abcde" {
			t.Fatalf("on the phone: %+v", got)
		}
		h.says("yes " + got[1].Asks.Code)
		pass(0)
		wantVerdicts(t, "the first", a)
		wantVerdicts(t, "the second", b, verdictOf("abcde", "allow"))
	})
}

func TestVerdictSurvivesARestart(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		c.Open("")
		pass(0)
		asks(t, c, "abcde", "Bash")
		h = again(time.Second)
		c.Dial = h.dial
		h.says("yes abcde")
		pass(time.Second)
		h = again(time.Second)
		c.Dial = h.dial
		s := c.Open("")
		pass(2 * time.Second)
		wantVerdicts(t, "alice", s, verdictOf("abcde", "allow"))
	})
}

func TestRequestsThatAreIgnored(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		evicted := h.label("bob")
		evicted.Open("")
		pass(2 * time.Second)
		h.label("bob").Open("")
		pass(2 * time.Second)
		asks(t, evicted, "abcde", "Bash")

		c := h.mailbox("alice")
		for _, params := range []any{
			[]int{1},
			map[string]any{"tool_name": "Bash"},
			map[string]any{"request_id": "", "tool_name": "Bash"},
			map[string]any{"request_id": 7, "tool_name": "Bash"},
			map[string]any{"request_id": strings.Repeat("a", 129)},
		} {
			if status := c.Notify("notifications/claude/channel/permission_request", params); status != 202 {
				t.Errorf("%v: %d", params, status)
			}
		}
		pass(0)
		if got := h.prompts(); len(got) > 0 {
			t.Errorf("on the phone: %+v", got)
		}
	})
}
