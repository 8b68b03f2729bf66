package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/hubtest"
	"aldis/internal/relay"
	"aldis/internal/route"
	"aldis/internal/store"
)

const (
	fake     = hub.PlatformID("fake")
	friend   = hub.SenderID("+1")
	operator = hub.ChatID("+1")
)

// A fixture is a relay with the real record, in memory, between a platform and
// sessions that are fakes.
type fixture struct {
	*relay.Relay
	t        *testing.T
	platform *hubtest.Platform
	sessions *hubtest.Sessions
	store    *store.Store
	last     atomic.Int64
	after    []func() error // ends what the test has started
}

// start runs test with a relay in a bubble of its own time.
func start(t *testing.T, test func(f *fixture), change ...func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		record, err := store.Open(t.Context(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, platform: hubtest.NewPlatform(fake), sessions: &hubtest.Sessions{}, store: record}
		f.Relay = &relay.Relay{
			Gate:     &gate.Gate{},
			Routes:   &route.Table{TTL: time.Hour, Max: 10_000, Now: time.Now},
			Sessions: f.sessions, Record: record, Platforms: []hub.Platform{f.platform},
			Operator: hub.Ref{Platform: fake, Chat: operator}, Default: "desk",
			Labels: relay.LabelAuto, HoldFor: time.Hour, Log: slog.New(slog.DiscardHandler), Now: time.Now,
			NewID: func() hub.MessageID { return hub.MessageID(fmt.Sprintf("m%03d", f.last.Add(1))) },
		}
		f.Gate.SameChat, f.Routes.SameChat = f.SameChat, f.SameChat
		f.Gate.Trust(fake, friend)
		f.Gate.Open(fake, operator)
		for _, c := range change {
			c(f)
		}
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Run(ctx) }()
		test(f)
		stop()
		errs := []error{<-ended}
		for _, end := range f.after {
			errs = append(errs, end())
		}
		if err := errors.Join(append(errs, record.Close())...); err != nil {
			t.Error(err)
		}
	})
}

// from is a message of the friend's.
func from(key string, change ...func(*hub.Message)) hub.Message {
	m := hub.Message{
		Via: hub.ViaPlatform, Kind: hub.Text, Text: "hi", Receipt: true, Dedup: key,
		Ref: hub.Ref{Platform: fake, Chat: operator, Key: key}, From: hub.Sender{ID: friend},
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

// quoting makes a message answer one of ours.
func quoting(key string) func(*hub.Message) {
	return func(m *hub.Message) {
		m.Quote = &hub.Quote{Ours: true, Ref: hub.Ref{Platform: fake, Chat: m.Ref.Chat, Key: key}}
	}
}

func (f *fixture) receive(m hub.Message) hub.Receipt {
	f.t.Helper()
	r, err := f.Receive(f.t.Context(), m)
	if err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait()
	return r
}

// sends has an agent write to the operator, and returns the message's name.
func (f *fixture) sends(agent hub.AgentID, text string) string {
	f.t.Helper()
	sent, err := f.Send(f.t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: agent, Text: text})
	if err != nil {
		f.t.Fatal(err)
	}
	return sent.Refs[0].Key
}

// question is what an agent asks when a test wants to answer it.
var question = hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "question?"}

// name is what the platform calls a message when a test answers for it.
func name(m hub.Message) hub.Ref { return hub.Ref{Platform: fake, Chat: m.Ref.Chat, Key: string(m.ID)} }

// noWord is a platform that never says what became of a message.
func noWord(hub.Message) (hub.Sent, error) { return hub.Sent{Unknown: true}, nil }

