// Package route remembers which agent sent which message, and decides where an
// answer goes: back to that agent and to no other. Its one rule: a decision
// depends on what it is given, never on who was last active.
package route

import (
	"sync"
	"time"

	"aldis/internal/hub"
)

// An Answer is what is known of the message that another one answers.
type Answer struct {
	Ours  bool        // it is one of ours; else it is nobody's here
	Known bool        // the table has it
	Agent hub.AgentID // who sent it, if Known
}

// Decide says where a message goes that answers a. Who gets what is not routed
// is the default agent def, if there is one and it is present, else everybody
// who is. With nobody present the decision has no To.
//
// It is the table of seed reply-routing.md, section "The routing decision".
func Decide(a Answer, def hub.AgentID, s hub.Sessions) hub.Decision {
	switch {
	case !a.Ours:
		return fallBack(hub.Decision{Status: hub.Unrouted}, def, s)
	case !a.Known:
		return fallBack(hub.Decision{Status: hub.Unknown}, def, s)
	case !s.Present(a.Agent):
		return fallBack(hub.Decision{Status: hub.AgentOffline, Meant: a.Agent}, def, s)
	default:
		return hub.Decision{Status: hub.Routed, Meant: a.Agent, To: []hub.AgentID{a.Agent}}
	}
}

// Again says where a message goes that was decided before as d, when whoever
// got it then is not there any more; or what belongs to it, such as its edit.
func Again(d hub.Decision, def hub.AgentID, s hub.Sessions) hub.Decision {
	switch d.Status {
	case hub.Routed, hub.AgentOffline:
		return Decide(Answer{Ours: true, Known: true, Agent: d.Meant}, def, s)
	case hub.Unknown:
		return Decide(Answer{Ours: true}, def, s)
	default:
		return Decide(Answer{}, def, s)
	}
}

func fallBack(d hub.Decision, def hub.AgentID, s hub.Sessions) hub.Decision {
	if def != "" && s.Present(def) {
		d.To = []hub.AgentID{def}
	} else {
		d.To = s.Everybody()
	}
	return d
}

// A Route says that a message of ours was sent by an agent.
type Route struct {
	Ref     hub.Ref
	Agent   hub.AgentID
	Preview string    // the start of its text, at most 256 bytes
	Sent    time.Time // with its monotonic reading, unless it is of an earlier run
}

// A Table holds the routes of the last TTL, at most Max of them.
type Table struct {
	// set before use
	TTL time.Duration
	Max int
	Now func() time.Time

	// SameChat is as in gate.Gate.
	SameChat func(p hub.PlatformID, a, b hub.ChatID) bool

	mu     sync.Mutex
	byKey  map[key][]*Route
	oldest []*Route // first in, first out
}

type key struct {
	platform hub.PlatformID
	key      string
}

// Remember adds a route. Past Max the oldest goes, by order, not by time.
func (t *Table) Remember(r Route) {
	r.Sent = t.Now()
	t.add(r)
}

// Restore adds the routes of an earlier run, oldest first. Their ages are
// taken by the wall clock, which may have been set meanwhile: they count as at
// least nothing and at most TTL.
func (t *Table) Restore(rs []Route) {
	now := t.Now()
	for _, r := range rs {
		age := min(max(now.Round(0).Sub(r.Sent.Round(0)), 0), t.TTL)
		r.Sent = now.Add(-age)
		t.add(r)
	}
}

func (t *Table) add(r Route) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = make(map[key][]*Route)
	}
	k := key{r.Ref.Platform, r.Ref.Key}
	t.byKey[k] = append(t.byKey[k], &r)
	t.oldest = append(t.oldest, &r)
	for len(t.oldest) > t.Max || len(t.oldest) > 0 && t.stale(t.oldest[0]) {
		t.forget(t.oldest[0])
		t.oldest[0] = nil
		t.oldest = t.oldest[1:]
	}
}

func (t *Table) stale(r *Route) bool { return t.Now().Sub(r.Sent) >= t.TTL }

func (t *Table) forget(r *Route) {
	k := key{r.Ref.Platform, r.Ref.Key}
	rest := t.byKey[k][:0]
	for _, x := range t.byKey[k] {
		if x != r {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		delete(t.byKey, k)
		return
	}
	t.byKey[k] = rest
}

// Find returns the newest route of the message that ref names.
func (t *Table) Find(ref hub.Ref) (Route, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rs := t.byKey[key{ref.Platform, ref.Key}]
	for i := len(rs) - 1; i >= 0; i-- {
		if r := rs[i]; !t.stale(r) && t.same(r.Ref, ref) {
			return *r, true
		}
	}
	return Route{}, false
}

func (t *Table) same(a, b hub.Ref) bool {
	return a.Chat == b.Chat || t.SameChat != nil && t.SameChat(a.Platform, a.Chat, b.Chat)
}

// All returns the routes, oldest first.
func (t *Table) All() []Route {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Route, len(t.oldest))
	for i, r := range t.oldest {
		all[i] = *r
	}
	return all
}

// Len returns how many routes there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.oldest)
}
