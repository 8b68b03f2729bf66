package phone

import (
	"slices"
	"strconv"
	"time"

	"aldis/internal/hub"
)

// The bounds of what is kept; past them the oldest goes.
const (
	maxBubbles  = 300      // a chat
	maxReceived = 200      // an agent
	maxReports  = 32       // agents that report
	maxTickets  = 1000     // posts that are known when they come again
	maxText     = 64 << 10 // bytes of one text
)

// What the ticks beside a bubble of a person's say. They only rise.
const (
	recorded = 1 // the hub has it in its record
	handed   = 2 // an agent was handed it: the read receipt
)

// A bubble is something said in a chat, as it stands now.
type bubble struct {
	Key       string      `json:"key"`
	Chat      hub.ChatID  `json:"chat"`
	Mine      bool        `json:"mine"`            // the phone's owner wrote it
	Agent     hub.AgentID `json:"agent,omitempty"` // who else did; empty: the hub itself
	Post      string      `json:"post,omitempty"`  // what the page called it when it posted it
	Text      string      `json:"text,omitempty"`
	Quote     *quote      `json:"quote,omitempty"`
	Asks      *ask        `json:"asks,omitempty"` // it asks something, and is no mere text
	Pictures  []picture   `json:"pictures,omitempty"`
	Reactions []reaction  `json:"reactions,omitempty"` // at most one of each person or agent
	Edited    bool        `json:"edited,omitempty"`
	Deleted   bool        `json:"deleted,omitempty"` // nothing is left of it but its place
	Ticks     int         `json:"ticks,omitempty"`
	Dropped   string      `json:"dropped,omitempty"` // why the gate kept it from everybody
}

// who names the author of b, as reactions and quotes do.
func (b bubble) who() string {
	if b.Mine {
		return string(b.Chat)
	}
	return string(b.Agent)
}

// A quote is the bubble that another answers, as it read at that time.
type quote struct {
	Key  string `json:"key"`
	Who  string `json:"who,omitempty"` // an agent, or the chat's person; empty: the hub
	Text string `json:"text"`
}

// A reaction is one emoji of one person or agent.
type reaction struct {
	Who   string `json:"who"`
	Emoji string `json:"emoji"`
}

