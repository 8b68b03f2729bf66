package hub

import (
	"context"
	"time"
)

// A LogFilter says which messages of the record are wanted. What is zero wants
// all of them.
type LogFilter struct {
	Source, Target             string    // exactly these
	ParticipantA, ParticipantB string    // each is the source or the target
	Exclude                    []string  // none of these is the source or the target
	Since, Until               time.Time // inclusive
	Via                        Via
	Text                       string    // words that are all in its text, the last one perhaps only begun
	Before, After              MessageID // older, or newer, than that one; not both
	Skip                       int       // so many of the newest
	Limit                      int       // at most 200; zero: 50
}

// A LogEntry is a message of the record as people read it.
type LogEntry struct {
	ID         MessageID
	Time       time.Time
	Via        Via
	Kind       MessageKind
	Platform   PlatformID // that it came from or went to, if any
	Source     string     // an agent, a script, a webhook or, on a platform, a sender
	Name       string     // of a sender, as they call themselves
	Target     string     // an agent or a chat, its real name; empty: everybody
	Text       string     // as much as is kept
	Raw        string     // a webhook's body
	Meta       map[string]string
	Status     Status
	Addr       string
	Session    SessionID
	Deliveries []Delivery // by agent; "" is the platform
}

// A Log is the record as people read it.
type Log interface {
	// Log returns the newest messages that f wants, newest first; with f.After
	// the oldest of them, newest first too. It reports whether there are more.
	Log(ctx context.Context, f LogFilter) (entries []LogEntry, more bool, err error)

	// Entry returns one message whole, or NotFound.
	Entry(ctx context.Context, id MessageID) (LogEntry, error)

	// Names returns who was ever a source, and who a target, at most 500 of
	// each, in order.
	Names(ctx context.Context) (sources, targets []string, err error)

	// Changes returns how many messages were ever taken in or settled: a number
	// that has changed when a page is to be read anew.
	Changes() uint64
}

// A Watcher hears what the hub does, for metrics and logs. Its methods are
// called from everywhere at once, some of them in the middle of things: they
// must not block.
type Watcher interface {
	// Received is called for each message that came in, after so long: it was
	// taken in, or dropped, or, with err, could not be kept.
	Received(m Message, r Receipt, err error, took time.Duration)

	// Sent is called for each message that a platform was asked to send.
	Sent(m Message, s Sent, err error, took time.Duration)

	// Settled is called when the message id has been handed over to d.Agent,
	// so long after it was recorded, or has failed to be. An empty d.Agent
	// means that nobody was there to be given it.
	Settled(id MessageID, d Delivery, after time.Duration)

	// Session is called when a session has come into a state: "connected",
	// "live", "away", "deaf", "pull", "gone", "evicted", "ended".
	Session(id SessionID, agent AgentID, named bool, state string)

	// Decided is called when a person has answered a request for permission.
	Decided(p Prompt)
}

// Watchers are a Watcher that tells each of them in turn. Nil tells nobody.
type Watchers []Watcher

// Received implements [Watcher].
func (ws Watchers) Received(m Message, r Receipt, err error, took time.Duration) {
	for _, w := range ws {
		w.Received(m, r, err, took)
	}
}

// Sent implements [Watcher].
func (ws Watchers) Sent(m Message, s Sent, err error, took time.Duration) {
	for _, w := range ws {
		w.Sent(m, s, err, took)
	}
}

// Settled implements [Watcher].
func (ws Watchers) Settled(id MessageID, d Delivery, after time.Duration) {
	for _, w := range ws {
		w.Settled(id, d, after)
	}
}

// Session implements [Watcher].
func (ws Watchers) Session(id SessionID, agent AgentID, named bool, state string) {
	for _, w := range ws {
		w.Session(id, agent, named, state)
	}
}

// Decided implements [Watcher].
func (ws Watchers) Decided(p Prompt) {
	for _, w := range ws {
		w.Decided(p)
	}
}
