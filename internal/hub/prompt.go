package hub

import "time"

// A Prompt is what an agent asks of a person: for permission to use a tool, or
// a question.
type Prompt struct {
	Rev     int64     `json:"rev,omitempty"` // grows with each change: the record keeps the newest
	ID      MessageID `json:"id,omitempty"`  // of the message that asks; the ticket of a question
	Agent   AgentID   `json:"agent,omitempty"`
	Subject string    `json:"subject,omitempty"` // whose token the agent's session came with
	Chat    Ref       `json:"chat,omitzero"`     // where it is asked; Key is empty
	Refs    []Ref     `json:"refs,omitempty"`    // what the platform calls the message, once it has been sent
	Sent    bool      `json:"sent,omitempty"`    // nothing more is to be done to have it asked
	Opened  time.Time `json:"opened,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // when an answer is too late

	// Of a request for permission.
	Code    string    `json:"code,omitempty"`    // five letters, as it is shown to people; empty: a question
	Request string    `json:"request,omitempty"` // what the session calls it
	Session SessionID `json:"session,omitempty"` // that asked, and alone is told the verdict
	Begun   time.Time `json:"begun,omitzero"`    // when that session was opened
	Tool    string    `json:"tool,omitempty"`
	Text    string    `json:"text,omitempty"` // of the message that asks

	// Of a question.
	Choices []string `json:"choices,omitempty"`
	Default *string  `json:"default,omitempty"` // what the answer is when none came in time; nil: the answer may come later
	Key     string   `json:"key,omitempty"`     // of the call that asks; the same one asks the same question

	State   PromptState `json:"state,omitempty"`
	Allow   bool        `json:"allow,omitempty"`   // the verdict
	Answer  string      `json:"answer,omitempty"`  // to a question
	Choice  int         `json:"choice,omitempty"`  // which of Choices that is, from 1; 0: none of them
	By      SenderID    `json:"by,omitempty"`      // who answered
	At      time.Time   `json:"at,omitzero"`       // when State last changed
	Message MessageID   `json:"message,omitempty"` // the message that answered
	Settled bool        `json:"settled,omitempty"` // what became of it is known to whom it concerns
}

// Question reports whether p is a question, and not a request for permission.
func (p Prompt) Question() bool { return p.Code == "" }

// A PromptState is what became of a Prompt.
type PromptState string

// The states. All but Open are final.
const (
	Open     PromptState = "open"
	Answered PromptState = "answered" // a person did
	Expired  PromptState = "expired"  // nobody did in time
	Closed   PromptState = "closed"   // it could not be asked, or need not be any more
)

// A Verdict is a person's answer to a session's request for permission.
type Verdict struct {
	Session SessionID // that asked
	Begun   time.Time // when that was opened
	Agent   AgentID
	Subject string
	Request string // what the session calls its request
	Allow   bool

	// Done is called once, and must not block: a session was handed the
	// verdict, or there is none that could be.
	Done func(handed bool)
}

// Asks says how a message that asks something can be answered, for platforms
// that have more to offer than text.
type Asks struct {
	Code    string   // a request for permission: what a verdict in words names
	Choices []string // a question: what can be answered, from 1
}

// An Answer is what became of a question so far.
type Answer struct {
	Ticket MessageID
	State  PromptState
	Text   string // what was answered, or the default
	Choice int    // which of the choices that is, from 1; 0: none
	Reply  bool   // a person answered, and did not just let time pass

	// Done, if not nil, is to be told whether the agent was handed this: if
	// not, the answer becomes an event.
	Done func(handed bool)
}
