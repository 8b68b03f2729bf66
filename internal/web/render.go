package web

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strings"
	"time"

	"aldis/internal/hub"
)

// policy lets pages load what is their own, and nothing be written into them.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A frame is what is around every page.
type frame struct {
	Title string
	In    bool   // the reader has logged in: there is somewhere to go
	Here  string // which of the places that is
}

type errorPage struct {
	frame
	Message string
}

// views are the pages' templates, each with the layout.
var views = parseViews("error", "home", "login", "messages", "message", "agents", "prompts")

func parseViews(names ...string) map[string]*template.Template {
	views := map[string]*template.Template{}
	for _, name := range names {
		views[name] = template.Must(template.ParseFS(files, "page/layout.html", "page/"+name+".html"))
	}
	return views
}

// render answers with a page. What fails in it is known before anything of it
// is written.
func render(w http.ResponseWriter, status int, view string, data any) error {
	var b bytes.Buffer
	if err := views[view].ExecuteTemplate(&b, "layout", data); err != nil {
		return fmt.Errorf("render the page %s: %w", view, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	// Under "no-referrer" a browser says that a form comes from nowhere
	// (Origin: null); no other site learns more from this.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// A moment is a time as pages show it.
type moment struct{ time.Time }

// ISO is for the script, which shows it in the reader's zone.
func (m moment) ISO() string { return m.UTC().Format("2006-01-02T15:04:05.000Z") }

// Shown is for readers without the script.
func (m moment) Shown() string { return m.UTC().Format("2006-01-02 15:04:05 UTC") }

// visible shows every character of s that hides or turns text around, and
// keeps its lines and tabs.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		for j, cell := range cells {
			cells[j] = hub.OneLine(cell, math.MaxInt)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// line shows the start of s in one line, at most max bytes of it.
func line(s string, max int) string {
	start := hub.OneLine(hub.Clip(s, max), max)
	if len(s) > max {
		start += "…"
	}
	return start
}
