package metric

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aldis/internal/hub"
)

// readFor is how long a scrape waits for the record.
const readFor = 5 * time.Second

// A State is what a scrape looks up.
type State struct {
	Sessions    map[string]int // in memory, by state
	QueueEvents int            // that wait in memory for streams to take them
	QueueBytes  int

	Platforms     []hub.PlatformReport
	SignalDropped map[string]uint64 // notices of signal-cli that brought no message, by reason
	Hooks         map[string]Calls  // by the name of a webhook

	Record  *Record // nil: it can't be read
	Waiting int64   // messages that nobody was present for
	Prompts int     // requests for permission and questions that are open
	Unsaved int     // messages that live in memory alone

	LogDropped uint64 // lines that --jsonl-log has lost
}

// A Record is the state of the record.
type Record struct {
	Stored uint64 // messages since the hub began
	Held   int    // messages that wait for an absent agent, for each that they wait for
	Bytes  int64  // on the disk
}

// Calls are what became of the calls of a webhook.
type Calls struct{ Accepted, Refused, Duplicates, Ignored uint64 }

// A Reader reads the state. It is a [prometheus.Collector].
type Reader func(context.Context) State

// present are the states of sessions that count when messages are routed.
var present = []string{"live", "away", "deaf", "pull"}

// platformStates are those of a hub.PlatformReport.
var platformStates = []string{"connected", "connecting", "down", "paused"}

var (
	activeSessions = desc("active_sessions", "Sessions that are present: live, away, deaf or pull.")
	sessionsIn     = desc("sessions", "Sessions in memory.", "state")
	queueEvents    = desc("queue_events", "Events that wait in memory for streams to take them.")
	queueBytes     = desc("queue_bytes", "Bytes of the events that wait in memory for streams to take them.")
	platformUp     = desc("platform_up", "1 while the platform is connected, sending paused or not.", "platform")
	platformState  = desc("platform_state", "1 for the state that the platform's connection is in.", "platform", "state")
	signalDropped  = desc("signal_dropped_total", "Notices of signal-cli that brought no message.", "reason")
	hooksCalled    = desc("hooks_total", "Calls of webhooks.", "hook", "result")
	stored         = desc("messages_stored_total", "Messages that were recorded.")
	size           = desc("db_size_bytes", "Size of the record on the disk; 0 if it is in memory.")
	held           = desc("held", "Messages that are held for an absent agent, for each that they are held for.")
	waiting        = desc("waiting", "Messages that wait for an agent to be there, or for the message that they answer to be named.")
	prompts        = desc("prompts", "Requests for permission and questions to people.", "state")
	unsaved        = desc("unsaved", "Messages that live in memory alone, because the record cannot be written.")
	logDropped     = desc("jsonl_dropped_total", "Lines that the log of messages (--jsonl-log) has lost.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// Describe implements [prometheus.Collector].
func (Reader) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		activeSessions, sessionsIn, queueEvents, queueBytes, platformUp, platformState, signalDropped, hooksCalled,
		stored, size, held, waiting, prompts, unsaved, logDropped,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (read Reader) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readFor)
	defer cancel()
	s, out := read(ctx), sink(ch)
	s.agents(out)
	s.platforms(out)
	s.messages(out)
}

// A sink is where a scrape's metrics go.
type sink chan<- prometheus.Metric

func (c sink) gauge(d *prometheus.Desc, v int, labels ...string) {
	c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
}

func (c sink) counter(d *prometheus.Desc, v uint64, labels ...string) {
	c <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (s State) agents(out sink) {
	active := 0
	for state, n := range s.Sessions {
		out.gauge(sessionsIn, n, state)
		if slices.Contains(present, state) {
			active += n
		}
	}
	out.gauge(activeSessions, active)
	out.gauge(queueEvents, s.QueueEvents)
	out.gauge(queueBytes, s.QueueBytes)
	out.gauge(prompts, s.Prompts, "open")
}

func (s State) platforms(out sink) {
	for _, p := range s.Platforms {
		out.gauge(platformUp, one(p.State == "connected" || p.State == "paused"), string(p.Platform))
		for _, state := range platformStates {
			out.gauge(platformState, one(p.State == state), string(p.Platform), state)
		}
	}
	for reason, n := range s.SignalDropped {
		out.counter(signalDropped, n, reason)
	}
	for name, c := range s.Hooks {
		out.counter(hooksCalled, c.Accepted, name, "accepted")
		out.counter(hooksCalled, c.Refused, name, "refused")
		out.counter(hooksCalled, c.Duplicates, name, "duplicate")
		out.counter(hooksCalled, c.Ignored, name, "ignored")
	}
}

func (s State) messages(out sink) {
	if r := s.Record; r != nil {
		out.counter(stored, r.Stored)
		out.gauge(size, int(r.Bytes))
		out.gauge(held, r.Held)
	}
	out.gauge(waiting, int(s.Waiting))
	out.gauge(unsaved, s.Unsaved)
	out.counter(logDropped, s.LogDropped)
}

// one is 1 if something is so.
func one(so bool) int {
	if so {
		return 1
	}
	return 0
}
