package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/relay"
	"aldis/internal/route"
)

// withPrompts makes the friend the operator, and the own codes ours1 and so on.
func withPrompts(f *fixture) {
	f.Gate.Operate(fake, friend)
	f.Gate.Approve(fake, friend)
	n := 0
	f.NewCode = func() string { n++; return "ours" + string(rune('a'+n-1)) }
	f.PermissionTimeout, f.Devices = 10*time.Minute, []int{1}
}

// asks has a session of agent ask for permission to use a tool.
func (f *fixture) asks(agent, session, request string) {
	f.Permission(f.t.Context(), hub.Prompt{
		Agent: hub.AgentID(agent), Session: hub.SessionID(session), Subject: "main", Request: request, Tool: "Bash",
	}, "Run tests", `{"command":"go test"}`)
	synctest.Wait()
}

// phone returns what was sent to the operator, each by its first words.
func (f *fixture) phone() []string {
	var all []string
	for _, m := range f.platform.Sent() {
		line, _, _ := strings.Cut(m.Text, "\n")
		all = append(all, line)
	}
	return all
}

// wantPhone checks the last messages that the phone got.
func (f *fixture) wantPhone(want ...string) {
	f.t.Helper()
	synctest.Wait()
	got := f.phone()
	got = got[max(0, len(got)-len(want)):]
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("the phone shows %q, want %q", got, want)
	}
}

// wantVerdicts checks what sessions are to be told, as "session request allow".
func (f *fixture) wantVerdicts(want ...string) {
	f.t.Helper()
	var got []string
	for _, v := range f.sessions.Decided() {
		got = append(got, fmt.Sprint(v.Session, " ", v.Request, " ", v.Allow))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("told %q, want %q", got, want)
	}
}

func says(text string) func(*hub.Message) { return func(m *hub.Message) { m.Text = text } }

func TestAVerdictGoesToTheSessionThatAskedAndThePhoneHearsOfIt(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.asks("ci", "s1", "aaaaa")
		f.asks("ci", "s2", "aaaaa")
		f.wantPhone("🔐 ci asks to use Bash", "🔐 ci asks to use Bash")
		second := f.platform.Sent()[1]
		if second.Asks == nil || second.Asks.Code != "oursa" || second.Label != "" || !strings.Contains(second.Text, "yes oursa") {
			t.Errorf("the second is shown as %+v", second)
		}

		f.receive(from("v1", says("yes oursa")))
		f.receive(from("v2", says("no aaaaa")))
		f.wantVerdicts("s2 aaaaa true", "s1 aaaaa false")
		if len(f.platform.Sent()) != 2 {
			t.Error("it is told as sent before a session has it")
		}
		f.sessions.Decided()[0].Done(true)
		f.sessions.Decided()[1].Done(false)
		f.wantPhone("oursa: allowed, sent to ci.", "aaaaa: session gone. The session of ci that asked has ended; it is not known to have heard that this was denied.")

		f.receive(from("v3", says("no oursa")))
		f.wantPhone("oursa: already answered (allowed).")
		f.receive(from("v3", says("no oursa")))
		f.wantVerdicts("s2 aaaaa true", "s1 aaaaa false")
		if n := len(f.platform.Sent()); n != 5 {
			t.Errorf("the same message brought twice is answered twice: %q", f.phone())
		}
		f.wantGot(got{})
		if n := len(f.platform.Receipts()); n != 2 {
			t.Errorf("%d receipts, want one for each verdict that was taken", n)
		}
	}, withPrompts)
}

func TestAPromptIsAnsweredByItsQuoteOrAThumb(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk", "other")
		f.asks("ci", "s1", "aaaaa")
		f.asks("desk", "s2", "bbbbb")
		f.asks("other", "s3", "ccccc")
		f.receive(from("v1", says("yes"), quoting("1001")))
		f.receive(from("v2", says("👎"), quoting("1002"), func(m *hub.Message) { m.Kind = hub.Reaction }))
		f.receive(from("v3", says("why?"), quoting("1003"))) // to its agent, as any reply
		f.receive(from("v4", says("yes")))
		f.wantVerdicts("s1 aaaaa true", "s2 bbbbb false")
		f.wantGot(got{"other": {"routed v3"}, "desk": {"unrouted v4"}})
	}, withPrompts)
}

