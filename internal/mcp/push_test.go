package mcp_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"aldis/internal/hub"
)

func TestStreamOpensWithAnIDAndNoData(t *testing.T) {
	h := startHub(t, setup{})
	s := h.mailbox("alice").Open("")
	if s.Status != http.StatusOK || s.Header.Get("Content-Type") != "text/event-stream" || s.Header.Get("Cache-Control") != "no-cache, no-transform" || s.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%d %v", s.Status, s.Header)
	}
	for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy"} {
		if s.Header.Get(name) == "" {
			t.Errorf("the stream lacks %s", name)
		}
	}
	ev, ok := s.Next(5 * time.Second)
	if n, err := strconv.ParseUint(ev.ID, 10, 64); !ok || err != nil || n == 0 || ev.Data != "" || ev.Retry != "2000" {
		t.Errorf("first event %+v", ev)
	}
}

func TestEventsComeInOrderEachWithAnID(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		s := h.mailbox("alice").Open("")
		var want []string
		for i := range 500 {
			want = append(want, fmt.Sprint("n", i))
			h.script("alice", want[i])
		}
		pass(0)
		last := uint64(0)
		for _, p := range wantPushes(t, "alice", s, want...) {
			n, err := strconv.ParseUint(p.ID, 10, 64)
			if err != nil || n <= last {
				t.Fatalf("id %q after %d", p.ID, last)
			}
			last = n
		}
	})
}

func TestWhatComesBeforeTheFirstStreamWaitsForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		live := h.mailbox("alice").Open("")
		late := h.mailbox("alice")
		h.says("one")
		h.says("two")
		pass(0)
		wantPushes(t, "the live session", live, "one", "two")
		s := late.Open("")
		pass(0)
		wantPushes(t, "the late session", s, "one", "two")
		h.says("three")
		pass(0)
		wantPushes(t, "the live session", live, "three")
		wantPushes(t, "the late session", s, "three")
	})
}

func TestLastEventIDReplaysWhatIsMissing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		for i := range 5 {
			h.script("alice", fmt.Sprint("n", i))
		}
		pass(0)
		got := wantPushes(t, "alice", s, "n0", "n1", "n2", "n3", "n4")
		s.Close()
		pass(0)
		h.script("alice", "n5")
		pass(0)

		s = c.Open(got[2].ID)
		pass(0)
		again := wantPushes(t, "after the third", s, "n3", "n4", "n5")
		if again[0].Meta["id"] != got[3].Meta["id"] || again[0].ID != got[3].ID {
			t.Errorf("the fourth came again as %+v, was %+v", again[0], got[3])
		}
		last := s.LastID()
		s.Close()
		pass(0)
		s = c.Open(last)
		pass(0)
		wantPushes(t, "after the last", s)
	})
}

func TestLastEventIDThatIsNotOursReplaysFromTheCursor(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		h.mailbox("alice").Open("") // so that there is somebody
		h.script("alice", "n0")
		for _, last := range []string{"", "0", "-1", "junk", "18446744073709551615", "99999999999999999999"} {
			s := c.Open(last)
			pass(0)
			wantPushes(t, "Last-Event-ID "+last, s, "n0")
			s.Close()
			pass(0)
		}
	})
}

func TestNewestStreamOfASessionWins(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		first := c.Open("")
		second := c.Open(first.LastID())
		if !first.Ended(time.Second) {
			t.Error("the first stream is open")
		}
		h.says("hello")
		pass(0)
		wantPushes(t, "the second stream", second, "hello")
		if got := h.states("alice"); len(got) != 1 || got[0] != "live" {
			t.Errorf("states %v", got)
		}
	})
}

func TestSilentStreamGetsACommentEvery20Seconds(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		s := h.mailbox("alice").Open("")
		pass(0)
		s.Next(0) // the first event
		begin := time.Now()
		for i := 1; i <= 3; i++ {
			ev, ok := s.Next(25 * time.Second)
			if after := time.Since(begin); !ok || !ev.Comment || after < 20*time.Second || after > 22*time.Second {
				t.Errorf("comment %d: %+v %v after %s", i, ev, ok, after)
			}
			begin = time.Now()
		}
		pass(15 * time.Second)
		h.says("no silence")
		pass(15 * time.Second)
		wantPushes(t, "alice", s, "no silence")
	})
}

func TestStoppingHubTellsClientsToComeLater(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		s := h.mailbox("alice").Open("")
		pass(0)
		s.Next(0)
		h.stop()
		ev, ok := s.Next(time.Second)
		if n, _ := strconv.Atoi(ev.Retry); !ok || n < 5000 || n > 10000 {
			t.Errorf("last event %+v", ev)
		}
		if !s.Ended(time.Second) {
			t.Error("the stream is open")
		}
	})
}

// Traffic of one agent is no other's.
func TestEventsGoToTheirAgentAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		alice, bob := h.mailbox("alice"), h.mailbox("bob")
		a, b := alice.Open(""), bob.Open("")
		pass(0)
		if r := alice.Tool("send", map[string]any{"text": "shall I?"}); r.IsError {
			t.Fatal(r.Text)
		}
		h.receive(hub.Message{Kind: hub.Text, Text: "yes do", Quote: &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: operator, Key: "1001"}, Ours: true, From: "+1"}})
		pass(0)
		p := wantPushes(t, "alice", a, "yes do")[0]
		wantPushes(t, "bob", b)
		if p.Meta["route_status"] != "routed" || p.Meta["in_reply_to_text"] != "shall I?" {
			t.Errorf("meta %v", p.Meta)
		}
		h.says("to all")
		pass(0)
		wantPushes(t, "alice", a, "to all")
		wantPushes(t, "bob", b, "to all")
	})
}
