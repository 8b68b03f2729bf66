package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"aldis/internal/hub"
)

// stopTime is how long a daemon may need to end once it is told to.
const stopTime = 20 * time.Second

// A Daemon is a signal-cli daemon that was started here, to link an account.
type Daemon struct {
	Ended <-chan struct{} // closed when it has ended, whyever

	stop context.CancelFunc
	said *tail
}

// StartDaemon starts the signal-cli at a path so that it listens where args say,
// as --tcp ADDRESS does. It takes in no messages, which would be lost with it.
// It ends with Stop, at the latest with ctx.
func StartDaemon(ctx context.Context, path string, args ...string) (*Daemon, error) {
	ctx, stop := context.WithCancel(ctx)
	said := &tail{}
	cmd := exec.CommandContext(ctx, path, append([]string{"daemon", "--receive-mode", "manual"}, args...)...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("start signal-cli: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what it said tells more
	}()
	return &Daemon{Ended: ended, stop: stop, said: said}, nil
}

// Stop ends the daemon and waits until it has ended.
func (d *Daemon) Stop() {
	d.stop()
	<-d.Ended
}

// Err is what the daemon said last.
func (d *Daemon) Err() error {
	return errors.New("signal-cli has ended, and said: " + hub.OneLine(d.said.String(), 300))
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 300; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