func TestAVerdictNeedsNoPrefixButAReplyDoes(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.asks("ci", "s1", "aaaaa")
		f.asks("ci", "s2", "bbbbb")
		if r := f.receive(from("m1", says("hello"))); r.Dropped != string(gate.NoPrefix) {
			t.Errorf("dropped as %q", r.Dropped)
		}
		f.receive(from("v1", says("yes aaaaa")))
		f.receive(from("v2", says("claude no"), quoting("1002")))
		f.wantVerdicts("s1 aaaaa true", "s2 bbbbb false")
	}, withPrompts, func(f *fixture) { f.Gate.Prefix = "Claude" })
}

func TestAPromptThatIsAnsweredSoonerThanItHasAName(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(noWord)
		f.asks("ci", "s1", "aaaaa")
		prompt := f.platform.Sent()[0]
		f.receive(from("v1", says("yes"), quoting("late")))
		f.wantVerdicts()
		f.Late(f.t.Context(), prompt.ID, hub.Ref{Platform: fake, Chat: operator, Key: "late"})
		synctest.Wait()
		f.wantVerdicts("s1 aaaaa true")
		f.wantGot(got{})
		if n := len(f.platform.Receipts()); n != 1 {
			t.Errorf("%d receipts, want 1", n)
		}
	}, withPrompts)
}

func TestAPromptWaitsForItsPlatform(t *testing.T) {
	start(t, func(f *fixture) {
		f.platform.Answer(func(hub.Message) (hub.Sent, error) { return hub.Sent{}, hub.Errorf(hub.Unavailable, "away") })
		f.asks("ci", "s1", "aaaaa")
		time.Sleep(20 * time.Second)
		f.platform.Answer(nil)
		time.Sleep(promptsEvery)
		f.receive(from("v1", says("yes aaaaa")))
		f.wantVerdicts("s1 aaaaa true")
		time.Sleep(20 * time.Second)
		for _, m := range f.platform.Sent() {
			if m.ID != f.platform.Sent()[0].ID && m.Via == hub.ViaPrompt {
				t.Errorf("asked twice: %q", f.phone())
			}
		}
	}, withPrompts)
}

// promptsEvery is more than the time between two attempts.
const promptsEvery = 6 * time.Second

func TestWhenAPromptIsTooLateOrTooMany(t *testing.T) {
	start(t, func(f *fixture) {
		for i, request := range []string{"aaaaa", "bbbbb", "ccccc", "ddddd", "eeeee", "fffff"} {
			f.asks("ci", fmt.Sprint("s", i), request)
		}
		if n := len(f.platform.Sent()); n != 5 || !strings.Contains(f.phone()[4], "more permissions than may be open") {
			t.Errorf("the phone shows %q", f.phone())
		}
		time.Sleep(10*time.Minute + time.Second)
		f.receive(from("v1", says("yes aaaaa")))
		f.wantPhone("aaaaa: too late: the request has expired. Nothing was allowed here; answer at the agent itself.")
		f.wantVerdicts()
		f.asks("ci", "s9", "ggggg")
		f.wantPhone("🔐 ci asks to use Bash")
	}, withPrompts)
}

func TestPromptsSurviveARestart(t *testing.T) {
	start(t, func(f *fixture) {
		f.asks("ci", "s1", "aaaaa") // open
		f.asks("ci", "s2", "bbbbb") // answered, and nobody knows yet
		f.asks("ci", "s3", "ccccc") // all told
		f.receive(from("v1", says("yes bbbbb")))
		f.receive(from("v2", says("no ccccc")))
		f.sessions.Decided()[1].Done(true)
		time.Sleep(2 * time.Second)

		again := f.restart()
		again.wantVerdicts("s2 bbbbb true", "s3 ccccc false", "s2 bbbbb true")
		again.receive(from("v3", says("yes aaaaa")))
		again.receive(from("v4", says("yes ccccc")))
		again.wantPhone("ccccc: already answered (denied).")
		again.wantVerdicts("s2 bbbbb true", "s3 ccccc false", "s2 bbbbb true", "s1 aaaaa true")
	}, withPrompts)
}

