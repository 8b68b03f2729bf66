package store

import (
	"errors"
	"fmt"
	"testing"

	"aldis/internal/hub"
)

// States only rise, but for a failure of what was not handed over.
func TestStatesRise(t *testing.T) {
	states := []hub.State{hub.Queued, hub.Written, hub.HandedOver, hub.Acknowledged, hub.Failed}
	for _, from := range states {
		for _, next := range states {
			want := max(from, next)
			if next == hub.Failed && from >= hub.HandedOver {
				want = from
			}
			for _, by := range []string{"message", "range"} {
				t.Run(fmt.Sprintf("%s to %s by %s", from, next, by), func(t *testing.T) {
					s := open(t, Options{})
					seq := add(t, s, script(1), to("a", "b"))
					settle(t, s, hub.Settlement{Agent: "a", Message: "s1", State: from})
					st := hub.Settlement{Agent: "a", First: seq, Last: seq, State: next}
					if by == "message" {
						st = hub.Settlement{Agent: "a", Message: "s1", State: next}
					}
					settle(t, s, st)
					expect(t, "fate", fates(t, s, "s1"), []string{"a " + want.String(), "b queued"})
				})
			}
		}
	}
}

// A receipt becomes due once, at the first hand-over, and stays due until it
// was sent.
func TestReceiptIsDueOnce(t *testing.T) {
	silent := person(3)
	silent.Receipt = false
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		seq := add(t, s, person(1), to("a", "b"))
		add(t, s, person(2), to("a"))
		add(t, s, silent, to("a"))
		steps := []struct {
			name string
			do   func() bool
			due  bool
		}{
			{"written", func() bool {
				return settle(t, s, hub.Settlement{Agent: "a", First: seq, Last: seq, State: hub.Written})
			}, false},
			{"failed", func() bool { return settle(t, s, hub.Settlement{Agent: "b", Message: "p1", State: hub.Failed}) }, false},
			{"handed over", func() bool {
				return settle(t, s, hub.Settlement{Agent: "a", First: seq, Last: seq, State: hub.HandedOver})
			}, true},
			{"acknowledged", func() bool {
				return settle(t, s, hub.Settlement{Agent: "a", Message: "p1", State: hub.Acknowledged})
			}, false},
			{"one that wants none", func() bool {
				return settle(t, s, hub.Settlement{Agent: "a", Message: "p3", State: hub.HandedOver})
			}, false},
		}
		for _, step := range steps {
			if due := step.do(); due != step.due {
				t.Errorf("%s: due = %v, want %v", step.name, due, step.due)
			}
		}
		unknown, err := s.Acknowledge(t.Context(), "a", []hub.MessageID{"p2", "p1", "nonsense"})
		must(t, err)
		expect(t, "unknown", unknown, []hub.MessageID{"nonsense"})

		due, err := s.DueReceipts(t.Context(), 10)
		must(t, err)
		expect(t, "due", due, []hub.Message{person(1), person(2)})
		must(t, s.ReceiptSent(t.Context(), "p1"))
		due, err = s.DueReceipts(t.Context(), 10)
		must(t, err)
		expect(t, "due then", due, []hub.Message{person(2)})
	})
}

