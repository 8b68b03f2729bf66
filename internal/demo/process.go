package demo

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// downTime is how long the hub stays down when it was killed: long enough to be
// seen, short enough for what waits for it.
const downTime = 1500 * time.Millisecond

// An Order is what the hub's process asks of the one that watches over it: a
// line of JSON on its standard output.
type Order struct {
	Kill   bool   `json:"kill,omitempty"`   // end the hub at once, as a crash would, and start it again
	Agent  string `json:"agent,omitempty"`  // the sample agent to be switched
	Online bool   `json:"online,omitempty"` // on or off
}

// A Process is the hub's process, started again each time it was killed. It
// has to end when its standard input does: so it ends with us, however we end.
type Process struct {
	// set before use
	Command func() *exec.Cmd // makes the process; its standard input and output are taken
	Order   func(Order)      // hears all orders but Kill
	Down    time.Duration    // how long it stays down when it was killed; zero: 1.5 s
}

// Run keeps the process running until ctx is done, or it ends by itself.
func (p *Process) Run(ctx context.Context) error {
	for {
		killed, err := p.once(ctx)
		if !killed || ctx.Err() != nil {
			return err
		}
		pause(ctx, cmp.Or(p.Down, downTime))
	}
}

// once runs the process once. It reports whether the process had itself killed.
func (p *Process) once(ctx context.Context) (killed bool, err error) {
	cmd := p.Command()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("start the hub: %w", err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, fmt.Errorf("start the hub: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("start the hub: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	killed = p.obey(out, func() { _ = cmd.Process.Kill() })
	if err := cmd.Wait(); err != nil && !killed && ctx.Err() == nil {
		return false, fmt.Errorf("the hub ended: %w", err)
	}
	return killed, nil
}

// obey reads orders until out ends. It reports whether kill was called.
func (p *Process) obey(out io.Reader, kill func()) (killed bool) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var o Order
		if json.Unmarshal(lines.Bytes(), &o) != nil {
			continue // not for us
		}
		if o.Kill {
			killed = true
			kill()
			continue
		}
		p.Order(o)
	}
	return killed
}

// Cast are sample agents that can be switched on and off.
type Cast struct {
	agents map[string]*Agent
	run    context.Context

	mu    sync.Mutex
	stage map[string]context.CancelFunc // of those that are on
	wait  sync.WaitGroup
}

// NewCast returns a cast of agents that run at most as long as ctx.
func NewCast(ctx context.Context, agents ...*Agent) *Cast {
	c := &Cast{agents: make(map[string]*Agent), run: ctx, stage: make(map[string]context.CancelFunc)}
	for _, a := range agents {
		c.agents[a.Name] = a
	}
	return c
}

// Switch takes an agent on or off. A name that is not in the cast is ignored.
func (c *Cast) Switch(name string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, stop := c.agents[name], c.stage[name]
	switch {
	case a == nil || on == (stop != nil):
	case on:
		ctx, cancel := context.WithCancel(c.run)
		ended := make(chan struct{})
		c.stage[name] = func() { cancel(); <-ended }
		c.wait.Go(func() {
			defer close(ended)
			if err := a.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				a.Log.Error("sample agent", "agent", name, "err", err)
			}
		})
	default:
		delete(c.stage, name)
		stop()
	}
}

// Wait returns when all have ended.
func (c *Cast) Wait() { c.wait.Wait() }
