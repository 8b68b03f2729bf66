package browser

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A page is one window that shows a demo's phone. What must never happen in it
// is watched for from its first moment to its last.
type page struct {
	t    *testing.T
	demo *demo
	ctx  context.Context

	mu    sync.Mutex
	wrong []string       // guarded by mu: what must not have happened
	fine  *regexp.Regexp // guarded by mu: what may happen just now; nil: nothing
}

// newPage opens an empty window: its cookies are its own.
func (d *demo) newPage(t *testing.T) *page {
	t.Helper()
	p := &page{t: t, demo: d}
	ctx, closeWindow := chromedp.NewContext(window, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.watch))
	p.ctx = ctx
	t.Cleanup(func() {
		closeWindow()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, w := range p.wrong {
			t.Errorf("in the browser: %s", w)
		}
	})
	do(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	do(p, audits.Enable, cdp.Empty{})
	p.size(1280, 800)
	return p
}

// open opens the demo's link in a window of its own, and waits for the phone.
func (d *demo) open(t *testing.T) *page {
	t.Helper()
	p := d.newPage(t)
	p.visit(d.link)
	p.until("the phone shows deploy-bot's question, and both agents", func(v view) bool {
		_, asked := v.Operator.from(deployBot)
		return asked && v.Agents[deployBot].State == "live" && v.Agents[crushSignal].State == "live"
	})
	return p
}

func (p *page) visit(url string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(url)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) size(width, height int64) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		p.t.Fatal(err)
	}
}

// scheme makes the page light or dark, and still: there is no colour in between.
func (p *page) scheme(name string) {
	p.t.Helper()
	do(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// watch notes what must not happen: an error or a warning on the console, an
// exception, a violation of the policy, a request to anybody but the hub.
func (p *page) watch(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.blame("exception: %s %s", e.ExceptionDetails.Text, describe(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		var said []string
		for _, a := range e.Args {
			said = append(said, describe(a))
		}
		p.blame("console.%s: %s", e.Type, strings.Join(said, " "))
	case *log.EventEntryAdded:
		p.blame("log %s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, strings.TrimPrefix(e.Entry.URL, p.demo.url))
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			p.blame("violates the policy: %+v", e.Issue.Details.ContentSecurityPolicyIssueDetails)
		}
	case *network.EventRequestWillBeSent:
		if !p.own(e.Request.URL) {
			p.blame("asks a stranger: %s", e.Request.URL)
		}
	case *network.EventWebSocketCreated:
		p.blame("opens a web socket: %s", e.URL)
	}
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description + string(o.Value)
}

// own reports whether a URL is of the demo's hub, or of no host at all.
func (p *page) own(url string) bool {
	for _, ours := range []string{p.demo.url + "/", "data:", "blob:" + p.demo.url + "/", "about:blank"} {
		if strings.HasPrefix(url, ours) {
			return true
		}
	}
	return false
}

func (p *page) blame(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what := fmt.Sprintf(format, args...); p.fine == nil || !p.fine.MatchString(what) {
		p.wrong = append(p.wrong, what)
	}
}

// excuse lets happen what matches pattern, until the function that it returns
// is called. An empty pattern excuses nothing.
func (p *page) excuse(pattern string) (noMore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fine = regexp.MustCompile("^(" + pattern + ")$")
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fine = nil
	}
}

// outage is what Chrome itself says while nobody answers, or not yet.
const outage = `log network error: Failed to load resource: ` +
	`(net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)|the server responded with a status of 503 \(Service Unavailable\))` +
	` /phone/(events|session|messages)`

// do runs a command of the browser's protocol.
func do[P, R any](p *page, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns what an expression is in the page.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%v: %s", err, expression)
	}
	return v
}

// A spot is where to click.
type spot struct{ X, Y float64 }

// click clicks the middle of the one visible element that the selector names,
// once it stands still and nothing covers it. Frames go by, since a page hears
// of a scroll in the next one.
func (p *page) click(selector string) {
	p.t.Helper()
	at := spot{-1, -1}
	p.demo.eventually(selector+" can be clicked", func() bool {
		before := at
		now := eval[*spot](p, `(async () => {
			const e = document.querySelector(`+strconv.Quote(selector)+`);
			if (!e || e.disabled) return null;
			e.scrollIntoView({ block: 'nearest' });
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const hit = document.elementFromPoint(x, y);
			return r.width && (e.contains(hit) || hit?.contains(e)) ? { x, y } : null;
		})()`)
		if now != nil {
			at = *now
		}
		return now != nil && at == before
	})
	if err := chromedp.Do(p.ctx, chromedp.MouseClickXY(at.X, at.Y)); err != nil {
		p.t.Fatal(err)
	}
}

// write puts text in where the focus is, as an input method does.
func (p *page) write(text string) {
	p.t.Helper()
	do(p, input.InsertText, input.InsertTextParams{Text: text})
}

// press presses keys of package kb, one after the other. Unlike chromedp's own,
// a key that the page takes for itself leaves no character behind.
func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, name := range keys {
		r, _ := utf8.DecodeRuneInString(name)
		k := kb.Keys[r]
		e := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows}
		if k.Print {
			e.Text = k.Text
		}
		do(p, input.DispatchKeyEvent, e)
		e.Type, e.Text = input.DispatchKeyEventTypeKeyUp, ""
		do(p, input.DispatchKeyEvent, e)
	}
}

//go:embed view.js
var viewJS string

// see reads what the page shows.
func (p *page) see() view {
	p.t.Helper()
	return eval[view](p, viewJS)
}

// until waits until the page shows what it is to, and returns that.
func (p *page) until(what string, ok func(view) bool) view {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		v := p.see()
		if ok(v) {
			return v
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited %s in vain: %s; the page shows\n%s", patience, what, v)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
