package mcp_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// attached returns a session that says itself what it was handed.
func (h *testHub) attached(agent, client string) *hubtest.Client {
	h.t.Helper()
	c := h.client()
	c.Agent = agent
	a := c.Do(h.t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{"experimental":{"aldis/attach":{}}},"clientInfo":{"name":"`+client+`","version":"1"}}}`)
	if c.Session = a.Header.Get("Mcp-Session-Id"); a.Status != http.StatusOK || c.Session == "" {
		h.t.Fatalf("initialize: %d %s", a.Status, a.Body)
	}
	return c
}

// handed has c acknowledge everything up to the event id last, and ids.
func handed(t *testing.T, c *hubtest.Client, last string, ids ...string) {
	t.Helper()
	n, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if status := c.Notify("notifications/aldis/handed", map[string]any{"last": n, "ids": ids}); status != http.StatusAccepted {
		t.Errorf("handed: %d", status)
	}
	pass(0)
}

func TestAttachedSessionSaysWhatItHasOfAnInbox(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.attached("alice", "x")
		c.Tool("inbox", nil) // which makes her present
		one, two := h.says("one").ID, h.says("two").ID
		pass(0)
		c.Tool("inbox", nil)
		c.Notify("notifications/aldis/handed", map[string]any{"last": 0, "ids": []string{string(one), "unknown"}})
		pass(0)
		if got := h.fate(one, "alice") + ", " + h.fate(two, "alice"); got != "handed_over, waiting" {
			t.Errorf("after she has acknowledged the first: %s", got)
		}
		s := c.Open("")
		pass(0)
		wantPushes(t, "alice, of the rest", s, "two")
	})
}

func TestAttachedSessionIsHandedWhatItSays(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.attached("alice", "x")
		s := c.Open("")
		pass(0)
		one, two := h.says("one").ID, h.says("two").ID
		pass(5 * time.Second)
		got := wantPushes(t, "alice", s, "one", "two")
		if got := h.fate(one, "alice"); got != "waiting" {
			t.Errorf("a stream that has lasted: %s", got)
		}
		s.Close()
		pass(0)
		s = c.Open(got[1].ID)
		pass(0)
		wantPushes(t, "alice, who only names an event", s, "one", "two")

		c.Tool("inbox", nil)
		pass(0)
		if got := h.fate(one, "alice"); got != "waiting" {
			t.Errorf("an answer of inbox that held it: %s", got)
		}

		handed(t, c, got[0].ID)
		if got := h.fate(one, "alice") + ", " + h.fate(two, "alice"); got != "handed_over, waiting" {
			t.Errorf("after she has acknowledged the first: %s", got)
		}
		s.Close()
		pass(0)
		s = c.Open("")
		pass(0)
		wantPushes(t, "alice, from where she is", s, "two")
		if got := len(h.platform.Receipts()); got != 1 {
			t.Errorf("%d read receipts, want one", got)
		}
	})
}

// An acknowledgement may come when the stream has ended, and be lost or wrong.
func TestAcknowledgements(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c, other := h.attached("alice", "x"), h.mailbox("bob")
		s := c.Open("")
		bob := other.Open("")
		pass(0)
		id := h.says("one").ID
		pass(0)
		last := wantPushes(t, "alice", s, "one")[0].ID
		bob.Close()
		pass(0)
		handed(t, other, last)
		if got := h.fate(id, "bob"); got != "waiting" {
			t.Errorf("a session that is not attached has acknowledged: %s", got)
		}
		for _, params := range []any{[]int{1}, map[string]any{"last": -1}, map[string]any{"last": "1"}, map[string]any{"ids": "x"}} {
			if status := c.Notify("notifications/aldis/handed", params); status != http.StatusAccepted {
				t.Errorf("%v: %d", params, status)
			}
		}
		s.Close()
		pass(0)
		if got := h.fate(id, "alice"); got != "waiting" {
			t.Errorf("after what cannot be read: %s", got)
		}
		two := h.says("two").ID // not sent: she has no stream
		handed(t, c, "18446744073709551615", "nobody")
		if got := h.fate(id, "alice") + ", " + h.fate(two, "alice"); got != "handed_over, waiting" {
			t.Errorf("after more than she was sent: %s", got)
		}
		s = c.Open("")
		pass(0)
		wantPushes(t, "alice, back", s, "two")
	})
}

func TestAttachedSessionIsToldItsVerdictUntilItSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.attached("alice", "x")
		s := c.Open("")
		pass(0)
		r := h.rule(c, "abcde", true)
		pass(5 * time.Second)
		wantVerdicts(t, "alice", s, verdictOf("abcde", "allow"))
		r.want(t, "a stream that has lasted")
		s.Close()
		pass(0)
		s = c.Open("")
		pass(0)
		wantVerdicts(t, "alice, on the next one", s, verdictOf("abcde", "allow"))
		handed(t, c, "0", "fghij", "abcde")
		r.want(t, "when she has acknowledged it", true)
		handed(t, c, "0", "abcde")
		r.want(t, "twice", true)
	})
}

func TestAttachedSessionAcknowledgesWhatIsInNoRecord(t *testing.T) {
	for _, acknowledges := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk := &fullRecord{}
			h := startHub(t, setup{inPipes: true, wrap: func(r hub.Record) hub.Record {
				disk.Record = r
				return disk
			}})
			c := h.attached("alice", "x")
			s := c.Open("")
			pass(0)
			disk.full.Store(true)
			id := string(h.says("from memory").ID)
			pass(0)
			wantPushes(t, "alice", s, "from memory")
			if acknowledges {
				handed(t, c, "0", id)
			}
			disk.full.Store(false)
			pass(10 * time.Second)
			if again := len(s.Pushes()); (again == 0) != acknowledges {
				t.Errorf("acknowledged: %v, it came %d times more", acknowledges, again)
			}
		})
	}
}

func TestAttachedSessionAfterARestart(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.attached("alice", "x")
		s := c.Open("")
		pass(0)
		one, two := h.says("one").ID, h.says("two").ID
		pass(0)
		last := wantPushes(t, "alice", s, "one", "two")[0].ID
		h = again(time.Second)
		c.Dial = h.dial
		handed(t, c, last)
		if got := h.fate(one, "alice") + ", " + h.fate(two, "alice"); got != "handed_over, waiting" {
			t.Errorf("what she has acknowledged to the next process: %s", got)
		}
		s = c.Open("")
		pass(0)
		wantPushes(t, "alice, back", s, "two")
	})
}

// It comes back by itself: nobody has to send it away.
func TestAttachedClientNeedNotStartAfresh(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.attached("alice", "claude-code")
		c.Open("").Close()
		pass(20 * time.Second)
		if r := c.Call("ping", nil); r.Status != http.StatusOK {
			t.Errorf("POST: %d", r.Status)
		}
	})
}
