package hub

import (
	"log/slog"
	"strings"
	"time"
	"unicode"
)

// An AgentID names an agent, the addressee of routed messages. It is chosen by
// whoever configures the agent and says nothing about what the agent may do.
// An agent without a name of its own goes by its session's id.
type AgentID string

// ParseAgentID reads the name that an agent or a script gives itself: 1 to 128
// bytes of printable text, without the blanks around it. It fails with Invalid.
func ParseAgentID(s string) (AgentID, error) {
	s = strings.TrimSpace(s)
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, odd) {
		return "", Errorf(Invalid, "a name is 1 to 128 bytes of printable text")
	}
	return AgentID(s), nil
}

// LogValue shortens the id of an agent that goes by its session's, which is 26
// or more letters and digits of base32 (crypto/rand.Text). A name stays whole.
func (a AgentID) LogValue() slog.Value {
	if len(a) >= 26 && strings.Trim(string(a), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
		return SessionID(a).LogValue()
	}
	return slog.StringValue(string(a))
}

// A SessionID names one live connection of an agent. Whoever has it and a
// token can be that session, so it prints shortened in logs.
type SessionID string

// Short returns the start of the id, for people to tell sessions apart.
func (s SessionID) Short() string { return string(s[:min(8, len(s))]) }

// LogValue shortens the id.
func (s SessionID) LogValue() slog.Value { return slog.StringValue(s.Short()) }

// A PlatformID names a place where people write: "signal", "web".
type PlatformID string

// A SenderID is a platform's name for one person. Only that platform's adapter
// makes or parses one. It is private: it prints masked in logs.
type SenderID string

// LogValue masks the id: a log is no place for phone numbers.
func (SenderID) LogValue() slog.Value { return slog.StringValue("(sender)") }

// A ChatID is a platform's name for one conversation, direct or group. Only
// that platform's adapter makes or parses one. A direct chat is named after a
// person, so it prints masked in logs too.
type ChatID string

// LogValue masks the id: a direct chat's name is a phone number.
func (ChatID) LogValue() slog.Value { return slog.StringValue("(chat)") }

// A Ref is a platform's name for one message. It is comparable, and opaque to
// all but that platform's adapter. One chat may have several spellings (a
// number, a UUID): compare chats with [Platform] SameChat, not Refs with ==.
type Ref struct {
	Platform PlatformID
	Chat     ChatID
	Key      string // unique in the chat; Signal: the timestamp in milliseconds
}

// A Sender is who wrote a message, as the platform vouches for it.
type Sender struct {
	ID      SenderID   // gate on this
	Aliases []SenderID // other names that the platform knows for the same person
	Lasting SenderID   `json:",omitempty"` // the one of these that never passes to somebody else (Signal: the UUID); empty: unknown
	Device  int        `json:",omitempty"` // of our own account, which of its devices wrote it, -1 if unknown; 0: somebody else did
	Name    string     // for display; anyone can choose it
}

// A MessageID is the hub's own name for a message: a UUIDv7.
type MessageID string

// Via says how a message came in.
type Via string

// The ways in.
const (
	ViaPlatform Via = "platform" // a person wrote it
	ViaTool     Via = "tool"     // an agent called a tool
	ViaNotify   Via = "notify"   // a script posted it to /notify
	ViaHook     Via = "hook"     // a service posted it to a webhook
	ViaPrompt   Via = "prompt"   // an agent asks for permission, or a question
)

// A MessageKind says what sort of thing a message is.
type MessageKind string

// The kinds of message, in either direction.
const (
	Text     MessageKind = "text"
	Reaction MessageKind = "reaction" // Text is the emoji; Quote is what it reacts to
	Edit     MessageKind = "edit"     // Text replaces that of Target
	Deletion MessageKind = "deletion" // Target is withdrawn
)

