package route

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aldis/internal/hub"
)

// here are the agents that are present.
type here []hub.AgentID

func (h here) Present(a hub.AgentID) bool          { return slices.Contains(h, a) }
func (h here) Everybody() []hub.AgentID            { return h }
func (here) Deliver(hub.Offer) int                 { return 0 }
func (here) Withdraw(hub.AgentID, []hub.MessageID) {}
func (here) Decide(hub.Verdict)                    {}

// TestDecide is the table of seed reply-routing.md, "The routing decision".
func TestDecide(t *testing.T) {
	const ci, desk, other = "ci", "desk", "other"
	answersCI := Answer{Ours: true, Known: true, Agent: ci}
	for _, tt := range []struct {
		situation string
		answer    Answer
		present   here
		def       hub.AgentID
		want      hub.Decision
	}{
		{
			"quotes an agent that is present", answersCI,
			here{ci, desk, other},
			desk,
			hub.Decision{Status: hub.Routed, Meant: ci, To: here{ci}},
		},
		{
			"quotes an agent that is present, no default", answersCI,
			here{ci, other},
			"",
			hub.Decision{Status: hub.Routed, Meant: ci, To: here{ci}},
		},
		{
			"quotes an agent that is absent", answersCI,
			here{desk, other},
			desk,
			hub.Decision{Status: hub.AgentOffline, Meant: ci, To: here{desk}},
		},
		{
			"quotes a message of ours that nobody remembers",
			Answer{Ours: true},
			here{ci, desk},
			desk,
			hub.Decision{Status: hub.Unknown, To: here{desk}},
		},
		{
			"quotes nothing, or somebody else",
			Answer{},
			here{ci, desk},
			desk,
			hub.Decision{Status: hub.Unrouted, To: here{desk}},
		},
		{
			"quotes somebody else's message with the time of one of ours",
			Answer{Known: true, Agent: ci},
			here{ci, desk},
			desk,
			hub.Decision{Status: hub.Unrouted, To: here{desk}},
		},
		{
			"the default is absent, agent offline", answersCI,
			here{other},
			desk,
			hub.Decision{Status: hub.AgentOffline, Meant: ci, To: here{other}},
		},
		{
			"the default is absent, unknown",
			Answer{Ours: true},
			here{ci, other},
			desk,
			hub.Decision{Status: hub.Unknown, To: here{ci, other}},
		},
		{
			"the default is absent, unrouted",
			Answer{},
			here{ci, other},
			desk,
			hub.Decision{Status: hub.Unrouted, To: here{ci, other}},
		},
		{
			"there is no default",
			Answer{},
			here{ci, other},
			"",
			hub.Decision{Status: hub.Unrouted, To: here{ci, other}},
		},
		{
			"the agent is the default, and absent",
			Answer{Ours: true, Known: true, Agent: desk},
			here{ci},
			desk,
			hub.Decision{Status: hub.AgentOffline, Meant: desk, To: here{ci}},
		},
		{
			"nobody is present", answersCI, nil, desk,
			hub.Decision{Status: hub.AgentOffline, Meant: ci},
		},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			got := Decide(tt.answer, tt.def, tt.present)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("decision (-want +got):\n%s", d)
			}
			if got.Status == hub.Routed || len(got.To) == 0 {
				return
			}
			// Decided again, with the same sessions, it is the same decision.
			if d := cmp.Diff(got, Again(got, tt.def, tt.present)); d != "" {
				t.Errorf("decided again (-first +second):\n%s", d)
			}
		})
	}
}

func ref(chat hub.ChatID, key string) hub.Ref { return hub.Ref{Platform: "fake", Chat: chat, Key: key} }

func newTable() *Table { return &Table{TTL: 7 * 24 * time.Hour, Max: 3, Now: time.Now} }

func TestRouteIsForgottenAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable()
		tab.Remember(Route{Ref: ref("c", "1"), Agent: "ci"})
		time.Sleep(tab.TTL - time.Nanosecond)
		if _, ok := tab.Find(ref("c", "1")); !ok {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := tab.Find(ref("c", "1")); ok {
			t.Error("still there")
		}
		tab.Remember(Route{Ref: ref("c", "2"), Agent: "ci"})
		if n := tab.Len(); n != 1 {
			t.Errorf("%d routes are kept, want the fresh one", n)
		}
	})
}

func TestOldestRouteGoesByOrderNotByTime(t *testing.T) {
	tab := newTable()
	for i := range 5 {
		tab.Remember(Route{Ref: ref("c", strconv.Itoa(9-i)), Agent: "ci"}) // older keys come later
	}
	for key, want := range map[string]bool{"9": false, "8": false, "7": true, "6": true, "5": true} {
		if _, ok := tab.Find(ref("c", key)); ok != want {
			t.Errorf("route %s found: %v, want %v", key, ok, want)
		}
	}
}

func TestRouteIsOfOneChat(t *testing.T) {
	tab := newTable()
	tab.SameChat = func(_ hub.PlatformID, a, b hub.ChatID) bool { return a == "+1" && b == "uuid-1" }
	tab.Remember(Route{Ref: ref("+1", "7"), Agent: "ci"})
	tab.Remember(Route{Ref: ref("group:x", "7"), Agent: "desk"})
	for chat, want := range map[hub.ChatID]hub.AgentID{"+1": "ci", "uuid-1": "ci", "group:x": "desk", "+2": ""} {
		if got, _ := tab.Find(ref(chat, "7")); got.Agent != want {
			t.Errorf("in chat %s the message is %q's, want %q's", string(chat), got.Agent, want)
		}
	}
}

func TestRestoredRoutesHaveAnAgeThatMakesSense(t *testing.T) {
	const ttl = 7 * 24 * time.Hour
	for _, tt := range []struct {
		name  string
		age   time.Duration // by the wall clock
		lives time.Duration
	}{
		{"an hour old", time.Hour, ttl - time.Hour},
		{"from the future: the clock was set back", -time.Hour, ttl},
		{"older than any: the clock was set ahead", 100 * ttl, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			tab := newTable()
			tab.Restore([]Route{{Ref: ref("c", "1"), Agent: "ci", Sent: time.Now().Add(-tt.age)}})
			if tt.lives > 0 {
				time.Sleep(tt.lives - time.Nanosecond)
				if _, ok := tab.Find(ref("c", "1")); !ok {
					t.Errorf("%s: forgotten too early", tt.name)
				}
				time.Sleep(time.Nanosecond)
			}
			if _, ok := tab.Find(ref("c", "1")); ok {
				t.Errorf("%s: lives too long", tt.name)
			}
		})
	}
}

// The table is never larger than its bound, and finds the last Max routes.
func TestTableIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := &Table{TTL: time.Hour, Max: rapid.IntRange(1, 5).Draw(t, "max"), Now: time.Now}
		keys := rapid.SliceOf(rapid.StringMatching(`[0-3]`)).Draw(t, "keys")
		for i, k := range keys {
			tab.Remember(Route{Ref: ref("c", k), Agent: hub.AgentID(strconv.Itoa(i))})
		}
		if tab.Len() > tab.Max {
			t.Fatalf("%d routes, at most %d", tab.Len(), tab.Max)
		}
		for i := max(0, len(keys)-tab.Max); i < len(keys); i++ {
			last := len(keys) - 1
			for keys[last] != keys[i] {
				last--
			}
			if got, ok := tab.Find(ref("c", keys[i])); !ok || got.Agent != hub.AgentID(strconv.Itoa(last)) {
				t.Fatalf("key %s is %q's, want %d's", keys[i], got.Agent, last)
			}
		}
	})
}
