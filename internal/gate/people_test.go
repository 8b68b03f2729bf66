package gate

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

const (
	bob     = hub.SenderID("+15550002")
	bobUUID = hub.SenderID("b0b00000-0000-4000-8000-000000000102")
	eveUUID = hub.SenderID("eee00000-0000-4000-8000-000000000109")
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// from is a text from whoever has these names, of which the UUID lasts.
func from(number, uuid hub.SenderID) hub.Message {
	m := text(number, "hi")
	m.From.Lasting, m.Time = uuid, noon
	if number == "" {
		m.From.ID = uuid
	} else if uuid != "" {
		m.From.Aliases = []hub.SenderID{uuid}
	}
	return m
}

// house is a gate with an operator, who goes by number, and a trusted bob.
func house(a Access) *Gate {
	g := &Gate{}
	g.Operate("signal", number)
	g.Trust("signal", bob)
	g.Install(a, 0)
	return g
}

func TestEachPolicyAndState(t *testing.T) {
	const letIn = hub.SenderID("ca201000-0000-4000-8000-000000000103")
	people := []Person{{Platform: "signal", ID: letIn}}
	closed := house(Access{Policy: PolicyAllowlist, People: people})
	closed.Close()
	for _, tt := range []struct {
		name                             string
		gate                             *Gate
		operator, trusted, letIn, nobody Admission
	}{
		{"no file", house(Access{}), Admitted, Admitted, Stranger, Stranger},
		{"allowlist", house(Access{Policy: PolicyAllowlist, People: people}), Admitted, Admitted, Admitted, Stranger},
		{"pairing", house(Access{Policy: PolicyPairing, People: people}), Admitted, Admitted, Admitted, Stranger},
		{"disabled", house(Access{Policy: PolicyDisabled, People: people}), Admitted, Disabled, Disabled, Disabled},
		{"a broken file", closed, Admitted, DoorClosed, DoorClosed, DoorClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, x := range []struct {
				who  string
				m    hub.Message
				want Admission
			}{
				{"the operator", from(number, uuid), tt.operator},
				{"who is trusted by a setting", from(bob, bobUUID), tt.trusted},
				{"who was let in", from("+15550003", letIn), tt.letIn},
				{"a stranger", from("+15559999", eveUUID), tt.nobody},
			} {
				if _, got := tt.gate.Admit(x.m, false); got != x.want {
					t.Errorf("%s: %s, want %s", x.who, got, x.want)
				}
			}
		})
	}
}

func TestRoles(t *testing.T) {
	g := house(Access{})
	g.Approve("signal", "+15550004")
	shut, closed := house(Access{Policy: PolicyDisabled}), house(Access{})
	closed.Close()
	shut.Approve("signal", bob)
	closed.Approve("signal", bob)
	closed.Approve("signal", number)
	for _, tt := range []struct {
		name                        string
		gate                        *Gate
		who                         hub.Sender
		speaks, approves, operators bool
	}{
		{"the operator", g, hub.Sender{ID: number}, true, false, true},
		{"the operator by an alias", g, hub.Sender{ID: uuid, Aliases: []hub.SenderID{number}}, true, false, true},
		{"an approver", g, hub.Sender{ID: "+15550004"}, true, true, false},
		{"who is trusted", g, hub.Sender{ID: bob}, true, false, false},
		{"a stranger", g, hub.Sender{ID: "+15559999"}, false, false, false},
		{"a stranger by the operator's name", g, hub.Sender{ID: "+15559999", Name: string(number)}, false, false, false},
		{"an approver, all shut out", shut, hub.Sender{ID: bob}, false, false, false},
		{"an approver, the door closed", closed, hub.Sender{ID: bob}, false, false, false},
		{"the operator who approves, the door closed", closed, hub.Sender{ID: number}, true, true, true},
	} {
		s, a, o := tt.gate.Trusts("signal", tt.who), tt.gate.Approves("signal", tt.who), tt.gate.Operates("signal", tt.who)
		if s != tt.speaks || a != tt.approves || o != tt.operators {
			t.Errorf("%s: speaks %v, approves %v, operates %v", tt.name, s, a, o)
		}
	}
	if g.Operates("web", hub.Sender{ID: number}) {
		t.Error("the same id on another platform is the operator")
	}
}

