// Package metric counts what the hub does, and serves it to Prometheus.
//
// Its one rule: what a label can be is bounded, and tells nothing of people. The
// names of known agents are the only words in it that are not the hub's own.
package metric

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"aldis/internal/hub"
)

// Values of labels that stand for others.
const (
	other     = "other"       // what is past a bound, or known to nobody
	person    = "platform"    // whoever writes, or is written to, on a platform
	broadcast = "<broadcast>" // all other agents
)

// The bounds of labels.
const (
	maxNames   = 100
	maxReasons = 32
)

// kinds are what agents say of their messages in meta (docs/clients.md).
var kinds = []string{"info", "status", "ack", "request", "question", "reply"}

// Bounds of buckets, in seconds.
var (
	quick = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	slow  = []float64{.1, .5, 1, 1.5, 2, 5, 10, 30, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600}
)

// A Set is all metrics of a hub. It is a [hub.Watcher].
type Set struct {
	registry *prometheus.Registry
	agents   *bounded
	reasons  *bounded

	messages, failures, dropped, sessions, verdicts *prometheus.CounterVec
	receive, toAgents, handover                     prometheus.Histogram
	toPlatforms                                     *prometheus.HistogramVec
}

var _ hub.Watcher = (*Set)(nil)

// New returns the metrics of a hub of that version. Each scrape calls read for
// what is not counted but looked up.
func New(version string, read Reader) *Set {
	s := &Set{
		registry: prometheus.NewRegistry(), agents: newBounded(maxNames), reasons: newBounded(maxReasons),

		messages: counters("messages_total", "Messages that were taken in, or that a platform was asked to send.", "source", "target", "kind"),
		failures: counters("send_failures_total", "Messages that did not reach somebody they were for.", "reason"),
		dropped:  counters("dropped_total", "Messages of people that were kept out.", "reason"),
		sessions: counters("session_events_total", "States that sessions have come into.", "event"),
		verdicts: counters("verdicts_total", "Answers of people to requests for permission.", "verdict"),

		receive:     histogram("receive_seconds", "How long it took to take a message in.", quick),
		toAgents:    histogram("send_message_duration_seconds", "How long it took to take a message of an agent to agents in.", quick),
		handover:    histogram("handover_seconds", "How long a message has waited until an agent was known to have it; a second of that is the proof.", slow),
		toPlatforms: prometheus.NewHistogramVec(histogramOpts("platform_send_seconds", "How long a platform took to send a message.", quick), []string{"platform"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "1, with the version of the hub."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	for _, verdict := range []bool{true, false} {
		s.verdicts.WithLabelValues(verdictOf(verdict))
	}
	s.registry.MustRegister(
		s.messages, s.failures, s.dropped, s.sessions, s.verdicts, s.receive, s.toAgents, s.handover, s.toPlatforms, build, read,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return s
}

const namespace = "aldis"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOpts(name, help, buckets))
}

func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
}

// ServeHTTP answers a scrape.
func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// Received implements [hub.Watcher].
func (s *Set) Received(m hub.Message, r hub.Receipt, err error, took time.Duration) {
	s.receive.Observe(took.Seconds())
	if m.Via == hub.ViaTool {
		s.toAgents.Observe(took.Seconds())
		s.agents.add(nameOf(m.Agent))
	}
	switch {
	case r.Repeated, err != nil && hub.KindOf(err) == hub.Conflict: // it was counted when it first came
	case err != nil:
		s.failures.WithLabelValues(string(hub.KindOf(err))).Inc()
	case r.Dropped != "":
		s.dropped.WithLabelValues(r.Dropped).Inc()
	default:
		s.messages.WithLabelValues(s.source(m), s.target(m, r), kindOf(m)).Inc()
		if r.To != "" && !r.Known {
			s.failures.WithLabelValues("no_agent").Inc()
		}
	}
}

func (s *Set) source(m hub.Message) string {
	if m.Via == hub.ViaPlatform {
		return person
	}
	return s.agents.label(nameOf(m.Agent))
}

// target is whom m was for: the agent that it names, or was routed to.
func (s *Set) target(m hub.Message, r hub.Receipt) string {
	to := r.Decision.To
	switch {
	case m.Via != hub.ViaPlatform && r.To == "", len(to) > 1:
		return broadcast
	case len(to) == 0:
		return other
	default: // there is an agent of that name
		s.agents.add(nameOf(to[0]))
		return s.agents.label(nameOf(to[0]))
	}
}

// nameOf is empty for an agent that goes by the id of its session, which is for
// no metric.
func nameOf(a hub.AgentID) string {
	if a.LogValue().String() != string(a) {
		return ""
	}
	return string(a)
}

func kindOf(m hub.Message) string {
	kind, said := m.Meta["kind"]
	switch {
	case !said:
		return "none"
	case slices.Contains(kinds, kind):
		return kind
	default:
		return other
	}
}

// Sent implements [hub.Watcher].
func (s *Set) Sent(m hub.Message, sent hub.Sent, err error, took time.Duration) {
	s.toPlatforms.WithLabelValues(string(m.Ref.Platform)).Observe(took.Seconds())
	s.agents.add(nameOf(m.Agent))
	s.messages.WithLabelValues(s.source(m), person, kindOf(m)).Inc()
	switch {
	case err != nil:
		s.failures.WithLabelValues(string(hub.KindOf(err))).Inc()
	case sent.Unknown:
		s.failures.WithLabelValues("outcome_unknown").Inc()
	case len(sent.Failed) > 0:
		s.failures.WithLabelValues("not_reached").Inc()
	}
}

// Settled implements [hub.Watcher].
func (s *Set) Settled(_ hub.MessageID, d hub.Delivery, after time.Duration) {
	if d.State == hub.HandedOver {
		s.handover.Observe(after.Seconds())
		return
	}
	s.reasons.add(d.Reason)
	s.failures.WithLabelValues(s.reasons.label(d.Reason)).Inc()
}

// Session implements [hub.Watcher].
func (s *Set) Session(_ hub.SessionID, agent hub.AgentID, named bool, state string) {
	if named {
		s.agents.add(nameOf(agent))
	}
	s.sessions.WithLabelValues(state).Inc()
}

// Decided implements [hub.Watcher].
func (s *Set) Decided(p hub.Prompt) { s.verdicts.WithLabelValues(verdictOf(p.Allow)).Inc() }

func verdictOf(allow bool) string {
	if allow {
		return "allowed"
	}
	return "denied"
}
