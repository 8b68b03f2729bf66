package web

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

const (
	lineBytes = 240 // of a message's text in the list
	fewFates  = 3   // recipients that are listed by name
)

// A listPage is a page of the record.
type listPage struct {
	frame
	Query                   query
	Sources, Targets, Names []string
	Rows                    []row
	Newer, Older            string // addresses; empty: there is nothing
	Changes                 uint64 // in the record when this was read
}

// A row is one message in the list.
type row struct {
	ID             hub.MessageID
	Time           moment
	Via            hub.Via
	Kind           hub.MessageKind
	Source, Target string
	Named          bool // Target is a name
	Text           string
	Fates          []fate
}

// A fate is what became of a message for one recipient, or for so many.
type fate struct {
	Who    string
	State  string // as people say it
	Class  string // for the colour
	Reason string
	Time   moment
}

// messages serves GET /admin.
func (p *Pages) messages(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		return err
	}
	changes := p.Record.Changes() // first: what changes meanwhile is looked at again
	entries, more, err := p.read(r.Context(), &q)
	if err != nil {
		return err
	}
	page := listPage{frame: frame{Title: "Messages", In: true, Here: "messages"}, Query: q, Changes: changes}
	for _, e := range entries {
		page.Rows = append(page.Rows, newRow(e))
	}
	page.link(more)
	if page.Sources, page.Targets, err = p.Record.Names(r.Context()); err != nil {
		return err
	}
	page.Names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(page.Sources, page.Targets))))
	return render(w, http.StatusOK, "messages", page)
}

// read reads a page. What is newer than a message, but does not fill a page, is
// the first one: q becomes that.
func (p *Pages) read(ctx context.Context, q *query) (entries []hub.LogEntry, more bool, err error) {
	entries, more, err = p.Record.Log(ctx, q.LogFilter)
	if err == nil && q.After != "" && !more {
		q.After = ""
		entries, more, err = p.Record.Log(ctx, q.LogFilter)
	}
	return entries, more, err
}

// link sets the addresses of the pages beside this one.
func (l *listPage) link(more bool) {
	if len(l.Rows) == 0 {
		return
	}
	first, last := l.Rows[0].ID, l.Rows[len(l.Rows)-1].ID
	if !l.Query.First() {
		l.Newer = l.Query.link("after", first)
	}
	if more || l.Query.After != "" {
		l.Older = l.Query.link("before", last)
	}
}

func newRow(e hub.LogEntry) row {
	v := row{ID: e.ID, Time: moment{e.Time}, Via: e.Via, Kind: kind(e), Source: source(e), Target: target(e), Named: e.Target != "", Text: line(e.Text, lineBytes)}
	v.Fates = fates(e)
	if len(v.Fates) > fewFates {
		v.Fates = count(v.Fates)
	}
	return v
}

// kind is empty for what most messages are.
func kind(e hub.LogEntry) hub.MessageKind {
	if e.Kind == hub.Text {
		return ""
	}
	return e.Kind
}

func source(e hub.LogEntry) string {
	if e.Name == "" {
		return line(e.Source, hub.PreviewBytes)
	}
	return line(e.Name, hub.PreviewBytes) + " (" + line(e.Source, hub.PreviewBytes) + ")"
}

// target is in words where nobody was named.
func target(e hub.LogEntry) string {
	switch {
	case e.Target != "":
		return line(e.Target, hub.PreviewBytes)
	case e.Via == hub.ViaPlatform:
		return "any agent"
	default:
		return "everybody"
	}
}

// said are the states as people say them.
var said = map[hub.State]string{
	hub.Queued: "queued", hub.Written: "written", hub.HandedOver: "handed over", hub.Acknowledged: "acknowledged", hub.Failed: "failed",
}

func fates(e hub.LogEntry) []fate {
	list := make([]fate, len(e.Deliveries))
	for i, d := range e.Deliveries {
		list[i] = fate{recipient(e, d), said[d.State], d.State.String(), line(d.Reason, hub.PreviewBytes), moment{d.Time}}
	}
	return list
}

// recipient is the platform where the agent has no name.
func recipient(e hub.LogEntry, d hub.Delivery) string {
	switch {
	case d.Agent != "":
		return line(string(d.Agent), hub.PreviewBytes)
	case e.Platform != "" && e.Via != hub.ViaPlatform:
		return string(e.Platform)
	default:
		return "nobody"
	}
}

// count puts together those of many recipients that fared alike.
func count(list []fate) []fate {
	n := map[fate]int{}
	for _, f := range list {
		n[fate{State: f.State, Class: f.Class, Reason: f.Reason}]++
	}
	alike := slices.SortedFunc(maps.Keys(n), func(a, b fate) int { return strings.Compare(a.State+a.Reason, b.State+b.Reason) })
	for i, f := range alike {
		alike[i].Who = strconv.Itoa(n[f])
	}
	return alike
}

// A messagePage is one message.
type messagePage struct {
	frame
	ID                       hub.MessageID
	Time                     moment
	Via                      hub.Via
	Kind                     hub.MessageKind
	Platform                 hub.PlatformID
	Source, Target           string
	Status                   hub.Status
	Addr, Session            string
	Text, Raw, Meta          string
	Fates                    []fate
	FromHere, ToHere, Thread string // addresses of lists
}

// message serves GET /admin/messages/ID.
func (p *Pages) message(w http.ResponseWriter, r *http.Request) error {
	id, err := parseID("message", r.PathValue("id"))
	if err != nil {
		return err
	}
	e, err := p.Record.Entry(r.Context(), id)
	if err != nil {
		return err
	}
	meta, err := pretty(e.Meta)
	if err != nil {
		return err
	}
	page := messagePage{
		frame: frame{Title: "Message", In: true, Here: "messages"},
		ID:    e.ID, Time: moment{e.Time}, Via: e.Via, Kind: kind(e), Platform: e.Platform, Source: source(e), Target: target(e), Status: e.Status,
		Addr: e.Addr, Session: e.Session.Short(), Text: visible(e.Text), Raw: visible(e.Raw), Meta: meta, Fates: fates(e),
	}
	if e.Source != "" {
		page.FromHere = query{LogFilter: hub.LogFilter{Source: e.Source}}.link("", "")
	}
	if e.Target != "" {
		page.ToHere = query{LogFilter: hub.LogFilter{Target: e.Target}}.link("", "")
		page.Thread = query{LogFilter: hub.LogFilter{ParticipantA: e.Source, ParticipantB: e.Target}}.link("", "")
	}
	return render(w, http.StatusOK, "message", page)
}

// pretty is empty for no meta.
func pretty(meta map[string]string) (string, error) {
	if len(meta) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the template does that
	enc.SetIndent("", "  ")
	err := enc.Encode(meta)
	return visible(strings.TrimSpace(b.String())), err
}
