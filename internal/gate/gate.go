// Package gate decides who may speak to agents, and whom agents may write to.
// Its one rule: it judges the person, never the chat. Everyone in a group is
// not a friend because one of them is.
package gate

import (
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
	Prefix     string // what every text must start with; empty: nothing
	AllInGroup bool   // in a group everything that trusted people say passes, not only what is addressed to us
	Anyone     bool   // agents may write to every chat

	// SameChat reports whether two ids name one chat of a platform.
	// Nil: only equal ones do.
	SameChat func(p hub.PlatformID, a, b hub.ChatID) bool

	mu      sync.RWMutex
	trusted map[person]role
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
	Stranger     Admission = "stranger"
	NotAddressed Admission = "not_addressed" // in a group, to others
	NoPrefix     Admission = "no_prefix"
)

// Admit judges m, and returns it as agents shall see it: without the prefix,
// and with a mark on the words of third people that it quotes. A verdict needs
// no prefix.
func (g *Gate) Admit(m hub.Message, verdict bool) (hub.Message, Admission) {
	p := m.Ref.Platform
	switch {
	case !g.Trusts(p, m.From):
		return m, Stranger
	case m.Group != "" && !m.Addressed && !g.AllInGroup:
		return m, NotAddressed
	}
	if q := m.Quote; q != nil && !q.Ours && !g.Trusts(p, hub.Sender{ID: q.From, Aliases: q.Aliases}) {
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
	if g.MayReach(p, id) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach = append(g.reach, chat{p, id})
}

// MayReach reports whether agents may write to a chat.
func (g *Gate) MayReach(p hub.PlatformID, id hub.ChatID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.Anyone || slices.ContainsFunc(g.reach, func(c chat) bool {
		return c.platform == p && (c.id == id || g.SameChat != nil && g.SameChat(p, c.id, id))
	})
}
