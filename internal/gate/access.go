package gate

import (
	"slices"
	"time"

	"aldis/internal/hub"
)

// An Access is who may come in besides those whom the settings name, and what
// was found out about both. It is kept in access.json, see [ParseAccess].
type Access struct {
	Policy   Policy    `json:"policy"`
	People   []Person  `json:"people"`
	Groups   []Group   `json:"groups"`
	Bindings []Binding `json:"bindings"`
	Pairings []Pairing `json:"pairings"`
}

// A Policy says who comes in.
type Policy string

// The policies.
const (
	PolicyAllowlist Policy = "allowlist" // those who were named
	PolicyPairing   Policy = "pairing"   // and strangers are told a code by which they can be
	PolicyDisabled  Policy = "disabled"  // nobody but the operator
)

// Check fails with Invalid if p is none of the three.
func (p Policy) Check() error {
	if p != PolicyAllowlist && p != PolicyPairing && p != PolicyDisabled {
		return hub.Errorf(hub.Invalid, "the policy must be %s, %s or %s", PolicyAllowlist, PolicyPairing, PolicyDisabled)
	}
	return nil
}

// A Person is somebody who was let in.
type Person struct {
	Platform hub.PlatformID `json:"platform"`
	ID       hub.SenderID   `json:"id"`
	ShownAs  hub.SenderID   `json:"shown_as,omitempty"` // how people know who is kept under another name; says nothing about who comes in
	Name     string         `json:"name,omitempty"`     // for people to read
	Since    time.Time      `json:"since,omitzero"`
}

// A Group is one in which everything is heard that trusted people say.
type Group struct {
	Platform hub.PlatformID `json:"platform"`
	ID       hub.ChatID     `json:"id"`
}

// A Binding says whose a name is that can pass to somebody else: whoever had
// it when it was first seen.
type Binding struct {
	Platform hub.PlatformID `json:"platform"`
	ID       hub.SenderID   `json:"id"`      // as it was let in
	Lasting  hub.SenderID   `json:"lasting"` // of whom that means
	Since    time.Time      `json:"since,omitzero"`
	Moved    time.Time      `json:"moved,omitzero"` // when somebody else was first seen with it; zero: never
}

// Allow lets x in. It fails with Conflict if x is in already.
func (a *Access) Allow(x Person) error {
	if slices.ContainsFunc(a.People, func(y Person) bool { return y.is(x.Platform, x.ID) }) {
		return hub.Errorf(hub.Conflict, "%s is let in already", string(x.ID))
	}
	a.People = append(a.People, x)
	return nil
}

// Remove shuts out again whoever was let in under the name id, by any name
// that leads to them. It fails with NotFound if nobody was.
func (a *Access) Remove(p hub.PlatformID, id hub.SenderID) error {
	var gone []hub.SenderID
	a.People = slices.DeleteFunc(a.People, func(x Person) bool {
		hit := x.is(p, id) || x.Platform == p && (x.ShownAs == id || a.bound(p, x.ID).Lasting == id)
		if hit {
			gone = append(gone, x.ID)
		}
		return hit
	})
	if len(gone) == 0 {
		return hub.Errorf(hub.NotFound, "nobody was let in as %s; aldis access list shows who was", string(id))
	}
	a.Bindings = slices.DeleteFunc(a.Bindings, func(b Binding) bool { return b.Platform == p && slices.Contains(gone, b.ID) })
	return nil
}

// SetPolicy fails with Invalid if there is no such policy.
func (a *Access) SetPolicy(p Policy) error {
	if err := p.Check(); err != nil {
		return err
	}
	a.Policy = p
	return nil
}

// AddGroup fails with Conflict if x is there already.
func (a *Access) AddGroup(x Group) error {
	if slices.Contains(a.Groups, x) {
		return hub.Errorf(hub.Conflict, "everything that trusted people say in that group is heard already")
	}
	a.Groups = append(a.Groups, x)
	return nil
}

// RemoveGroup fails with NotFound if x is not there.
func (a *Access) RemoveGroup(x Group) error {
	i := slices.Index(a.Groups, x)
	if i < 0 {
		return hub.Errorf(hub.NotFound, "that group was not added; aldis access list shows those that were")
	}
	a.Groups = slices.Delete(a.Groups, i, i+1)
	return nil
}

// Rebind forgets whose the name id is: it will be bound to the next who is seen
// with it. It fails with NotFound if it was nobody's.
func (a *Access) Rebind(p hub.PlatformID, id hub.SenderID) error {
	i := a.binding(p, id)
	if i < 0 {
		return hub.Errorf(hub.NotFound, "%s is not bound to anybody yet", string(id))
	}
	a.Bindings = slices.Delete(a.Bindings, i, i+1)
	return nil
}

func (x Person) is(p hub.PlatformID, id hub.SenderID) bool { return x.Platform == p && x.ID == id }

// binding returns the index of that of a name, or -1.
func (a *Access) binding(p hub.PlatformID, id hub.SenderID) int {
	return slices.IndexFunc(a.Bindings, func(b Binding) bool { return b.Platform == p && b.ID == id })
}

// bound returns the binding of a name, or the zero Binding.
func (a *Access) bound(p hub.PlatformID, id hub.SenderID) Binding {
	if i := a.binding(p, id); i >= 0 {
		return a.Bindings[i]
	}
	return Binding{}
}

// bind adds b, unless its name is bound already.
func (a *Access) bind(b Binding) {
	if a.binding(b.Platform, b.ID) < 0 {
		a.Bindings = append(a.Bindings, b)
	}
}

// moved notes that somebody else was seen with a bound name.
func (a *Access) moved(p hub.PlatformID, id hub.SenderID, at time.Time) {
	if i := a.binding(p, id); i >= 0 && a.Bindings[i].Moved.IsZero() {
		a.Bindings[i].Moved = at
	}
}

func (a Access) clone() Access {
	a.People, a.Groups = slices.Clone(a.People), slices.Clone(a.Groups)
	a.Bindings, a.Pairings = slices.Clone(a.Bindings), slices.Clone(a.Pairings)
	return a
}
