package test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// TestKilledUnderLoad kills the hub while agents are connected and messages
// arrive, and starts it again: each message that it accepted reaches its agent
// once, and none is lost.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	for _, down := range []time.Duration{500 * time.Millisecond, time.Second, 3 * time.Second} {
		t.Run("down for "+down.String(), func(t *testing.T) {
			t.Parallel()
			tellKill(t, down)
		})
	}
}

func tellKill(t *testing.T, down time.Duration) {
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob, "--default-agent", "crush-signal", "--rate-limit", "0")
	deploy, crush := h.connect("deploy-bot"), h.connect("crush-signal")

	s := startScripts(h, "deploy-bot")
	p := startPhone(t, d)
	eventually(t, "messages have come", func() bool { return len(deploy.got()) > 20 && len(crush.got()) > 20 })
	h.kill()
	before := s.count()
	time.Sleep(down) // how long the hub is away is what this is about
	h.start()
	h.awaitReady()
	p.again() // as Signal's server does with what no device has acknowledged
	eventually(t, "more messages are accepted", func() bool { return s.count() > before+20 })
	accepted, written := s.stop(), p.stop()

	// What comes last comes after whatever might come twice.
	accepted = append(accepted, h.notify("cron", "deploy-bot", "the end"))
	h.notify("cron", "crush-signal", "the end")
	written = append(written, "the end")
	wantOnce(t, deploy, accepted, func(e event) string { return e.Meta["id"] })
	wantOnce(t, crush, written, func(e event) string { return e.Content })
	for _, a := range []*agent{deploy, crush} {
		if len(a.refused) > 0 {
			t.Errorf("a stream was refused: %v", a.refused)
		}
	}
}

// wantOnce waits until an agent has all of want, and checks that it has each
// of them once, by the name that key gives an event.
func wantOnce(t *testing.T, a *agent, want []string, key func(event) string) {
	t.Helper()
	count := func() map[string]int {
		n := map[string]int{}
		for _, e := range a.got() {
			n[key(e)]++
		}
		return n
	}
	eventually(t, fmt.Sprintf("%s has all %d messages", a.name(), len(want)), func() bool {
		n := count()
		return !slices.ContainsFunc(want, func(k string) bool { return n[k] == 0 })
	})
	for k, n := range count() {
		if n != 1 {
			t.Errorf("%s has %q %d times", a.name(), k, n)
		}
	}
}

// A load makes messages until it is stopped.
type load struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	names []string // of the messages that were accepted
}

// startLoad calls one, which returns the name of what was accepted, if
// anything was, fifty times a second.
func startLoad(t testing.TB, one func(i int) (name string)) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	l.wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if name := one(i); name != "" {
				l.mu.Lock()
				l.names = append(l.names, name)
				l.mu.Unlock()
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.names)
}

func (l *load) stop() []string {
	l.cancel()
	l.wg.Wait()
	return l.names
}

// startScripts posts messages to an agent. A script whose post was not
// accepted goes on to the next.
func startScripts(h *hub, target string) *load {
	return startLoad(h.t, func(i int) string {
		a, err := h.try(http.MethodPost, "/notify?label=cron", map[string]any{"content": fmt.Sprint("script ", i), "target": target}, bearer(token))
		if err != nil || a.status != http.StatusAccepted {
			return ""
		}
		return a.object(h.t)["id"].(string)
	})
}

// A phone writes without a pause. What it has written can come again.
type phone struct {
	*load
	d *hubtest.Daemon
}

func startPhone(t testing.TB, d *hubtest.Daemon) *phone {
	p := &phone{d: d}
	p.load = startLoad(t, p.write)
	return p
}

func (p *phone) write(i int) string {
	text := fmt.Sprint("phone ", i)
	p.d.Receive(p.d.Text(p.d.Contacts[1], 1796200000000+int64(i), text, 0))
	return text
}

// again repeats all that was written so far.
func (p *phone) again() {
	for i := range p.count() {
		p.write(i)
	}
}

