package gate

import (
	"cmp"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"aldis/internal/hub"
)

// A code is CodeLetters of CodeAlphabet, in which no two look alike.
const (
	CodeAlphabet = "ABCDEFGHJKMNPRSTWXYZ"
	CodeLetters  = 6
)

// The bounds of pairing: a stranger can make the hub say this much, and no more.
const (
	pairingFor   = time.Hour
	mostPairings = 3 // open at a time
	mostAnswers  = 2 // to one stranger
)

// A Pairing is a stranger who was told a code.
type Pairing struct {
	Code     string         `json:"code"`
	Platform hub.PlatformID `json:"platform"`
	Chat     hub.ChatID     `json:"chat"` // where they wrote
	ID       hub.SenderID   `json:"id"`
	Lasting  hub.SenderID   `json:"lasting,omitempty"`
	Name     string         `json:"name,omitempty"` // as they call themselves
	Expires  time.Time      `json:"expires,omitzero"`
	Answers  int            `json:"answers"`          // how often they were told the code
	Denied   bool           `json:"denied,omitempty"` // they are told nothing until it expires
}

// Offer returns the code to tell whoever wrote m, which Admit has called a
// stranger's; false: they are told nothing.
func (g *Gate) Offer(m hub.Message) (code string, ok bool) {
	if m.Kind != hub.Text || m.Group != "" || g.NewCode == nil {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.access.Policy != PolicyPairing || len(g.unsaved) >= maxUnsaved {
		return "", false
	}
	if i := g.access.pairingOf(m.Ref.Platform, m.From, m.Time); i >= 0 {
		x := g.access.Pairings[i]
		if x.Denied || x.Answers >= mostAnswers {
			return "", false
		}
		g.learn(func(a *Access) { a.answered(x.Code) })
		return x.Code, true
	}
	x := Pairing{
		Code: g.NewCode(), Platform: m.Ref.Platform, Chat: m.Ref.Chat, ID: m.From.ID, Lasting: m.From.Lasting,
		Name: hub.OneLine(m.From.Name, hub.PreviewBytes), Expires: m.Time.Add(pairingFor).UTC().Truncate(time.Second), Answers: 1,
	}
	if !g.access.mayOpen(x.Code, m.Time) {
		return "", false
	}
	g.learn(func(a *Access) { a.Pairings = append(a.Pairings, x) })
	return x.Code, true
}

// Pair lets in whoever was told code, in any case, and returns who that is. It
// fails with NotFound if nobody was, or too long ago.
func (a *Access) Pair(code string, now time.Time) (Pairing, error) {
	i, err := a.pairing(code, now)
	if err != nil {
		return Pairing{}, err
	}
	x := a.Pairings[i]
	a.Pairings = slices.Delete(a.Pairings, i, i+1)
	who := Person{Platform: x.Platform, ID: cmp.Or(x.Lasting, x.ID), Name: x.Name, Since: now.UTC().Truncate(time.Second)}
	if who.ID != x.ID {
		who.ShownAs = x.ID
	}
	a.People = slices.DeleteFunc(a.People, func(y Person) bool { return y.is(who.Platform, who.ID) })
	a.People = append(a.People, who)
	return x, nil
}

// Deny ends a pairing: whoever it is of is told nothing more until it would
// have expired. It fails as Pair does.
func (a *Access) Deny(code string, now time.Time) (Pairing, error) {
	i, err := a.pairing(code, now)
	if err != nil {
		return Pairing{}, err
	}
	a.Pairings[i].Denied = true
	return a.Pairings[i], nil
}

// Prune forgets the pairings that have expired.
func (a *Access) Prune(now time.Time) {
	a.Pairings = slices.DeleteFunc(a.Pairings, func(x Pairing) bool { return !x.Expires.After(now) })
}

// Open reports whether x can still become a person's.
func (x Pairing) Open(now time.Time) bool { return !x.Denied && x.Expires.After(now) }

// pairing returns the index of the open pairing with that code. It takes as
// long for one code as for another.
func (a *Access) pairing(code string, now time.Time) (int, error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	found := -1
	for i, x := range a.Pairings {
		if subtle.ConstantTimeCompare([]byte(x.Code), []byte(code)) == 1 && x.Open(now) {
			found = i
		}
	}
	if found < 0 {
		return found, hub.Errorf(hub.NotFound, "no open pairing has that code: it is mistyped, was answered already, or is more than an hour old; aldis access list shows those that are open")
	}
	return found, nil
}

// pairingOf returns the index of the pairing of s that has not expired, or -1.
func (a *Access) pairingOf(p hub.PlatformID, s hub.Sender, now time.Time) int {
	return slices.IndexFunc(a.Pairings, func(x Pairing) bool {
		same := x.ID == s.ID && (x.Lasting == "" || s.Lasting == "") || x.Lasting != "" && x.Lasting == s.Lasting
		return x.Platform == p && same && x.Expires.After(now)
	})
}

// mayOpen reports whether there is room for one more, with a code of its own.
func (a *Access) mayOpen(code string, now time.Time) bool {
	open := 0
	for _, x := range a.Pairings {
		if x.Open(now) {
			open++
		}
		if x.Code == code {
			return false
		}
	}
	return open < mostPairings
}

// answered counts one more answer to whoever was told code.
func (a *Access) answered(code string) {
	for i := range a.Pairings {
		if a.Pairings[i].Code == code {
			a.Pairings[i].Answers++
		}
	}
}

func isCode(s string) bool { return len(s) == CodeLetters && strings.Trim(s, CodeAlphabet) == "" }