// TestNumberBelongsToWhoHadItFirst: what a number is worth once it is bound.
func TestNumberBelongsToWhoHadItFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    hub.Message
		want Admission
	}{
		{"both names, as before", from(bob, bobUUID), Admitted},
		{"the UUID alone", from("", bobUUID), Admitted},
		{"the person under a new number", from("+15550077", bobUUID), Admitted},
		{"no UUID is known", from(bob, ""), Admitted},
		{"the number under another UUID", from(bob, eveUUID), Moved},
		{"the other UUID alone", from("", eveUUID), Stranger},
		{"the number as an alias of another UUID", func() hub.Message {
			m := from("", eveUUID)
			m.From.Aliases = []hub.SenderID{bob}
			return m
		}(), Moved},
		{"the bound UUID as an alias of another", func() hub.Message {
			m := from("", eveUUID)
			m.From.Aliases = []hub.SenderID{bobUUID}
			return m
		}(), Stranger},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := house(Access{Policy: PolicyAllowlist})
			if _, got := g.Admit(from(bob, bobUUID), false); got != Admitted {
				t.Fatalf("at first: %s", got)
			}
			if _, got := g.Admit(tt.m, false); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if g.Trusts("signal", tt.m.From) != (tt.want == Admitted) {
				t.Errorf("Trusts does not say the same")
			}
		})
	}
}

func TestOperatorsNumberIsBoundToo(t *testing.T) {
	g := house(Access{})
	g.Admit(from(number, uuid), false)
	thief := from(number, eveUUID)
	if _, got := g.Admit(thief, false); got != Moved || g.Operates("signal", thief.From) {
		t.Errorf("the operator's number under another UUID: %s", got)
	}
}

func TestMovedNumberIsToldOnceUntilRebound(t *testing.T) {
	var warned []hub.SenderID
	nudges := 0
	g := house(Access{Policy: PolicyAllowlist})
	g.Warn = func(_ hub.PlatformID, id hub.SenderID) { warned = append(warned, id) }
	g.Nudge = func() { nudges++ }
	g.Admit(from(bob, bobUUID), false)
	for range 3 {
		g.Admit(from(bob, eveUUID), false)
	}
	if len(warned) != 1 || warned[0] != bob || nudges != 2 {
		t.Errorf("warned of %q, nudged %d times", warned, nudges)
	}
	want := []Binding{{Platform: "signal", ID: bob, Lasting: bobUUID, Since: noon, Moved: noon}}
	if d := cmp.Diff(want, g.Moved()); d != "" {
		t.Errorf("moved (-want +got):\n%s", d)
	}
	saved := Access{Policy: PolicyAllowlist}
	for _, c := range g.Unsaved() {
		c(&saved)
	}
	if d := cmp.Diff(want, saved.Bindings); d != "" {
		t.Errorf("to be saved (-want +got):\n%s", d)
	}
	n := len(g.Unsaved())
	if err := saved.Rebind("signal", bob); err != nil {
		t.Fatal(err)
	}
	g.Install(saved, n)
	if _, got := g.Admit(from(bob, eveUUID), false); got != Admitted || len(g.Moved()) != 0 {
		t.Errorf("rebound: %s, moved %v", got, g.Moved())
	}
	if _, got := g.Admit(from(bob, bobUUID), false); got != Moved {
		t.Errorf("whoever had it before: %s, want %s", got, Moved)
	}
}

func TestAgentsDoNotWriteToWhoeverHasTheNumberNow(t *testing.T) {
	g := house(Access{Policy: PolicyAllowlist})
	g.Open("signal", hub.ChatID(bob))
	g.Admit(from(bob, bobUUID), false)
	if !g.MayReach("signal", hub.ChatID(bob)) {
		t.Error("bob can't be written to")
	}
	g.Admit(from(bob, eveUUID), false)
	if g.MayReach("signal", hub.ChatID(bob)) {
		t.Error("whoever has bob's number now can be written to")
	}
	g.Anyone = true
	if g.MayReach("signal", hub.ChatID(bob)) || !g.MayReach("signal", "+99") {
		t.Error("anyone is not whoever has bob's number: it is taken for his")
	}
}

func TestWhatWasFoundOutOutlivesAnInstall(t *testing.T) {
	g := house(Access{})
	g.Admit(from(bob, bobUUID), false)
	g.Install(Access{Policy: PolicyPairing}, 0) // somebody has changed the file
	if _, got := g.Admit(from(bob, eveUUID), false); got != Moved {
		t.Errorf("%s, want %s: the binding was not saved yet", got, Moved)
	}
	if n := len(g.Unsaved()); n != 2 {
		t.Errorf("%d changes are to be saved, want 2", n)
	}
}

func TestClosedDoorLearnsNothing(t *testing.T) {
	g := house(Access{})
	g.Close()
	g.Admit(from(number, uuid), false)
	g.Admit(from(bob, bobUUID), false)
	if n := len(g.Unsaved()); n != 0 {
		t.Errorf("%d changes to a file that nobody can read", n)
	}
}

