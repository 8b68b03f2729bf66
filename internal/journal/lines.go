package journal

import (
	"time"

	"aldis/internal/hub"
)

// A message is the line of one. Its first names are those of agent-salon's
// table of messages (seed agent-salon.md, Persistence).
type message struct {
	Kind        string            `json:"kind"` // "message"
	ID          hub.MessageID     `json:"id"`
	Time        time.Time         `json:"ts"`
	Via         hub.Via           `json:"via"`
	Source      string            `json:"source"` // an agent, a script, a webhook, or who wrote it on a platform
	Target      *string           `json:"target"` // an agent, or a chat; null: everybody, or as it was routed
	Content     string            `json:"content"`
	Meta        map[string]string `json:"meta"`
	DeliveredTo []string          `json:"delivered_to"` // the agents it was queued for, or the platform that took it
	Addr        *string           `json:"sender_addr"`
	Session     *string           `json:"sender_session_id"` // its start

	Held     bool            `json:"held,omitempty"`     // it waits in the target's inbox
	Platform hub.PlatformID  `json:"platform,omitempty"` // that it came from or was sent to
	Type     hub.MessageKind `json:"type,omitempty"`     // but for texts
}

// An event is the line of what became of a message or a session.
type event struct {
	Kind  string    `json:"kind"` // "event"
	Event string    `json:"event"`
	Time  time.Time `json:"ts"`

	ID       hub.MessageID  `json:"id,omitempty"`
	Source   string         `json:"source,omitempty"`
	Target   string         `json:"target,omitempty"`
	Platform hub.PlatformID `json:"platform,omitempty"`
	Session  string         `json:"session,omitempty"` // the start of its id
	Agent    string         `json:"agent,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Seconds  *float64       `json:"seconds,omitempty"` // from acceptance to hand-over
	Tool     string         `json:"tool,omitempty"`
	Verdict  string         `json:"verdict,omitempty"` // "allowed", "denied"
}

var _ hub.Watcher = (*Journal)(nil)

// Received implements [hub.Watcher].
func (j *Journal) Received(m hub.Message, r hub.Receipt, err error, _ time.Duration) {
	switch {
	case r.Repeated, err != nil && hub.KindOf(err) == hub.Conflict: // it is in the file already
	case err != nil:
		j.tell(event{Event: "not_recorded", Time: m.Time, ID: m.ID, Source: source(m), Platform: m.Ref.Platform, Reason: string(hub.KindOf(err))})
	case r.Dropped != "": // whoever wrote it is nobody we keep anything of
		j.tell(event{Event: "dropped", Time: m.Time, ID: m.ID, Platform: m.Ref.Platform, Reason: r.Dropped})
	default:
		l := line(m)
		l.Target = orNull(string(r.To))
		if l.Held = r.Decision.Hold || r.Decision.Quiet; !l.Held {
			for _, agent := range r.Decision.To {
				l.DeliveredTo = append(l.DeliveredTo, name(agent))
			}
		}
		j.say(l)
		if r.To != "" && !r.Known {
			j.tell(event{Event: "delivery_skipped", Time: m.Time, ID: m.ID, Target: string(r.To), Reason: "no agent of that name"})
		}
	}
}

// Sent implements [hub.Watcher].
func (j *Journal) Sent(m hub.Message, s hub.Sent, err error, _ time.Duration) {
	l := line(m)
	l.Target = orNull(string(m.Ref.Chat))
	reason := ""
	switch {
	case err != nil:
		reason = string(hub.KindOf(err))
	case s.Unknown:
		reason = "unknown"
	case len(s.Failed) > 0 && s.Reached == 0:
		reason = "not reached"
	default:
		l.DeliveredTo = append(l.DeliveredTo, string(m.Ref.Platform))
	}
	j.say(l)
	if reason != "" {
		j.tell(event{Event: "delivery_skipped", Time: j.now(), ID: m.ID, Target: string(m.Ref.Chat), Platform: m.Ref.Platform, Reason: reason})
	}
}

// Settled implements [hub.Watcher].
func (j *Journal) Settled(id hub.MessageID, d hub.Delivery, after time.Duration) {
	e := event{Event: "delivery_skipped", Time: d.Time, ID: id, Target: name(d.Agent), Reason: d.Reason}
	if d.State == hub.HandedOver {
		seconds := after.Seconds()
		e.Event, e.Seconds = "handed_over", &seconds
	}
	j.tell(e)
}

// Session implements [hub.Watcher].
func (j *Journal) Session(id hub.SessionID, agent hub.AgentID, _ bool, state string) {
	j.tell(event{Event: "session_" + state, Time: j.now(), Session: id.Short(), Agent: name(agent)})
}

// Decided implements [hub.Watcher].
func (j *Journal) Decided(p hub.Prompt) {
	verdict := "denied"
	if p.Allow {
		verdict = "allowed"
	}
	j.tell(event{Event: "verdict", Time: p.At, ID: p.ID, Agent: name(p.Agent), Session: p.Session.Short(), Tool: p.Tool, Verdict: verdict})
}

func (j *Journal) say(m message) { j.put(m, len(m.Content)) }

func (j *Journal) tell(e event) {
	e.Kind, e.Time = "event", e.Time.UTC()
	j.put(e, 0)
}

// line is m's, without what became of it.
func line(m hub.Message) message {
	l := message{
		Kind: "message", ID: m.ID, Time: m.Time.UTC(), Via: m.Via, Source: source(m), Content: m.Text, Meta: m.Meta,
		DeliveredTo: []string{}, Addr: orNull(m.Addr), Session: orNull(m.Session.Short()), Platform: m.Ref.Platform,
	}
	if l.Meta == nil {
		l.Meta = map[string]string{}
	}
	if m.Kind != hub.Text {
		l.Type = m.Kind
	}
	return l
}

func source(m hub.Message) string {
	if m.Via == hub.ViaPlatform {
		return string(m.From.ID)
	}
	return name(m.Agent)
}

// name shortens the id of a session that has no name: it is half a secret.
func name(a hub.AgentID) string { return a.LogValue().String() }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
