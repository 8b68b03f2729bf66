package permit

import (
	"slices"
	"strings"
	"time"

	"aldis/internal/hub"
)

// A Match is a message that answers a prompt: an open one or, for a verdict,
// one that was known in the last 24 h.
type Match struct {
	id     hub.MessageID
	allow  bool   // a verdict
	answer string // to a question
	choice int
}

// Match reports which prompt m answers. Neither an edit nor a reaction that is
// taken back does, and who quotes a prompt in other words than these has said
// something else.
func (d *Desk) Match(m hub.Message, now time.Time) (Match, bool) {
	if m.Kind != hub.Text && m.Kind != hub.Reaction || m.Removed {
		return Match{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(now)
	if code, allow, ok := parseVerdict(m.Text); ok && m.Kind == hub.Text {
		if p := d.byCode(code); p != nil {
			return Match{id: p.ID, allow: allow}, d.mayDecide(m)
		}
	}
	if m.Quote != nil && m.Quote.Ours {
		return d.matchQuote(m)
	}
	if m.Kind == hub.Text && m.Quote == nil {
		return d.matchNumber(m)
	}
	return Match{}, false
}

// mayDecide reports whether a verdict in m counts. d.mu is held.
func (d *Desk) mayDecide(m hub.Message) bool {
	return d.Approves(m.Ref.Platform, m.From) && d.byHand(m)
}

// byHand reports whether a person wrote m: on our own account another hub may
// write too, from a device of its own. d.mu is held.
func (d *Desk) byHand(m hub.Message) bool {
	return m.From.Device == 0 || slices.Contains(d.Devices, m.From.Device)
}

// matchQuote matches what quotes a prompt, or reacts to it. d.mu is held.
func (d *Desk) matchQuote(m hub.Message) (Match, bool) {
	p := d.find(func(p *hub.Prompt) bool {
		return slices.ContainsFunc(p.Refs, func(r hub.Ref) bool { return d.same(r, m.Quote.Ref) && r.Key == m.Quote.Ref.Key })
	})
	switch {
	case p == nil:
		return Match{}, false
	case !p.Question():
		allow, ok := parseBare(m)
		return Match{id: p.ID, allow: allow}, ok && d.mayDecide(m)
	case p.State != hub.Open || strings.TrimSpace(m.Text) == "":
		return Match{}, false
	default:
		return answer(p, m.Text), true
	}
}

// matchNumber matches a bare number, where it can mean one question only.
// d.mu is held.
func (d *Desk) matchNumber(m hub.Message) (Match, bool) {
	if !number.MatchString(m.Text) || len(m.Text) > longest || !d.Operates(m.Ref.Platform, m.From) || !d.byHand(m) {
		return Match{}, false
	}
	var open []*hub.Prompt
	for _, p := range d.prompts {
		if p.Question() && p.State == hub.Open && d.same(p.Chat, m.Ref) {
			open = append(open, p)
		}
	}
	if len(open) != 1 || !open[0].Sent && len(open[0].Refs) == 0 { // it may be on its way only
		return Match{}, false
	}
	a := answer(open[0], m.Text)
	return a, a.choice > 0
}

// same reports whether two refs are of one chat.
func (d *Desk) same(a, b hub.Ref) bool {
	return a.Platform == b.Platform && (a.Chat == b.Chat || d.SameChat != nil && d.SameChat(a.Platform, a.Chat, b.Chat))
}

// answer reads what a person answered: one of the choices, by its number or in
// its words, as they were given or shown, or something else.
func answer(p *hub.Prompt, text string) Match {
	text = strings.TrimSpace(text)
	a := Match{id: p.ID, answer: text}
	i, ok := parseChoice(text, len(p.Choices))
	if !ok {
		i = 1 + slices.IndexFunc(p.Choices, func(c string) bool { return strings.EqualFold(c, text) || strings.EqualFold(Choice(c), text) })
	}
	if i > 0 {
		a.choice, a.answer = i, p.Choices[i-1]
	}
	return a
}

// An Outcome is what taking an answer came to.
type Outcome string

// The outcomes.
const (
	Taken   Outcome = "taken"
	Again   Outcome = "already answered"
	TooLate Outcome = "too late"
)

// Take takes the answer a, which is m. It returns the prompt as it is then.
func (d *Desk) Take(a Match, m hub.Message, now time.Time) (hub.Prompt, Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.find(func(p *hub.Prompt) bool { return p.ID == a.id })
	switch {
	case p == nil: // forgotten in this moment
		return hub.Prompt{}, TooLate
	case p.State == hub.Answered:
		return *p, Again
	case p.State != hub.Open || !p.Expires.After(now):
		return *p, TooLate
	}
	p.State, p.At, p.By, p.Message, p.Rev = hub.Answered, now, m.From.ID, m.ID, p.Rev+1
	p.Allow, p.Answer, p.Choice = a.allow, a.answer, a.choice
	return *p, Taken
}
