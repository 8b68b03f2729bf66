package metric

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"aldis/internal/hub"
)

// full is a state in which every family has something to say.
func full(context.Context) State {
	return State{
		Sessions: map[string]int{"live": 2, "away": 1, "gone": 4}, QueueEvents: 3, QueueBytes: 300,
		Platforms:     []hub.PlatformReport{{Platform: "signal", State: "paused", Detail: "captcha 555"}},
		SignalDropped: map[string]uint64{"typing": 5},
		Hooks:         map[string]Calls{"repo": {Accepted: 2, Refused: 1}},
		Record:        &Record{Stored: 12, Held: 2, Bytes: 4096},
		Waiting:       1, Prompts: 1, Unsaved: 1, LogDropped: 7,
	}
}

// busy returns a set that has heard of everything once.
func busy() *Set {
	s := New("v1", full)
	s.Session("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "alice", true, "connected")
	m := hub.Message{Via: hub.ViaTool, Agent: "alice", Session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	s.Received(m, hub.Receipt{Known: true}, nil, time.Millisecond)
	s.Received(hub.Message{Via: hub.ViaPlatform}, hub.Receipt{Dropped: "stranger"}, nil, time.Millisecond)
	m.Ref.Platform = "signal"
	s.Sent(m, hub.Sent{Unknown: true}, nil, time.Second)
	s.Settled("m1", hub.Delivery{Agent: "alice", State: hub.HandedOver}, time.Second)
	return s
}

func scrape(t *testing.T, s *Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics: %d %s", w.Code, w.Body)
	}
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// samples returns the lines of a scrape that begin like one of prefixes.
func samples(page string, prefixes ...string) (lines []string) {
	for line := range strings.Lines(page) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, "aldis_"+p) {
				lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "aldis_")))
			}
		}
	}
	return lines
}

func TestNamesKeepToTheConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(busy().registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMessagesCount(t *testing.T) {
	to := func(agents ...hub.AgentID) hub.Decision { return hub.Decision{To: agents} }
	tool := hub.Message{Via: hub.ViaTool, Agent: "alice", Session: "s"}
	kind := func(k string) hub.Message {
		return hub.Message{Via: hub.ViaNotify, Agent: "cron", Meta: map[string]string{"kind": k}}
	}
	person := hub.Message{Via: hub.ViaPlatform, From: hub.Sender{ID: "+15555550101"}, Ref: hub.Ref{Platform: "signal", Chat: "+15555550101"}}
	nameless := hub.AgentID("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	for _, tt := range []struct {
		name string
		m    hub.Message
		r    hub.Receipt
		err  error
		want string
	}{
		{"an agent's to another", tool, hub.Receipt{Known: true, To: "bob", Decision: to("bob")}, nil, `messages_total{kind="none",source="alice",target="bob"} 1`},
		{"an agent's to all, of whom there is one", tool, hub.Receipt{Known: true, Decision: to("bob")}, nil, `messages_total{kind="none",source="alice",target="<broadcast>"} 1`},
		{"a script's, whose name no agent has", kind("info"), hub.Receipt{Known: true, To: "bob", Decision: to("bob")}, nil, `messages_total{kind="info",source="other",target="bob"} 1`},
		{"of a kind of its own", kind("+15555550101"), hub.Receipt{Known: true, Decision: to("bob", "carol")}, nil, `messages_total{kind="other",source="other",target="<broadcast>"} 1`},
		{"for nobody", tool, hub.Receipt{To: "+15555550101"}, nil, "messages_total{kind=\"none\",source=\"alice\",target=\"other\"} 1\nsend_failures_total{reason=\"no_agent\"} 1"},
		{"a person's to one", person, hub.Receipt{Decision: to("bob")}, nil, `messages_total{kind="none",source="platform",target="bob"} 1`},
		{"a person's to several", person, hub.Receipt{Decision: to("bob", "carol")}, nil, `messages_total{kind="none",source="platform",target="<broadcast>"} 1`},
		{"a person's that waits", person, hub.Receipt{}, nil, `messages_total{kind="none",source="platform",target="other"} 1`},
		{"a person's to an agent without a name", person, hub.Receipt{Decision: to(nameless)}, nil, `messages_total{kind="none",source="platform",target="other"} 1`},
		{"an agent's that has no name", hub.Message{Via: hub.ViaTool, Agent: nameless}, hub.Receipt{Known: true}, nil, `messages_total{kind="none",source="other",target="<broadcast>"} 1`},
		{"a stranger's", person, hub.Receipt{Dropped: "stranger"}, nil, `dropped_total{reason="stranger"} 1`},
		{"one that came before", person, hub.Receipt{Repeated: true, Decision: to("bob")}, nil, ""},
		{"a script's that came before", kind("info"), hub.Receipt{}, hub.Errorf(hub.Conflict, "it is there"), ""},
		{"one that could not be recorded", tool, hub.Receipt{}, hub.Errorf(hub.Unavailable, "full"), `send_failures_total{reason="unavailable"} 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New("v1", full)
			s.Received(tt.m, tt.r, tt.err, 0)
			got := strings.Join(samples(scrape(t, s), "messages_total{", "send_failures_total", "dropped_total"), "\n")
			if got != tt.want {
				t.Errorf("counted %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSendsCount(t *testing.T) {
	m := hub.Message{Via: hub.ViaTool, Agent: "alice", Ref: hub.Ref{Platform: "signal", Chat: "+15555550101"}}
	for _, tt := range []struct {
		name   string
		sent   hub.Sent
		err    error
		reason string
	}{
		{"one that went out", hub.Sent{Reached: 1}, nil, ""},
		{"one that did not", hub.Sent{}, hub.Errorf(hub.Limited, "too many"), "limited"},
		{"one that may have", hub.Sent{Unknown: true}, nil, "outcome_unknown"},
		{"one that some did not get", hub.Sent{Reached: 1, Failed: []hub.Failure{{Recipient: "+15555550102"}}}, nil, "not_reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New("v1", full)
			s.Sent(m, tt.sent, tt.err, time.Second)
			want := []string{`messages_total{kind="none",source="alice",target="platform"} 1`, `platform_send_seconds_count{platform="signal"} 1`}
			if tt.reason != "" {
				want = append(want, fmt.Sprintf(`send_failures_total{reason="%s"} 1`, tt.reason))
			}
			if d := cmp.Diff(want, samples(scrape(t, s), "messages_total{", "platform_send_seconds_count", "send_failures_total")); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
		})
	}
}

func TestStateIsLookedUp(t *testing.T) {
	want := []string{
		`active_sessions 3`, `db_size_bytes 4096`, `held 2`,
		`hooks_total{hook="repo",result="accepted"} 2`, `hooks_total{hook="repo",result="duplicate"} 0`,
		`hooks_total{hook="repo",result="ignored"} 0`, `hooks_total{hook="repo",result="refused"} 1`,
		`jsonl_dropped_total 7`, `messages_stored_total 12`,
		`platform_state{platform="signal",state="connected"} 0`, `platform_state{platform="signal",state="connecting"} 0`,
		`platform_state{platform="signal",state="down"} 0`, `platform_state{platform="signal",state="paused"} 1`,
		`platform_up{platform="signal"} 1`, `prompts{state="open"} 1`, `queue_bytes 300`, `queue_events 3`,
		`sessions{state="away"} 1`, `sessions{state="gone"} 4`, `sessions{state="live"} 2`,
		`signal_dropped_total{reason="typing"} 5`, `unsaved 1`, `waiting 1`,
	}
	page := scrape(t, New("v1", full))
	got := samples(page, "active", "db_", "held", "hooks", "jsonl", "messages_stored", "platform_", "prompts", "queue", "sessions", "signal", "unsaved", "waiting")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("scraped (-want +got):\n%s", d)
	}
	if strings.Contains(page, "captcha") {
		t.Error("the advice of a platform, which may be a secret, is on the page")
	}
}

// A record that can't be read hides nothing else: that is when people look.
func TestScrapeWithoutARecord(t *testing.T) {
	page := scrape(t, New("v1", func(context.Context) State { return State{Unsaved: 9} }))
	if got := samples(page, "unsaved", "held", "messages_stored"); len(got) != 1 || got[0] != "unsaved 9" {
		t.Errorf("scraped %q", got)
	}
}

// However many names, kinds and reasons there are, the number of series is
// bounded.
func TestLabelsAreBounded(t *testing.T) {
	s := New("v1", full)
	for i := range 1000 {
		name := hub.AgentID(fmt.Sprintf("strange-%d", i))
		s.Session("s", name, true, "connected")
		s.Received(hub.Message{Via: hub.ViaTool, Agent: name, Meta: map[string]string{"kind": string(name)}}, hub.Receipt{Known: true, To: name, Decision: hub.Decision{To: []hub.AgentID{name}}}, nil, 0)
		s.Received(hub.Message{Via: hub.ViaNotify, Agent: "script-" + name}, hub.Receipt{Known: true, To: name, Decision: hub.Decision{To: []hub.AgentID{name}}}, nil, 0)
		s.Settled("m", hub.Delivery{Agent: name, State: hub.Failed, Reason: string(name)}, 0)
	}
	page := scrape(t, s)
	for _, tt := range []struct {
		family string
		most   int
	}{
		{"messages_total{", 2*maxNames + 2},
		{"send_failures_total{", maxReasons + 1},
		{"session_events_total{", 1},
	} {
		if n := len(samples(page, tt.family)); n > tt.most {
			t.Errorf("%s has %d series, want at most %d", tt.family, n, tt.most)
		}
	}
	for _, want := range []string{`source="strange-0"`, `source="other",target="other"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no series with %s", want)
		}
	}
}

// BenchmarkReceived is what Receive waits for the metrics.
func BenchmarkReceived(b *testing.B) {
	s := New("v1", full)
	m := hub.Message{Via: hub.ViaTool, Agent: "alice", Meta: map[string]string{"kind": "info"}}
	r := hub.Receipt{Known: true, To: "bob", Decision: hub.Decision{To: []hub.AgentID{"bob"}}}
	for b.Loop() {
		s.Received(m, r, nil, time.Millisecond)
	}
}
