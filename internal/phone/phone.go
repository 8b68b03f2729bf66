// Package phone is the demo's phone: a page in the browser in place of a
// Signal account, and a platform like any other. It has two chats, the
// operator's and a stranger's, and shows beside them what each agent was handed.
//
// Its one rule: the page gets no short cut. What it posts goes to the Receiver
// as what a real phone wrote does, and what it shows of agents is what they
// themselves report.
package phone

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"aldis/internal/hub"
)

// ID is what the platform is called.
const ID hub.PlatformID = "web"

// The chats, each named after the person at the other end, and the name that
// agents go by as authors of what is quoted.
const (
	operator = "operator"
	stranger = "stranger"
	us       = "aldis"
)

var people = map[hub.ChatID]hub.Sender{
	operator: {ID: operator, Name: "Operator"},
	stranger: {ID: stranger, Name: "Stranger"},
}

// A Phone is both phones of the demo and the page that shows them. Open comes
// before everything else.
type Phone struct {
	// set before use
	Path    string                          // the file that keeps what was said, so that the phone outlives the hub's process; pictures lie in a folder beside it. Empty: nothing outlives it
	Secret  []byte                          // signs the cookie; to be the same after a restart
	Code    string                          // of the printed URL; whoever posts it first is let in
	Agents  func() []AgentState             // who is there; called twice a second for each page that is open
	Join    []JoinLine                      // shown on the page
	Switch  func(agent string, online bool) // takes a sample agent off or on line; must not block
	Restart func()                          // kills the hub's process; called once the page has its answer
	Log     *slog.Logger
	Now     func() time.Time
	NewID   func() hub.MessageID

	// made by Open
	posts    chan job // to Run
	journal  *journal
	pictures *pictures

	// turn is held by whoever changes the state, so that the file has the same
	// order. Who only reads never waits for the file.
	turn sync.Mutex

	mu      sync.Mutex
	state   state                // guarded by mu
	seq     uint64               // guarded by mu; of the last change that viewers were told
	viewers map[*viewer]struct{} // guarded by mu
	ended   chan struct{}        // guarded by mu; closed when Run ends, nil while it does not run
}

// An AgentState is an agent as the page shows it.
type AgentState struct {
	Name    string `json:"name"`
	State   string `json:"state"`   // live, away, deaf, pull or gone
	Sample  bool   `json:"sample"`  // the demo runs it: the page can take it off line
	Default bool   `json:"default"` // it gets what answers nobody
	Online  bool   `json:"online"`  // what Switch was last told; of no meaning unless Sample
}

// A JoinLine is how an agent of the visitor's own joins.
type JoinLine struct {
	Client string `json:"client"` // "Claude Code"
	Line   string `json:"line"`   // to be copied, whole
}

var (
	_ hub.Platform  = (*Phone)(nil)
	_ hub.Receipter = (*Phone)(nil)
	_ hub.Directory = (*Phone)(nil)
)

// Open reads what an earlier process kept. It fails if Path can't be read or
// written.
func (p *Phone) Open() error {
	var err error
	if p.pictures, err = openPictures(p.Path); err != nil {
		return err
	}
	if p.journal, err = openJournal(p.Path, p.state.apply); err != nil {
		_ = p.pictures.close()
		return err
	}
	p.posts = make(chan job)
	p.viewers = make(map[*viewer]struct{})
	p.seq = 1
	return nil
}

// Close gives back what Open took. Run must have returned.
func (p *Phone) Close() error {
	err := p.journal.close()
	if e := p.pictures.close(); err == nil {
		err = e
	}
	return err
}

// Operator returns the operator's chat.
func (*Phone) Operator() hub.Ref { return hub.Ref{Platform: ID, Chat: operator} }

// ID returns "web".
func (*Phone) ID() hub.PlatformID { return ID }