// takes has an agent be handed everything that it was offered.
func (f *fixture) takes(agent hub.AgentID) {
	for _, o := range f.sessions.Got(agent) {
		f.Settled(hub.Settlement{Agent: agent, First: o.Seq, Last: o.Seq, State: hub.HandedOver})
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// wantGot checks the statuses of what agents got, as "status key", in order.
func (f *fixture) wantGot(want map[hub.AgentID][]string) {
	f.t.Helper()
	got := map[hub.AgentID][]string{}
	for _, a := range []hub.AgentID{"ci", "desk", "other"} {
		for _, o := range f.sessions.Got(a) {
			got[a] = append(got[a], fmt.Sprint(o.Decision.Status, " ", o.Message.Ref.Key))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("agents got (-want +got):\n%s", d)
	}
}

type got = map[hub.AgentID][]string

// An answer reaches the agent that sent the message which it answers, and no
// other.
func TestAnswerReachesItsAgent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		present []hub.AgentID
		answers bool
		after   time.Duration
		want    got
	}{
		{"its agent is present", []hub.AgentID{"ci", "desk"}, true, 0, got{"ci": {"routed in"}}},
		{"its agent is absent", []hub.AgentID{"desk", "other"}, true, 0, got{"desk": {"agent_offline in"}}},
		{"the route has expired", []hub.AgentID{"ci", "desk"}, true, 2 * time.Hour, got{"desk": {"unknown in"}}},
		{"it answers nothing", []hub.AgentID{"ci", "desk"}, false, 0, got{"desk": {"unrouted in"}}},
		{"the default is absent too", []hub.AgentID{"ci", "other"}, false, 0, got{"ci": {"unrouted in"}, "other": {"unrouted in"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				key := f.sends("ci", "Roll out?")
				time.Sleep(tt.after)
				f.sessions.Connect(tt.present...)
				m := from("in")
				if tt.answers {
					quoting(key)(&m)
				}
				f.receive(m)
				f.wantGot(tt.want)
				for agent := range tt.want {
					f.takes(agent)
				}
				if n := len(f.platform.Receipts()); n != 1 {
					t.Errorf("%d read receipts, want 1", n)
				}
			})
		})
	}
}

func TestWhatIsToldOfTheAnsweredMessage(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		key := f.sends("ci", "Roll out?")
		for _, tt := range []struct{ quoted, want string }{
			{"", "Roll out?"},
			{"ci: Roll out?", "Roll out?"},
			{"Roll…", "Roll…"},
		} {
			m := from("in-"+tt.quoted, quoting(key))
			m.Quote.Text = tt.quoted
			f.receive(m)
			last := f.sessions.Got("desk")[len(f.sessions.Got("desk"))-1]
			if q := last.Message.Quote.Text; q != tt.want || last.Decision.Meant != "ci" {
				t.Errorf("quoting %q: told %q, meant for %q", tt.quoted, q, last.Decision.Meant)
			}
		}
	})
}

func TestReceiptGoesOutAtTheFirstHandOver(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "other")
		f.receive(from("in"))
		f.receive(from("edit", func(m *hub.Message) { m.Kind, m.Receipt = hub.Edit, false }))
		time.Sleep(time.Hour)
		if n := len(f.platform.Receipts()); n != 0 {
			t.Fatalf("%d receipts before anybody has it", n)
		}
		f.takes("ci")
		f.takes("other")
		f.takes("ci")
		time.Sleep(time.Hour)
		if d := cmp.Diff([]hub.MessageID{"m001"}, f.platform.Receipts()); d != "" {
			t.Errorf("receipts (-want +got):\n%s", d)
		}
	})
}

func TestStrangersWordsReachNobody(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		r := f.receive(from("in", func(m *hub.Message) { m.From.ID = "+9" }))
		f.wantGot(got{})
		if r.Dropped != string(gate.Stranger) {
			t.Errorf("the platform was told %+v", r)
		}
		if ms, _ := f.store.Find(f.t.Context(), fake, "in"); len(ms) > 0 {
			t.Error("they are in the record")
		}
	})
}

func TestMessageOfferedTwiceIsDeliveredOnce(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.receive(from("in"))
		f.receive(from("in"))
		f.wantGot(got{"desk": {"unrouted in"}})
	})
}

func TestReactionsEditsAndDeletionsAreRoutedToo(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		key := f.sends("ci", "Roll out?")
		f.receive(from("answer", quoting(key)))
		f.receive(from("reaction", quoting(key), func(m *hub.Message) { m.Kind, m.Text = hub.Reaction, "👍" }))
		target := func(key string, kind hub.MessageKind) func(*hub.Message) {
			return func(m *hub.Message) { m.Kind, m.Target = kind, hub.Ref{Platform: fake, Key: key} }
		}
		f.receive(from("edit", target("answer", hub.Edit)))
		f.receive(from("edit of the edit", target("edit", hub.Edit)))
		f.receive(from("deletion", target("answer", hub.Deletion)))
		f.receive(from("deletion of nothing known", target("?", hub.Deletion)))
		f.wantGot(got{
			"ci":   {"routed answer", "routed reaction", "routed edit", "routed edit of the edit", "routed deletion"},
			"desk": {"unrouted deletion of nothing known"},
		})
	})
}