// A session's cursor follows what it was handed in turn; what it was handed
// out of turn is not sent to it again.
func TestCursor(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		must(t, s.SaveSession(t.Context(), hub.SavedSession{ID: "x", Agent: "a", Used: c.Now()}))
		var seqs []hub.Seq
		for n := range 5 {
			seqs = append(seqs, add(t, s, script(n), to("a")))
		}
		cursor := func() hub.Seq {
			t.Helper()
			v, err := s.Session(t.Context(), "x")
			must(t, err)
			return v.Cursor
		}
		settle(t, s, hub.Settlement{Agent: "a", Session: "x", First: seqs[0], Last: seqs[1], State: hub.Written})
		expect(t, "cursor after a write", cursor(), hub.Seq(0))
		settle(t, s, hub.Settlement{Agent: "a", Session: "x", First: seqs[0], Last: seqs[1], State: hub.HandedOver})
		settle(t, s, hub.Settlement{Agent: "a", Session: "x", First: seqs[0], Last: seqs[0], State: hub.HandedOver})
		expect(t, "cursor after a hand-over", cursor(), seqs[1])
		settle(t, s,
			hub.Settlement{Agent: "a", Session: "x", Message: "s3", State: hub.HandedOver, OutOfTurn: true},
			hub.Settlement{Agent: "a", Session: "nobody", Message: "s2", State: hub.HandedOver, OutOfTurn: true})
		expect(t, "cursor after one out of turn", cursor(), seqs[1])

		since := func(session hub.SessionID) (ids []hub.MessageID) {
			offers, err := s.Since(t.Context(), "a", session, 0, seqs[1], s.Last(), 10)
			must(t, err)
			for _, o := range offers {
				ids = append(ids, o.Message.ID)
			}
			return ids
		}
		expect(t, "since", since("x"), []hub.MessageID{"s2", "s4"})
		expect(t, "since, for another", since("y"), []hub.MessageID{"s2", "s3", "s4"})

		offers, err := s.Since(t.Context(), "a", "y", 0, seqs[1], seqs[3], 1)
		must(t, err)
		if len(offers) != 1 || offers[0].Seq != seqs[2] {
			t.Errorf("a page of one: %v", offers)
		}
	})
}

// The inbox shows what is new first, each oldest first, and says if there is
// more.
func TestInbox(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		for n := range 5 {
			add(t, s, script(n), to("a"))
		}
		settle(t, s,
			hub.Settlement{Agent: "a", Message: "s0", State: hub.HandedOver},
			hub.Settlement{Agent: "a", Message: "s1", State: hub.Acknowledged},
			hub.Settlement{Agent: "a", Message: "s3", State: hub.Failed})
		expect(t, "inbox", inbox(t, s, "a"), []string{"s2", "s4", "s0*"})
		for limit, want := range map[int]bool{2: true, 3: false} {
			mail, more, err := s.Inbox(t.Context(), "a", limit)
			if err != nil || len(mail) != limit || more != want {
				t.Errorf("Inbox(%d) = %d, %v, %v, want more %v", limit, len(mail), more, err, want)
			}
		}
	})
}

// What a platform says of a message is its fate.
func TestOutcome(t *testing.T) {
	failed := []hub.Failure{{Recipient: "X", Reason: "not registered"}, {Recipient: "Y", Reason: "blocked"}}
	tests := []struct {
		name string
		sent hub.Sent
		err  error
		want string
	}{
		{"sent", hub.Sent{Reached: 1}, nil, "handed_over"},
		{"nobody was reached", hub.Sent{Failed: failed}, nil, "failed X: not registered; Y: blocked"},
		{"some were reached", hub.Sent{Reached: 1, Failed: failed[:1]}, nil, "handed_over X: not registered"},
		{"nobody knows", hub.Sent{Unknown: true}, nil, "written outcome unknown"},
		{"not sent", hub.Sent{}, errors.New("captcha"), "failed captcha"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, Options{})
			m := script(1)
			m.Ref.Platform = "signal"
			add(t, s, m, &hub.Decision{})
			must(t, s.Outcome(t.Context(), "s1", tt.sent, tt.err))
			expect(t, "fate", fates(t, s, "s1"), []string{tt.want})
			// It never is mail.
			expect(t, "inbox", inbox(t, s, ""), []string{})
		})
	}
	s := open(t, Options{})
	expectKind(t, "no such message", s.Outcome(t.Context(), "s1", hub.Sent{}, nil), hub.NotFound)
}

// A subject sees what became of its own messages, the admin of all.
func TestFate(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		add(t, s, script(1), to("a"))
		for subject, want := range map[string]hub.Kind{"main": "", "": "", "agent:a": hub.NotFound} {
			ds, err := s.Fate(t.Context(), subject, "s1")
			if want != "" {
				expectKind(t, subject, err, want)
				continue
			}
			must(t, err)
			expect(t, "fate", ds, []hub.Delivery{{Agent: "a", State: hub.Queued, Time: c.Now()}})
		}
		_, err := s.Fate(t.Context(), "", "nonsense")
		expectKind(t, "no such message", err, hub.NotFound)
	})
}
