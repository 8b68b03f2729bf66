package hubtest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aldis/internal/hub"
)

// A Platform is a place where people write, without people. It takes every
// message, gives it a key, and remembers it. Chats are spelled "+NUMBER" or
// "group:NAME".
type Platform struct {
	Name hub.PlatformID
	List []hub.Chat // what Chats looks through

	mu       sync.Mutex
	key      int
	sent     []hub.Message
	receipts []hub.MessageID
	answer   func(hub.Message) (hub.Sent, error)
}

// NewPlatform returns a platform of that name. Its keys count up from 1001.
func NewPlatform(name hub.PlatformID) *Platform { return &Platform{Name: name, key: 1000} }

// Answer has f answer what is sent from now on; nil: all goes well again.
func (p *Platform) Answer(f func(hub.Message) (hub.Sent, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// Sent returns what was sent, in order, refused messages too.
func (p *Platform) Sent() []hub.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// Receipts returns the messages for which a read receipt was sent, in order.
func (p *Platform) Receipts() []hub.MessageID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.receipts)
}

// ID implements [hub.Platform].
func (p *Platform) ID() hub.PlatformID { return p.Name }

// Run implements [hub.Platform]. Nobody writes here by themselves.
func (p *Platform) Run(ctx context.Context, _ hub.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send implements [hub.Platform].
func (p *Platform) Send(_ context.Context, m hub.Message) (hub.Sent, error) {
	p.mu.Lock()
	p.sent = append(p.sent, m)
	p.key++
	key, answer := p.key, p.answer
	p.mu.Unlock()
	if answer != nil {
		return answer(m)
	}
	return hub.Sent{Refs: []hub.Ref{{Platform: p.Name, Chat: m.Ref.Chat, Key: strconv.Itoa(key)}}, Reached: 1}, nil
}

// Chat implements [hub.Platform].
func (p *Platform) Chat(s string) (hub.ChatID, error) {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "group:") {
		return hub.ChatID(s), nil
	}
	return "", hub.Errorf(hub.Invalid, "%q is no chat of %s", s, p.Name)
}

// SameChat implements [hub.Platform].
func (p *Platform) SameChat(a, b hub.ChatID) bool { return a == b }

// SendReceipt implements [hub.Receipter].
func (p *Platform) SendReceipt(_ context.Context, m hub.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receipts = append(p.receipts, m.ID)
	return nil
}

// Chats implements [hub.Directory].
func (p *Platform) Chats(_ context.Context, query string) ([]hub.Chat, error) {
	var found []hub.Chat
	for _, c := range p.List {
		if strings.Contains(strings.ToLower(c.Name+string(c.ID)), strings.ToLower(query)) {
			found = append(found, c)
		}
	}
	return found, nil
}
