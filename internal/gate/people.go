package gate

import (
	"slices"
	"time"

	"aldis/internal/hub"
)

// A role is what a person may do. Roles add up.
type role uint8

const (
	speaks   role = 1 << iota // is heard
	approves                  // may answer a request for permission
	operates                  // is the operator, whom nothing shuts out
)

// A person is a platform's name for one.
type person struct {
	platform hub.PlatformID
	id       hub.SenderID
}

// Trust lets a person's messages pass, by any name that the platform has for
// them: who is known by number and by UUID is one person.
func (g *Gate) Trust(p hub.PlatformID, id hub.SenderID) { g.grant(p, id, speaks) }

// Approve is Trust for somebody who may answer requests for permission too.
func (g *Gate) Approve(p hub.PlatformID, id hub.SenderID) { g.grant(p, id, speaks|approves) }

// Operate is Trust for the operator.
func (g *Gate) Operate(p hub.PlatformID, id hub.SenderID) { g.grant(p, id, speaks|operates) }

func (g *Gate) grant(p hub.PlatformID, id hub.SenderID, r role) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trusted == nil {
		g.trusted = make(map[person]role)
	}
	g.trusted[person{p, id}] |= r
}

// Trusts reports whether s may speak.
func (g *Gate) Trusts(p hub.PlatformID, s hub.Sender) bool { return g.has(p, s, speaks) }

// Approves reports whether s may answer requests for permission.
func (g *Gate) Approves(p hub.PlatformID, s hub.Sender) bool { return g.has(p, s, approves) }

// Operates reports whether s is the operator.
func (g *Gate) Operates(p hub.PlatformID, s hub.Sender) bool { return g.has(p, s, operates) }

func (g *Gate) has(p hub.PlatformID, s hub.Sender, r role) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all, _, _ := g.standing(p, s)
	if all&operates == 0 && (g.closed || g.access.Policy == PolicyDisabled) {
		return false
	}
	return all&r != 0
}

// trustsQuoted reports whether who is quoted may speak. A platform does not say
// which of their names lasts; the first alias is the best that there is.
func (g *Gate) trustsQuoted(p hub.PlatformID, q *hub.Quote) bool {
	s := hub.Sender{ID: q.From, Aliases: q.Aliases}
	if len(q.Aliases) > 0 {
		s.Lasting = q.Aliases[0]
	}
	return g.Trusts(p, s)
}

// meet returns what s may do, and whether a name of theirs is somebody else's.
// It binds the names that led to them for the first time.
func (g *Gate) meet(p hub.PlatformID, s hub.Sender, at time.Time) (r role, moved bool) {
	g.mu.Lock()
	r, fresh, taken := g.standing(p, s)
	at = at.UTC().Truncate(time.Second)
	var warn []hub.SenderID
	for _, id := range fresh {
		g.learn(func(a *Access) { a.bind(Binding{Platform: p, ID: id, Lasting: s.Lasting, Since: at}) })
	}
	for _, id := range taken {
		if g.access.bound(p, id).Moved.IsZero() && g.learn(func(a *Access) { a.moved(p, id, at) }) {
			warn = append(warn, id)
		}
	}
	g.mu.Unlock()
	for _, id := range warn {
		if g.Warn != nil {
			g.Warn(p, id)
		}
	}
	return r, len(taken) > 0
}

// standing returns what s may do; the names by which that is so and that are
// bound to nobody yet; and those of s that are bound to somebody else. g.mu is
// held.
func (g *Gate) standing(p hub.PlatformID, s hub.Sender) (all role, fresh, taken []hub.SenderID) {
	for x, r := range g.everybody {
		if x.platform != p {
			continue
		}
		switch g.access.match(p, x.id, s) {
		case isFirst:
			fresh = append(fresh, x.id)
			all |= r
		case isThem:
			all |= r
		case isTaken:
			taken = append(taken, x.id)
		}
	}
	return all, fresh, taken
}

// everybody ranges over who was let in, by a setting or otherwise.
func (g *Gate) everybody(yield func(person, role) bool) {
	for x, r := range g.trusted {
		if !yield(x, r) {
			return
		}
	}
	for _, x := range g.access.People {
		if !yield(person{x.Platform, x.ID}, speaks) {
			return
		}
	}
}

// A match says what a name that was let in is to a sender.
type match int

const (
	isOther match = iota // it is not theirs
	isThem
	isFirst // theirs, and bound to nobody yet
	isTaken // theirs, and bound to somebody else
)

// match compares by the name that lasts, where s has one: an alias that can
// pass to somebody else counts only until it is bound.
func (a *Access) match(p hub.PlatformID, id hub.SenderID, s hub.Sender) match {
	named := func(id hub.SenderID) bool { return id == s.ID || slices.Contains(s.Aliases, id) }
	bound := a.bound(p, id).Lasting
	switch {
	case s.Lasting == "" && (named(id) || bound != "" && named(bound)):
		return isThem // the platform does not say more
	case s.Lasting == "":
		return isOther
	case s.Lasting == id || s.Lasting == bound:
		return isThem
	case !named(id):
		return isOther
	case bound == "":
		return isFirst
	default:
		return isTaken
	}
}