func TestEveryPartAndRevisionIsARoute(t *testing.T) {
	start(t, func(f *fixture) {
		f.platform.Answer(func(m hub.Message) (hub.Sent, error) {
			return hub.Sent{Refs: []hub.Ref{name(m), {Platform: fake, Chat: m.Ref.Chat, Key: name(m).Key + "b"}}, Reached: 1}, nil
		})
		f.sessions.Connect("ci", "desk")
		key := f.sends("ci", "a long one")
		edit := hub.Message{Via: hub.ViaTool, Kind: hub.Edit, Agent: "ci", Text: "corrected", Ref: hub.Ref{Chat: operator}, Target: hub.Ref{Key: key + "b"}}
		sent, err := f.Send(f.t.Context(), edit)
		if err != nil {
			t.Fatal(err)
		}
		f.receive(from("1", quoting(key)))
		f.receive(from("2", quoting(key+"b")))
		f.receive(from("3", quoting(sent.Refs[0].Key)))
		f.wantGot(got{"ci": {"routed 1", "routed 2", "routed 3"}})
	})
}

// The race of a captured session: an answer comes in before the platform has
// said what the answered message is called.
func TestAnswerThatOvertakesTheNameOfItsMessage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func(ref hub.Ref) (hub.Sent, error) // how the send ends, after 13 s
		want  got
		after time.Duration
	}{
		{"the send succeeds", func(ref hub.Ref) (hub.Sent, error) {
			return hub.Sent{Refs: []hub.Ref{ref}, Reached: 1}, nil
		}, got{"ci": {"routed answer", "routed second"}, "desk": {"unrouted verdict"}}, 0},
		{"the send fails, but has a name", func(ref hub.Ref) (hub.Sent, error) {
			return hub.Sent{Refs: []hub.Ref{ref}, Unknown: true}, nil
		}, got{"ci": {"routed answer", "routed second"}, "desk": {"unrouted verdict"}}, 0},
		{"the send fails for good", func(hub.Ref) (hub.Sent, error) {
			return hub.Sent{}, hub.Errorf(hub.Unavailable, "no")
		}, got{"desk": {"unrouted verdict", "unknown answer", "unknown second"}}, 0},
		{"no word ever comes", func(hub.Ref) (hub.Sent, error) {
			return hub.Sent{Unknown: true}, nil
		}, got{"desk": {"unrouted verdict", "unknown answer", "unknown second"}}, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				f.sessions.Connect("ci", "desk")
				f.platform.Answer(func(m hub.Message) (hub.Sent, error) {
					time.Sleep(13 * time.Second)
					return tt.end(name(m))
				})
				go func() {
					_, _ = f.Send(f.t.Context(), question)
				}()
				time.Sleep(370 * time.Millisecond)
				f.receive(from("answer", quoting("m001")))
				f.receive(from("second", quoting("m001")))
				f.receive(from("verdict", func(m *hub.Message) { m.Text = "yes abcde" }))
				f.wantGot(got{"desk": {"unrouted verdict"}})
				time.Sleep(13*time.Second + tt.after)
				synctest.Wait()
				f.wantGot(tt.want)
			})
		})
	}
}

func TestLateNameReleasesWhatWaitsForIt(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(noWord)
		if _, err := f.Send(f.t.Context(), question); err != nil {
			t.Fatal(err)
		}
		f.receive(from("answer", quoting("m001")))
		f.wantGot(got{})
		m := f.platform.Sent()[0]
		f.Late(f.t.Context(), m.ID, name(m))
		synctest.Wait()
		f.wantGot(got{"ci": {"routed answer"}})
	})
}

func TestAChatHoldsSoManyMessagesAndNoMore(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(noWord)
		_, _ = f.Send(f.t.Context(), question)
		for i := range 66 {
			f.receive(from(fmt.Sprint(i), quoting("m001")))
		}
		f.wantGot(got{"desk": {"unknown 0", "unknown 1"}})
	})
}

func TestOtherChatsDoNotWaitForAHeldOne(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.platform.Answer(noWord)
		_, _ = f.Send(f.t.Context(), question)
		f.receive(from("held", quoting("m001")))
		f.receive(from("elsewhere", func(m *hub.Message) { m.Ref.Chat = "+7" }))
		f.wantGot(got{"desk": {"unrouted elsewhere"}})
	})
}

