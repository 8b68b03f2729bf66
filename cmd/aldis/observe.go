package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"aldis/internal/hub"
	"aldis/internal/journal"
	"aldis/internal/metric"
	signalcli "aldis/internal/signal"
)

// observe makes what watches the hub: metrics and, if it is wanted, the log of
// messages.
func (h *hubProcess) observe() (err error) {
	h.metrics = metric.New(version(), h.measure)
	h.watch = hub.Watchers{h.metrics}
	if h.settings.JSONLLog == "" {
		return nil
	}
	if h.journal, err = journal.Open(h.settings.JSONLLog, h.log); err != nil {
		return usageError{fmt.Errorf("--jsonl-log: %w", err)}
	}
	h.watch = append(h.watch, h.journal)
	return nil
}

// rotate has the log of messages opened anew on SIGHUP, until ctx is done.
// Windows never sends one.
func (h *hubProcess) rotate(ctx context.Context) error {
	if h.journal == nil { // then it ends the hub, as it ends any program
		return nil
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			h.journal.Reopen()
		}
	}
}

func (h *hubProcess) scrape(w http.ResponseWriter, r *http.Request) error {
	h.metrics.ServeHTTP(w, r)
	return nil
}

// measure looks up what metrics do not count themselves.
func (h *hubProcess) measure(ctx context.Context) metric.State {
	s := metric.State{
		Sessions: make(map[string]int), Platforms: h.reports(), Hooks: make(map[string]metric.Calls),
		Waiting: h.relay.Waiting(), Prompts: h.relay.OpenPrompts(), Unsaved: h.relay.Unsaved(),
	}
	for _, session := range h.table.List() {
		s.Sessions[session.State]++
	}
	s.QueueEvents, s.QueueBytes = h.table.Queued()
	for _, p := range h.relay.Platforms {
		if c, ok := p.(*signalcli.Client); ok {
			s.SignalDropped = c.Dropped()
		}
	}
	if hooks, err := h.store.Hooks(ctx); err == nil {
		for _, k := range hooks {
			s.Hooks[k.Name] = metric.Calls(h.hooks.Counts(k.Name))
		}
	}
	if m, err := h.store.Measure(ctx); err == nil {
		record := metric.Record(m)
		s.Record = &record
	}
	if h.journal != nil {
		s.LogDropped = h.journal.Dropped()
	}
	return s
}

// vitals is what the service manager is told. It takes the locks of the
// sessions, the prompts and the platforms: a hub where one is stuck says nothing
// any more, and is started anew. So is one whose record can't be written, but
// not while messages are in memory alone: starting anew would lose them.
func (h *hubProcess) vitals(ctx context.Context) (string, error) {
	live := 0
	for _, session := range h.table.List() {
		if session.State == "live" {
			live++
		}
	}
	text := fmt.Sprintf("%d live sessions, %d open prompts", live, h.relay.OpenPrompts())
	for _, p := range h.reports() {
		text += fmt.Sprintf(", %s %s", p.Platform, p.State)
	}
	if n := h.relay.Unsaved(); n > 0 {
		return fmt.Sprintf("the record cannot be written, and %d messages are in memory alone; %s", n, text), nil
	}
	if err := h.store.Healthy(ctx); err != nil {
		return "", fmt.Errorf("the record cannot be written: %w", err)
	}
	return text, nil
}
