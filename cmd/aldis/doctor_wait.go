package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A probe finds something out, until its context ends.
type probe func(context.Context)

// A waiting says on a terminal what is waited for, once that takes a second.
type waiting struct {
	out  io.Writer // a terminal; nil: nobody looks
	done chan struct{}
	over sync.WaitGroup

	mu      sync.Mutex
	running map[string]bool // guarded by mu
}

func newWaiting(terminal io.Writer) *waiting {
	w := &waiting{out: terminal, done: make(chan struct{}), running: map[string]bool{}}
	if terminal != nil {
		w.over.Go(w.show)
	}
	return w
}

// round makes probes at once, each for no longer than limit, and waits for all.
func (w *waiting) round(ctx context.Context, limit time.Duration, probes map[string]probe) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var all sync.WaitGroup
	for name, do := range probes {
		w.note(name, true)
		all.Go(func() {
			defer w.note(name, false)
			do(ctx)
		})
	}
	all.Wait()
}

func (w *waiting) note(name string, runs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if runs {
		w.running[name] = true
	} else {
		delete(w.running, name)
	}
}

func (w *waiting) show() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.mu.Lock()
			names := slices.Sorted(maps.Keys(w.running))
			w.mu.Unlock()
			fmt.Fprintf(w.out, "\r\x1b[Kwaiting for %s …", strings.Join(names, ", "))
		case <-w.done:
			fmt.Fprint(w.out, "\r\x1b[K") // ECMA-48 EL: what was shown is gone
			return
		}
	}
}

func (w *waiting) stop() {
	close(w.done)
	w.over.Wait()
}
