package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

// A counter is a record of which nothing but its changes is asked.
type counter struct {
	record
	n atomic.Uint64
}

type record = hub.Log

func (c *counter) Changes() uint64 { return c.n.Load() }

// watch opens a live stream, and returns what it has written when it ends.
func watch(t *testing.T, p *Pages) (written func() string, leave func()) {
	ctx, leave := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.live(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/admin/live", nil)); err != nil {
			t.Error(err)
		}
	}()
	return func() string { <-done; return w.Body.String() }, leave
}

func TestALiveStreamTellsOfChangesAtMostTwiceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		log := &counter{}
		log.n.Store(7)
		written, _ := watch(t, &Pages{Record: log, Ended: ended})
		synctest.Wait()
		for range 100 {
			log.n.Add(1)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(aliveEvery)
		close(ended)
		got := written()
		if n := strings.Count(got, "event: changed\n"); n < 3 || n > 4 {
			t.Errorf("%d events in a second of changes, want the first number and two or three more:\n%s", n, got)
		}
		if !strings.HasPrefix(got, changed(7)) || !strings.Contains(got, changed(107)) || !strings.HasSuffix(got, ": alive\n\n") {
			t.Errorf("want 7 first, 107 last, then a sign of life:\n%s", got)
		}
	})
}

func TestAttackManyLiveStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pages{Record: &counter{}}
		var leave func()
		for range maxViewers {
			_, leave = watch(t, p)
		}
		synctest.Wait()
		one := func() error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return p.live(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/admin/live", nil))
		}
		for range 3 {
			if err := one(); hub.KindOf(err) != hub.Limited {
				t.Errorf("one more: %v, want Limited", err)
			}
		}
		leave()
		synctest.Wait()
		if err := one(); err != nil {
			t.Errorf("once one has left: %v", err)
		}
	})
}
