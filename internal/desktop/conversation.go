package desktop

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"aldis/internal/hub"
)

// A Conversation is one chat of the account, in the short form that hosts are
// shown. It is made of fields that are named here alone: Signal keeps drafts,
// the text of the last message and keys beside them.
type Conversation struct {
	ID           string `json:"id"`
	Type         Type   `json:"type"`
	Name         string `json:"name,omitempty"`
	ServiceID    string `json:"serviceId,omitempty"`    // of the other person; empty for a group
	ActiveAt     int64  `json:"activeAt,omitempty"`     // Unix milliseconds
	Members      int    `json:"memberCount,omitempty"`  // of a group
	Unread       int    `json:"unreadCount,omitempty"`  // messages
	MutedUntil   int64  `json:"mutedUntil,omitempty"`   // Unix milliseconds
	NoteToSelf   bool   `json:"isNoteToSelf,omitempty"` // with oneself
	Archived     bool   `json:"isArchived,omitempty"`
	Pinned       bool   `json:"isPinned,omitempty"`
	MarkedUnread bool   `json:"isMarkedUnread,omitempty"`
	Left         bool   `json:"hasLeft,omitempty"` // the account is no member any more
}

// A Type is what a conversation is.
type Type string

// The types of conversations.
const (
	Direct Type = "direct"
	Group  Type = "group"
)

// A ConversationQuery asks for conversations, the last active first.
type ConversationQuery struct {
	Limit int    // 1 to the reader's cap; 0 and what is past it mean the cap
	Name  string // a literal part of the name, whatever its case; empty: all
}

// Conversations are an answer to a [ConversationQuery].
type Conversations struct {
	Conversations []Conversation `json:"conversations"` // never nil
	HasMore       bool           `json:"hasMore"`
}

// conversationJSON is what is read of the column conversations.json. Signal
// keeps its other columns less well than that.
type conversationJSON struct {
	Name           string `json:"name"` // of a group, or in the system's address book
	NicknameGiven  string `json:"nicknameGivenName"`
	NicknameFamily string `json:"nicknameFamilyName"`
	ProfileName    string `json:"profileName"`
	ProfileFamily  string `json:"profileFamilyName"`
	Username       string `json:"username"`
	E164           string `json:"e164"` // never shown
	ServiceID      string `json:"serviceId"`
	UUID           string `json:"uuid"` // what it was called before schema 88

	Members []struct {
		ACI string `json:"aci"`
	} `json:"membersV2"`
	Unread       int   `json:"unreadCount"`
	MutedUntil   int64 `json:"muteExpiresAt"`
	Archived     bool  `json:"isArchived"`
	Pinned       bool  `json:"isPinned"`
	MarkedUnread bool  `json:"markedUnread"`
	Left         bool  `json:"left"`
}

func (c conversationJSON) service() string { return cmp.Or(c.ServiceID, c.UUID) }

// Conversations returns the conversations that were ever active, the last
// active first.
func (r *Reader) Conversations(ctx context.Context, q ConversationQuery) (Conversations, error) {
	limit, wanted := capped(q.Limit, r.limits.conversations), named(q.Name)
	return read(ctx, r, func(ctx context.Context, v *view) (Conversations, error) {
		if err := v.readSelf(ctx); err != nil {
			return Conversations{}, err
		}
		c := v.listed()
		c.add("c.active_at IS NOT NULL")
		list := []Conversation{}
		err := each(ctx, v.db, func(rows *sql.Rows) (bool, error) {
			chat, err := v.conversation(rows)
			if wanted(chat.Name) {
				list = append(list, chat)
			}
			return len(list) <= limit, err
		}, "SELECT c.id, c.type, CAST(c.active_at AS INTEGER), COALESCE(c.serviceId, ''), c.json FROM conversations c WHERE "+c.String()+
			" ORDER BY c.active_at DESC, c.id", c.args...)
		kept := min(limit, fit(list))
		return Conversations{Conversations: list[:kept], HasMore: kept < len(list)}, err
	})
}

// listed is the condition on conversations (c) that a host may see them at all.
// It is part of every query for conversations, but not for names of people.
func (v *view) listed() (c clause) {
	c.add("c.type IN ('private', 'group')")
	if ids := v.reader.grants.Conversations; len(ids) > 0 {
		c = c.and(in("c.id", ids))
	}
	if since := v.reader.grants.Since; since > 0 {
		c.add("c.active_at >= ?", since)
	}
	return c
}

// mustKnow fails with NotFound if there is no conversation of that id, or none
// that may be seen.
func (v *view) mustKnow(ctx context.Context, id string) error {
	c := v.listed()
	c.add("c.id = ?", id)
	_, ok, err := one(ctx, v.db, value[int], "SELECT 1 FROM conversations c WHERE "+c.String(), c.args...)
	if err == nil && !ok {
		err = hub.Errorf(hub.NotFound, "there is no such conversation; take its id from a list of conversations")
	}
	return err
}

func (v *view) conversation(rows *sql.Rows) (Conversation, error) {
	var id, kind, service string
	var activeAt int64
	var data []byte
	err := rows.Scan(&id, &kind, &activeAt, &service, &data)
	c := decode[conversationJSON](data)
	chat := Conversation{
		ID:           id,
		Type:         Group,
		Name:         short(strings.TrimSpace(c.Name)),
		ActiveAt:     activeAt,
		Unread:       c.Unread,
		MutedUntil:   c.MutedUntil,
		Archived:     c.Archived,
		Pinned:       c.Pinned,
		MarkedUnread: c.MarkedUnread,
		Left:         c.Left,
	}
	if kind == "group" {
		chat.Members = len(c.Members)
		return chat, err
	}
	chat.Type, chat.Name, chat.ServiceID = Direct, c.personName(), cmp.Or(c.service(), service)
	if chat.NoteToSelf = chat.ServiceID != "" && chat.ServiceID == v.people.self; chat.NoteToSelf {
		chat.Name = noteName
	}
	return chat, err
}

// named returns whether a name holds a text, whatever the case of both.
func named(text string) func(name string) bool {
	if text == "" {
		return func(string) bool { return true }
	}
	n := newNeedle(strings.ToValidUTF8(text, "\uFFFD"), false)
	return func(name string) bool { return n.in([]byte(name)) }
}
