package hubtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"aldis/internal/hub"
)

// A Watcher is a [hub.Watcher] that keeps a line for each thing it hears.
type Watcher struct {
	mu    sync.Mutex
	lines []string
}

var _ hub.Watcher = (*Watcher)(nil)

// Heard returns the lines so far.
func (w *Watcher) Heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

func (w *Watcher) hear(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// kind is empty where all went well.
func kind(err error) hub.Kind {
	if err == nil {
		return ""
	}
	return hub.KindOf(err)
}

// Received implements [hub.Watcher].
func (w *Watcher) Received(m hub.Message, r hub.Receipt, err error, took time.Duration) {
	w.hear("received from %q for %q: to %q dropped %q kind %q in %s", m.Agent, r.To, r.Decision.To, r.Dropped, kind(err), took)
}

// Sent implements [hub.Watcher].
func (w *Watcher) Sent(m hub.Message, s hub.Sent, err error, took time.Duration) {
	w.hear("sent from %q: %d refs kind %q in %s", m.Agent, len(s.Refs), kind(err), took)
}

// Settled implements [hub.Watcher].
func (w *Watcher) Settled(id hub.MessageID, d hub.Delivery, after time.Duration) {
	w.hear("%s for %q %s %q after %s", id, d.Agent, d.State, d.Reason, after)
}

// Session implements [hub.Watcher].
func (w *Watcher) Session(_ hub.SessionID, agent hub.AgentID, named bool, state string) {
	w.hear("session of %q (%v) %s", agent, named, state)
}

// Decided implements [hub.Watcher].
func (w *Watcher) Decided(p hub.Prompt) { w.hear("decided %s %v", p.Request, p.Allow) }
