package test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var notifies = flag.Int("notifies", 0, "messages that TestFloodAndKills has accepted; 0: 100,000, or 2,000 with -short or -race")

// So many posts are in flight, to so many agents.
const (
	flooders = 64
	flooded  = 50
)

// TestFloodAndKills posts at full speed to 50 agents while the hub is killed ten
// times and started again at once. What was accepted has a row, which says that
// it was handed over, or why not; and no session is sent a row twice.
func TestFloodAndKills(t *testing.T) { // not beside others, whose patience it would try
	n, kills := 100_000, 10
	if testing.Short() || len(raceFlags) > 0 {
		n, kills = 2000, 3
	}
	if *notifies > 0 {
		n = *notifies
	}
	h := startHub(t, "--rate-limit", "0")
	agents := make([]*agent, flooded)
	for i := range agents {
		agents[i] = h.connect(fmt.Sprint("agent-", i))
	}
	begun := time.Now()
	f := startFlood(h, n)
	for i := range kills {
		eventually(t, "more is accepted", func() bool { return int(f.count.Load()) >= (i+1)*n/(kills+1) })
		h.kill()
		h.start()
	}
	accepted := f.wait()
	t.Logf("%d accepted in %s, beside %d attempts that failed", len(accepted), time.Since(begun).Round(time.Millisecond), f.failed.Load())
	if len(accepted) < n {
		t.Fatalf("%d were accepted, want %d", len(accepted), n)
	}
	begun = time.Now()
	undelivered := wantFates(t, h, accepted)
	t.Logf("each has a fate after %s more; %d say why they were not delivered", time.Since(begun).Round(time.Millisecond), len(undelivered))
	wantEachOnce(t, agents, accepted, undelivered)
}

// A flood posts until enough was accepted. What fails is not posted again: it
// may have been accepted, and nobody knows.
type flood struct {
	hub    *hub
	want   int64
	count  atomic.Int64 // accepted
	failed atomic.Int64
	wg     sync.WaitGroup
	ids    [flooders]map[string]int // accepted by each: id → agent
}

func startFlood(h *hub, want int) *flood {
	f := &flood{hub: h, want: int64(want)}
	for i := range flooders {
		f.ids[i] = make(map[string]int)
		f.wg.Go(func() { f.post(i) })
	}
	return f
}

// post is what one of those does that post.
func (f *flood) post(i int) {
	w := &wire{hub: f.hub}
	defer w.close()
	for n := i; f.count.Load() < f.want; n += flooders {
		id, err := w.notify(fmt.Sprint("agent-", n%flooded), fmt.Sprint("message ", n))
		if err != nil {
			f.failed.Add(1)
			time.Sleep(5 * time.Millisecond) // the hub is being started
			continue
		}
		f.ids[i][id] = n % flooded
		f.count.Add(1)
	}
}

// wait returns whom each message was for that was accepted, by its id.
func (f *flood) wait() map[string]int {
	f.wg.Wait()
	all := make(map[string]int, f.want)
	for _, ids := range f.ids {
		for id, agent := range ids {
			all[id] = agent
		}
	}
	return all
}

// wantFates waits until the hub says of each message that it was handed over,
// or why it was not. It returns the latter.
func wantFates(t *testing.T, h *hub, accepted map[string]int) map[string]string {
	t.Helper()
	open := make(chan string, len(accepted))
	for id := range accepted {
		open <- id
	}
	var left atomic.Int64
	left.Store(int64(len(accepted)))
	var mu sync.Mutex
	why := make(map[string]string)
	var wg sync.WaitGroup
	deadline := time.Now().Add(patience)
	for range flooders {
		wg.Go(func() {
			w := &wire{hub: h}
			defer w.close()
			for left.Load() > 0 {
				var id string
				select {
				case id = <-open:
				default: // the others have the last ones
					return
				}
				state, reason := fateOf(t, w, id, fmt.Sprint("agent-", accepted[id]))
				switch {
				case state == "handed_over" || state == "acknowledged":
					left.Add(-1)
				case state == "failed" && reason != "":
					left.Add(-1)
					mu.Lock()
					why[id] = reason
					mu.Unlock()
				case state == "" || time.Now().After(deadline):
					t.Errorf("message %s for agent-%d is %q %q", id, accepted[id], state, reason)
					return
				default:
					open <- id
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return why
}

// fateOf asks what became of a message for one agent alone; "" if there is no
// such row.
func fateOf(t *testing.T, w *wire, id, agent string) (state, reason string) {
	status, answer, err := w.do(http.MethodGet, "/notify/"+id, "")
	var fate struct {
		Recipients []struct{ Agent, State, Reason string }
	}
	if err == nil {
		err = json.Unmarshal(answer, &fate)
	}
	if err != nil || status != http.StatusOK || len(fate.Recipients) != 1 || fate.Recipients[0].Agent != agent {
		t.Errorf("GET /notify/%s: %d %s, %v; want %s alone", id, status, answer, err, agent)
		return "", ""
	}
	return fate.Recipients[0].State, fate.Recipients[0].Reason
}

// wantEachOnce checks that each agent has what was accepted for it, but for
// what the hub says was not delivered, and nothing twice.
func wantEachOnce(t *testing.T, agents []*agent, accepted map[string]int, undelivered map[string]string) {
	t.Helper()
	has := make([]map[string]int, len(agents))
	for i, a := range agents {
		has[i] = make(map[string]int)
		for _, e := range a.got() {
			has[i][e.Meta["id"]]++
			if n := has[i][e.Meta["id"]]; n == 2 {
				t.Errorf("%s has %s twice", a.name(), e.Meta["id"])
			}
		}
		if len(a.refused) > 0 {
			t.Errorf("a stream of %s was refused: %v", a.name(), a.refused)
		}
	}
	missing := 0
	for id, agent := range accepted {
		if has[agent][id] == 0 && undelivered[id] == "" {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d messages were said to be handed over, and have not come", missing)
	}
}
