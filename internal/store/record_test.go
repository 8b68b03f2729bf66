package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// A message is decided once, however often a platform offers it.
func TestAppend(t *testing.T) {
	again := person(1)
	again.ID = "p1-again"
	tests := []struct {
		name   string
		before func(*testing.T, *Store)
		m      hub.Message
		d      *hub.Decision
		fresh  bool
		offer  hub.MessageID // what is offered; empty: nothing
	}{
		{"a new message", nil, person(1), to("a"), true, "p1"},
		{"a new message that waits", nil, person(1), nil, true, ""},
		{"decided before", func(t *testing.T, s *Store) { add(t, s, person(1), to("a")) }, again, to("b"), false, ""},
		{"decided before, for nobody", func(t *testing.T, s *Store) { add(t, s, person(1), to()) }, again, to("b"), false, ""},
		{"undecided before: that one is decided", func(t *testing.T, s *Store) { add(t, s, person(1), nil) }, again, to("a"), true, "p1"},
		{"undecided still: the caller goes on", func(t *testing.T, s *Store) { add(t, s, person(1), nil) }, again, nil, true, ""},
		{"without Dedup every message is new", func(t *testing.T, s *Store) { add(t, s, script(1), to("a")) }, script(2), to("a"), true, "s2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store, _ *clock) {
				if tt.before != nil {
					tt.before(t, s)
				}
				var offered []hub.Offer
				fresh, err := s.Append(t.Context(), tt.m, tt.d, func(o hub.Offer) { offered = append(offered, o) })
				if err != nil || fresh != tt.fresh {
					t.Errorf("Append = %v, %v, want %v", fresh, err, tt.fresh)
				}
				var id hub.MessageID
				for _, o := range offered {
					id = o.Message.ID
					if o.Seq == 0 || o.Seq != s.Last() {
						t.Errorf("offered with Seq %d, and the last is %d", o.Seq, s.Last())
					}
				}
				if id != tt.offer || len(offered) > 1 {
					t.Errorf("offered %v, want %q", offered, tt.offer)
				}
			})
		})
	}
}

// What was recorded comes back as it was.
func TestMessageComesBackWhole(t *testing.T) {
	m := hub.Message{
		ID: "m", Via: hub.ViaPlatform, Kind: hub.Reaction, Time: time.Date(2026, 3, 1, 11, 0, 0, 5000, time.UTC),
		Ref: hub.Ref{Platform: "signal", Chat: "c", Key: "17"}, Dedup: "d",
		From:  hub.Sender{ID: "friend", Aliases: []hub.SenderID{"uuid"}, Name: "<Ä> & \u2028"},
		Agent: "x", Subject: "agent:x", To: "y", Text: "👍\n\"\\", Removed: true,
		Quote:       &hub.Quote{Ref: hub.Ref{Platform: "signal", Chat: "c", Key: "16"}, Ours: true, From: "us", Aliases: []hub.SenderID{"me"}, Text: "q", Untrusted: true},
		Target:      hub.Ref{Platform: "signal", Chat: "c", Key: "15"},
		Attachments: []hub.Attachment{{Name: "a.png", Type: "image/png", Size: -1, Path: "/a"}},
		Meta:        map[string]string{"k": "v"}, Group: "g", Addressed: true, Receipt: true, Label: "x",
	}
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		add(t, s, m, to("a"))
		got, err := s.Message(t.Context(), "a", "m")
		must(t, err)
		expect(t, "the message", got, m)
		_, err = s.Message(t.Context(), "b", "m")
		expectKind(t, "another agent's message", err, hub.NotFound)
	})
}

func TestAppendRefusesAnIDTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		add(t, s, script(1), to("a"))
		_, err := s.Append(t.Context(), script(1), to("a"), nil)
		expectKind(t, "the same id", err, hub.Conflict)
		add(t, s, script(2), to("a"))
	})
}

// What failed for an agent and is offered to it after all is new to every
// session of it: those that have read on meanwhile were not sent it, and what
// they are handed says nothing of it.
func TestOfferThatFailedBeginsAnew(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		must(t, s.SaveSession(t.Context(), hub.SavedSession{ID: "x", Agent: "a", Used: c.Now()}))
		first := add(t, s, person(1), to("a"))
		must(t, s.Decide(t.Context(), "p1", []hub.AgentID{"a"}, "left", nil, nil))
		read := add(t, s, script(1), to("a"))
		must(t, s.Decide(t.Context(), "p1", nil, "", to("a"), nil))
		settle(t, s, hub.Settlement{Agent: "a", Session: "x", First: first, Last: read, State: hub.HandedOver})
		expect(t, "fate", fates(t, s, "p1"), []string{"a queued"})
		offers, err := s.Since(t.Context(), "a", "x", 0, read, s.Last(), 10)
		must(t, err)
		if len(offers) != 1 || offers[0].Message.ID != "p1" {
			t.Errorf("the session that has read on is offered %v, want p1", offers)
		}
	})
}

