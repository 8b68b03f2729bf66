// Package permit keeps what agents ask of people, requests for permission and
// questions, and knows what a person's answer to one looks like.
//
// Its one rule: nothing but the grammar decides. A verdict is one only if it
// names its prompt in so many letters, or quotes or reacts to it, and comes
// from an approver; ordinary words never decide anything.
package permit

import (
	"slices"
	"strings"
	"sync"
	"time"

	"aldis/internal/hub"
)

// The bounds of what of a kind may be open at a time, and how long a closed
// prompt's code is still known.
const (
	mostOfAgent = 4
	mostOfAll   = 16
	knownFor    = 24 * time.Hour
)

// A Desk is where prompts lie until they are answered.
type Desk struct {
	// set before use
	Timeout  time.Duration                         // how long a request for permission is open
	Approves func(hub.PlatformID, hub.Sender) bool // who may give a verdict
	Operates func(hub.PlatformID, hub.Sender) bool // who the operator is
	Devices  []int                                 // of our own account, on which a verdict may be given
	NewCode  func() string                         // five letters a–z without l
	SameChat func(hub.PlatformID, hub.ChatID, hub.ChatID) bool

	mu      sync.Mutex
	prompts []*hub.Prompt        // oldest first
	refused map[hub.AgentID]bool // whose requests are, and that was said; "": everybody's
	unsaved []hub.MessageID
}

// Restore takes up the prompts of an earlier run, oldest first.
func (d *Desk) Restore(ps []hub.Prompt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range ps {
		d.prompts = append(d.prompts, &p)
	}
}

// A Refusal says why a prompt was not taken; empty: it was.
type Refusal string

// The refusals. TooManyNow is a request for permission's TooMany for the first
// time since there was room.
const (
	Repeated   Refusal = "repeated" // the same one is open already
	TooMany    Refusal = "too many"
	TooManyNow Refusal = "too many now"
)

// Open takes a prompt in, and completes it: a request for permission gets its
// code, which is the session's own unless that was known in the last 24 h.
// Show then says how it is asked.
func (d *Desk) Open(p hub.Prompt, now time.Time, show func(hub.Prompt) string) (hub.Prompt, Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(now)
	agents, all := 0, 0
	for _, x := range d.prompts {
		if x.State != hub.Open || x.Question() != (p.Request == "") {
			continue
		}
		if p.Request != "" && x.Request == p.Request && x.Session == p.Session {
			return *x, Repeated
		}
		all++
		if x.Agent == p.Agent {
			agents++
		}
	}
	switch {
	case p.Request == "" && (agents >= mostOfAgent || all >= mostOfAll):
		return p, TooMany // whoever asks is told so
	case agents >= mostOfAgent:
		return p, d.refuse(p.Agent)
	case all >= mostOfAll:
		return p, d.refuse("")
	}
	if p.Request != "" {
		delete(d.refused, p.Agent)
		delete(d.refused, "")
		p.Code, p.Expires = d.code(p.Request), now.Add(d.Timeout)
	}
	p.State, p.Opened, p.At, p.Rev = hub.Open, now, now, 1
	p.Text = show(p)
	d.prompts = append(d.prompts, &p)
	return p, ""
}

// refuse refuses a request for permission: its agent has asked enough, or, where
// that is empty, all have. d.mu is held.
func (d *Desk) refuse(agent hub.AgentID) Refusal {
	if d.refused[agent] {
		return TooMany
	}
	if d.refused == nil {
		d.refused = make(map[hub.AgentID]bool)
	}
	d.refused[agent] = true
	return TooManyNow
}

// code returns the code under which a request is shown. d.mu is held.
func (d *Desk) code(request string) string {
	code := request
	for !isCode(code) || d.byCode(code) != nil {
		code = d.NewCode()
	}
	return code
}

func isCode(s string) bool {
	return len(s) == 5 && strings.Trim(s, "abcdefghijkmnopqrstuvwxyz") == ""
}

// byCode returns the prompt with that code. d.mu is held.
func (d *Desk) byCode(code string) *hub.Prompt {
	return d.find(func(p *hub.Prompt) bool { return p.Code == code })
}

