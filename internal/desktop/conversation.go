package desktop

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