func TestNobodyIsThere(t *testing.T) {
	start(t, func(f *fixture) {
		f.receive(from("1"))
		f.receive(from("2"))
		if told := f.platform.Sent(); len(told) != 1 || !strings.Contains(told[0].Text, "kept for 1h and") {
			t.Errorf("the operator was told %+v, want one notice", told)
		}
		f.sessions.Connect("other")
		f.Arrived(f.t.Context(), "other")
		synctest.Wait()
		f.receive(from("3"))
		f.wantGot(got{"other": {"unrouted 1", "unrouted 2", "unrouted 3"}})
		if f.Waiting() != 0 {
			t.Errorf("%d still wait", f.Waiting())
		}
	})
}

// slow is a record that takes its time before it keeps what waits undecided.
type slow struct {
	hub.Record
	meanwhile func()
}

func (r *slow) Append(ctx context.Context, m hub.Message, d *hub.Decision, then func(hub.Offer)) (bool, error) {
	if d == nil {
		r.meanwhile()
	}
	return r.Record.Append(ctx, m, d, then)
}

func TestSomebodyComesWhileAMessageIsRecorded(t *testing.T) {
	record := &slow{}
	start(t, func(f *fixture) {
		record.meanwhile = func() {
			f.sessions.Connect("desk")
			f.Arrived(f.t.Context(), "desk")
			synctest.Wait()
		}
		f.receive(from("in"))
		f.wantGot(got{"desk": {"unrouted in"}})
	}, func(f *fixture) {
		record.Record = f.store
		f.Record = record
	})
}

func TestWhatNobodyCameForExpires(t *testing.T) {
	start(t, func(f *fixture) {
		r := f.receive(from("1"))
		time.Sleep(2 * time.Hour)
		f.sessions.Connect("desk")
		f.Arrived(f.t.Context(), "desk")
		synctest.Wait()
		f.wantGot(got{})
		if _, err := f.store.Fate(f.t.Context(), "", r.ID); err != nil {
			t.Errorf("the record has lost it: %v", err)
		}
	})
}

func TestAgentLeavesBeforeItWasHandedSomething(t *testing.T) {
	for _, tt := range []struct {
		name    string
		message func(f *fixture) hub.Message
		want    got
	}{
		{"an answer falls back", func(f *fixture) hub.Message {
			return from("in", quoting(f.sends("ci", "?")))
		}, got{"ci": {"routed in"}, "desk": {"agent_offline in"}}},
		{"mail waits for it", func(*fixture) hub.Message {
			return hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "script", Subject: "main", To: "ci", Text: "x"}
		}, got{"ci": {" "}}},
		{"a broadcast does not", func(*fixture) hub.Message {
			return hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "script", Subject: "main", Text: "x"}
		}, got{"ci": {" "}, "desk": {" "}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				if _, _, err := f.store.AddToken(f.t.Context(), "ci"); err != nil {
					t.Fatal(err)
				}
				f.sessions.Connect("ci", "desk")
				f.receive(tt.message(f))
				f.sessions.Disconnect("ci")
				f.Departed(f.t.Context(), "ci")
				synctest.Wait()
				f.wantGot(tt.want)
			})
		})
	}
}

func TestMailForAnAgent(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to       hub.AgentID
		known    bool
		sessions int
		held     bool
	}{
		{"that is present", "desk", true, 1, false},
		{"that is absent", "ci", true, 0, true},
		{"by an alias", "cover", true, 0, true},
		{"of a name never seen", "nobody", false, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				for _, a := range []hub.AgentID{"ci", "desk"} {
					if _, _, err := f.store.AddToken(f.t.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
				f.sessions.Connect("desk")
				r := f.receive(hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "other", To: tt.to, Text: "x"})
				if r.Known != tt.known || r.Sessions != tt.sessions || r.Decision.Hold != tt.held {
					t.Errorf("receipt %+v", r)
				}
				if !tt.known {
					fate, err := f.store.Fate(f.t.Context(), "", r.ID)
					if err != nil || len(fate) != 1 || fate[0].State != hub.Failed {
						t.Errorf("its fate is %v (%v), want one failure", fate, err)
					}
				}
				if !tt.held {
					return
				}
				f.sessions.Connect("ci")
				f.Orphaned(f.t.Context(), "ci", f.store.Last())
				if n := len(f.sessions.Got("ci")); n != 1 {
					t.Errorf("it was offered %d times when it came, want once", n)
				}
			}, func(f *fixture) { f.Aliases = map[hub.AgentID]hub.AgentID{"cover": "ci"} })
		})
	}
}

