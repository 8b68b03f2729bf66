package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// fates returns what became of a message, as "agent state reason".
func fates(t testing.TB, s *Store, id hub.MessageID) (out []string) {
	t.Helper()
	ds, err := s.Fate(context.Background(), "", id)
	must(t, err)
	for _, d := range ds {
		out = append(out, strings.TrimSpace(fmt.Sprint(d.Agent, " ", d.State, " ", d.Reason)))
	}
	return out
}

// inbox returns the ids in an agent's inbox; those seen before have a star.
func inbox(t testing.TB, s *Store, agent hub.AgentID) (ids []string) {
	t.Helper()
	mail, more, err := s.Inbox(context.Background(), agent, 2000)
	must(t, err)
	if more {
		t.Errorf("the inbox of %s has more than 2000", agent)
	}
	for _, m := range mail {
		id := string(m.Message.ID)
		if m.Seen {
			id += "*"
		}
		ids = append(ids, id)
	}
	return ids
}

// settle settles, and reports whether a receipt became due.
func settle(t testing.TB, s *Store, sts ...hub.Settlement) bool {
	t.Helper()
	due, err := s.Settle(context.Background(), sts)
	must(t, err)
	return due
}

// expect compares.
func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// expectKind checks the kind of an error.
func expectKind(t testing.TB, what string, err error, want hub.Kind) {
	t.Helper()
	if err == nil || hub.KindOf(err) != want {
		t.Errorf("%s: error %v, want one of kind %s", what, err, want)
	}
}
