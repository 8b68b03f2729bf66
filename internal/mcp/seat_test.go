package mcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestFreeSeatIsTakenAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		s := h.label("alice").Open("")
		pass(0)
		h.says("hello")
		pass(0)
		wantPushes(t, "the only session", s, "hello")
	})
}

func TestNewcomerTakesTheSeatWithItsStreamOpenForASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first := h.label("alice")
		a := first.Open("")
		pass(time.Minute)
		second := h.label("alice")
		b := second.Open("")
		pass(800 * time.Millisecond)
		h.says("early")
		pass(0)
		early := wantPushes(t, "the holder", a, "early")[0]
		wantPushes(t, "the newcomer", b)
		pass(2 * time.Second)
		h.says("late")
		pass(0)
		wantPushes(t, "the evicted one", a)
		// The first one had not proved the early message when it was evicted.
		if again := wantPushes(t, "the new holder", b, "early", "late")[0]; again.Meta["id"] != early.Meta["id"] {
			t.Errorf("offered again as %s, was %s", again.Meta["id"], early.Meta["id"])
		}

		if a.Ended(0) {
			t.Error("the evicted session's stream was cut: it stays connected")
		}
		for tool, args := range map[string]map[string]any{
			"send": {"text": "x"}, "inbox": {}, "send_message": {"content": "x"}, "get_message": {"id": "x"},
			"reply": {"chat_id": operator, "text": "x"},
		} {
			if r := first.Tool(tool, args); !r.IsError || !strings.Contains(r.Text, "another session has taken the name alice") {
				t.Errorf("%s of the evicted session: %+v", tool, r)
			}
		}
	})
}

func TestNewcomerTakesTheSeatWithItsFirstCall(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		a := h.label("alice").Open("")
		pass(time.Minute)
		second := h.label("alice")
		if out := inbox(t, second, nil); len(out.Events) != 0 {
			t.Errorf("inbox: %+v", out)
		}
		b := second.Open("")
		h.says("hello")
		pass(0)
		wantPushes(t, "the evicted one", a)
		wantPushes(t, "the new holder", b, "hello")
	})
}

func TestEvictedSessionNeverRetakesTheSeat(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first := h.label("alice")
		a := first.Open("")
		pass(time.Minute)
		b := h.label("alice").Open("")
		pass(2 * time.Second)
		first.Tool("inbox", map[string]any{})
		a.Close()
		pass(0)
		a = first.Open("")
		pass(5 * time.Second)
		first.Tool("inbox", map[string]any{})
		h.says("hello")
		pass(0)
		wantPushes(t, "the evicted one", a)
		wantPushes(t, "the holder", b, "hello")
	})
}

func TestLastEvictedGetsTheSeatBackAndWhatIsPending(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		var clients []*hubtest.Client
		var streams []*hubtest.Stream
		for range 4 {
			c := h.label("alice")
			clients, streams = append(clients, c), append(streams, c.Open(""))
			pass(2 * time.Second)
		}
		h.says("taken")
		pass(2 * time.Second)
		wantPushes(t, "the holder", streams[3], "taken")
		clients[2].Do(t.Context(), "DELETE", "") // the last evicted is gone
		h.says("pending")
		pass(100 * time.Millisecond)
		wantPushes(t, "the holder", streams[3], "pending")
		streams[3].Abort() // before it is handed over
		pass(14 * time.Second)
		h.says("while it is away")
		pass(0)
		wantPushes(t, "one that was evicted", streams[1])
		pass(5 * time.Second) // gone
		wantPushes(t, "the last evicted that is not gone", streams[1], "pending", "while it is away")
		wantPushes(t, "the first one", streams[0])
		if r := clients[1].Tool("send", map[string]any{"text": "I am back"}); r.IsError {
			t.Errorf("send of the new holder: %s", r.Text)
		}
	})
}

func TestSeatOfADeletedHolderPassesAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		a := h.label("alice").Open("")
		pass(2 * time.Second)
		second := h.label("alice")
		b := second.Open("")
		pass(2 * time.Second)
		h.says("pending")
		pass(100 * time.Millisecond)
		wantPushes(t, "the holder", b, "pending")
		second.Do(t.Context(), "DELETE", "")
		pass(0)
		wantPushes(t, "the heir", a, "pending")
		if got := h.presence.took(); len(got) != 1 {
			t.Errorf("presence was told %q, want that alice arrived once", got)
		}
	})
}

// A session that comes back to an empty seat gets each message once.
func TestReturningHeirGetsEachMessageOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first := h.label("alice")
		a := first.Open("")
		pass(2 * time.Second)
		b := h.label("alice").Open("")
		pass(2 * time.Second)
		a.Close()
		pass(20 * time.Second) // the first one is gone
		h.says("pending")
		pass(100 * time.Millisecond)
		wantPushes(t, "the holder", b, "pending")
		b.Abort()
		pass(10 * time.Second)
		h.label("alice")       // never opens a stream
		pass(10 * time.Second) // the holder is gone, nobody is here
		h.says("waits")
		pass(0)
		a = first.Open(a.LastID())
		pass(3 * time.Second)
		wantPushes(t, "the heir", a, "pending", "waits")
	})
}