func TestBroadcastDoesNotComeBack(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk", "other")
		r := f.receive(hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "x"})
		if r.Sessions != 2 || len(f.sessions.Got("ci")) != 0 {
			t.Errorf("sent to %d sessions, and %d times to its sender", r.Sessions, len(f.sessions.Got("ci")))
		}
	})
}

func TestWhatAnAgentMayNotSend(t *testing.T) {
	text := hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "x"}
	in := func(m hub.Message, chat hub.ChatID) hub.Message { m.Ref.Chat = chat; return m }
	edit := hub.Message{Via: hub.ViaTool, Kind: hub.Edit, Agent: "ci", Text: "x", Ref: hub.Ref{Chat: operator}}
	for _, tt := range []struct {
		name string
		m    func(key string) hub.Message
		want hub.Kind
	}{
		{"to a chat that nobody wrote from", func(string) hub.Message { return in(text, "+7") }, hub.Denied},
		{"nothing", func(string) hub.Message { m := text; m.Text = " \n"; return m }, hub.Invalid},
		{"an edit of another agent's message", func(key string) hub.Message { m := edit; m.Agent = "other"; m.Target.Key = key; return m }, hub.Denied},
		{"an edit of the operator's message", func(string) hub.Message { m := edit; m.Target.Key = "in"; return m }, hub.Denied},
		{"an edit of nothing", func(string) hub.Message { m := edit; m.Target.Key = "?"; return m }, hub.NotFound},
		{"a reaction to nothing", func(string) hub.Message {
			m := in(text, operator)
			m.Kind, m.Quote = hub.Reaction, &hub.Quote{Ref: hub.Ref{Key: "?"}}
			return m
		}, hub.NotFound},
		{"a reaction without an emoji", func(string) hub.Message {
			m := in(text, operator)
			m.Kind, m.Text, m.Quote = hub.Reaction, "", &hub.Quote{Ref: hub.Ref{Key: "in"}}
			return m
		}, hub.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				f.sessions.Connect("ci")
				key := f.sends("ci", "mine")
				f.receive(from("in"))
				_, err := f.Send(f.t.Context(), tt.m(key))
				if hub.KindOf(err) != tt.want {
					t.Errorf("error %v, want one of kind %s", err, tt.want)
				}
				if n := len(f.platform.Sent()); n != 1 {
					t.Errorf("%d messages went out, want the first alone", n)
				}
			})
		})
	}
}

func TestAnsweringIsAcknowledging(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci")
		f.receive(from("in"))
		reply := hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "done", Ref: hub.Ref{Chat: operator}, Quote: &hub.Quote{Ref: hub.Ref{Key: "in"}}}
		if _, err := f.Send(f.t.Context(), reply); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mail, _, err := f.store.Inbox(f.t.Context(), "ci", 10)
		if err != nil || len(mail) != 0 {
			t.Errorf("the inbox still has %d messages (%v)", len(mail), err)
		}
		if n := len(f.platform.Receipts()); n != 1 {
			t.Errorf("%d read receipts, want 1", n)
		}
		if q := f.platform.Sent()[0].Quote; q.From != friend || q.Text != "hi" || q.Ours {
			t.Errorf("the platform was given the quote %+v", q)
		}
	})
}