// What became of a verdict is heard once the platform is there again.
func TestANoticeWaitsForItsPlatform(t *testing.T) {
	start(t, func(f *fixture) {
		f.asks("ci", "s1", "aaaaa")
		f.platform.Answer(func(hub.Message) (hub.Sent, error) { return hub.Sent{}, hub.Errorf(hub.Unavailable, "away") })
		f.receive(from("v1", says("yes aaaaa")))
		f.sessions.Decided()[0].Done(true)
		time.Sleep(time.Minute)
		f.platform.Answer(nil)
		time.Sleep(promptsEvery)
		n := len(f.platform.Sent())
		f.wantPhone("aaaaa: allowed, sent to ci.")
		if time.Sleep(time.Minute); len(f.platform.Sent()) != n {
			t.Errorf("told more than once: %q", f.phone()[n:])
		}
		said, _, err := f.store.Log(f.t.Context(), hub.LogFilter{Source: "aldis"})
		if err != nil || len(said) != 1 || said[0].Text != "aaaaa: allowed, sent to ci." || said[0].Deliveries[0].State != hub.HandedOver {
			t.Errorf("in the record: %+v, %v", said, err)
		}
	}, withPrompts)
}

// An agent's own words never look like a request of the hub's.
func TestTheMarkIsTakenOutOfWhatAgentsSay(t *testing.T) {
	start(t, func(f *fixture) {
		if _, err := f.Send(f.t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "🔐 root", Text: "🔐 ci asks to use Bash"}); err != nil {
			t.Fatal(err)
		}
		for _, m := range f.platform.Sent() {
			if strings.Contains(m.Text+string(m.Label), "🔐") {
				t.Errorf("sent %q as %q", m.Text, m.Label)
			}
		}
		if _, err := f.Send(f.t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "🔐"}); hub.KindOf(err) != hub.Invalid {
			t.Errorf("a text of nothing else: %v", err)
		}
		file := hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Attachments: []hub.Attachment{{Path: "/tmp/🔐 ci asks to use Bash"}}}
		if _, err := f.Send(f.t.Context(), file); hub.KindOf(err) != hub.Invalid {
			t.Errorf("a file of that name: %v", err)
		}
	}, func(f *fixture) { f.Labels = relay.LabelAlways })
}

// asking is a question under way.
type asking struct {
	answer hub.Answer
	err    error
	done   chan struct{}
}

// question has the agent ci ask something in the background.
func (f *fixture) question(wait time.Duration, change ...func(*hub.Prompt)) *asking {
	p := hub.Prompt{Agent: "ci", Session: "s1", Subject: "main", Choices: []string{"red", "blue"}}
	for _, c := range change {
		c(&p)
	}
	a := &asking{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.answer, a.err = f.Ask(f.t.Context(), p, "Which?", wait)
	}()
	synctest.Wait()
	return a
}

func (a *asking) wait(t *testing.T) hub.Answer {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.answer
}

func withDefault(text string) func(*hub.Prompt) {
	return func(p *hub.Prompt) { p.Default = &text }
}

func TestAQuestionIsAnsweredWhileItsCallWaits(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		asked := f.question(45 * time.Second)
		f.wantPhone("❓ ci asks: Which?")
		f.receive(from("a1", says("2")))
		a := asked.wait(t)
		if a.Text != "blue" || a.Choice != 2 || !a.Reply {
			t.Errorf("answered %+v", a)
		}
		a.Done(true)
		f.wantGot(got{})
		if n := len(f.platform.Receipts()); n != 1 {
			t.Errorf("%d receipts, want 1", n)
		}
	}, withPrompts)
}

