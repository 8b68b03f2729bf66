package gate

import (
	"slices"

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
	return g.roles(p, s)&r != 0
}

// roles returns what s may do. g.mu is held.
func (g *Gate) roles(p hub.PlatformID, s hub.Sender) (all role) {
	for x, r := range g.trusted {
		if x.platform == p && (x.id == s.ID || slices.Contains(s.Aliases, x.id)) {
			all |= r
		}
	}
	return all
}