// Run takes in what the page posts, one at a time, until ctx is done. While it
// does not run the page is told that the hub is down.
func (p *Phone) Run(ctx context.Context, r hub.Receiver) error {
	ended := make(chan struct{})
	p.mu.Lock()
	p.ended = ended
	p.mu.Unlock()
	defer p.end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case j := <-p.posts:
			j.done <- p.take(ctx, r, j.post)
		}
	}
}

// end turns away who waits for Run, and cuts the viewers: a server that stops
// waits for its streams.
func (p *Phone) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.ended)
	p.ended = nil
	for v := range p.viewers {
		p.cut(v)
	}
}

// Send shows m on the phone that m.Ref.Chat names. The label stays off: the
// bubble names its agent. It fails with NotFound for a reaction, an edit or a
// deletion of what is not there any more, with Denied for files, with Invalid
// for a text over 64 KiB and with Unavailable if it can't be written down.
func (p *Phone) Send(_ context.Context, m hub.Message) (hub.Sent, error) {
	if _, err := p.Chat(string(m.Ref.Chat)); err != nil {
		return hub.Sent{}, err
	}
	switch {
	case len(m.Attachments) > 0:
		return hub.Sent{}, hub.Errorf(hub.Denied, "the demo's phone takes no files from agents")
	case len(m.Text) > maxText:
		return hub.Sent{}, hub.Errorf(hub.Invalid, "the text is longer than %d bytes", maxText)
	}
	m.Ref.Platform, m.Ref.Key = ID, p.nextKey()
	err := p.commit(func(s *state) (*line, error) {
		b, err := s.after(m)
		return &line{change: change{Bubble: &b}, Ticket: &ticket{Key: m.Ref.Key}}, err
	})
	if err != nil {
		return hub.Sent{}, err
	}
	return hub.Sent{Refs: []hub.Ref{m.Ref}, Reached: 1}, nil
}

// SendReceipt puts the second tick on m. What has left the screen needs none.
func (p *Phone) SendReceipt(_ context.Context, m hub.Message) error {
	return p.commit(func(s *state) (*line, error) {
		b, ok := s.find(m.Ref.Chat, m.Ref.Key)
		if !ok {
			return nil, nil
		}
		b.Ticks = handed
		return &line{change: change{Bubble: &b}}, nil
	})
}

// Chat takes "operator" and "stranger".
func (*Phone) Chat(s string) (hub.ChatID, error) {
	if _, ok := people[hub.ChatID(s)]; !ok {
		return "", hub.Errorf(hub.Invalid, "%.100q is no chat of the demo's phone: there are operator and stranger", s)
	}
	return hub.ChatID(s), nil
}

// SameChat reports whether the ids are equal: each chat has one spelling.
func (*Phone) SameChat(a, b hub.ChatID) bool { return a == b }

// Chats implements [hub.Directory].
func (*Phone) Chats(_ context.Context, query string) ([]hub.Chat, error) {
	var found []hub.Chat
	for _, id := range []hub.ChatID{operator, stranger} {
		name := people[id].Name // the id is its name in small letters
		if strings.Contains(strings.ToLower(name), strings.ToLower(query)) {
			found = append(found, hub.Chat{ID: id, Name: name})
		}
	}
	return found, nil
}

// commit makes one change: f says which, or nil for none, looking at the state
// without changing it. The change is in the file before anybody sees it. It
// fails with f's error, or with Unavailable if it can't be written down.
func (p *Phone) commit(f func(*state) (*line, error)) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	l, err := f(&p.state) // only the holder of turn writes to it
	if err != nil || l == nil {
		return err
	}
	if err := p.journal.append(*l); err != nil {
		return &hub.Error{Kind: hub.Unavailable, Msg: "the demo's phone can't write to its file", Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.apply(*l)
	if l.change != (change{}) {
		p.publish(l.change)
	}
	return nil
}

// nextKey returns the name of something new: the time in Unix milliseconds, or
// the next number that was not given out.
func (p *Phone) nextKey() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.nextKey(p.Now())
}