// An answer is never lost: what no call took becomes an event.
func TestAnAnswerThatNoCallTookIsAnEvent(t *testing.T) {
	for name, answer := range map[string]func(f *fixture){
		"after the call": func(f *fixture) {
			a := f.question(time.Second).wait(f.t)
			if a.State != hub.Open || a.Ticket == "" || a.Done != nil {
				f.t.Errorf("the ticket is %+v", a)
			}
			f.receive(from("a1", says("blue"), quoting("1001")))
		},
		"in a call whose answer could not be written": func(f *fixture) {
			asked := f.question(time.Minute)
			f.receive(from("a1", says("blue"), quoting("1001")))
			asked.wait(f.t).Done(false)
		},
		"after a restart": func(f *fixture) {
			asked := f.question(time.Minute)
			f.receive(from("a1", says("blue"), quoting("1001")))
			asked.wait(f.t)
			f.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, func(f *fixture) {
				f.sessions.Connect("ci", "desk")
				answer(f)
				synctest.Wait()
				f.wantGot(got{"ci": {"routed a1"}})
				if o := f.sessions.Got("ci")[0]; o.Message.Meta["answer"] != "blue" || o.Message.Meta["question"] == "" {
					t.Errorf("the event has %v", o.Message.Meta)
				}
			}, withPrompts)
		})
	}
}

func TestAQuestionWithADefaultEndsWithItsCall(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		a := f.question(5*time.Second, withDefault("red")).wait(t)
		if a.Text != "red" || a.Reply || a.State != hub.Closed {
			t.Errorf("answered %+v", a)
		}
		f.receive(from("a1", says("blue"), quoting("1001")))
		f.wantGot(got{"ci": {"routed a1"}})
		if o := f.sessions.Got("ci")[0]; o.Message.Meta["answer"] != "" {
			t.Error("a reply to a closed question is an ordinary one")
		}
	}, withPrompts)
}

func TestTheSameCallAsksTheSameQuestion(t *testing.T) {
	start(t, func(f *fixture) {
		key := func(p *hub.Prompt) { p.Key = "k1" }
		first := f.question(time.Second, key).wait(t)
		again := f.question(time.Minute, key)
		f.receive(from("a1", says("1")))
		if a := again.wait(t); a.Ticket != first.Ticket || a.Text != "red" {
			t.Errorf("answered %+v, want the first one's ticket", a)
		}
		if n := len(f.platform.Sent()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	}, withPrompts)
}

func TestAQuestionThatNobodyAnswersIsToldToItsAgent(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci")
		f.question(time.Second).wait(t)
		time.Sleep(f.HoldFor + 2*time.Second)
		if o := f.sessions.Got("ci"); len(o) != 1 || o[0].Message.Meta["question"] == "" {
			t.Errorf("told %+v", o)
		}
	}, withPrompts)
}

func TestAQuestionThatCannotBeAskedIsAnError(t *testing.T) {
	start(t, func(f *fixture) {
		f.platform.Answer(func(hub.Message) (hub.Sent, error) { return hub.Sent{}, hub.Errorf(hub.Unavailable, "away") })
		asked := f.question(time.Minute)
		if <-asked.done; hub.KindOf(asked.err) != hub.Unavailable {
			t.Errorf("%+v, %v", asked.answer, asked.err)
		}
		f.platform.Answer(nil)
		f.receive(from("a1", says("1")))
		f.wantVerdicts()
	}, withPrompts)
}

// restart returns a relay on the same record, as after a crash: the first one
// hears of nothing any more.
func (f *fixture) restart() *fixture {
	f.t.Helper()
	again := &fixture{t: f.t, platform: f.platform, sessions: f.sessions, store: f.store}
	again.last.Store(f.last.Load() + 100)
	again.Relay = &relay.Relay{
		Gate: f.Gate, Routes: &route.Table{TTL: time.Hour, Max: 10_000, Now: time.Now},
		Sessions: f.sessions, Record: f.store, Platforms: f.Platforms, Operator: f.Operator, Default: f.Default,
		Labels: f.Labels, HoldFor: f.HoldFor, Log: f.Log, Now: time.Now, NewCode: f.NewCode,
		PermissionTimeout: f.PermissionTimeout, Devices: f.Devices, HoldReplies: f.HoldReplies,
		NewID: func() hub.MessageID { return hub.MessageID(fmt.Sprintf("m%03d", again.last.Add(1))) },
	}
	if err := again.Start(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan error)
	ctx, stop := context.WithCancel(f.t.Context())
	go func() { ended <- again.Run(ctx) }()
	f.after = append(f.after, func() error { stop(); return <-ended })
	synctest.Wait()
	return again
}

