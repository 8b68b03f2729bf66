package store

import (
	"path/filepath"
	"testing"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestWatchersHearHowDeliveriesEnd(t *testing.T) {
	w, c := &hubtest.Watcher{}, newClock()
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db"), Now: c.Now, Watch: hub.Watchers{w}})
	first := add(t, s, script(1), to("a", "b"))
	add(t, s, script(2), to("a"))
	add(t, s, script(3), held("a"))
	add(t, s, person(1), nil)
	c.Add(3 * time.Second)

	settle(t, s, hub.Settlement{Agent: "a", First: first, Last: first, State: hub.Written})
	settle(t, s, hub.Settlement{Agent: "a", First: first, Last: first, State: hub.HandedOver})
	settle(t, s, hub.Settlement{Agent: "a", Message: "s1", State: hub.HandedOver}) // it has been
	for range 2 {
		_, err := s.Acknowledge(t.Context(), "a", []hub.MessageID{"s1", "s2"}) // s2 had not been
		must(t, err)
	}
	settle(t, s, hub.Settlement{Agent: "b", Message: "s1", State: hub.Failed, Reason: "left"})
	c.Add(24 * time.Hour)
	expire(t, s, c)

	want := []string{
		`s1 for "a" handed_over "" after 3s`,
		`s2 for "a" handed_over "" after 3s`,
		`s1 for "b" failed "left" after 0s`,
		`s3 for "a" failed "expired" after 0s`,
		`p1 for "" failed "expired" after 0s`,
	}
	expect(t, "heard", w.Heard(), want)
}

// What a transaction that failed has done never happened.
func TestWatchersHearNothingOfAFailedWrite(t *testing.T) {
	w := &hubtest.Watcher{}
	s := open(t, Options{Watch: hub.Watchers{w}})
	add(t, s, script(1), to("a"))
	_, err := write(t.Context(), s, func(tx *txn) (int, error) {
		if _, err := tx.fail("s1", "a", "left"); err != nil {
			return 0, err
		}
		return 0, hub.Errorf(hub.Conflict, "no")
	})
	expectKind(t, "write", err, hub.Conflict)
	expect(t, "heard", w.Heard(), []string(nil))
}

func TestMeasure(t *testing.T) {
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db")})
	add(t, s, script(1), to("a"))
	add(t, s, script(2), held("b"))
	add(t, s, person(1), nil)
	m, err := s.Measure(t.Context())
	must(t, err)
	if m.Stored != 3 || m.Held != 1 || m.Bytes == 0 {
		t.Errorf("%+v, want 3 stored, 1 held and some bytes", m)
	}
}
