// Package signal joins the hub to a Signal account, through a signal-cli
// daemon that speaks JSON-RPC over TCP or a Unix socket (signal-cli 0.13.19 and
// later, manual page signal-cli-jsonrpc(5)).
//
// One rule: the goroutine that reads the daemon's socket never waits for an
// agent or for a send, since a daemon whose client stops reading stands still
// for everybody.
package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"aldis/internal/hub"
)

// ID is what the platform is called.
const ID hub.PlatformID = "signal"

// Bounds and times of the connection.
const (
	defaultAddress     = "127.0.0.1:7583"
	defaultSendTimeout = 30 * time.Second
	maxWaiting         = 4096 // notices read and not yet taken in
)

// A Client is a connection to one account of a signal-cli daemon. It is a
// [hub.Platform], and a [hub.Receipter], [hub.Directory] and [hub.Reporter].
// It keeps one connection while Run runs; sends fail when there is none.
type Client struct {
	// Set before use.

	Address  string // of the daemon, "HOST:PORT" or "unix:/PATH"; empty: 127.0.0.1:7583
	Account  string // our number (E.164) or UUID; empty: the operator's
	Operator string // number or UUID of the person whose other names are asked for at the start; may be empty

	AttachmentsDir  string   // where the daemon keeps received files; empty: not on this machine
	AttachmentRoots []string // folders that files to send may come from; empty: none are sent
	SpoolDir        string   // for copies of files on their way out; empty: the system's

	SendTimeout time.Duration // for an answer to a send, four times that with attachments; zero: 30 s
	Log         *slog.Logger  // nil: no log
	NewID       func() hub.MessageID
	Now         func() time.Time

	once       sync.Once // for setup
	introduced sync.Once // for closing known
	people     *people
	queue      chan arrival                            // what was read, in order
	known      chan struct{}                           // closed once we know our own number, if the daemon does
	dial       func(context.Context) (net.Conn, error) // tests have their own

	dropped [reasons]atomic.Uint64 // notices, by reason
	skipped atomic.Uint64          // lines
	last    atomic.Int64           // when the last notice came, Unix nanoseconds

	mu     sync.Mutex
	conn   *conn              // guarded by mu; nil when not connected
	report hub.PlatformReport // guarded by mu; as far as the connection goes
	sole   bool               // guarded by mu; the daemon has one account
	pause  pause              // guarded by mu
}

// An arrival is something that the receiver shall hear of.
type arrival struct {
	notice notice
	late   *late // if not nil, there is no notice
}

// A late is the name of a message whose outcome was unknown.
type late struct {
	id  hub.MessageID
	ref hub.Ref
}

var (
	_ hub.Platform  = (*Client)(nil)
	_ hub.Receipter = (*Client)(nil)
	_ hub.Directory = (*Client)(nil)
	_ hub.Reporter  = (*Client)(nil)
)

// ID returns "signal".
func (*Client) ID() hub.PlatformID { return ID }

// setup fills in what was left out.
func (c *Client) setup() {
	c.once.Do(func() {
		c.Address = cmp.Or(c.Address, defaultAddress)
		c.Account = cmp.Or(c.Account, c.Operator)
		c.SendTimeout = cmp.Or(c.SendTimeout, defaultSendTimeout)
		if c.Log == nil {
			c.Log = slog.New(slog.DiscardHandler)
		}
		if c.NewID == nil {
			c.NewID = func() hub.MessageID { return hub.MessageID(uuid.Must(uuid.NewV7()).String()) }
		}
		if c.Now == nil {
			c.Now = time.Now
		}
		if c.dial == nil {
			c.dial = c.dialDaemon
		}
		c.people = newPeople(c.Account)
		c.queue = make(chan arrival, maxWaiting)
		c.known = make(chan struct{})
		c.report = hub.PlatformReport{Platform: ID, State: "connecting", Address: c.Address}
	})
}

// Report describes the connection. While sending is paused it says what the
// operator can do about it; that may hold a secret, and is for no log.
func (c *Client) Report() hub.PlatformReport {
	c.setup()
	c.mu.Lock()
	r, p := c.report, c.pause
	c.mu.Unlock()
	r.Skipped = c.skipped.Load()
	if ns := c.last.Load(); ns != 0 {
		r.Last = time.Unix(0, ns)
	}
	if r.State == "connected" && c.Now().Before(p.until) {
		r.State, r.Detail = "paused", p.advice
	}
	return r
}

// Dropped returns how many notices brought no message, by reason.
func (c *Client) Dropped() map[string]uint64 {
	counts := make(map[string]uint64)
	for r := kept + 1; r < reasons; r++ {
		if n := c.dropped[r].Load(); n > 0 {
			counts[r.String()] = n
		}
	}
	return counts
}

// network splits the address of a daemon for package net. The port follows
// the last colon, so that an IPv6 address needs no brackets.
func network(address string) (network, addr string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "tcp", address
	}
	host := strings.TrimSuffix(strings.TrimPrefix(address[:i], "["), "]")
	return "tcp", net.JoinHostPort(host, address[i+1:])
}

// local reports whether the daemon runs on this machine, as far as its address
// tells: then it can read files of ours.
func local(address string) bool {
	kind, addr := network(address)
	if kind == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (c *Client) dialDaemon(ctx context.Context) (net.Conn, error) {
	kind, addr := network(c.Address)
	d := net.Dialer{Timeout: answerTimeout}
	nc, err := d.DialContext(ctx, kind, addr)
	if why, ok := errors.AsType[syscall.Errno](err); ok {
		err = why // what is around it names the address again
	}
	if err != nil {
		return nil, fmt.Errorf("connect to signal-cli at %s: %w; is \"signal-cli daemon --tcp\" running?", c.Address, err)
	}
	return nc, nil
}