func TestTwoAgentsThatKeepAnsweringEachOther(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("a", "b", "c")
		say := func(from, to hub.AgentID) hub.Receipt {
			return f.receive(hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: from, To: to, Text: "hi"})
		}
		f.know("a", "b", "c")
		for i := range 10 {
			if r := say([]hub.AgentID{"a", "b"}[i%2], []hub.AgentID{"b", "a"}[i%2]); r.Sessions != 1 || r.Decision.Quiet {
				t.Fatalf("message %d: %+v", i, r)
			}
		}
		for range 3 {
			if r := say("a", "b"); r.Sessions != 0 || !r.Decision.Quiet || !r.Known {
				t.Errorf("past the rate: %+v", r)
			}
		}
		if r := say("a", "c"); r.Sessions != 1 {
			t.Errorf("another pair: %+v", r)
		}
		f.wantPhone("a and b keep answering each other. What they send now waits in their inboxes and wakes neither; tell one of them to go on, or to stop.")
		if n := len(f.platform.Sent()); n != 1 {
			t.Errorf("told %d times", n)
		}
		if mail, _, err := f.store.Inbox(f.t.Context(), "b", 20); err != nil || len(mail) != 8 {
			t.Errorf("%d in the inbox (%v), want the 5 that were pushed and the 3 that were not", len(mail), err)
		}
		time.Sleep(5 * time.Minute)
		if r := say("a", "b"); r.Sessions != 1 {
			t.Errorf("once it is quiet: %+v", r)
		}
	}, func(f *fixture) { f.PairRate = 10 })
}

func TestAChainOfRepliesIsTooLong(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("a", "b")
		f.know("a", "b")
		last := hub.MessageID("")
		for i := range 9 {
			r := f.receive(hub.Message{
				Via: hub.ViaTool, Kind: hub.Text, Agent: []hub.AgentID{"a", "b"}[i%2], To: []hub.AgentID{"b", "a"}[i%2],
				Text: "hi", Meta: map[string]string{"reply_to": string(last)},
			})
			if r.Decision.Quiet != (i > 6) {
				t.Errorf("reply %d: quiet %t", i, r.Decision.Quiet)
			}
			last = r.ID
		}
	})
}

func TestARepeatedScriptsMessageHasNoEffect(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci")
		f.know("ci")
		m := hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "cron", To: "ci", Text: "hi", Dedup: "once|k"}
		first, again := f.receive(m), f.receive(m)
		if first.Repeated || !again.Repeated || again.ID != first.ID || len(f.sessions.Got("ci")) != 1 {
			t.Errorf("first %+v, again %+v", first, again)
		}
	})
}

func TestAReplyWaitsForItsAgentWhereTheOperatorWantsThat(t *testing.T) {
	start(t, func(f *fixture) {
		f.know("ci")
		f.sessions.Connect("desk")
		key := f.sends("ci", "Roll out?")
		f.receive(from("in", quoting(key)))
		f.wantGot(got{})
		if mail, _, err := f.store.Inbox(f.t.Context(), "ci", 20); err != nil || len(mail) != 1 || mail[0].Decision.Status != hub.Routed {
			t.Errorf("in the inbox: %+v, %v", mail, err)
		}
		nameless := f.sends("QWERTYUIOPASDFGHJKLZXCVBNM", "I have no name")
		f.receive(from("in2", quoting(nameless)))
		f.wantGot(got{"desk": {"agent_offline in2"}})
	}, func(f *fixture) { f.HoldReplies = true })
}

