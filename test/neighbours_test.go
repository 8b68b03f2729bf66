package test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// TestTroublesomeNeighbours gives two well-behaved agents every bad neighbour
// at once. None delays, takes or loses what is theirs.
func TestTroublesomeNeighbours(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "deploy-bot", "--rate-limit", "0")
	deploy, desk := h.connect("deploy-bot"), h.connectAs(agentOptions{label: "desk"})

	stalled := h.connectAs(agentOptions{header: "stalled", deaf: true})
	stalled.Stall()
	h.awaitPresence("stalled", true)
	var stoodStill atomic.Bool // the machine: a visit of 50 ms took far longer
	visit := func(ctx context.Context, o agentOptions) {
		start := time.Now()
		h.visit(ctx, o, 50*time.Millisecond)
		if time.Since(start) > 500*time.Millisecond {
			stoodStill.Store(true)
		}
	}
	trouble := map[string]func(ctx context.Context){
		"another that does not read what it is sent": func(context.Context) {
			_, _ = h.try(http.MethodPost, "/notify?label=cron", map[string]any{"content": strings.Repeat("x", 32<<10), "target": "stalled"}, bearer(token))
		},
		"visits of 50 ms with the agent's own header": func(ctx context.Context) {
			visit(ctx, agentOptions{header: "deploy-bot"})
		},
		"visits of 50 ms with the agent's own label": func(ctx context.Context) {
			visit(ctx, agentOptions{label: "desk"})
		},
		"another of its name that initializes each second": func(ctx context.Context) {
			h.visit(ctx, agentOptions{header: "deploy-bot", client: "claude-code"}, time.Second)
		},
		"two that fight for a seat of their own": func(ctx context.Context) {
			h.visit(ctx, agentOptions{label: "throne"}, 1100*time.Millisecond)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	var neighbours sync.WaitGroup
	t.Cleanup(func() { stop(); neighbours.Wait() })
	for _, bother := range trouble {
		neighbours.Go(func() {
			for ctx.Err() == nil {
				bother(ctx)
			}
		})
	}

	var want []string
	var slowest time.Duration
	for i := range 100 {
		text := fmt.Sprint("message ", i)
		want = append(want, text)
		start := time.Now()
		d.Receive(d.Text(d.Contacts[1], 1796200000000+int64(i), "nobody hears a stranger", 0))
		receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"timestamp": int64(1796200000000) + int64(i), "message": text}))
		h.notify("cron", "desk", text)
		deploy.await(i + 1)
		desk.await(i + 1)
		slowest = max(slowest, time.Since(start))
	}
	stop()
	neighbours.Wait()
	for name, a := range map[string]*agent{"deploy-bot": deploy, "desk": desk} {
		if got := contents(a.got()); !slices.Equal(got, want) {
			t.Errorf("%s has %d messages, want 100 in order: %q", name, len(got), got)
		}
	}
	// A visit that goes on for a second is none: it takes the seat.
	if slowest > 3*time.Second && !stoodStill.Load() {
		t.Errorf("a message took %s", slowest)
	}
}

// TestStalledAgentLosesNothing has an agent stop reading until its stream is
// cut: when it reads again it gets all, each message once. What its TCP took in
// and it never read counts as handed over: that is in its inbox.
func TestStalledAgentLosesNothing(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--rate-limit", "0")
	a := h.connectAs(agentOptions{header: "stalled", deaf: true})
	stream := a.Stall()
	h.awaitPresence("stalled", true)
	var want []string
	for range 600 { // 19 MB: past the sockets' buffers, and the hub's
		want = append(want, h.notify("cron", "stalled", strings.Repeat("x", 32<<10)))
	}
	stream.Close()
	a.join()
	t.Cleanup(a.disconnect)
	last := want[len(want)-1]
	eventually(t, "the last message comes", func() bool {
		got := a.got()
		return len(got) > 0 && got[len(got)-1].Meta["id"] == last
	})
	got := make([]string, 0, len(want))
	for _, e := range a.got() {
		got = append(got, e.Meta["id"])
	}
	unread := len(want) - len(got)
	if !slices.Equal(got, want[max(unread, 0):]) {
		t.Errorf("it has %d messages, want the last of %d, in order and once", len(got), len(want))
	}
	if unread < 0 || unread > 8 { // 256 KB in the buffer of a socket
		t.Errorf("%d messages count as handed over that were not read", unread)
	}
	for _, id := range want[:max(unread, 0)] {
		if text := a.call("get_message", map[string]any{"id": id}); len(text) != 32<<10 {
			t.Errorf("an unread message has %d bytes in the inbox", len(text))
		}
	}
}

// visit opens a session and its stream, for a while, as clients do that only
// look whether a server is there.
func (h *hub) visit(ctx context.Context, o agentOptions, d time.Duration) {
	a := h.agent(o)
	if first := a.Initialize(); first.Status != http.StatusOK {
		h.t.Errorf("a visit: %d %s", first.Status, first.Body)
		return
	}
	ctx, leave := context.WithTimeout(ctx, d)
	defer leave()
	a.stream(ctx)
}