// A new decision ends what the one before had not brought about, and offers
// the message to whoever was not handed it.
func TestDecide(t *testing.T) {
	handed := func(t *testing.T, s *Store) {
		settle(t, s, hub.Settlement{Agent: "a", Message: "p1", State: hub.HandedOver})
	}
	tests := []struct {
		name   string
		before func(*testing.T, *Store) // p1 is offered to a
		from   []hub.AgentID
		d      *hub.Decision
		offers string
		fate   []string
	}{
		{"to another", nil, []hub.AgentID{"a"}, to("b"), "[b]", []string{"a failed left", "b queued"}},
		{"to another, after a hand-over", handed, []hub.AgentID{"a"}, to("b"), "[b]", []string{"a handed_over", "b queued"}},
		{"to one more", nil, nil, to("a", "b"), "[a] [b]", []string{"a queued", "b queued"}},
		{"to one who was handed it", handed, nil, to("a", "b"), "[b]", []string{"a handed_over", "b queued"}},
		{"back to the same", nil, []hub.AgentID{"a"}, to("a"), "[a]", []string{"a queued"}},
		{"nobody is present", nil, []hub.AgentID{"a"}, nil, "", []string{"a failed left"}},
		{"held", nil, []hub.AgentID{"a"}, held("c"), "[c]", []string{"a failed left", "c queued"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store, _ *clock) {
				first := add(t, s, person(1), to("a"))
				if tt.before != nil {
					tt.before(t, s)
				}
				var offers []string
				must(t, s.Decide(t.Context(), "p1", tt.from, "left", tt.d, func(o hub.Offer) {
					offers = append(offers, fmt.Sprint(o.Decision.To))
					again := o.Decision.To[0] == "a" && len(tt.from) == 0 // what has failed begins anew
					if o.Seq <= first || (o.Was == first) != again {
						t.Errorf("offer to %v has Seq %d and Was %d; the first had %d", o.Decision.To, o.Seq, o.Was, first)
					}
				}))
				expect(t, "offers", strings.Join(offers, " "), tt.offers)
				expect(t, "fate", fates(t, s, "p1"), tt.fate)
				waiting, err := s.Undecided(t.Context())
				must(t, err)
				if len(waiting) == 1 != (tt.d == nil) {
					t.Errorf("undecided: %v", waiting)
				}
			})
		})
	}
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		expectKind(t, "no such message", s.Decide(t.Context(), "p1", nil, "", to("a"), nil), hub.NotFound)
	})
}

// What waits for a decision stays in order, and what goes out never waits.
func TestUndecided(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		for n := range 3 {
			add(t, s, person(n), nil)
		}
		out := script(9)
		out.Ref.Platform = "signal"
		add(t, s, out, nil)
		must(t, s.Decide(t.Context(), "p1", nil, "", to("a"), nil))
		var ids []hub.MessageID
		ms, err := s.Undecided(t.Context())
		must(t, err)
		for _, m := range ms {
			ids = append(ids, m.ID)
		}
		expect(t, "undecided", ids, []hub.MessageID{"p0", "p2"})
	})
}

// What was not handed over is offered again under new numbers, in the old
// order, and a session that was sent the old one is not sent the new one.
func TestReoffer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		var seqs []hub.Seq
		for n := range 4 {
			seqs = append(seqs, add(t, s, person(n), to("a", "b")))
		}
		settle(t, s, hub.Settlement{Agent: "a", Message: "p1", State: hub.HandedOver})
		var got []string
		must(t, s.Reoffer(t.Context(), "a", seqs[2], func(o hub.Offer) {
			got = append(got, fmt.Sprintf("%s to %v was %d", o.Message.ID, o.Decision.To, o.Was-seqs[0]))
		}))
		expect(t, "offers", got, []string{"p0 to [a] was 0", "p2 to [a] was 2"})

		since := func(birth, after hub.Seq) (ids []string) {
			t.Helper()
			offers, err := s.Since(t.Context(), "a", "x", birth, after, s.Last(), 10)
			must(t, err)
			for _, o := range offers {
				ids = append(ids, string(o.Message.ID))
			}
			return ids
		}
		expect(t, "a new session", since(s.Last()-2, s.Last()-2), []string{"p0", "p2"})
		expect(t, "one that has seen p0", since(seqs[0]-1, seqs[0]), []string{"p1", "p3", "p2"})
		expect(t, "one that has seen all but p3", since(seqs[0]-1, seqs[2]), []string{"p3"})

		// It comes back and proves that it was sent the old ones.
		settle(t, s, hub.Settlement{Agent: "a", First: seqs[0], Last: seqs[2], State: hub.HandedOver})
		expect(t, "inbox", inbox(t, s, "a"), []string{"p3", "p1*", "p0*", "p2*"})
	})
}

