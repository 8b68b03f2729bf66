package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

// A clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// open opens a record, and closes it with the test.
func open(t testing.TB, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// onBoth runs a test on a record in a file and on one in memory.
func onBoth(t *testing.T, test func(*testing.T, *Store, *clock)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		c := newClock()
		test(t, open(t, Options{Path: filepath.Join(t.TempDir(), "a.db"), Now: c.Now}), c)
	})
	t.Run("memory", func(t *testing.T) {
		c := newClock()
		test(t, open(t, Options{Now: c.Now}), c)
	})
}

// person returns a message that a person wrote, named n.
func person(n int) hub.Message {
	return hub.Message{
		ID:      hub.MessageID(fmt.Sprintf("p%d", n)),
		Via:     hub.ViaPlatform,
		Kind:    hub.Text,
		Time:    time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		Ref:     hub.Ref{Platform: "signal", Chat: "chat", Key: fmt.Sprint(n)},
		Dedup:   fmt.Sprint("signal/chat/", n),
		From:    hub.Sender{ID: "friend", Name: "A Friend"},
		Text:    fmt.Sprint("words ", n),
		Receipt: true,
	}
}

// script returns a message that a script sent, named n.
func script(n int) hub.Message {
	return hub.Message{
		ID: hub.MessageID(fmt.Sprintf("s%d", n)), Via: hub.ViaNotify, Kind: hub.Text,
		Agent: "ci", Subject: "main", Text: fmt.Sprint("built ", n),
	}
}

// to returns a decision for agents.
func to(agents ...hub.AgentID) *hub.Decision {
	return &hub.Decision{Status: hub.Unrouted, To: agents}
}

// held returns a decision to hold for an agent.
func held(agent hub.AgentID) *hub.Decision {
	return &hub.Decision{To: []hub.AgentID{agent}, Hold: true}
}

// add appends m and returns the Seq that it was offered with; 0: none.
func add(t testing.TB, s *Store, m hub.Message, d *hub.Decision) (seq hub.Seq) {
	t.Helper()
	fresh, err := s.Append(context.Background(), m, d, func(o hub.Offer) { seq = o.Seq })
	if err != nil || !fresh {
		t.Fatalf("Append(%s) = %v, %v, want true", m.ID, fresh, err)
	}
	return seq
}

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a function that returns its value or fails the test.
func get[T any](t testing.TB) func(T, error) T {
	return func(val T, err error) T {
		t.Helper()
		must(t, err)
		return val
	}
}

func TestSmoke(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		add(t, s, person(1), to("a", "b"))
		mail, more, err := s.Inbox(t.Context(), "a", 10)
		if len(mail) != 1 || more || err != nil {
			t.Fatal(mail, more, err)
		}
		get[int](t)(s.Expire(t.Context(), time.Time{}, time.Time{}))
		for _, st := range []hub.Settlement{
			{Agent: "a", First: mail[0].Seq, Last: mail[0].Seq, Session: "x", State: hub.HandedOver},
			{Agent: "a", First: mail[0].Seq, Last: mail[0].Seq, Session: "x", State: hub.Acknowledged, OutOfTurn: true},
			{Agent: "b", Message: "p1", State: hub.Written, OutOfTurn: true},
			{Agent: "b", Message: "p1", State: hub.Acknowledged, OutOfTurn: true},
		} {
			due, err := s.Settle(t.Context(), []hub.Settlement{st})
			t.Log(due, err)
		}
		t.Log(s.Fate(t.Context(), "", "p1"))
	})
}
