package desktop

// A Window says which messages of a list are meant. It is part of a query.
// Messages are in the order in which they came. That is a counter, so bounds are
// on the time: when a message came by our clock or, where Signal did not note
// that (before 2025), when it was sent by its sender's.
type Window struct {
	Limit  int    // 1 to the reader's cap; 0 and what is past it mean the cap
	Newer  bool   // walk from the oldest forwards; else from the newest backwards
	Before int64  // Unix milliseconds, exclusive; 0: no bound
	After  int64  // Unix milliseconds, exclusive; 0: no bound
	Cursor string // of an earlier page of the same query; empty: the first page
}

// A MessageQuery asks for messages of one conversation: those of a window, or
// those around a message. What is around one is Limit messages before it, itself,
// and Limit after it, all together no more than the reader's cap; its cursor goes
// on backwards, in place of Around.
type MessageQuery struct {
	Conversation string // its id
	Window
	Around string // the id of a message; the rest of Window but Limit is empty then
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
