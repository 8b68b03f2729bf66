package hubtest

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"aldis/internal/hub"
)

// A Platform is a chat platform without anybody on it: what is sent is
// remembered and gets the next number as its name. It is a [hub.Platform], a
// [hub.Receipter] and a [hub.Directory].
type Platform struct {
	// Answer, if not nil, decides what becomes of a message instead.
	Answer func(m hub.Message, next hub.Ref) (hub.Sent, error)

	// Contacts are the chats that there are.
	Contacts []hub.Chat

	mu       sync.Mutex
	sent     []hub.Message
	receipts []hub.Ref
}

// FakeID is what the platform is called.
const FakeID hub.PlatformID = "fake"

// ID implements [hub.Platform].
func (*Platform) ID() hub.PlatformID { return FakeID }

// Run implements [hub.Platform]: nobody writes. A test calls Receive itself.
func (*Platform) Run(ctx context.Context, _ hub.Receiver) error { <-ctx.Done(); return nil }

// Send implements [hub.Platform].
func (p *Platform) Send(_ context.Context, m hub.Message) (hub.Sent, error) {
	p.mu.Lock()
	p.sent = append(p.sent, m)
	next := hub.Ref{Platform: FakeID, Chat: m.Ref.Chat, Key: strconv.Itoa(len(p.sent))}
	p.mu.Unlock()
	if p.Answer != nil {
		return p.Answer(m, next)
	}
	return hub.Sent{Refs: []hub.Ref{next}, Reached: 1}, nil
}

// SendReceipt implements [hub.Receipter].
func (p *Platform) SendReceipt(_ context.Context, m hub.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receipts = append(p.receipts, m.Ref)
	return nil
}

// Chat implements [hub.Platform]: every id but the empty one will do.
func (*Platform) Chat(s string) (hub.ChatID, error) {
	if s == "" {
		return "", hub.Errorf(hub.Invalid, "the chat id is empty")
	}
	return hub.ChatID(s), nil
}

// SameChat implements [hub.Platform]: "uuid-X" is another name for "X".
func (*Platform) SameChat(a, b hub.ChatID) bool {
	return strings.TrimPrefix(string(a), "uuid-") == strings.TrimPrefix(string(b), "uuid-")
}

// Chats implements [hub.Directory].
func (p *Platform) Chats(_ context.Context, query string) ([]hub.Chat, error) {
	var found []hub.Chat
	for _, c := range p.Contacts {
		if strings.Contains(c.Name, query) || strings.Contains(string(c.ID), query) {
			found = append(found, c)
		}
	}
	return found, nil
}

// Sent returns what was sent, in order.
func (p *Platform) Sent() []hub.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]hub.Message(nil), p.sent...)
}

// Receipts returns the messages that a read receipt was sent for, in order.
func (p *Platform) Receipts() []hub.Ref {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]hub.Ref(nil), p.receipts...)
}
