package tools_test

import (
	"context"
	"sync"

	"aldis/internal/desktop"
	"aldis/internal/hub"
)

// A book is a history of one conversation with two messages. It keeps what it
// was asked, and may be told to fail or to hold.
type book struct {
	mu    sync.Mutex
	asked []any
	err   error
	hold  func(ctx context.Context) error // nil: answer at once
}

const (
	chat  = "0b1f2c3d-aaaa-4bbb-8ccc-000000000001"
	hello = "0b1f2c3d-aaaa-4bbb-8ccc-000000000002"
	reply = "0b1f2c3d-aaaa-4bbb-8ccc-000000000003"
)

// secrets are all words of the book and of those who ask it that may be in no
// log.
var secrets = []string{"Zoë", "Kim", "meet", "<at>", "needle", "+49", chat, hello, reply}

var messages = []desktop.Message{
	{
		ID: hello, ConversationID: chat, Direction: desktop.Incoming, SentAt: 1767225600000, ReceivedAt: 1767225600123,
		Sender: &desktop.Person{ServiceID: "5e1f", Name: "Zoë"}, Body: "meet <at> 8 & bring a needle",
	},
	{
		ID: reply, ConversationID: chat, Direction: desktop.Outgoing, SentAt: 1767225660000,
		Quote: &desktop.Quote{SentAt: 1767225600000, Text: "meet <at> 8", Author: &desktop.Person{Name: "Zoë"}}, Body: "ok",
	},
}

func (b *book) note(ctx context.Context, q any) error {
	b.mu.Lock()
	b.asked = append(b.asked, q)
	b.mu.Unlock()
	if b.hold != nil {
		return b.hold(ctx)
	}
	return b.err
}

func (b *book) last() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[len(b.asked)-1]
}

func (b *book) Conversations(ctx context.Context, q desktop.ConversationQuery) (desktop.Conversations, error) {
	c := desktop.Conversation{ID: chat, Type: desktop.Direct, Name: "Zoë & Kim", ActiveAt: 1767225660000, Unread: 2}
	return desktop.Conversations{Conversations: []desktop.Conversation{c}}, b.note(ctx, q)
}

func (b *book) Messages(ctx context.Context, q desktop.MessageQuery) (desktop.Messages, error) {
	ms := desktop.Messages{Messages: []desktop.Message{}, HasMore: true, NextCursor: "c1"}
	for _, m := range messages {
		m.ConversationID = ""
		ms.Messages = append(ms.Messages, m)
	}
	return ms, b.note(ctx, q)
}

func (b *book) Search(ctx context.Context, q desktop.SearchQuery) (desktop.Messages, error) {
	return desktop.Messages{Messages: messages[:1]}, b.note(ctx, q)
}

func (b *book) Message(ctx context.Context, id string) (desktop.Message, error) {
	if err := b.note(ctx, id); err != nil {
		return desktop.Message{}, err
	}
	if id != reply {
		return desktop.Message{}, hub.Errorf(hub.NotFound, "there is no message %s", id)
	}
	return messages[1], nil
}