// find returns the newest prompt that is so. d.mu is held.
func (d *Desk) find(is func(*hub.Prompt) bool) *hub.Prompt {
	for _, p := range slices.Backward(d.prompts) {
		if is(p) {
			return p
		}
	}
	return nil
}

// forget lets go of prompts that nobody has to know any more. d.mu is held.
func (d *Desk) forget(now time.Time) {
	d.prompts = slices.DeleteFunc(d.prompts, func(p *hub.Prompt) bool {
		return p.State != hub.Open && p.Settled && now.Sub(p.At) >= knownFor
	})
}

// Get returns the prompt of that name.
func (d *Desk) Get(id hub.MessageID) (hub.Prompt, bool) {
	return d.get(func(p *hub.Prompt) bool { return p.ID == id })
}

// Find returns the question that was asked under key.
func (d *Desk) Find(key string) (hub.Prompt, bool) {
	return d.get(func(p *hub.Prompt) bool { return key != "" && p.Key == key })
}

func (d *Desk) get(is func(*hub.Prompt) bool) (hub.Prompt, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.find(is); p != nil {
		return *p, true
	}
	return hub.Prompt{}, false
}

// All returns all prompts that are known, oldest first.
func (d *Desk) All() []hub.Prompt {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]hub.Prompt, len(d.prompts))
	for i, p := range d.prompts {
		all[i] = *p
	}
	return all
}

// change has f change the prompt, and returns it as it is then; false if f
// does not, or there is none.
func (d *Desk) change(id hub.MessageID, f func(*hub.Prompt) bool) (hub.Prompt, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.find(func(p *hub.Prompt) bool { return p.ID == id })
	if p == nil || !f(p) {
		return hub.Prompt{}, false
	}
	p.Rev++
	return *p, true
}

// Named notes names that the platform has for the message that asks.
func (d *Desk) Named(id hub.MessageID, refs []hub.Ref) (hub.Prompt, bool) {
	return d.change(id, func(p *hub.Prompt) bool {
		p.Refs = append(slices.Clip(p.Refs), refs...)
		return len(refs) > 0
	})
}

// Sent notes that nothing more is to be done to have the prompt asked.
func (d *Desk) Sent(id hub.MessageID) (hub.Prompt, bool) {
	return d.change(id, func(p *hub.Prompt) bool { p.Sent = true; return true })
}

// Settle notes that whom the outcome concerns knows it. What was settled is to
// be taken from Unsaved and recorded.
func (d *Desk) Settle(id hub.MessageID) {
	d.change(id, func(p *hub.Prompt) bool {
		p.Settled = true
		d.unsaved = append(d.unsaved, id)
		return true
	})
}

// Unsave notes that a prompt is yet to be recorded as it is, too.
func (d *Desk) Unsave(id hub.MessageID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unsaved = append(d.unsaved, id)
}

// Close ends a prompt that is open, and needs no answer any more.
func (d *Desk) Close(id hub.MessageID, now time.Time) (hub.Prompt, bool) {
	return d.change(id, func(p *hub.Prompt) bool {
		open := p.State == hub.Open
		if open {
			p.State, p.At, p.Settled = hub.Closed, now, true
		}
		return open
	})
}

// Expire ends what was open for too long, and returns that.
func (d *Desk) Expire(now time.Time) []hub.Prompt {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ended []hub.Prompt
	for _, p := range d.prompts {
		if p.State == hub.Open && !p.Expires.After(now) {
			p.State, p.At, p.Rev = hub.Expired, now, p.Rev+1
			p.Settled = !p.Question() || p.Default != nil // else its agent is to be told
			ended = append(ended, *p)
		}
	}
	return ended
}

// Unsaved returns what was settled since it was last asked, and what was not
// saved.
func (d *Desk) Unsaved() []hub.Prompt {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []hub.Prompt
	for _, p := range d.prompts {
		if slices.Contains(d.unsaved, p.ID) {
			all = append(all, *p)
		}
	}
	d.unsaved = nil
	return all
}
