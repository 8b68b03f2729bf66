package hub

import (
	"context"
	"time"
)

// A Receiver takes messages in. Platforms and the edges that serve scripts and
// agents call it; package relay implements it.
type Receiver interface {
	// Receive carries m to whoever should have it. It returns once m is in
	// the record and queued, without waiting for any session or platform.
	// An error of kind Unavailable means that m could not be kept.
	Receive(ctx context.Context, m Message) (Receipt, error)

	// Late says that the message id, sent earlier with an unknown outcome,
	// has the name ref after all.
	Late(ctx context.Context, id MessageID, ref Ref)
}

// A Receipt is what Receive can say of a message at once.
type Receipt struct {
	ID       MessageID
	Decision Decision
	Dropped  string // why the gate kept it out, and nobody was told; empty: it did not
	Known    bool   // there is an agent of the name that the message was sent to
	Sessions int    // that it was queued for
	Repeated bool   // it had come before, by its Dedup, and had no effect now: ID is that of the first

	// To is the agent that an agent, a script or a webhook wrote to, by its
	// real name; empty: all others.
	To AgentID

	// Author is whose message it answers by its reply_to, and who alone gets
	// it therefore. Empty: it named its addressee, or says more on its author's
	// own message, or none is known.
	Author AgentID
}

// A Platform is a service that people write from and are written to.
// It may also be a [Receipter], a [Directory] or a [Reporter].
type Platform interface {
	ID() PlatformID

	// Run receives until ctx is done, reconnecting as needed. It calls
	// r.Receive with one message of a chat at a time and in order.
	Run(ctx context.Context, r Receiver) error

	// Send carries m, of any Kind, to the chat m.Ref.Chat. It fails with
	// Invalid, NotFound, Denied, Limited or Unavailable when nothing was sent
	// at all; what may have been sent is no error but Sent.Unknown.
	// A name that turns up after Send has returned goes to Receiver.Late.
	Send(ctx context.Context, m Message) (Sent, error)

	// Chat parses a chat id as a caller spells it, or fails with Invalid.
	Chat(s string) (ChatID, error)

	// SameChat reports whether two ids, made by this platform, name the same
	// chat as far as it knows.
	SameChat(a, b ChatID) bool
}

// A Receipter is a Platform that can tell a sender that a message was read.
type Receipter interface {
	SendReceipt(ctx context.Context, m Message) error
}

// A Directory is a Platform that knows who may be written to.
type Directory interface {
	// Chats returns the chats whose name or id contains query, any case.
	Chats(ctx context.Context, query string) ([]Chat, error)
}

// A Reporter is a Platform that can describe its connection.
type Reporter interface {
	Report() PlatformReport
}

// A PlatformReport describes a platform's connection, for status pages.
type PlatformReport struct {
	Platform PlatformID `json:"platform"`
	State    string     `json:"state"` // "connected", "connecting", "down", "paused"
	Detail   string     `json:"detail,omitempty"`
	Version  string     `json:"version,omitempty"`
	Address  string     `json:"address,omitempty"`
	Last     time.Time  `json:"last_notice,omitzero"`      // when it last brought anything
	Skipped  uint64     `json:"skipped"`                   // lines that could not be read
	Accounts int        `json:"accounts,omitempty"`        // that are there; 0: it has not said
	Missing  bool       `json:"account_missing,omitempty"` // our account is not there
}

// Sessions are the sessions of agents, here or on another node.
// Its methods never wait for a session.
type Sessions interface {
	// Present reports whether agent has a session that counts for routing.
	Present(agent AgentID) bool

	// Everybody returns the agents that are present.
	Everybody() []AgentID

	// Deliver queues o for the sessions of the agents in o.Decision.To and
	// returns how many sessions that were. Offers are delivered in the order
	// of their Seq.
	Deliver(o Offer) int

	// Withdraw keeps messages that agent has acknowledged from being written
	// to its sessions, where they were not yet.
	Withdraw(agent AgentID, ids []MessageID)

	// Decide has v told to the session that asked, once it has a stream. Is
	// that session gone, and while v waits too, v goes to the one session of
	// the same agent and subject that was opened after it and is not gone, if
	// there is exactly one. v.Done hears what became of it.
	Decide(v Verdict)
}

