// Package gate decides who may speak to agents, who may decide for them, and whom
// agents may write to.
//
// Its one rule: it judges the person, never the chat. Everyone in a group is
// not a friend because one of them is.
package gate

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"aldis/internal/hub"
)

// A Gate is the list of people whose messages reach agents. The zero Gate
// admits nobody and lets nobody be written to.
type Gate struct {
	// set before use
	Prefix     string           // what every text must start with; empty: nothing
	AllInGroup bool             // in a group everything that trusted people say passes, not only what is addressed to us
	Mentions   []*regexp.Regexp // a text that matches one is addressed to us
	Anyone     bool             // agents may write to every chat
	NewCode    func() string    // a code for a pairing, see CodeAlphabet; nil: nobody is offered one

	// Nudge, if not nil, is called when [Gate.Unsaved] has something more.
	// It must not block, nor call the Gate.
	Nudge func()

	// Warn, if not nil, is called when a bound name is first seen with
	// somebody else.
	Warn func(p hub.PlatformID, id hub.SenderID)

	// SameChat reports whether two ids name one chat of a platform.
	// Nil: only equal ones do. It must not call the Gate.
	SameChat func(p hub.PlatformID, a, b hub.ChatID) bool

	mu      sync.RWMutex
	trusted map[person]role // by a setting
	access  Access          // besides; as last installed, with unsaved
	unsaved []Change
	closed  bool // what access should be is not known
	reach   []chat
}

type chat struct {
	platform hub.PlatformID
	id       hub.ChatID
}

// An Admission is the gate's answer for one message.
type Admission string

// The answers. All but Admitted mean that nobody is told of the message.
const (
	Admitted     Admission = "admitted"
	Moved        Admission = "moved"         // a name that was let in, and belongs to somebody else now
	DoorClosed   Admission = "door_closed"   // access.json can't be read
	Disabled     Admission = "disabled"      // the policy lets nobody in but the operator
	Stranger     Admission = "stranger"      // may be offered a pairing, see [Gate.Offer]
	NotAddressed Admission = "not_addressed" // in a group, to others
	NoPrefix     Admission = "no_prefix"
)

// Admit judges m, and returns it as agents shall see it: without the prefix,
// and with a mark on the words of third people that it quotes. A verdict needs
// no prefix.
func (g *Gate) Admit(m hub.Message, verdict bool) (hub.Message, Admission) {
	m.Addressed = m.Addressed || m.Group != "" && g.mentioned(m)
	if why := g.door(m); why != Admitted {
		return m, why
	}
	if q := m.Quote; q != nil && !q.Ours && !g.trustsQuoted(m.Ref.Platform, q) {
		marked := *q
		marked.Untrusted = true
		m.Quote = &marked
	}
	if m.Kind == hub.Reaction || m.Kind == hub.Deletion || verdict {
		return m, Admitted
	}
	text, ok := cutPrefix(m.Text, g.Prefix)
	if !ok {
		return m, NoPrefix
	}
	m.Text = text
	return m, Admitted
}

// door judges who wrote m, and in a group to whom.
func (g *Gate) door(m hub.Message) Admission {
	r, moved := g.meet(m.Ref.Platform, m.From, m.Time)
	g.mu.RLock()
	defer g.mu.RUnlock()
	switch {
	case r == 0 && moved:
		return Moved
	case g.closed && r&operates == 0:
		return DoorClosed
	case g.access.Policy == PolicyDisabled && r&operates == 0:
		return Disabled
	case r == 0:
		return Stranger
	case m.Group != "" && !m.Addressed && !g.AllInGroup && !g.hearsAll(m.Ref):
		return NotAddressed
	default:
		return Admitted
	}
}

// hearsAll reports whether that is a group in which everything is heard. g.mu
// is held.
func (g *Gate) hearsAll(r hub.Ref) bool {
	return slices.ContainsFunc(g.access.Groups, func(x Group) bool { return x.Platform == r.Platform && g.same(x.Platform, x.ID, r.Chat) })
}

// mentioned reports whether the words of m call us.
func (g *Gate) mentioned(m hub.Message) bool {
	return (m.Kind == hub.Text || m.Kind == hub.Edit) &&
		slices.ContainsFunc(g.Mentions, func(re *regexp.Regexp) bool { return re.MatchString(m.Text) })
}

// cutPrefix takes prefix off text: any case, after blanks, at a word's end.
func cutPrefix(text, prefix string) (string, bool) {
	if prefix == "" {
		return text, true
	}
	s := strings.TrimLeftFunc(text, unicode.IsSpace)
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return text, false
	}
	rest := s[len(prefix):]
	last, _ := utf8.DecodeLastRuneInString(prefix)
	next, _ := utf8.DecodeRuneInString(rest)
	if rest != "" && wordy(last) && wordy(next) {
		return text, false
	}
	return strings.TrimLeftFunc(rest, unicode.IsSpace), true
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// Open lets agents write to a chat: one that was allowed, or that an admitted
// message came from.
func (g *Gate) Open(p hub.PlatformID, id hub.ChatID) {
	g.mu.RLock()
	known := g.Anyone || g.opened(p, id)
	g.mu.RUnlock()
	if known {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach = append(g.reach, chat{p, id})
}

// opened reports whether a chat was. g.mu is held.
func (g *Gate) opened(p hub.PlatformID, id hub.ChatID) bool {
	return slices.ContainsFunc(g.reach, func(c chat) bool { return c.platform == p && g.same(p, c.id, id) })
}

// MayReach reports whether agents may write to a chat. It is no longer so where
// the chat is named after somebody whose name is another's now.
func (g *Gate) MayReach(p hub.PlatformID, id hub.ChatID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	moved := slices.ContainsFunc(g.access.Bindings, func(b Binding) bool {
		return !b.Moved.IsZero() && b.Platform == p && g.same(p, hub.ChatID(b.ID), id)
	})
	return !moved && (g.Anyone || g.opened(p, id))
}

func (g *Gate) same(p hub.PlatformID, a, b hub.ChatID) bool {
	return a == b || g.SameChat != nil && g.SameChat(p, a, b)
}