// claude mcp list opens a session for 50 ms, with the agent's own headers.
func TestShortVisitTakesNothingAndLosesNothing(t *testing.T) {
	for _, how := range []string{"label", "header"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				connect := h.mailbox
				if how == "label" {
					connect = h.label
				}
				owner := connect("alice").Open("")
				pass(time.Minute)
				var want []string
				for i := range 20 {
					visitor := connect("alice")
					visitor.Call("tools/list", nil)
					s := visitor.Open("")
					want = append(want, fmt.Sprint("n", i))
					h.script("alice", want[i])
					time.Sleep(50 * time.Millisecond)
					s.Close()
				}
				pass(30 * time.Second)
				for _, r := range wantPushes(t, "the owner", owner, want...) {
					if got := h.fate(hub.MessageID(r.Meta["id"]), "alice"); got != "handed_over" {
						t.Errorf("%s: %s", r.Content, got)
					}
				}
			})
		})
	}
}

func TestShortVisitWithNobodyElseThereLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		h.label("alice")
		pass(2 * time.Second)
		h.script("alice", "held for alice")
		pass(time.Second)
		visitor := h.label("alice")
		s := visitor.Open("")
		time.Sleep(50 * time.Millisecond)
		s.Abort()
		pass(time.Second)
		got := h.label("alice")
		b := got.Open("")
		pass(30 * time.Second)
		wantPushes(t, "the one that stays", b, "held for alice")
	})
}

func TestLabelAndHeaderSessionsOfOneNameBothGetItsTraffic(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		box1, box2, seat := h.mailbox("alice").Open(""), h.mailbox("alice").Open(""), h.label("alice").Open("")
		pass(5 * time.Second)
		h.says("hello")
		pass(0)
		for who, s := range map[string]*hubtest.Stream{"one mailbox": box1, "the other": box2, "the seat": seat} {
			wantPushes(t, who, s, "hello")
		}
		seat2 := h.label("alice").Open("")
		pass(5 * time.Second)
		h.says("after a change of seat")
		pass(0)
		wantPushes(t, "one mailbox", box1, "after a change of seat")
		wantPushes(t, "the old seat", seat)
		wantPushes(t, "the new seat", seat2, "after a change of seat")
	})
}

// Each of two misconfigured agents connects anew as soon as it is evicted.
func TestTwoThatFightForASeatLoseNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		var streams []*hubtest.Stream
		const sent = 60
		for i := range sent {
			if i%3 == 0 {
				streams = append(streams, h.label("alice").Open(""))
			}
			time.Sleep(700 * time.Millisecond)
			h.script("alice", fmt.Sprint("n", i))
		}
		pass(30 * time.Second)
		got := map[string]int{}
		for _, s := range streams {
			count(got, s)
		}
		wantAll(t, got, sent)
	})
}

// count adds what has come on s.
func count(got map[string]int, s *hubtest.Stream) {
	for _, p := range s.Pushes() {
		got[p.Content]++
	}
}

// wantAll fails the test unless each of n0 to n(n-1) has come.
func wantAll(t *testing.T, got map[string]int, n int) {
	t.Helper()
	for i := range n {
		if got[fmt.Sprint("n", i)] == 0 {
			t.Errorf("n%d reached nobody", i)
		}
	}
}

func TestAgentThatInitializesEachSecondLosesNothing(t *testing.T) {
	for _, how := range []string{"label", "header"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				connect := h.mailbox
				if how == "label" {
					connect = h.label
				}
				got := map[string]int{}
				for i := range 30 {
					s := connect("alice").Open("")
					time.Sleep(500 * time.Millisecond)
					h.script("alice", fmt.Sprint("n", i))
					time.Sleep(500 * time.Millisecond)
					count(got, s)
					s.Close() // it never sends DELETE
				}
				s := connect("alice").Open("")
				pass(60 * time.Second)
				count(got, s)
				wantAll(t, got, 30)
			})
		})
	}
}

func TestInboxOfASessionEvictedWhileItWaitsGetsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first := h.label("alice")
		answer := make(chan hubtest.ToolResult, 1)
		go func() { answer <- first.Tool("inbox", map[string]any{"wait_seconds": 50}) }()
		pass(time.Second)
		s := h.label("alice").Open("")
		pass(2 * time.Second)
		h.says("for the holder")
		pass(0)
		wantPushes(t, "the holder", s, "for the holder")
		if r := <-answer; !r.IsError || !strings.Contains(r.Text, "another session has taken the name") {
			t.Errorf("the evicted one was told %q", r.Text)
		}
	})
}