// A received is what an agent was handed, as it reports.
type received struct {
	Agent   hub.AgentID       `json:"agent"`
	ID      hub.MessageID     `json:"id"`
	Seq     int64             `json:"seq"` // the agent's own count of what it was handed; tells a report that is posted again from a message that was handed again
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`
	Repeats int               `json:"repeats,omitempty"` // how often it was handed again
}

// A ticket is a key that was given out, and for which post of the page.
type ticket struct {
	Post string     `json:"post,omitempty"` // empty: none of the page's
	Chat hub.ChatID `json:"chat,omitempty"`
	Key  string     `json:"key"`
	Done bool       `json:"done,omitempty"` // the receiver has it
}

// A change is what viewers are told. What it brings replaces what they had
// under the same key.
type change struct {
	Bubble   *bubble   `json:"bubble,omitempty"`
	Asked    *bubble   `json:"asked,omitempty"` // what Bubble answers
	Received *received `json:"received,omitempty"`
}

// A line is one change as the file has it.
type line struct {
	change
	Ticket *ticket `json:"ticket,omitempty"`
	Spent  string  `json:"spent,omitempty"` // digest of the code that was used
}

// A state is all that was said. Bubbles and the rest are values: a change puts
// a new one in the place of the old, so that a copy of the lists is a snapshot.
type state struct {
	last     int64 // the highest key that was given out
	spent    string
	chats    map[hub.ChatID][]bubble // by key, rising
	received map[hub.AgentID][]received
	tickets  []ticket // in the order of their keys
}

func (s *state) nextKey(now time.Time) string {
	s.last = max(now.UnixMilli(), s.last+1)
	return strconv.FormatInt(s.last, 10)
}

func (s *state) apply(l line) {
	if l.Bubble != nil {
		s.putBubble(*l.Bubble)
	}
	if l.Asked != nil {
		s.putBubble(*l.Asked)
	}
	if l.Received != nil {
		s.putReceived(*l.Received)
	}
	if l.Ticket != nil {
		s.putTicket(*l.Ticket)
	}
	if l.Spent != "" {
		s.spent = l.Spent
	}
}

func (s *state) putBubble(b bubble) {
	if s.chats == nil {
		s.chats = make(map[hub.ChatID][]bubble)
	}
	s.chats[b.Chat] = put(s.chats[b.Chat], b, maxBubbles, func(x bubble) bool { return x.Key == b.Key })
}

func (s *state) putReceived(r received) {
	if s.received == nil {
		s.received = make(map[hub.AgentID][]received)
	}
	s.received[r.Agent] = put(s.received[r.Agent], r, maxReceived, func(x received) bool { return x.ID == r.ID })
}

func (s *state) putTicket(t ticket) {
	if key, err := strconv.ParseInt(t.Key, 10, 64); err == nil {
		s.last = max(s.last, key)
	}
	if t.Post != "" {
		s.tickets = put(s.tickets, t, maxTickets, func(x ticket) bool { return x.Key == t.Key })
	}
}

// put replaces the item of list that same finds by x, or adds x, and keeps the
// newest most.
func put[T any](list []T, x T, most int, same func(T) bool) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = x
		return list
	}
	list = append(list, x)
	return slices.Delete(list, 0, max(0, len(list)-most))
}

func (s *state) find(chat hub.ChatID, key string) (bubble, bool) {
	for _, b := range s.chats[chat] {
		if b.Key == key {
			return b, true
		}
	}
	return bubble{}, false
}

// live finds a bubble that can be answered, edited or deleted still.
func (s *state) live(chat hub.ChatID, key string) (bubble, error) {
	b, ok := s.find(chat, key)
	if !ok || b.Deleted {
		return b, hub.Errorf(hub.NotFound, "message %.40s is not on this phone any more", key)
	}
	return b, nil
}

// after returns the bubble that m makes or changes, as it is then.
func (s *state) after(m hub.Message) (bubble, error) {
	switch m.Kind {
	case hub.Reaction:
		return s.reacted(m)
	case hub.Edit:
		b, err := s.live(m.Ref.Chat, m.Target.Key)
		b.Text, b.Edited, b.Asks = m.Text, true, nil // an agent could ask for one thing and show another
		return b, err
	case hub.Deletion:
		b, err := s.live(m.Ref.Chat, m.Target.Key)
		return bubble{Key: b.Key, Chat: b.Chat, Mine: b.Mine, Agent: b.Agent, Post: b.Post, Ticks: b.Ticks, Deleted: true}, err
	default:
		return s.said(m), nil
	}
}

func (s *state) said(m hub.Message) bubble {
	b := bubble{Key: m.Ref.Key, Chat: m.Ref.Chat, Mine: m.Via == hub.ViaPlatform, Agent: m.Agent, Text: m.Text, Asks: newAsk(m.Asks)}
	if q := m.Quote; q != nil {
		b.Quote = &quote{Key: q.Ref.Key, Text: q.Text}
		if quoted, ok := s.find(m.Ref.Chat, q.Ref.Key); ok {
			b.Quote.Who = quoted.who()
		}
	}
	return b
}

func (s *state) reacted(m hub.Message) (bubble, error) {
	b, err := s.live(m.Ref.Chat, m.Quote.Ref.Key)
	if err != nil {
		return b, err
	}
	who := string(m.Agent)
	if m.Via == hub.ViaPlatform {
		who = string(m.From.ID)
	}
	b.Reactions = slices.DeleteFunc(slices.Clone(b.Reactions), func(r reaction) bool { return r.Who == who })
	if m.Removed {
		return b, nil
	}
	b.Reactions = append(b.Reactions, reaction{who, m.Text})
	if m.Via == hub.ViaPlatform {
		b.Asks = b.Asks.answered(m.Text)
	}
	return b, nil
}

// ticket returns what the page's post was given when it came before.
func (s *state) ticket(chat hub.ChatID, post string) (ticket, bool) {
	i := slices.IndexFunc(s.tickets, func(t ticket) bool { return t.Chat == chat && t.Post == post })
	if i < 0 {
		return ticket{}, false
	}
	return s.tickets[i], true
}
