package main

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// maxLogBytes is about how much text one answer has; a single message may be
// longer.
const maxLogBytes = 2 << 20

// A logPage is an answer of GET /api/log: the newest messages that were asked
// for, newest first, or with after the oldest of them.
type logPage struct {
	Messages []logMessage `json:"messages"`
	More     bool         `json:"more"`
}

// A logMessage is a message of the record, with the names that seed
// agent-salon.md has for what it has too.
type logMessage struct {
	ID         hub.MessageID     `json:"id"`
	Time       time.Time         `json:"ts"`
	Via        hub.Via           `json:"via"`
	Kind       hub.MessageKind   `json:"kind,omitempty"`
	Platform   hub.PlatformID    `json:"platform,omitempty"`
	Source     string            `json:"source"`
	Name       string            `json:"source_name,omitempty"` // as a person calls themselves
	Target     string            `json:"target,omitempty"`
	Content    string            `json:"content"`
	Raw        string            `json:"raw,omitempty"`
	Meta       map[string]string `json:"meta,omitempty"`
	Status     hub.Status        `json:"route_status,omitempty"`
	Addr       string            `json:"sender_addr,omitempty"`
	Session    string            `json:"sender_session_id,omitempty"` // its start
	Deliveries []logDelivery     `json:"deliveries,omitempty"`
}

// A logDelivery is what became of a message for one agent, or for the chat that
// it went to.
type logDelivery struct {
	To     string    `json:"to"`
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"at"`
}

func newLogMessage(e hub.LogEntry) logMessage {
	m := logMessage{
		ID: e.ID, Time: e.Time, Via: e.Via, Kind: e.Kind, Platform: e.Platform, Source: e.Source, Name: e.Name, Target: e.Target,
		Content: e.Text, Raw: e.Raw, Meta: e.Meta, Status: e.Status, Addr: e.Addr, Session: e.Session.Short(),
	}
	for _, d := range e.Deliveries {
		to := string(d.Agent)
		if to == "" {
			to = e.Target
		}
		m.Deliveries = append(m.Deliveries, logDelivery{to, d.State.String(), d.Reason, d.Time})
	}
	return m
}

// logAPI is the record for the admin's commands.
type logAPI struct{ record hub.Log }

// list answers GET /api/log.
func (a logAPI) list(w http.ResponseWriter, r *http.Request) error {
	f, err := parseLogFilter(r.URL.Query())
	if err != nil {
		return err
	}
	entries, more, err := a.record.Log(r.Context(), f)
	if err != nil {
		return err
	}
	entries, cut := fitting(entries, f.After != "")
	page := logPage{Messages: make([]logMessage, len(entries)), More: more || cut}
	for i, e := range entries {
		page.Messages[i] = newLogMessage(e)
	}
	return httpd.WriteJSON(w, http.StatusOK, page)
}

// fitting returns those of entries that fit into one answer, from the end that
// the next page does not begin at.
func fitting(entries []hub.LogEntry, oldest bool) (fit []hub.LogEntry, cut bool) {
	size := 0
	for i := range entries {
		e := entries[i]
		if oldest {
			e = entries[len(entries)-1-i]
		}
		if size += len(e.Text) + len(e.Raw); size > maxLogBytes && i > 0 {
			if oldest {
				return entries[len(entries)-i:], true
			}
			return entries[:i], true
		}
	}
	return entries, false
}

// logValues is f as the query of GET /api/log, where it has names as the admin
// pages have them.
func logValues(f hub.LogFilter) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Add(name, value)
		}
	}
	set("source", f.Source)
	set("target", f.Target)
	set("participant_a", f.ParticipantA)
	set("participant_b", f.ParticipantB)
	for _, name := range f.Exclude {
		set("exclude", name)
	}
	for name, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	set("via", string(f.Via))
	set("text", f.Text)
	set("before", string(f.Before))
	set("after", string(f.After))
	if f.Limit != 0 {
		set("limit", strconv.Itoa(f.Limit))
	}
	return v
}

// parseLogFilter is the reverse of logValues. It fails with Invalid.
func parseLogFilter(v url.Values) (f hub.LogFilter, err error) {
	f = hub.LogFilter{
		Source: v.Get("source"), Target: v.Get("target"), ParticipantA: v.Get("participant_a"), ParticipantB: v.Get("participant_b"),
		Exclude: v["exclude"], Via: hub.Via(v.Get("via")), Text: v.Get("text"),
		Before: hub.MessageID(v.Get("before")), After: hub.MessageID(v.Get("after")),
	}
	for name, t := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if s := v.Get(name); s != "" {
			if *t, err = time.Parse(time.RFC3339, s); err != nil {
				return f, hub.Errorf(hub.Invalid, "%s must be a time like 2006-01-02T15:04:05Z", name)
			}
		}
	}
	if s := v.Get("limit"); s != "" {
		if f.Limit, err = strconv.Atoi(s); err != nil || f.Limit < 1 {
			return f, hub.Errorf(hub.Invalid, "limit must be a number from 1 on; past 200 it is 200")
		}
	}
	return f, nil
}
