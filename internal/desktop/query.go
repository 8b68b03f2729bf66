package desktop

// A Window says which messages of a list are meant. It is part of a query.
type Window struct {
	Limit  int    // 1 to the reader's cap; 0 and what is past it mean the cap
	Newer  bool   // walk from the oldest forwards; else from the newest backwards
	Before int64  // sent before, Unix milliseconds, exclusive; 0: no bound
	After  int64  // sent after, Unix milliseconds, exclusive; 0: no bound
	Cursor string // of an earlier page of the same query; empty: the first page
}

// A MessageQuery asks for messages of one conversation.
type MessageQuery struct {
	Conversation string // its id
	Window
	Around string // the id of a message: Limit messages before it, itself, and Limit after it; the rest of Window is empty then
}

// A SearchQuery asks for messages that hold a text.
type SearchQuery struct {
	Text         string // literal, not empty, at most 1,024 bytes
	Exact        bool   // in the same case; else by Unicode's simple folding
	Conversation string // its id; empty: all
	Window
}

// Messages are an answer to a [MessageQuery] or a [SearchQuery]: chosen by its
// direction, written oldest first.
type Messages struct {
	Messages      []Message `json:"messages"` // never nil
	HasMore       bool      `json:"hasMore"`
	SizeTruncated bool      `json:"sizeTruncated,omitempty"` // fewer than asked for, because together they are too long
	NextCursor    string    `json:"nextCursor,omitempty"`    // whenever HasMore
}