// A Message is one thing said, in either direction. It does not change once
// made: a stage that has something to add returns a copy.
type Message struct {
	ID   MessageID
	Via  Via
	Kind MessageKind
	Time time.Time // when the hub accepted it

	Ref   Ref    // the platform's name; Key is empty until the platform has accepted it
	Dedup string // two messages with the same one are the same, offered twice; empty: never

	From    Sender    // the person who wrote it, if one did
	Agent   AgentID   // the agent or script that wrote it, if one did
	Subject string    // whose token brought it in: "main", "agent:NAME"; empty from a platform
	Session SessionID // of the agent that called a tool
	Addr    string    // the address that a script or a webhook called from
	To      AgentID   // whom an agent or script addressed; empty: all others

	Text        string
	Raw         string // a webhook's body as it came, where Text is a digest of it
	Removed     bool   // a reaction that is taken back
	Quote       *Quote // what it answers or reacts to
	Target      Ref    // what an edit or a deletion is about
	Attachments []Attachment
	Meta        map[string]string // from an agent, a script or a webhook, checked
	Hops        int               // how many messages of agents it answers, one after another

	Group     string  // the group's id as the platform spells it; empty in a direct chat
	Addressed bool    // quotes, reacts to or mentions us; what counts in a group
	Receipt   bool    // the platform wants a read receipt once an agent has it
	Label     AgentID // outbound: the name that the text shall start with, if any
	Asks      *Asks   // outbound: how it can be answered, if it asks something
}

// A Quote is the message that another message answers or reacts to.
type Quote struct {
	Ref       Ref
	Ours      bool     // we wrote it
	From      SenderID // who wrote it, as it shall be shown
	Aliases   []SenderID
	Text      string // preview, at most 256 bytes; empty when the platform gave none
	Untrusted bool   // whoever wrote it is neither us nor admitted
}

// An Attachment is a file that comes with a message.
type Attachment struct {
	Name string // as the sender called it; may be empty
	Type string // media type
	Size int64  // bytes; -1 if unknown
	Path string // where it lies on this machine; empty: not available here
}

// A Status says how a message was routed. Agents see it.
type Status string

// The statuses of seed reply-routing.md.
const (
	Routed       Status = "routed"        // answers a message of an agent that is present
	AgentOffline Status = "agent_offline" // answers a message of an agent that is not
	Unknown      Status = "unknown"       // answers a message of ours that we don't remember
	Unrouted     Status = "unrouted"      // answers nothing of ours
)

// A Decision is where a message goes and why.
type Decision struct {
	Status Status    // empty for what agents and scripts send
	Meant  AgentID   // whom a reply was meant for, if known
	To     []AgentID // whose mailboxes get it
	Hold   bool      // To is absent: keep it for them until it is too old
	Quiet  bool      // nobody is woken: it waits in the inboxes of To until they look
}

// A Seq orders offers. It only grows, over restarts too, and is durable before
// an offer is made: a session that has seen Seq n has been sent every offer to
// its agent, since the session began, up to n. A quiet delivery has none: zero.
type Seq uint64

// An Offer is a message on its way to the sessions of the agents in To.
type Offer struct {
	Seq      Seq // zero: the record could not take it, it lives in memory alone
	Was      Seq // the Seq of the same offer before it was made again; zero: it is new
	Message  Message
	Decision Decision

	// Taken, if not nil, is called when a session of an agent has been handed
	// the offer. Only offers that are not in the record have one.
	Taken func(AgentID, SessionID)
}

// A State is what became of an offer to one agent.
type State int

// States only ever rise, but for Failed, which ends a delivery that was not
// handed over.
const (
	Queued State = iota
	Written
	HandedOver
	Acknowledged
	Failed
)

var stateNames = [...]string{"queued", "written", "handed_over", "acknowledged", "failed"}

func (s State) String() string { return stateNames[s] }

// A Settlement says that deliveries to an agent have reached a state.
// It names them by Message, or, where that is empty, by a range of Seqs.
type Settlement struct {
	Agent     AgentID
	Session   SessionID // whose cursor moves to Last; empty: nobody's
	First     Seq
	Last      Seq // inclusive
	Message   MessageID
	State     State
	Reason    string // why it failed
	OutOfTurn bool   // handed to Session, but not in the order of its stream: its cursor stays
}

// A Delivery is what became of one message for one agent.
type Delivery struct {
	Agent  AgentID
	State  State
	Reason string
	Time   time.Time // of the last change
}

// Sent is what a platform says of a message that it was asked to send.
type Sent struct {
	Refs    []Ref     // each part that was accepted, or may have been
	Failed  []Failure // recipients that it did not reach
	Reached int       // recipients that it did reach
	Unknown bool      // no answer, or one that proves nothing: it may have arrived
}

// A Failure is one recipient that a message did not reach.
type Failure struct {
	Recipient string
	Reason    string // for the agent to read
}

// A Chat is a conversation that may be written to.
type Chat struct {
	ID    ChatID
	Name  string
	Group bool
}
