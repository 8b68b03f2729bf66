package phone

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

// A watcher is a page that watches the phone within a synctest bubble.
type watcher struct {
	leave context.CancelFunc
	done  chan error // what the stream ended with

	mu   sync.Mutex
	text strings.Builder
}

func watch(t *testing.T, p *Phone) *watcher {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{leave: cancel, done: make(chan error, 1)}
	go func() {
		w.done <- p.events(w, httptest.NewRequestWithContext(ctx, "GET", "/phone/events", nil))
	}()
	synctest.Wait()
	return w
}

func (w *watcher) Header() http.Header { return http.Header{} }
func (w *watcher) WriteHeader(int)     {}
func (w *watcher) Flush()              {}
func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// events returns what the page was sent since the last call.
func (w *watcher) events() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Split(w.text.String(), "\n\n")
	w.text.Reset()
	return all[:len(all)-1]
}

// inBubble runs f with a phone that runs, on the bubble's clock.
func inBubble(t *testing.T, f func(t *testing.T, p *Phone)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPhone(t, "")
		stop := run(t, p, &recorder{})
		f(t, p)
		stop()
		synctest.Wait()
	})
}

func TestThePageIsToldEverythingThenChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Phone) {
		say(t, p, "deploy-bot", "before")
		w := watch(t, p)
		first := w.events()
		id, data, _ := strings.Cut(first[0], "\nevent: state\ndata: ")
		var all snapshot
		if err := json.Unmarshal([]byte(data), &all); err != nil || id != "id: 2" || len(first) != 1 {
			t.Fatalf("first event %q: %v", first, err)
		}
		want := snapshot{
			Bubbles:  []bubble{{Key: key(0), Chat: operator, Agent: "deploy-bot", Text: "before"}},
			Received: []received{}, Agents: p.agents(),
		}
		if d := cmp.Diff(want, all); d != "" {
			t.Errorf("snapshot (-want +got):\n%s", d)
		}
		say(t, p, "deploy-bot", "after")
		change := []string{"id: 3\nevent: change\ndata: " + `{"bubble":{"key":"` + key(1) + `","chat":"operator","mine":false,"agent":"deploy-bot","text":"after"}}`}
		if d := cmp.Diff(change, w.events()); d != "" {
			t.Errorf("change (-want +got):\n%s", d)
		}
	})
}

func TestThePageIsToldOfAgentsThatComeAndGo(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Phone) {
		w := watch(t, p)
		w.events()
		time.Sleep(10 * lookEvery)
		if got := w.events(); len(got) != 0 {
			t.Errorf("told %q, though nothing has changed", got)
		}
		w.leave()
		synctest.Wait()

		state := "live"
		p.Agents = func() []AgentState {
			s := AgentState{Name: "a", State: state}
			state = "away" // from the next look on
			return []AgentState{s}
		}
		again := watch(t, p)
		again.events()
		time.Sleep(2 * lookEvery)
		want := []string{"event: change\ndata: " + `{"agents":[{"name":"a","state":"away","sample":false,"default":false,"online":false}]}`}
		if d := cmp.Diff(want, again.events()); d != "" {
			t.Errorf("change (-want +got):\n%s", d)
		}
	})
}

func TestAStreamShowsThatItLives(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Phone) {
		w := watch(t, p)
		w.events()
		time.Sleep(aliveEvery + time.Second)
		if d := cmp.Diff([]string{": alive"}, w.events()); d != "" {
			t.Errorf("sent (-want +got):\n%s", d)
		}
	})
}

func TestAPageThatDoesNotReadIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Phone) {
		v, _, _, err := p.watch() // a page whose connection takes nothing
		if err != nil {
			t.Fatal(err)
		}
		for range maxQueue + 1 {
			say(t, p, "a", "line")
		}
		n := 0
		for range v.queue {
			n++
		}
		if n != maxQueue || len(p.viewers) != 0 {
			t.Errorf("%d events queued, %d viewers left", n, len(p.viewers))
		}
		p.leave(v) // as its handler does then
	})
}

func TestViewersAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Phone) {
		var last *watcher
		for range maxViewers {
			last = watch(t, p)
		}
		if err := <-watch(t, p).done; hub.KindOf(err) != hub.Limited {
			t.Errorf("one too many: %v", err)
		}
		last.leave()
		synctest.Wait()
		if w := watch(t, p); len(w.events()) != 1 {
			t.Error("one has left, and there is no room")
		}
	})
}

func TestPagesAreCutWhenTheHubStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPhone(t, "")
		stop := run(t, p, &recorder{})
		w := watch(t, p)
		stop()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if err := <-watch(t, p).done; hub.KindOf(err) != hub.Unavailable {
			t.Errorf("a page that comes late: %v", err)
		}
	})
}