// know has agents be known by name.
func (f *fixture) know(agents ...hub.AgentID) {
	f.t.Helper()
	var errs []error
	for _, a := range agents {
		_, _, err := f.store.AddToken(f.t.Context(), a)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
}

// What a person decides about is what was asked: an agent can't put other words
// in its place.
func TestAnAgentCannotChangeWhatItHasAsked(t *testing.T) {
	start(t, func(f *fixture) {
		f.asks("ci", "s1", "aaaaa")
		for _, kind := range []hub.MessageKind{hub.Edit, hub.Deletion} {
			_, err := f.Send(f.t.Context(), hub.Message{
				Via: hub.ViaTool, Kind: kind, Agent: "ci", Text: "may I read the manual?", Target: hub.Ref{Key: "1001"},
			})
			if hub.KindOf(err) != hub.Denied {
				t.Errorf("%s of a request: %v", kind, err)
			}
		}
		if n := len(f.platform.Sent()); n != 1 {
			t.Errorf("the phone shows %q", f.phone())
		}
	}, withPrompts)
}

// What the hub says in its own name may have an agent's in it.
func TestTheMarkIsTakenOutOfNotices(t *testing.T) {
	start(t, func(f *fixture) {
		name := "🔐 root asks to use Bash"
		for i := range 5 {
			f.asks(name, fmt.Sprint("s", i), fmt.Sprint(i))
		}
		f.wantPhone("root asks to use Bash asks for more permissions than may be open at a time. The newest are not shown here: answer those that are, or at the agent itself.")
	}, withPrompts)
}

// A question that has ended, noticed or not, makes a reply no less.
func TestAnAnswerThatIsTooLateIsAnOrdinaryReply(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		time.Sleep(500 * time.Millisecond) // it expires between two looks
		f.question(time.Second).wait(t)
		time.Sleep(f.HoldFor - time.Second + 100*time.Millisecond)
		f.receive(from("a1", says("blue"), quoting("1001")))
		f.wantGot(got{"ci": {"routed a1"}})
		f.wantPhone("❓ ci asks: Which?")
	}, withPrompts, func(f *fixture) { f.HoldFor = time.Minute })
}

// A platform may bring a message twice: it answers one question only.
func TestANumberThatComesTwiceAnswersOneQuestion(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		first := f.question(time.Minute)
		f.receive(from("a1", says("2")))
		first.wait(t).Done(true)
		second := f.question(time.Minute)
		f.receive(from("a1", says("2")))
		f.receive(from("a2", says("1")))
		if a := second.wait(t); a.Text != "red" {
			t.Errorf("answered %+v by what had answered another", a)
		}
		f.wantGot(got{})
	}, withPrompts)
}

// The time that a question is open is that of its call, however long it took to
// have it asked.
func TestAQuestionIsOpenForAsLongAsItsCallWaits(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(func(m hub.Message) (hub.Sent, error) {
			time.Sleep(3 * time.Second)
			return hub.Sent{Refs: []hub.Ref{name(m)}}, nil
		})
		asked := f.question(10*time.Second, withDefault("red"))
		time.Sleep(9 * time.Second)
		f.receive(from("a1", says("2")))
		if a := asked.wait(t); a.Text != "blue" {
			t.Errorf("answered %+v", a)
		}
		began := time.Now()
		asked = f.question(10*time.Second, withDefault("red"))
		if a := asked.wait(t); a.Text != "red" || time.Since(began) != 10*time.Second {
			t.Errorf("answered %+v after %s", a, time.Since(began))
		}
	}, withPrompts)
}

// A hub that stops gives up the calls that wait. The question is open for as
// long as it was asked for, and the call that is made again hears the answer.
func TestAQuestionWithADefaultOutlivesACallThatIsGivenUp(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		ctx, stop := context.WithCancel(f.t.Context())
		p := hub.Prompt{Agent: "ci", Session: "s1", Subject: "main", Choices: []string{"red", "blue"}, Key: "k1"}
		withDefault("red")(&p)
		given := make(chan hub.Answer)
		go func() {
			a, _ := f.Ask(ctx, p, "Which?", 10*time.Second)
			given <- a
		}()
		time.Sleep(time.Second)
		stop()
		if a := <-given; a.State != hub.Open {
			t.Errorf("a call that is given up has %+v", a)
		}
		again := f.restart()
		key := func(p *hub.Prompt) { p.Key = "k1" }
		asked := again.question(10*time.Second, withDefault("red"), key)
		again.receive(from("a1", says("2")))
		if a := asked.wait(t); a.Text != "blue" {
			t.Errorf("answered %+v", a)
		}
	}, withPrompts)
}

