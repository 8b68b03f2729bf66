package gate

import (
	"cmp"
	"slices"

	"aldis/internal/hub"
)

// maxUnsaved bounds what the Gate has found out and nobody has saved.
const maxUnsaved = 1000

// A Change is something that the Gate found out, to be made to what is saved.
type Change func(*Access)

// learn makes a change, and keeps it to be saved. It reports false, and does
// nothing, where it can't be known what there is to change, or too much waits.
// g.mu is held.
func (g *Gate) learn(c Change) bool {
	if g.closed || len(g.unsaved) >= maxUnsaved {
		return false
	}
	c(&g.access)
	g.unsaved = append(g.unsaved, c)
	if g.Nudge != nil {
		g.Nudge()
	}
	return true
}

// Unsaved returns what the Gate has found out since the last Install.
func (g *Gate) Unsaved() []Change {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.unsaved)
}

// Install makes a count from now on, in which the first saved of [Gate.Unsaved]
// are made already. It opens a closed door.
func (g *Gate) Install(a Access, saved int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access, g.closed = a.clone(), false
	g.unsaved = g.unsaved[saved:]
	for _, c := range g.unsaved {
		c(&g.access)
	}
}

// Close shuts everybody out but the operator, until Install: who may come in is
// not known.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// Access returns what counts now, but for what the settings say.
func (g *Gate) Access() Access {
	g.mu.RLock()
	defer g.mu.RUnlock()
	a := g.access.clone()
	a.Policy = cmp.Or(a.Policy, PolicyAllowlist)
	return a
}

// Moved returns the bindings of names that are let in and were seen with
// somebody else.
func (g *Gate) Moved() []Binding {
	g.mu.RLock()
	defer g.mu.RUnlock()
	in := make(map[person]bool)
	for x := range g.everybody {
		in[x] = true
	}
	return slices.DeleteFunc(slices.Clone(g.access.Bindings), func(b Binding) bool { return b.Moved.IsZero() || !in[person{b.Platform, b.ID}] })
}

// A Setting is a person whom the settings let in.
type Setting struct {
	Platform hub.PlatformID `json:"platform"`
	ID       hub.SenderID   `json:"id"`
	Operator bool           `json:"operator,omitempty"`
	Approver bool           `json:"approver,omitempty"`
}

// Settings returns whom the settings let in.
func (g *Gate) Settings() []Setting {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]Setting, 0, len(g.trusted))
	for x, r := range g.trusted {
		list = append(list, Setting{x.platform, x.id, r&operates != 0, r&approves != 0})
	}
	slices.SortFunc(list, func(a, b Setting) int { return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.ID, b.ID)) })
	return list
}

// IsSetting reports whether the settings let in whoever has that name.
func (g *Gate) IsSetting(p hub.PlatformID, id hub.SenderID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for x := range g.trusted {
		if x.platform == p && (x.id == id || g.access.bound(p, x.id).Lasting == id) {
			return true
		}
	}
	return false
}