// TestAcceptedJustBeforeTheKill kills the hub right after it has accepted a
// message that nobody could be handed yet.
func TestAcceptedJustBeforeTheKill(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	deploy := h.connect("deploy-bot")
	deploy.disconnect() // its stream ends: it counts as away, and comes back
	id := h.notify("cron", "deploy-bot", "the last words")
	h.kill()
	h.start()
	deploy.join()
	got := deploy.await(1)[0]
	wantEvent(t, "after the restart", got, "the last words", map[string]string{"id": id, "source": "cron", "from": "cron"})
}

// TestRepliesAcrossARestart answers, after a kill, what was sent before it.
func TestRepliesAcrossARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		routesFile bool
		agent      string
		status     string
	}{
		{"the routes are in memory alone", false, "crush-signal", "unknown"},
		{"the routes are in a file", true, "deploy-bot", "routed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--default-agent", "crush-signal"}
			if tt.routesFile {
				args = append(args, "--routes-file", filepath.Join(t.TempDir(), "routes"))
			}
			d := hubtest.NewDaemon(t)
			h := startSignalHub(t, d, args...)
			agents := map[string]*agent{"deploy-bot": h.connect("deploy-bot"), "crush-signal": h.connect("crush-signal")}
			sent := messageID(t, agents["deploy-bot"].call("send", map[string]any{"text": "Roll out?"}))
			h.kill()
			h.start()
			h.awaitReady()
			receive(t, d, noteToSelf("sync_note_to_self_quote", sent, map[string]any{"quote.text": "deploy-bot: Roll out?"}))
			got := agents[tt.agent].await(1)[0]
			wantEvent(t, "reply", got, "go ahead", map[string]string{"route_status": tt.status, "in_reply_to_timestamp": sent})
			if !strings.Contains(got.Meta["in_reply_to_text"], "Roll out?") {
				t.Errorf("in_reply_to_text is %q", got.Meta["in_reply_to_text"])
			}
		})
	}
}

// TestSeatsSurviveARestart kills the hub when one session has taken another's
// label: it keeps it.
func TestSeatsSurviveARestart(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	first := h.connectAs(agentOptions{label: "desk"})
	second := h.connectAs(agentOptions{label: "desk"})
	second.call("inbox", nil) // takes the seat
	h.notify("cron", "desk", "before")
	second.await(1)
	h.kill()
	h.start()
	h.notify("cron", "desk", "after")
	second.await(2)
	if text, isError := first.callRaw("inbox", nil); !isError || !strings.Contains(text, "another session") {
		t.Errorf("the evicted session is told %q", text)
	}
	if got := contents(first.got()); len(got) != 0 {
		t.Errorf("the evicted session got %q", got)
	}
	if got, want := contents(second.got()), []string{"before", "after"}; !slices.Equal(got, want) {
		t.Errorf("the holder got %q, want %q", got, want)
	}
}

// TestAskedToEnd sends SIGTERM: streams end in order, with the word to come
// back later, and the sessions go on with the next hub.
func TestAskedToEnd(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d)
	deploy := h.connect("deploy-bot")
	puller := h.connectAs(agentOptions{header: "puller", deaf: true})
	waiting := make(chan string, 1)
	go func() {
		defer close(waiting) // a call that breaks ends the test
		text, _ := puller.callRaw("inbox", map[string]any{"wait_seconds": 50})
		waiting <- text
	}()
	h.awaitPresence("puller", true) // the call is under way
	if code := h.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if text := <-waiting; !strings.Contains(text, "stopping") {
		t.Errorf("the call under way is told %q", text)
	}
	deploy.mu.Lock()
	retry := deploy.retry
	deploy.mu.Unlock()
	if retry < 5000 {
		t.Errorf("streams end with retry: %d, want a longer one than the 2000 at their beginning", retry)
	}
	h.start()
	h.notify("cron", "deploy-bot", "welcome back")
	deploy.await(1)
	if strings.Contains(h.log.String(), `"level":"ERROR"`) {
		t.Errorf("an orderly end logs errors:\n%s", h.log)
	}
}
