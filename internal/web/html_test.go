package web

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// HTML's elements that have no end (WHATWG HTML, section 13.1.2), and those
// that end a paragraph wherever they begin (section 4.4.1).
var (
	void   = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
	blocks = []string{"p", "div", "ul", "ol", "dl", "pre", "table", "form", "details", "section", "nav", "main", "header", "h1", "h2", "h3"}
)

// A linter reads a page as strictly as a browser does not: nothing in it would
// be moved, closed or dropped.
type linter struct {
	wrong  []string
	open   []string          // elements that have begun
	ids    map[string]string // and of which element each is
	refs   []string          // ids that something names
	labels []string          // fields that have a label
	fields []string
}

// lint returns what is not in order in a page.
func lint(page string) []string {
	l := &linter{ids: map[string]string{}}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity = false, xml.HTMLEntity // attributes without values
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(l.wrong, "it cannot be read: "+err.Error())
		}
		switch e := token.(type) {
		case xml.StartElement:
			l.start(e)
		case xml.EndElement:
			l.end(e.Name.Local)
		}
	}
	if len(l.open) > 0 {
		l.blame("never closed: %s", l.open)
	}
	for _, id := range l.refs {
		if l.ids[id] == "" {
			l.blame("nothing has the id %q, which is named", id)
		}
	}
	for _, id := range l.fields {
		if !slices.Contains(l.labels, id) {
			l.blame("the field %q has no label", id)
		}
	}
	return l.wrong
}

func (l *linter) blame(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

func (l *linter) start(e xml.StartElement) {
	name := e.Name.Local
	if slices.Contains(blocks, name) && slices.Contains(l.open, "p") {
		l.blame("<%s> ends the paragraph that it is in: %s", name, l.open)
	}
	if (name == "a" || name == "button" || name == "input") && (slices.Contains(l.open, "a") || slices.Contains(l.open, "button")) {
		l.blame("<%s> is in %s", name, l.open)
	}
	attr := map[string]string{}
	for _, a := range e.Attr {
		if _, again := attr[a.Name.Local]; again || a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
			l.blame("<%s> has %s, twice or where the policy allows none", name, a.Name.Local)
		}
		attr[a.Name.Local] = a.Value
	}
	if id, ok := attr["id"]; ok {
		if l.ids[id] != "" || id == "" {
			l.blame("the id %q is not one of its own", id)
		}
		l.ids[id] = name
	}
	for _, a := range []string{"for", "list", "aria-labelledby", "aria-describedby", "aria-controls"} {
		l.refs = append(l.refs, strings.Fields(attr[a])...)
	}
	if name == "label" {
		l.labels = append(l.labels, attr["for"])
	}
	_, hidden := attr["hidden"]
	if (name == "input" || name == "select") && attr["type"] != "hidden" && !hidden {
		l.fields = append(l.fields, attr["id"])
	}
	if name == "script" && attr["src"] == "" {
		l.blame("a script is in the page itself")
	}
	if !slices.Contains(void, name) {
		l.open = append(l.open, name)
	}
}

func (l *linter) end(name string) {
	if n := len(l.open); n == 0 || l.open[n-1] != name {
		l.blame("</%s> ends none of %s", name, l.open)
		return
	}
	l.open = l.open[:len(l.open)-1]
}

func TestTheLinterFindsWhatIsWrong(t *testing.T) {
	fine := `<!doctype html><p><label for="a">A</label><input id="a" list="b" required><br></p><datalist id="b"><option selected>&amp;</option></datalist>`
	if wrong := lint(fine); len(wrong) > 0 {
		t.Errorf("it finds %q wrong in %s", wrong, fine)
	}
	for _, page := range []string{
		"<p>", "</p>", "<ul><li></ul></li>", "<p><div></div></p>", "<a><button></button></a>", `<i id="a"></i><b id="a"></b>`, `<p style="">`,
		`<input id="a">`, `<label for="a"></label>`, `<p aria-labelledby="a"></p>`, "<script>x</script>", `<p onclick=""></p>`,
	} {
		if len(lint(page)) == 0 {
			t.Errorf("it finds nothing wrong in %s", page)
		}
	}
}