// What is held for an absent agent is bounded: the oldest goes.
func TestHeldMailIsBounded(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	tests := []struct {
		name  string
		count int
		text  string
		hold  func(t *testing.T, s *Store, m hub.Message)
		lost  int // of the oldest
	}{
		{"number", maxHeld + 3, "", func(t *testing.T, s *Store, m hub.Message) { add(t, s, m, held("a")) }, 3},
		{"bytes", 6, big, func(t *testing.T, s *Store, m hub.Message) { add(t, s, m, held("a")) }, 3},
		{"held later", 6, big, func(t *testing.T, s *Store, m hub.Message) {
			add(t, s, m, to("a"))
			must(t, s.Hold(t.Context(), "a", []hub.MessageID{m.ID}))
		}, 3},
		{"not held", 6, big, func(t *testing.T, s *Store, m hub.Message) { add(t, s, m, to("a")) }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, Options{})
			for n := range tt.count {
				m := script(n)
				m.Text = tt.text
				tt.hold(t, s, m)
			}
			if n := len(inbox(t, s, "a")); n != tt.count-tt.lost {
				t.Errorf("%d wait, want %d", n, tt.count-tt.lost)
			}
			for n := range tt.lost {
				expect(t, "fate", fates(t, s, script(n).ID), []string{"a failed " + reasonTooMuch})
			}
		})
	}
}

// A message is found by the platform's name for it, or for a part of it.
func TestFind(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		add(t, s, person(1), &hub.Decision{Status: hub.AgentOffline, Meant: "gone", To: []hub.AgentID{"a", "b"}})
		must(t, s.Decide(t.Context(), "p1", []hub.AgentID{"b"}, "left", &hub.Decision{Status: hub.AgentOffline, Meant: "gone", To: []hub.AgentID{"c"}}, nil))
		elsewhere := person(2)
		elsewhere.Ref = hub.Ref{Platform: "signal", Chat: "other", Key: "1"}
		add(t, s, elsewhere, to("d"))
		out := script(1)
		out.Via, out.Ref = hub.ViaTool, hub.Ref{Platform: "signal", Chat: "chat"}
		add(t, s, out, &hub.Decision{})
		part := hub.Ref{Platform: "signal", Chat: "chat-uuid", Key: "51"}
		must(t, s.Outcome(t.Context(), "s1", hub.Sent{Refs: []hub.Ref{{Platform: "signal", Chat: "chat", Key: "50"}, part}, Reached: 1}, nil))

		got, err := s.Find(t.Context(), "signal", "1")
		must(t, err)
		expect(t, "inbound", got, []hub.Filed{
			{Message: elsewhere, Decision: *to("d")},
			{Message: person(1), Decision: hub.Decision{Status: hub.AgentOffline, Meant: "gone", To: []hub.AgentID{"a", "c"}}},
		})
		got, err = s.Find(t.Context(), "signal", "51")
		must(t, err)
		out.Ref = part
		expect(t, "outbound", got, []hub.Filed{{Message: out}})
		got, err = s.Find(t.Context(), "web", "1")
		must(t, err)
		expect(t, "another platform", got, []hub.Filed{})

		chats, err := s.Chats(t.Context())
		must(t, err)
		expect(t, "chats", chats, []hub.Ref{{Platform: "signal", Chat: "chat"}, {Platform: "signal", Chat: "other"}})
	})
}

// Unsettled mail says whether anybody else has it or may get it.
func TestUnsettled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ *clock) {
		add(t, s, script(0), to("a"))
		add(t, s, script(1), to("a", "b"))
		add(t, s, script(2), to("a", "b"))
		add(t, s, script(3), held("a"))
		add(t, s, script(4), to("a"))
		settle(t, s,
			hub.Settlement{Agent: "b", Message: "s2", State: hub.Failed, Reason: "x"},
			hub.Settlement{Agent: "a", Message: "s4", State: hub.HandedOver})
		loose, err := s.Unsettled(t.Context(), "a")
		must(t, err)
		var got []string
		for _, l := range loose {
			got = append(got, fmt.Sprint(l.Message.ID, " ", l.Decision.To, l.Decision.Hold, l.Elsewhere))
		}
		expect(t, "unsettled", got, []string{"s0 [a] false false", "s1 [a] false true", "s2 [a] false false", "s3 [a] true false"})

		owed, err := s.Owed(t.Context())
		must(t, err)
		expect(t, "owed", owed, []hub.AgentID{"a", "b"})
	})
}