func TestNameInFrontOfWhatAgentsSay(t *testing.T) {
	for _, tt := range []struct {
		setting relay.Label
		agents  []hub.AgentID
		want    hub.AgentID
	}{
		{relay.LabelAuto, []hub.AgentID{"ci"}, ""},
		{relay.LabelAuto, []hub.AgentID{"ci", "desk"}, "ci"},
		{relay.LabelAlways, []hub.AgentID{"ci"}, "ci"},
		{relay.LabelNever, []hub.AgentID{"ci", "desk"}, ""},
	} {
		start(t, func(f *fixture) {
			for _, a := range tt.agents {
				if _, _, err := f.store.AddToken(f.t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			f.sends("ci", "x")
			if got := f.platform.Sent()[0].Label; got != tt.want {
				t.Errorf("%s with %d agents: label %q, want %q", tt.setting, len(tt.agents), got, tt.want)
			}
		}, func(f *fixture) { f.Labels = tt.setting })
	}
}

// full is a record that can't be written while it is full.
type full struct {
	hub.Record
	is atomic.Bool
}

func (r *full) Append(ctx context.Context, m hub.Message, d *hub.Decision, then func(hub.Offer)) (bool, error) {
	if r.is.Load() {
		return false, hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.Append(ctx, m, d, then)
}

func (r *full) Answer(ctx context.Context, m hub.Message, d hub.Decision, p hub.Prompt, then func(hub.Offer)) (bool, error) {
	if r.is.Load() {
		return false, hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.Answer(ctx, m, d, p, then)
}

func (r *full) SavePrompt(ctx context.Context, p hub.Prompt) error {
	if r.is.Load() {
		return hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.SavePrompt(ctx, p)
}

func TestRecordThatCannotBeWritten(t *testing.T) {
	disk := &full{}
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		disk.is.Store(true)
		f.receive(from("1"))
		f.receive(from("1"))
		f.receive(from("2"))
		f.wantGot(got{"desk": {"unrouted 1", "unrouted 2"}})
		if n := len(f.platform.Sent()); n != 1 {
			t.Errorf("the operator was told %d times, want once", n)
		}
		if f.Healthy() == nil {
			t.Error("the relay says that all is well")
		}
		script := hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "script", To: "desk", Text: "x"}
		if _, err := f.Receive(f.t.Context(), script); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("a script was told %v, want Unavailable", err)
		}
		offers := f.sessions.Got("desk")
		offers[0].Taken("desk", "s")
		disk.is.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		f.wantGot(got{"desk": {"unrouted 1", "unrouted 2", "unrouted 2"}}) // the second was never handed over
		if f.Healthy() != nil {
			t.Errorf("still unwell: %v", f.Healthy())
		}
		f.takes("desk")
		if n := len(f.platform.Receipts()); n != 2 {
			t.Errorf("%d read receipts, want 2", n)
		}
	}, func(f *fixture) {
		disk.Record = f.store
		f.Record = disk
	})
}

// What is lost because neither the record nor memory has room is not lost in
// silence.
func TestMemoryIsFullTooWhileTheRecordCannotBeWritten(t *testing.T) {
	disk := &full{}
	var log bytes.Buffer
	start(t, func(f *fixture) {
		disk.is.Store(true)
		for n := range 1030 {
			f.receive(from(fmt.Sprint(n)))
		}
		if n := strings.Count(log.String(), "a message is lost"); n != 6 {
			t.Errorf("%d messages are said to be lost, want 6", n)
		}
	}, func(f *fixture) {
		disk.Record = f.store
		f.Record, f.Log = disk, slog.New(slog.NewTextHandler(&log, nil))
	})
}

func TestHubThatStartsAgainGoesOnWhereItWas(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		key := f.sends("ci", "?")
		f.receive(from("answer", quoting(key)))
		f.sessions.Disconnect("ci", "desk")
		f.receive(from("waits"))
		// A second relay on the same record, whose agent ci never came back.
		again := &fixture{Relay: &relay.Relay{
			Gate: &gate.Gate{}, Routes: &route.Table{TTL: time.Hour, Max: 10, Now: time.Now}, Sessions: &hubtest.Sessions{},
			Record: f.store, Platforms: f.Platforms, Operator: f.Operator, Default: "desk", HoldFor: time.Hour,
			Log: f.Log, Now: time.Now, NewID: f.NewID,
		}, t: t, sessions: &hubtest.Sessions{}}
		again.Sessions = again.sessions
		again.sessions.Connect("desk")
		if err := again.Start(f.t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(f.t.Context())
		ended := make(chan error)
		go func() { ended <- again.Run(ctx) }()
		synctest.Wait()
		got := again.sessions.Got("desk")
		var keys []string
		for _, o := range got {
			keys = append(keys, fmt.Sprint(o.Decision.Status, " ", o.Message.Ref.Key))
		}
		slices.Sort(keys)
		if d := cmp.Diff([]string{"agent_offline answer", "unrouted waits"}, keys); d != "" {
			t.Errorf("desk got (-want +got):\n%s", d)
		}
		if !again.Gate.MayReach(fake, operator) {
			t.Error("the chat that wrote before may not be written to")
		}
		stop()
		<-ended
	})
}
