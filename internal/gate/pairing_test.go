package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

// strangers is a gate in the middle of pairing, with codes that count up, and
// somebody who writes at each time given.
func strangers(a Access) *Gate {
	g := house(a)
	n := 0
	g.NewCode = func() string {
		n++
		return strings.Repeat("A", CodeLetters-1) + CodeAlphabet[n:n+1]
	}
	return g
}

func at(m hub.Message, d time.Duration) hub.Message {
	m.Time = noon.Add(d)
	return m
}

func stranger(n int) hub.Message {
	return from(hub.SenderID(fmt.Sprintf("+1555900%d", n)), hub.SenderID(fmt.Sprintf("5%d", n)))
}

func TestStrangersAreToldSoMuchAndNoMore(t *testing.T) {
	edit, reaction, group := stranger(1), stranger(1), stranger(1)
	edit.Kind, reaction.Kind, group.Group = hub.Edit, hub.Reaction, "x"
	nameless := stranger(1)
	nameless.From.Lasting, nameless.From.Aliases = "", nil
	unhidden := stranger(1)
	unhidden.From.ID = unhidden.From.Lasting
	recycled := stranger(1)
	recycled.From.Lasting, recycled.From.Aliases = "58", []hub.SenderID{"58"}
	type step struct {
		why  string
		m    hub.Message
		want string // "": silence
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"two answers, then silence until the hour is over", []step{
			{"first", stranger(1), "AAAAAB"},
			{"second", at(stranger(1), time.Minute), "AAAAAB"},
			{"third", at(stranger(1), 2*time.Minute), ""},
			{"at the end of the hour", at(stranger(1), time.Hour-time.Second), ""},
			{"after it", at(stranger(1), time.Hour), "AAAAAC"},
		}},
		{"three at a time", []step{
			{"one", stranger(1), "AAAAAB"},
			{"two", at(stranger(2), time.Minute), "AAAAAC"},
			{"three", at(stranger(3), 2*time.Minute), "AAAAAD"},
			{"four", at(stranger(4), 3*time.Minute), ""},
			{"one again", at(stranger(1), 4*time.Minute), "AAAAAB"},
			{"four, when the first is over", at(stranger(4), time.Hour), "AAAAAF"},
		}},
		{"not whatever else they do", []step{
			{"an edit", edit, ""},
			{"a reaction", reaction, ""},
			{"in a group", group, ""},
		}},
		{"one person by several names", []step{
			{"number and UUID", stranger(1), "AAAAAB"},
			{"the number alone", nameless, "AAAAAB"},
			{"the UUID alone", unhidden, ""},
			{"somebody else with that number", recycled, "AAAAAC"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := strangers(Access{Policy: PolicyPairing})
			for _, s := range tt.steps {
				if got, ok := g.Offer(s.m); got != s.want || ok != (got != "") {
					t.Errorf("%s: %q, want %q", s.why, got, s.want)
				}
			}
		})
	}
}

func TestNobodyIsOfferedAPairing(t *testing.T) {
	closed := strangers(Access{Policy: PolicyPairing})
	closed.Close()
	for name, g := range map[string]*Gate{
		"no file": strangers(Access{}), "allowlist": strangers(Access{Policy: PolicyAllowlist}),
		"disabled": strangers(Access{Policy: PolicyDisabled}), "a broken file": closed,
		"where none can be made": house(Access{Policy: PolicyPairing}),
	} {
		if code, ok := g.Offer(stranger(1)); ok {
			t.Errorf("%s: %q", name, code)
		}
	}
	same := strangers(Access{Policy: PolicyPairing})
	same.NewCode = func() string { return "AAAAAA" }
	same.Offer(stranger(1))
	if _, ok := same.Offer(stranger(2)); ok {
		t.Error("two people have one code")
	}
}

// afterOffers is what is to be saved of strangers 1 to n.
func afterOffers(t *testing.T, n int) Access {
	t.Helper()
	g := strangers(Access{Policy: PolicyPairing})
	for i := range n {
		if _, ok := g.Offer(stranger(1 + i)); !ok {
			t.Fatalf("nothing for stranger %d", 1+i)
		}
	}
	saved := Access{Policy: PolicyPairing}
	for _, c := range g.Unsaved() {
		c(&saved)
	}
	return saved
}

func TestCodeLetsIn(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		after      time.Duration
		ok         bool
	}{
		{"as it was told", "AAAAAB", time.Minute, true},
		{"in small letters, with blanks", " aaaaab ", time.Minute, true},
		{"another", "AAAAAX", time.Minute, false},
		{"a part", "AAAAA", time.Minute, false},
		{"none", "", time.Minute, false},
		{"too late", "AAAAAB", time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := afterOffers(t, 1)
			x, err := a.Pair(tt.code, noon.Add(tt.after))
			if (err == nil) != tt.ok || err != nil && (hub.KindOf(err) != hub.NotFound || len(a.Pairings) != 1) {
				t.Fatalf("%v; pairings %v", err, a.Pairings)
			}
			if !tt.ok {
				return
			}
			want := Access{
				Policy: PolicyPairing, Pairings: []Pairing{},
				People: []Person{{Platform: "signal", ID: "51", ShownAs: "+15559001", Since: noon.Add(tt.after)}},
			}
			if d := cmp.Diff(want, a); d != "" || x.Chat != "+15559001" {
				t.Errorf("for %q (-want +got):\n%s", string(x.Chat), d)
			}
			g := house(a)
			if _, got := g.Admit(stranger(1), false); got != Admitted {
				t.Errorf("then: %s", got)
			}
			if _, got := g.Admit(from("+15559001", eveUUID), false); got != Stranger {
				t.Errorf("somebody else with the number: %s", got)
			}
			if _, err := a.Pair(tt.code, noon); hub.KindOf(err) != hub.NotFound {
				t.Errorf("a code works twice: %v", err)
			}
		})
	}
}

func TestDeniedStrangerIsToldNothingForTheHour(t *testing.T) {
	a := afterOffers(t, 3)
	if _, err := a.Deny("aaaaab", noon); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Pair("AAAAAB", noon); hub.KindOf(err) != hub.NotFound {
		t.Errorf("a denied code: %v", err)
	}
	g := strangers(a) // as after a restart
	g.NewCode = func() string { return "ZZZZZZ" }
	for _, s := range []struct {
		why  string
		m    hub.Message
		want string
	}{
		{"the denied one", at(stranger(1), time.Minute), ""},
		{"one who waits", at(stranger(2), time.Minute), "AAAAAC"},
		{"one more, in the place of the denied", at(stranger(4), time.Minute), "ZZZZZZ"},
		{"the denied one, an hour later", at(stranger(1), 2*time.Hour), ""}, // that code is in use
	} {
		if got, _ := g.Offer(s.m); got != s.want {
			t.Errorf("%s: %q, want %q", s.why, got, s.want)
		}
	}
	a.Prune(noon.Add(time.Hour))
	if len(a.Pairings) != 0 {
		t.Errorf("an hour later there is %v", a.Pairings)
	}
}
