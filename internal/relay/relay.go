// Package relay is the hub's two verbs: Receive carries a message to agents,
// and Send carries one from an agent to a platform. Everything else in the hub
// exists so that these two can be short.
//
// Its one rule: nothing is told to anybody before it is in the record, and
// nothing waits for a session or for a platform that does not have to.
package relay

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/permit"
	"aldis/internal/route"
)

// A Label says when the name of an agent is put before what it says.
type Label string

// The settings of --label-messages.
const (
	LabelAuto   Label = "auto" // once more than one named agent is known
	LabelAlways Label = "always"
	LabelNever  Label = "never"
)

// A RouteLog keeps routes over restarts.
type RouteLog interface {
	Append(ctx context.Context, rs ...route.Route) error
}

// A Relay joins platforms to sessions.
type Relay struct {
	// set before use
	Gate      *gate.Gate
	Routes    *route.Table
	RouteLog  RouteLog // nil: routes are forgotten with the process
	Sessions  hub.Sessions
	Record    hub.Record
	Platforms []hub.Platform
	Operator  hub.Ref // the operator's chat; zero: there is no operator
	Default   hub.AgentID
	Aliases   map[hub.AgentID]hub.AgentID // other names for agents
	Labels    Label
	HoldFor   time.Duration // how long an absent agent's mail waits
	Watch     hub.Watchers  // hear all but Settled and Session; nil: nobody does
	Log       *slog.Logger
	Now       func() time.Time
	NewID     func() hub.MessageID

	HoldReplies bool // a reply to an agent that is not there waits for it, and goes to no other
	PairRate    int  // messages that two agents may send each other in 5 minutes; 0: any number

	PermissionTimeout time.Duration // how long a request for permission is open
	Devices           []int         // of our own account, that may answer one
	NewCode           func() string // five letters a–z without l, at random

	outbox   outbox
	holds    holds
	settler  settler
	unsaved  unsaved
	undone   undone
	taken    atomic.Uint64
	known    sync.Map     // hub.AgentID → struct{}: names that were seen
	waiting  atomic.Int64 // messages that nobody was present for
	told     atomic.Bool  // the operator knows that they wait
	decide   chan struct{}
	receipts chan struct{}
	notices  chan notice
	desk     *permit.Desk
	asking   asking
	loops    loops
	prompts  chan struct{} // there is one to be shown
	settled  chan struct{} // one is to be written down
}

var (
	_ hub.Receiver = (*Relay)(nil)
	_ hub.Presence = (*Relay)(nil)
)

// Start takes up what an earlier run left, and must return before Run or a
// platform's Run is called: the table of sessions must have been restored.
func (r *Relay) Start(ctx context.Context) error {
	r.decide, r.receipts, r.notices = make(chan struct{}, 1), make(chan struct{}, 1), make(chan notice, 64)
	r.settler.wake = make(chan struct{}, 1)
	if err := r.openDesk(ctx); err != nil {
		return err
	}
	chats, err := r.Record.Chats(ctx)
	if err != nil {
		return err
	}
	for _, c := range chats {
		r.Gate.Open(c.Platform, c.Chat)
	}
	undecided, err := r.Record.Undecided(ctx)
	if err != nil {
		return err
	}
	r.waiting.Store(int64(len(undecided)))
	owed, err := r.Record.Owed(ctx)
	if err != nil {
		return err
	}
	for _, agent := range owed {
		if !r.Sessions.Present(agent) {
			r.Departed(ctx, agent)
		}
	}
	nudge(r.decide)
	nudge(r.receipts)
	return nil
}

// Run does what Receive and Send leave for later, until ctx is done.
func (r *Relay) Run(ctx context.Context) error {
	var tasks sync.WaitGroup
	for _, task := range []func(context.Context){r.decideLater, r.settle, r.sendReceipts, r.sendNotices, r.keep, r.saveUnsaved, r.doUndone, r.sendPrompts, r.settlePrompts} {
		tasks.Go(func() { task(ctx) })
	}
	tasks.Wait()
	return nil
}

// Healthy returns why messages can't be recorded; nil: they can.
func (r *Relay) Healthy() error { return r.unsaved.reason() }

// Unsaved returns how many messages live in memory alone, because they can't be
// recorded.
func (r *Relay) Unsaved() int { return r.unsaved.count() }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// every calls f each d, and when wake has something, until ctx is done.
func every(ctx context.Context, d time.Duration, wake <-chan struct{}, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		f()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

var errNoPhone = hub.Errorf(hub.Unavailable, "no phone is joined to this hub: it was started without --operator")

// platform returns the platform that understands a chat id as a caller spells
// it, and the id as the platform does.
func (r *Relay) platform(spelled hub.ChatID) (hub.Platform, hub.ChatID, error) {
	if spelled == "" {
		if r.Operator.Platform == "" {
			return nil, "", errNoPhone
		}
		return r.platformOf(r.Operator.Platform), r.Operator.Chat, nil
	}
	first := errNoPhone
	for i, p := range r.Platforms {
		chat, err := p.Chat(string(spelled))
		if err == nil {
			return p, chat, nil
		}
		if i == 0 {
			first = err
		}
	}
	return nil, "", first
}

func (r *Relay) platformOf(id hub.PlatformID) hub.Platform {
	for _, p := range r.Platforms {
		if p.ID() == id {
			return p
		}
	}
	return nil
}

// SameChat reports whether two ids name one chat of a platform. Gate and
// Routes are given it.
func (r *Relay) SameChat(id hub.PlatformID, a, b hub.ChatID) bool {
	p := r.platformOf(id)
	return a == b || p != nil && p.SameChat(a, b)
}

// accept gives m what the hub alone knows of it.
func (r *Relay) accept(m hub.Message) hub.Message {
	if m.ID == "" {
		m.ID = r.NewID()
	}
	m.Time = r.Now()
	return m
}

// Note records m, which is for nobody in particular.
func (r *Relay) Note(ctx context.Context, m hub.Message) error {
	_, err := r.Record.Append(ctx, r.accept(m), &hub.Decision{}, nil)
	return err
}

// Chats returns the chats that agents may write to and that match query.
func (r *Relay) Chats(ctx context.Context, query string) ([]hub.Chat, error) {
	var all []hub.Chat
	for _, p := range r.Platforms {
		d, ok := p.(hub.Directory)
		if !ok {
			continue
		}
		chats, err := d.Chats(ctx, strings.TrimSpace(query))
		if err != nil {
			return nil, err
		}
		for _, c := range chats {
			if r.Gate.MayReach(p.ID(), c.ID) {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// Acknowledge takes messages out of agent's inbox.
func (r *Relay) Acknowledge(ctx context.Context, agent hub.AgentID, ids []hub.MessageID) ([]hub.MessageID, error) {
	unknown, err := r.Record.Acknowledge(ctx, agent, ids)
	if err != nil {
		return nil, err
	}
	r.Sessions.Withdraw(agent, ids)
	nudge(r.receipts)
	return unknown, nil
}

// Waiting returns how many messages wait for somebody to be present, or for a
// message that they answer to be named.
func (r *Relay) Waiting() int64 { return r.waiting.Load() }

// Taken returns how many messages were taken in since the hub began: from
// people, agents, scripts and webhooks, each once.
func (r *Relay) Taken() uint64 { return r.taken.Load() }