func TestQuotedNumberOfSomebodyElseIsMarked(t *testing.T) {
	g := house(Access{})
	g.Admit(from(bob, bobUUID), false)
	for _, tt := range []struct {
		name  string
		quote hub.Quote
		want  bool
	}{
		{"bob's", hub.Quote{From: bob, Aliases: []hub.SenderID{bobUUID}}, false},
		{"bob's, by UUID", hub.Quote{From: bobUUID}, false},
		{"of bob's number, which has passed on", hub.Quote{From: bob, Aliases: []hub.SenderID{eveUUID}}, true},
	} {
		m := from(number, uuid)
		m.Quote = &tt.quote
		if got, _ := g.Admit(m, false); got.Quote.Untrusted != tt.want {
			t.Errorf("%s: untrusted %v, want %v", tt.name, got.Quote.Untrusted, tt.want)
		}
	}
}

func TestGroups(t *testing.T) {
	in := func(who hub.SenderID, group, words string, kind hub.MessageKind) hub.Message {
		m := text(who, words)
		m.Ref.Chat, m.Group, m.Kind = hub.ChatID("group:"+group), group, kind
		return m
	}
	for _, tt := range []struct {
		name string
		m    hub.Message
		want Admission
	}{
		{"a group that was added", in(bob, "added", "hello", hub.Text), Admitted},
		{"by another spelling", in(bob, "ADDED", "hello", hub.Text), Admitted},
		{"a stranger in it", in("+15559999", "added", "hello", hub.Text), Stranger},
		{"another group", in(bob, "other", "hello", hub.Text), NotAddressed},
		{"words that mention us", in(bob, "other", "hey Aldis, hello", hub.Text), Admitted},
		{"an edit that mentions us", in(bob, "other", "ALDIS: hello", hub.Edit), Admitted},
		{"a word that has ours in it", in(bob, "other", "Aldiss", hub.Text), NotAddressed},
		{"a reaction of such words", in(bob, "other", "aldis", hub.Reaction), NotAddressed},
		{"a stranger who mentions us", in("+15559999", "other", "aldis", hub.Text), Stranger},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := house(Access{Groups: []Group{{"signal", "group:added"}}})
			g.Mentions = []*regexp.Regexp{regexp.MustCompile(`(?i:\baldis\b)`)}
			g.SameChat = func(_ hub.PlatformID, a, b hub.ChatID) bool { return a == "group:added" && b == "group:ADDED" }
			if _, got := g.Admit(tt.m, false); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	elsewhere := in(bob, "added", "hello", hub.Text)
	elsewhere.Ref.Platform = "web"
	g := house(Access{Groups: []Group{{"signal", "group:added"}}})
	g.Trust("web", bob)
	if _, got := g.Admit(elsewhere, false); got != NotAddressed {
		t.Errorf("a group of that id on another platform: %s", got)
	}
}

func TestChangesOfAccess(t *testing.T) {
	var a Access
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(a.SetPolicy(PolicyPairing))
	must(a.Allow(Person{Platform: "signal", ID: bob}))
	must(a.Allow(Person{Platform: "signal", ID: eveUUID, ShownAs: "+15550009"}))
	must(a.Allow(Person{Platform: "web", ID: bob}))
	must(a.AddGroup(Group{"signal", "group:x"}))
	a.bind(Binding{Platform: "signal", ID: bob, Lasting: bobUUID})
	for _, tt := range []struct {
		name string
		err  error
		want hub.Kind
	}{
		{"no such policy", a.SetPolicy("open"), hub.Invalid},
		{"somebody who is in", a.Allow(Person{Platform: "signal", ID: bob}), hub.Conflict},
		{"a group that is in", a.AddGroup(Group{"signal", "group:x"}), hub.Conflict},
		{"a group that is not", a.RemoveGroup(Group{"signal", "group:y"}), hub.NotFound},
		{"somebody who is not in", a.Remove("signal", "+15559999"), hub.NotFound},
		{"a name that was never bound", a.Rebind("signal", eveUUID), hub.NotFound},
	} {
		if hub.KindOf(tt.err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	must(a.Remove("signal", bobUUID)) // who came in under the number
	must(a.Remove("signal", "+15550009"))
	must(a.RemoveGroup(Group{"signal", "group:x"}))
	want := Access{Policy: PolicyPairing, People: []Person{{Platform: "web", ID: bob}}, Groups: []Group{}, Bindings: []Binding{}}
	if d := cmp.Diff(want, a); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}

func TestWhoIsLetInByASetting(t *testing.T) {
	g := house(Access{})
	g.Approve("signal", bob)
	g.Admit(from(bob, bobUUID), false)
	want := []Setting{{Platform: "signal", ID: number, Operator: true}, {Platform: "signal", ID: bob, Approver: true}}
	if d := cmp.Diff(want, g.Settings()); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	for id, want := range map[hub.SenderID]bool{bob: true, bobUUID: true, eveUUID: false} {
		if g.IsSetting("signal", id) != want {
			t.Errorf("IsSetting(%s) = %v", string(id), !want)
		}
	}
}
