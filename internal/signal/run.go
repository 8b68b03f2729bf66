package signal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"aldis/internal/hub"
)

const (
	idleTime      = 30 * time.Second // without a line, then a ping
	answerTimeout = 10 * time.Second // for a connection, and for the answer to version
	askTimeout    = time.Minute      // for what may ask the network
	graceTime     = 5 * time.Second  // to take in what was read before the end
)

// Run receives until ctx is done. It keeps one connection to the daemon and
// makes a new one, after 1 to 30 s, when that ends. It is called once.
func (c *Client) Run(ctx context.Context, r hub.Receiver) error {
	c.setup()
	if c.Account == "" {
		return hub.Errorf(hub.Invalid, "there is no Signal account to receive for: set --operator or --account")
	}
	c.cleanSpool()
	taking, stop := grace(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { c.takeIn(taking, r) })

	pauses := backoff.ExponentialBackOff{InitialInterval: 2 * time.Second, Multiplier: 2, MaxInterval: 20 * time.Second, RandomizationFactor: 0.5}
	for ctx.Err() == nil {
		ready, err := c.connect(ctx, taking)
		if ctx.Err() != nil {
			break
		}
		if ready {
			pauses.Reset()
		}
		c.disconnected(ready, err)
		wait(ctx, pauses.NextBackOff())
	}
	c.introduce()
	close(c.queue)
	wg.Wait()
	return nil
}

// grace returns a context that outlives ctx by graceTime: what was read from
// the daemon is gone for good if it is not taken in.
func grace(ctx context.Context) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		wait(longer, graceTime)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// connect makes a connection and serves it until it ends. It reports whether
// the daemon had answered.
func (c *Client) connect(ctx, taking context.Context) (ready bool, err error) {
	nc, err := c.dial(ctx)
	if err != nil {
		return false, err
	}
	g, ctx := errgroup.WithContext(ctx)
	n := &conn{nc: nc, out: make(chan *call), done: ctx.Done(), open: make(map[uint64]*call), skip: c.skip}
	n.arrive = func(a arrival) { c.arrive(taking, a) }
	n.heard.Store(time.Now().UnixNano())
	context.AfterFunc(ctx, func() { nc.Close() })

	g.Go(n.read)
	g.Go(func() error { return n.write(ctx) })
	g.Go(func() error {
		if err := c.greet(ctx, n); err != nil {
			return err
		}
		ready = true
		c.connected(n)
		g.Go(func() error { c.acquaint(ctx, n); return nil })
		return c.keepAlive(ctx, n)
	})
	err = g.Wait()
	c.mu.Lock()
	c.conn = nil
	c.mu.Unlock()
	n.end()
	return ready, err
}

// greet asks for the daemon's version, which shows that it answers, and for
// our number where the settings have another name.
func (c *Client) greet(ctx context.Context, n *conn) error {
	var v struct {
		Version string `json:"version"`
	}
	if err := ask(ctx, n, answerTimeout, "version", params{}, &v); err != nil {
		return err
	}
	c.mu.Lock()
	c.report.Version = v.Version
	c.mu.Unlock()
	if c.people.me().Number == "" {
		c.findNumber(ctx, n)
	}
	c.introduce()
	return nil
}

// introduce lets notices be taken in: before, we could not tell ours.
func (c *Client) introduce() { c.introduced.Do(func() { close(c.known) }) }

// keepAlive pings the daemon when it is silent, and ends when that stays
// without an answer. Any line is a sign of life, and so is a full queue: then
// it is we who do not read.
func (c *Client) keepAlive(ctx context.Context, n *conn) error {
	for {
		silent := time.Since(time.Unix(0, n.heard.Load()))
		if silent < idleTime {
			wait(ctx, idleTime-silent)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		before := n.heard.Load()
		err := ask(ctx, n, answerTimeout, "version", params{}, nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && n.heard.Load() == before && len(c.queue) < cap(c.queue):
			return fmt.Errorf("ping the daemon: %w", err)
		case err != nil:
			n.heard.Store(time.Now().UnixNano())
		}
	}
}

func (c *Client) skip(why error) {
	c.skipped.Add(1)
	c.Log.Debug("line of signal-cli skipped", "platform", ID, "err", why)
}

// arrive queues what the reader brings. When the queue is full the socket has
// to wait, for as long as the record needs to take some in: that waits neither
// for an agent nor for a send, so a send can wait for it.
func (c *Client) arrive(ctx context.Context, a arrival) {
	if a.late == nil {
		c.last.Store(c.Now().UnixNano())
	}
	select {
	case c.queue <- a:
	case <-ctx.Done():
	}
}

// takeIn hands what has arrived to r, one at a time and in order.
func (c *Client) takeIn(ctx context.Context, r hub.Receiver) {
	<-c.known
	for a := range c.queue {
		if a.late != nil {
			r.Late(ctx, a.late.id, a.late.ref)
			continue
		}
		c.take(ctx, r, a.notice)
	}
}

func (c *Client) take(ctx context.Context, r hub.Receiver, n notice) {
	d := decoder{people: c.people, files: folder(c.AttachmentsDir), sole: c.isSole()}
	m, why := d.decode(n)
	c.dropped[why].Add(1)
	if why != kept {
		c.Log.Debug("notice of signal-cli dropped", "platform", ID, "reason", why.String())
		return
	}
	m.ID, m.Time = c.NewID(), c.Now()
	if _, err := r.Receive(ctx, m); err != nil {
		level := slog.LevelError
		if hub.KindOf(err) == hub.Unavailable {
			level = slog.LevelDebug // whoever keeps the record has said so, once for all messages
		}
		c.Log.Log(ctx, level, "message not kept", "platform", ID, "message", m.ID, "err", err)
	}
}

func (c *Client) connected(n *conn) {
	c.mu.Lock()
	c.conn = n
	c.report.State, c.report.Detail = "connected", ""
	version := c.report.Version
	c.mu.Unlock()
	c.Log.Info("signal-cli connected", "platform", ID, "address", c.Address, "version", version)
}

// disconnected notes why there is no connection. Of a daemon that stays away
// the log hears once.
func (c *Client) disconnected(was bool, err error) {
	c.mu.Lock()
	news := was || c.report.State != "down"
	c.report.State, c.report.Detail = "down", err.Error()
	c.mu.Unlock()
	if news {
		c.Log.Warn("signal-cli not connected", "platform", ID, "address", c.Address, "err", err)
	}
}

// ask calls a method that sends nothing, and decodes its result into v.
func ask(ctx context.Context, n *conn, timeout time.Duration, method string, p params, v any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	f, err := n.do(ctx, method, p, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if f.Error != nil {
		return refusal(method, f.Error)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(f.Result, v); err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return nil
}
