package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"aldis/internal/hub"
)

const (
	promptsSince = 30 * 24 * time.Hour
	maxPrompts   = 500
)

type agentsPage struct {
	frame
	Presence
	Heard []sessionRow
}

type sessionRow struct {
	Session
	Used moment
}

// agents serves GET /admin/agents.
func (p *Pages) agents(w http.ResponseWriter, r *http.Request) error {
	now, err := p.Presence(r.Context())
	if err != nil {
		return err
	}
	page := agentsPage{frame: frame{Title: "Agents", In: true, Here: "agents"}, Presence: now}
	for _, s := range now.Sessions {
		s.Client = line(s.Client, hub.PreviewBytes)
		page.Heard = append(page.Heard, sessionRow{s, moment{s.Used}})
	}
	page.Platforms = slices.Clone(now.Platforms)
	for i := range page.Platforms {
		page.Platforms[i].Detail = line(page.Platforms[i].Detail, hub.PreviewBytes)
	}
	return render(w, http.StatusOK, "agents", page)
}

// A promptsPage is who asked what, and who allowed it.
type promptsPage struct {
	frame
	Rows []promptRow
	Days int
	Max  int  // that are shown
	More bool // there are older ones
}

type promptRow struct {
	ID       hub.MessageID
	Opened   moment
	Agent    string
	Tool     string // empty: it is a question
	Code     string
	Text     string
	Outcome  string
	Class    string
	By       string
	Answered moment // zero: not yet
}

// prompts serves GET /admin/prompts: newest first.
func (p *Pages) prompts(w http.ResponseWriter, r *http.Request) error {
	list, err := p.Prompts(r.Context(), p.Now().Add(-promptsSince))
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b hub.Prompt) int { return cmp.Or(b.Opened.Compare(a.Opened), cmp.Compare(b.ID, a.ID)) })
	page := promptsPage{frame: frame{Title: "Permissions", In: true, Here: "prompts"}, Days: int(promptsSince / (24 * time.Hour)), Max: maxPrompts, More: len(list) > maxPrompts}
	for _, q := range list[:min(len(list), maxPrompts)] {
		page.Rows = append(page.Rows, newPromptRow(q))
	}
	return render(w, http.StatusOK, "prompts", page)
}

func newPromptRow(q hub.Prompt) promptRow {
	v := promptRow{
		ID: q.ID, Opened: moment{q.Opened}, Agent: line(string(q.Agent), hub.PreviewBytes), Tool: line(q.Tool, hub.PreviewBytes), Code: q.Code,
		Text: line(q.Text, lineBytes),
	}
	v.Outcome, v.Class = outcome(q)
	if q.State == hub.Answered {
		v.By, v.Answered = line(string(q.By), hub.PreviewBytes), moment{q.At}
	}
	return v
}

// outcome is what became of q, as people say it, and its colour.
func outcome(q hub.Prompt) (text, class string) {
	switch {
	case q.State == hub.Open:
		return "open", "queued"
	case q.State == hub.Expired:
		return "nobody answered in time", "failed"
	case q.State == hub.Closed:
		return "not needed any more", "written"
	case q.Question():
		return line(q.Answer, lineBytes), "acknowledged"
	case q.Allow:
		return "allowed", "acknowledged"
	default:
		return "denied", "failed"
	}
}