// Presence hears from Sessions. Its methods may take as long as the record
// does; package relay implements it.
type Presence interface {
	// Arrived is called when agent has become present, by the opening of a
	// stream or a call to a tool.
	Arrived(ctx context.Context, agent AgentID)

	// Departed is called when agent is present no more.
	Departed(ctx context.Context, agent AgentID)

	// Orphaned is called when offers to agent up to last are older than every
	// session that could be pushed them: they are to be offered again.
	Orphaned(ctx context.Context, agent AgentID, last Seq)

	// Settled is called when a session has been written or handed something
	// on its stream. It does not wait for the record.
	Settled(s Settlement)

	// Handed is called when a session has been handed something in another
	// way, and returns when that is in the record: a stream that is opened
	// next must not bring it again.
	Handed(ctx context.Context, ss []Settlement)
}

// Record is the hub's memory of messages, as package relay writes it.
// A method that fails because the record can't be written (full disk, lock)
// returns an error of kind Unavailable, and has had no effect.
//
// The functions called then are called after the commit, in the order of Seqs
// and one at a time: they must not block.
type Record interface {
	// Append records m and, unless d is nil, what was decided, with a
	// delivery for each agent in d.To. It reports false, and does nothing,
	// if m was decided before; if m (by Dedup) was appended but not decided,
	// the decision is recorded for that one.
	Append(ctx context.Context, m Message, d *Decision, then func(Offer)) (fresh bool, err error)

	// Decide records a decision for a message in the record, instead of the
	// one before. What was not handed over to the agents in from ends as
	// failed with reason. A nil d means that nobody is present: the message
	// waits, undecided.
	Decide(ctx context.Context, id MessageID, from []AgentID, reason string, d *Decision, then func(Offer)) error

	// Reoffer gives each delivery to agent that is not handed over, and whose
	// Seq is at most last, a new Seq, in the old order. The old ones are kept:
	// a session that was sent one has been sent the message.
	Reoffer(ctx context.Context, agent AgentID, last Seq, then func(Offer)) error

	// Hold marks what is not handed over to agent as held for it, from now on.
	Hold(ctx context.Context, agent AgentID, ids []MessageID) error

	// Settle records what became of deliveries. A range of Seqs means old ones
	// too. It reports whether a read receipt is due that was not before.
	Settle(ctx context.Context, s []Settlement) (receipts bool, err error)
	ReceiptSent(ctx context.Context, id MessageID) error

	// Acknowledge takes messages out of agent's inbox, which is at least a
	// hand-over. It returns the ids that were never offered to agent.
	Acknowledge(ctx context.Context, agent AgentID, ids []MessageID) (unknown []MessageID, err error)

	// Outcome records what the platform said of a message that was sent.
	Outcome(ctx context.Context, id MessageID, s Sent, err error) error

	// Expire ends as failed what was held, or waited undecided, since before
	// the given time, and cuts what left every inbox to what is to be kept.
	// It returns how many deliveries ended.
	Expire(ctx context.Context, held, inbox time.Time) (int, error)

	// Unsettled returns what was not handed over to agent, in order, and for
	// each whether another agent has it or may still get it.
	Unsettled(ctx context.Context, agent AgentID) ([]Loose, error)

	// Undecided returns, in order, the messages that wait for a decision.
	Undecided(ctx context.Context) ([]Message, error)

	// DueReceipts returns the oldest messages whose receipt is due and not
	// yet sent, at most limit.
	DueReceipts(ctx context.Context, limit int) ([]Message, error)

	// Answer records m, which answers p, and p as it is since then, together.
	// A d as in Append says who is to be told of m. It reports false, and does
	// nothing, if m was decided before.
	Answer(ctx context.Context, m Message, d Decision, p Prompt, then func(Offer)) (fresh bool, err error)

	// SavePrompt records p as it is now.
	SavePrompt(ctx context.Context, p Prompt) error

	// Prompts returns those that are open, were not settled, or were opened
	// since the given time, oldest first.
	Prompts(ctx context.Context, since time.Time) ([]Prompt, error)

	// First returns the message that has that Dedup, or NotFound.
	First(ctx context.Context, dedup string) (MessageID, error)

	// Lookup returns a message by the hub's own name for it, or NotFound.
	Lookup(ctx context.Context, id MessageID) (Filed, error)

	// Find returns the messages, newest first, that the platform calls key,
	// in whatever chat, each with the agents that were to get it.
	Find(ctx context.Context, p PlatformID, key string) ([]Filed, error)

	// Chats returns each chat that a person's recorded message came from.
	Chats(ctx context.Context) ([]Ref, error)

	// Owed returns the agents that were not handed what was offered to them
	// and is not held for them.
	Owed(ctx context.Context) ([]AgentID, error)

	// Known reports whether an agent of that name was ever seen: it has a
	// session row, a token or a webhook.
	Known(ctx context.Context, agent AgentID) (bool, error)
	// Agents returns how many named agents are known.
	Agents(ctx context.Context) (int, error)
}

