package relay

import (
	"sync"
	"time"

	"aldis/internal/hub"
)

// An answer can overtake the platform's word on what the answered message is
// called. These bound how long, and for how many messages of a chat, it is
// waited for.
const (
	holdFor  = 15 * time.Second
	holdMost = 64
)

// holds are the messages that wait for the name of a message that was sent,
// and those behind them in the same chat: the order in a chat is kept.
type holds struct {
	mu    sync.Mutex
	chats []*heldChat
}

type heldChat struct {
	ref   hub.Ref // of its first message: the chat
	queue []held
}

type held struct {
	message hub.Message
	until   time.Time
}

// take holds m if it has to wait, and reports whether it has.
func (h *holds) take(r *Relay, m hub.Message) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chat(r, m.Ref)
	if c == nil && !r.overtakes(m) {
		return false
	}
	if c == nil {
		c = &heldChat{ref: m.Ref}
		h.chats = append(h.chats, c)
	}
	c.queue = append(c.queue, held{m, r.Now().Add(holdFor)})
	if extra := len(c.queue) - holdMost; extra > 0 { // the first ones have waited for long enough
		for i := range extra {
			c.queue[i].until = r.Now()
		}
	}
	return true
}

func (h *holds) chat(r *Relay, ref hub.Ref) *heldChat {
	for _, c := range h.chats {
		if c.ref.Platform == ref.Platform && r.SameChat(ref.Platform, c.ref.Chat, ref.Chat) {
			return c
		}
	}
	return nil
}

// overtakes reports whether m answers a message of ours that has no route yet,
// but may get one.
func (r *Relay) overtakes(m hub.Message) bool {
	a := r.answer(m)
	return a.Ours && !a.Known && r.outbox.pending(m.Quote.Ref, r.Now(), holdFor, r.SameChat)
}

// has reports whether the message is held.
func (h *holds) has(id hub.MessageID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.chats {
		for _, x := range c.queue {
			if x.message.ID == id {
				return true
			}
		}
	}
	return false
}

// drop takes a message out.
func (h *holds) drop(id hub.MessageID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, c := range h.chats {
		for j, x := range c.queue {
			if x.message.ID == id {
				c.queue = append(c.queue[:j:j], c.queue[j+1:]...)
				if len(c.queue) == 0 {
					h.chats = append(h.chats[:i:i], h.chats[i+1:]...)
				}
				return
			}
		}
	}
}

// release lets go of what need not wait any more, each chat in its order, and
// returns when it is worth asking again; zero: nothing is held.
func (h *holds) release(r *Relay) (next time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := r.Now()
	kept := h.chats[:0]
	for _, c := range h.chats {
		n := 0
		for n < len(c.queue) && (!c.queue[n].until.After(now) || !r.overtakes(c.queue[n].message)) {
			n++
		}
		if c.queue = c.queue[n:]; len(c.queue) == 0 {
			continue
		}
		if until := c.queue[0].until; next.IsZero() || until.Before(next) {
			next = until
		}
		kept = append(kept, c)
	}
	clear(h.chats[len(kept):])
	h.chats = kept
	return next
}
