package signal

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"aldis/internal/hub"
)

// maxPeople bounds the directory: past it, newcomers are not remembered.
const maxPeople = 50_000

// pniPrefix marks the UUID of a phone number.
const pniPrefix = "PNI:"

// A person is what is known of one correspondent. It does not change once
// made, so that its names can be handed out without a copy.
type person struct {
	address
	name  string         // of the profile, as last heard
	names []hub.SenderID // number, UUID, username, in this order, those known
}

// id is the name that the person goes by: the number when known, else the UUID.
func (x *person) id() hub.SenderID {
	if len(x.names) == 0 {
		return "" // us, without an account
	}
	return x.names[0]
}

func (x *person) aliases() []hub.SenderID {
	if len(x.names) < 2 {
		return nil
	}
	return x.names[1:len(x.names):len(x.names)]
}

// lasting is the name that never passes to somebody else: the UUID of the
// account. That of a number (PNI) goes where the number goes.
func (x *person) lasting() hub.SenderID {
	if strings.HasPrefix(x.UUID, pniPrefix) {
		return ""
	}
	return hub.SenderID(x.UUID)
}

// people joins the names of each person: Signal names one by number, by UUID
// or by both, and differently from one envelope to the next.
type people struct {
	account string // ours, as configured
	key     string // its normal form; always in by

	mu   sync.RWMutex
	by   map[string]*person // guarded by mu; under every name, normal form
	self *person            // guarded by mu
}

func newPeople(account string) *people {
	p := &people{account: account, by: make(map[string]*person)}
	p.self = newPerson(addressOf(account), "")
	p.key = string(p.self.id())
	p.index(p.self)
	return p
}

// learn joins the names in a, and returns who has them. What is news wins over
// what was known: a number can move to somebody else. It returns nil when a
// has no name at all.
func (p *people) learn(a address, name string) *person {
	a.UUID = normal(a.UUID)
	if x := p.find(a); x != nil && x.covers(a, name) {
		return x
	}
	if a == (address{}) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.lookup(a)
	x := old.merged(a, name)
	if old == nil && len(p.by) >= maxPeople {
		return x
	}
	p.unindex(old)
	p.forgetNumber(x.Number)
	p.index(x)
	if p.key == "" {
		return x
	}
	if p.by[p.key] == nil {
		p.by[p.key] = x // our number has changed, the settings have not
	}
	p.self = p.by[p.key]
	return x
}

// find returns the person of that address, or nil.
func (p *people) find(a address) *person {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.lookup(a)
}

// ours reports whether an address of Signal's is our own.
func (p *people) ours(a address) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	x := p.lookup(a)
	return x != nil && x == p.self
}

// me returns our own names.
func (p *people) me() *person {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.self
}

// isMe says that a is our own.
func (p *people) isMe(a address) {
	me := p.me()
	a.UUID = cmp.Or(a.UUID, me.UUID)
	a.Number = cmp.Or(a.Number, me.Number)
	p.learn(a, "")
}

// lookup prefers the UUID, which stays with a person; a number counts unless
// it is known to be that of another UUID.
func (p *people) lookup(a address) *person {
	if a.UUID != "" {
		if x := p.by[normal(a.UUID)]; x != nil {
			return x
		}
	}
	if a.Number != "" {
		if x := p.by[a.Number]; x != nil && (a.UUID == "" || x.UUID == "") {
			return x
		}
	}
	if a.Username != "" {
		return p.by["u:"+a.Username]
	}
	return nil
}

func (p *people) index(x *person) {
	for _, n := range x.names {
		p.by[string(n)] = x
	}
}

func (p *people) unindex(x *person) {
	if x != nil {
		for _, n := range x.names {
			delete(p.by, string(n))
		}
	}
}

// forgetNumber takes a number from whoever had it before.
func (p *people) forgetNumber(number string) {
	x := p.by[number]
	if x == nil {
		return
	}
	p.unindex(x)
	a := x.address
	a.Number = ""
	if a != (address{}) {
		p.index(newPerson(a, x.name))
	}
}

func newPerson(a address, name string) *person {
	x := &person{address: a, name: name}
	if a.Number != "" {
		x.names = append(x.names, hub.SenderID(a.Number))
	}
	if a.UUID != "" {
		x.names = append(x.names, hub.SenderID(a.UUID))
	}
	if a.Username != "" {
		x.names = append(x.names, hub.SenderID("u:"+a.Username))
	}
	return x
}

// covers reports whether a and name tell nothing new about x.
func (x *person) covers(a address, name string) bool {
	return (a.Number == "" || a.Number == x.Number) && (a.UUID == "" || a.UUID == x.UUID) &&
		(a.Username == "" || a.Username == x.Username) && (name == "" || name == x.name)
}

func (x *person) merged(a address, name string) *person {
	if x == nil {
		return newPerson(a, name)
	}
	m := x.address
	if a.Number != "" {
		m.Number = a.Number
	}
	if a.UUID != "" {
		m.UUID = a.UUID
	}
	if a.Username != "" {
		m.Username = a.Username
	}
	if name == "" {
		name = x.name
	}
	return newPerson(m, name)
}

// shown is how our own name is shown: as it was configured.
func (p *people) shown() (hub.SenderID, []hub.SenderID) {
	me, id := p.me(), hub.SenderID(p.account)
	if me.id() == id {
		return id, me.aliases()
	}
	others := slices.DeleteFunc(slices.Clone(me.names), func(n hub.SenderID) bool { return n == id })
	return id, others
}

// addressOf sorts a name by its spelling, which is that of Chat.
func addressOf(name string) address {
	if u, ok := strings.CutPrefix(name, "u:"); ok {
		return address{Username: u}
	}
	if strings.HasPrefix(name, "+") {
		return address{Number: name}
	}
	return address{UUID: normal(name)}
}

// normal is the one spelling of a UUID that is compared.
func normal(uuid string) string {
	if pni, ok := strings.CutPrefix(uuid, pniPrefix); ok {
		return pniPrefix + strings.ToLower(pni)
	}
	return strings.ToLower(uuid)
}