// A Mailed is an offer in an inbox.
type Mailed struct {
	Offer
	Seen bool // it was handed over before
}

// A Loose is an offer that its agent was not handed.
type Loose struct {
	Offer
	Elsewhere bool // another agent has it, or may still get it
}

// A Filed is a message in the record, and what was decided about it.
type Filed struct {
	Message  Message
	Decision Decision // zero for what was sent to a platform
}

// Mail is the record as sessions and their tools read it.
type Mail interface {
	// Since returns offers to agent with after < Seq ≤ last, in order, at
	// most limit, without those acknowledged, failed, handed to session out
	// of turn, or sent to it before: under an old Seq with birth < Seq ≤ after.
	Since(ctx context.Context, agent AgentID, session SessionID, birth, after, last Seq, limit int) ([]Offer, error)

	// Inbox returns what agent has not acknowledged: what was not handed over
	// first, then the rest, each oldest first; and whether there is more.
	Inbox(ctx context.Context, agent AgentID, limit int) (mail []Mailed, more bool, err error)

	// Count returns how many offers Since would return after the given Seq, at
	// least birth, were there no limit, and how many from before birth no
	// session was handed; at most 1,000.
	Count(ctx context.Context, agent AgentID, session SessionID, birth, after Seq) (int, error)

	// Message returns a message that was offered to agent, or NotFound.
	Message(ctx context.Context, agent AgentID, id MessageID) (Message, error)

	// Fate returns what became of a message that subject brought in, or
	// NotFound. An empty subject may see all.
	Fate(ctx context.Context, subject string, id MessageID) ([]Delivery, error)

	// Last returns the highest Seq that was given out.
	Last() Seq
}

// SavedSession is what is kept of a session for restarts.
type SavedSession struct {
	ID       SessionID
	Agent    AgentID
	Named    bool      // Agent is a name, not the session's own id
	Seat     bool      // it came with a label: one holder at a time
	Subject  string    // whose token opened it
	Begun    time.Time // when it was opened
	Acks     bool      // it says itself what it was handed; nothing else proves that
	Client   string    // clientInfo.name
	Version  string    // of the protocol, as negotiated
	Birth    Seq       // offers up to here are not its business, but for those offered again
	Cursor   Seq       // handed over up to here
	Order    int64     // its place among those that wait for the seat: the highest holds it; 0: none
	Present  bool      // it was live, away, deaf or pull when this was written
	Streamed bool      // it has had a stream
	Refused  bool      // it has had its one 404
	Used     time.Time // its last request
}

// SessionStore keeps sessions over restarts.
type SessionStore interface {
	// SaveSession writes the row of s. Of a row that is there already it
	// leaves Cursor alone: that moves with what is settled.
	SaveSession(ctx context.Context, s SavedSession) error
	DeleteSession(ctx context.Context, id SessionID) error
	// Session returns NotFound for one that never was, was deleted or has
	// been unused for 7 days.
	Session(ctx context.Context, id SessionID) (SavedSession, error)
	// Sessions returns those that were present or waited for a seat.
	Sessions(ctx context.Context) ([]SavedSession, error)
}

// Calls keeps what became of the tool calls that come with a key, so that a
// call that is made again is not carried out again. It forgets after 24 h.
type Calls interface {
	// BeginCall notes, durably, that the call under key is about to be carried
	// out. If it was begun before it reports so, with its outcome, which is
	// empty for one that never ended.
	BeginCall(ctx context.Context, key string) (outcome string, again bool, err error)

	// EndCall notes the outcome of a call that was begun.
	EndCall(ctx context.Context, key, outcome string) error
}
