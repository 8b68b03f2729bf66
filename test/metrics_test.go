package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// metrics scrapes the hub.
func (h *hub) metrics() string {
	h.t.Helper()
	a := h.do(http.MethodGet, "/metrics", nil, bearer(h.adminToken()))
	if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		h.t.Fatalf("GET /metrics: %d %s %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	return a.body
}

// awaitMetrics waits until a scrape has all these lines.
func (h *hub) awaitMetrics(lines ...string) (page string) {
	h.t.Helper()
	for _, line := range lines {
		eventually(h.t, line, func() bool {
			page = h.metrics()
			return slices.Contains(strings.Split(page, "\n"), line)
		})
	}
	return page
}

func TestMetricsTellWhatHappened(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob, "--default-agent", "deploy-bot")
	a := h.connect("deploy-bot")
	receive(t, d, capture("dm"))
	receive(t, d, capture("dm")) // doubled
	h.notify("cron", "deploy-bot", "a text of its own")
	h.notify("cron", "nobody", "for nobody")
	a.await(2)
	a.call("send", map[string]any{"text": "done"})
	a.call("send_message", map[string]any{"content": "hello", "meta": map[string]any{"kind": "status"}})
	if r := h.do(http.MethodPost, "/hooks/strange", map[string]any{}, bearer(token)); r.status != http.StatusNotFound {
		t.Errorf("a hook that is none: %d", r.status)
	}

	page := h.awaitMetrics(
		`aldis_messages_total{kind="none",source="platform",target="deploy-bot"} 1`,
		`aldis_messages_total{kind="none",source="other",target="deploy-bot"} 1`,
		`aldis_messages_total{kind="none",source="other",target="other"} 1`,
		`aldis_messages_total{kind="none",source="deploy-bot",target="platform"} 1`,
		`aldis_messages_total{kind="status",source="deploy-bot",target="<broadcast>"} 1`,
		`aldis_send_failures_total{reason="no_agent"} 1`,
		`aldis_messages_stored_total 5`,
		`aldis_handover_seconds_count 2`,
		`aldis_receive_seconds_count 5`,
		`aldis_send_message_duration_seconds_count 1`,
		`aldis_platform_send_seconds_count{platform="signal"} 1`,
		`aldis_platform_up{platform="signal"} 1`,
		`aldis_active_sessions 1`,
		`aldis_sessions{state="live"} 1`,
		`aldis_session_events_total{event="connected"} 1`,
		`aldis_session_events_total{event="live"} 1`,
		`aldis_unsaved 0`, `aldis_waiting 0`, `aldis_held 0`,
	)
	for _, private := range []string{bob[1:], operator[1:], a.Session[:8], "a text of its own", "cron", "nobody"} {
		if strings.Contains(page, private) {
			t.Errorf("%q is in the metrics", private)
		}
	}
}

func TestMetricsCountWhatIsKeptOut(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d)
	receive(t, d, capture("dm")) // Bob is a stranger
	page := h.awaitMetrics(`aldis_dropped_total{reason="stranger"} 1`)
	if strings.Contains(page, "aldis_messages_total{") {
		t.Error("a message that was dropped is counted as one taken in")
	}
}

// Whoever may write to the hub can make names up: they make no series.
func TestStrangeNamesMakeNoSeries(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--rate-limit", "0")
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("strange-%d-%d", worker, i)
				h.notify(name, name+"-target", "hello")
			}
		})
	}
	all.Wait()
	page := h.awaitMetrics(`aldis_messages_total{kind="none",source="other",target="other"} 1000`, `aldis_send_failures_total{reason="no_agent"} 1000`)
	if strings.Contains(page, "strange") {
		t.Error("a name that no agent has is in the metrics")
	}
}

// logLines reads the log of messages. Each line must be an object.
func logLines(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("not an object: %q: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339, object["ts"].(string)); err != nil {
			t.Errorf("the time of %q: %v", line, err)
		}
		all = append(all, object)
	}
	return all
}

// said shows messages and events of the log, those about id alone unless it is
// empty.
func said(lines []map[string]any, id string) (short []string) {
	for _, l := range lines {
		switch {
		case id != "" && l["id"] != id:
		case l["kind"] == "message":
			short = append(short, fmt.Sprintf("message %v %v>%v %q to %v", l["via"], l["source"], l["target"], l["content"], l["delivered_to"]))
		default:
			short = append(short, fmt.Sprint("event ", l["event"], " ", l["target"], l["agent"]))
		}
	}
	return short
}

func awaitLogged(t *testing.T, path, line string) {
	t.Helper()
	eventually(t, "the log has "+line, func() bool { return slices.Contains(said(logLines(t, path), ""), line) })
}

func TestMessageLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--jsonl-log", path, "--trusted-sender", bob, "--default-agent", "deploy-bot", "--alias", "notes=deploy-bot")
	a := h.connect("deploy-bot")
	id := h.notify("cron", "notes", "build <214> is green")
	awaitLogged(t, path, "event handed_over deploy-bot<nil>")
	want := []string{
		`message notify cron>deploy-bot "build <214> is green" to [deploy-bot]`,
		`event handed_over deploy-bot<nil>`,
	}
	if got := said(logLines(t, path), id); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	lost := h.notify("cron", "nobody", "for nobody")
	receive(t, d, capture("dm"))
	a.await(2)
	a.call("send", map[string]any{"text": "done"})
	if code := h.stop(); code != 0 {
		t.Errorf("the hub ends with %d", code)
	}

	lines := logLines(t, path)
	if got := said(lines, lost); !slices.Equal(got, []string{`message notify cron>nobody "for nobody" to []`, `event delivery_skipped nobody<nil>`}) {
		t.Errorf("of a message for nobody the log has %q", got)
	}
	all := said(lines, "")
	for _, want := range []string{
		"event session_connected <nil>deploy-bot", "event session_live <nil>deploy-bot",
		fmt.Sprintf(`message tool deploy-bot>%s "done" to [signal]`, operator), // the last thing before the end
	} {
		if !slices.Contains(all, want) {
			t.Errorf("the log has no %q: %q", want, all)
		}
	}
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), a.Session) || strings.Contains(string(b), "notes") {
		t.Errorf("the id of a session, or an alias, is in the log: %v", err)
	}
	if strings.Contains(h.log.String(), "build <214>") {
		t.Error("the text of a message is in the hub's own log")
	}
}

func TestMessageLogIsRotated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGHUP on Windows")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	h := startHub(t, "--jsonl-log", path)
	h.connect("deploy-bot")
	const lines = 100
	var all []string
	write := func(n int) {
		for range n {
			all = append(all, h.notify("cron", "deploy-bot", "hello"))
		}
	}
	write(lines)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a new file", func() bool { _, err := os.Stat(path); return err == nil })
	write(lines)
	if code := h.stop(); code != 0 {
		t.Errorf("the hub ends with %d", code)
	}
	var got []string
	for _, l := range slices.Concat(logLines(t, path+".1"), logLines(t, path)) {
		if l["kind"] == "message" {
			got = append(got, l["id"].(string))
		}
	}
	if !slices.Equal(got, all) {
		t.Errorf("both files have %d messages, want all %d in order", len(got), len(all))
	}
}

func TestMessageLogThatCannotBeIsASettingThatIsWrong(t *testing.T) {
	t.Parallel()
	r := aldis(t, "serve", "--auth-token", token, "--state-dir", t.TempDir(), "--port", "0", "--jsonl-log", t.TempDir())
	if r.code != 2 || !strings.Contains(r.stderr, "--jsonl-log") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}