// A hub may end between the record and the platform.
func TestAQuestionThatWasNeverSentIsAskedAgain(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		gone := make(chan struct{})
		defer close(gone)
		f.platform.Answer(func(hub.Message) (hub.Sent, error) { <-gone; return hub.Sent{}, nil })
		key := func(p *hub.Prompt) { p.Key = "k1" }
		f.question(time.Minute, key)
		again := f.restart()
		if n := again.OpenPrompts(); n != 0 {
			t.Errorf("%d are open that nobody can see", n)
		}
		f.platform.Answer(nil)
		asked := again.question(time.Minute, key)
		again.wantPhone("❓ ci asks: Which?", "❓ ci asks: Which?")
		again.receive(from("a1", says("2")))
		if a := asked.wait(t); a.Text != "blue" {
			t.Errorf("answered %+v", a)
		}
	}, withPrompts)
}

// An answer can overtake the name of its question, too.
func TestAnAnswerThatIsSoonerThanItsQuestionHasAName(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(noWord)
		ticket := f.question(time.Second).wait(t).Ticket
		f.receive(from("a1", says("blue"), quoting("late")))
		f.Late(f.t.Context(), ticket, hub.Ref{Platform: fake, Chat: operator, Key: "late"})
		synctest.Wait()
		f.wantGot(got{"ci": {"routed a1"}})
		if m := f.sessions.Got("ci")[0].Message; m.Meta["answer"] != "blue" || m.Meta["question"] != string(ticket) {
			t.Errorf("the event has %v", m.Meta)
		}
	}, withPrompts)
}

// Where nobody is present a message waits; what is behind it and decides a
// prompt does not.
func TestAVerdictDoesNotWaitBehindWhatWaits(t *testing.T) {
	start(t, func(f *fixture) {
		f.receive(from("m1", says("hello")))
		f.platform.Answer(noWord)
		f.asks("ci", "s1", "aaaaa")
		prompt := f.platform.Sent()[len(f.platform.Sent())-1]
		f.receive(from("v1", says("yes"), quoting("late")))
		f.Late(f.t.Context(), prompt.ID, hub.Ref{Platform: fake, Chat: operator, Key: "late"})
		synctest.Wait()
		f.wantVerdicts("s1 aaaaa true")
	}, withPrompts)
}

// A verdict counts even while the record can't be written, and counts once.
func TestAVerdictIsWrittenDownAsSoonAsThatWorks(t *testing.T) {
	disk := &full{}
	start(t, func(f *fixture) {
		f.asks("ci", "s1", "aaaaa")
		disk.is.Store(true)
		f.receive(from("v1", says("yes aaaaa")))
		f.wantVerdicts("s1 aaaaa true")
		f.sessions.Decided()[0].Done(true)
		time.Sleep(5 * time.Second)
		disk.is.Store(false)
		time.Sleep(2 * time.Second)
		again := f.restart()
		again.receive(from("v2", says("no aaaaa")))
		again.wantPhone("aaaaa: already answered (allowed).")
		again.wantVerdicts("s1 aaaaa true")
	}, withPrompts, func(f *fixture) { disk.Record, f.Record = f.store, disk })
}

// An answer is for the agent that asked, and no other.
func TestAnAnswerWaitsForItsAgent(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		f.question(time.Second).wait(t)
		f.receive(from("a1", says("blue"), quoting("1001")))
		f.sessions.Disconnect("ci")
		f.Departed(f.t.Context(), "ci")
		synctest.Wait()
		f.wantGot(got{"ci": {"routed a1"}})
		if mail, _, err := f.store.Inbox(f.t.Context(), "ci", 20); err != nil || len(mail) != 1 {
			t.Errorf("in the inbox: %+v, %v", mail, err)
		}
	}, withPrompts)
}
