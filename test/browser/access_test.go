package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestAPersonWithoutAMouse(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.untilSays(question)
	focus := func() string {
		return eval[string](p, `(({ tagName, id, className, ariaLabel, textContent }) => [tagName, id, className, ariaLabel ?? textContent].join(' ').slice(0, 80))(document.activeElement)`)
	}
	onTo := func(what string, keys ...string) {
		t.Helper()
		for range 25 {
			if strings.Contains(focus(), what) {
				return
			}
			p.press(keys...)
		}
		t.Fatalf("%q never gets the focus; it is on %q", what, focus())
	}

	onTo("bubble", kb.Tab)
	onTo("deploy-bot", kb.ArrowUp)
	p.press(kb.Enter)
	onTo("Reply", kb.ArrowLeft)
	p.press(kb.Enter)
	onTo("TEXTAREA", kb.Tab)
	p.write("no")
	p.press(kb.Enter)
	p.untilSays("All right. Build 214 stays on staging.")
	if f := focus(); !strings.Contains(f, "TEXTAREA") {
		t.Errorf("after an answer the focus is on %q, want the composer", f)
	}

	onTo("bubble", kb.Tab) // round the page, to the chat
	p.press(kb.Home)
	onTo("deploy-bot", kb.ArrowDown)
	p.press(" ", kb.ArrowRight, kb.Enter) // the toolbar's second: 👍
	p.untilAsks(deployBot)
	if f := focus(); !strings.Contains(f, "bubble") {
		t.Errorf("after a reaction the focus is on %q, want the bubble", f)
	}

	onTo("SUMMARY", kb.Tab)
	p.press(kb.Enter)
	p.until("the details are open", func(v view) bool { b, _ := v.Operator.asks(deployBot); return b.Ask.Open })
	onTo("Allow", kb.Tab)
	p.press(kb.Enter)
	p.untilSays("Rolling out build 214 to production …")
	if f := focus(); !strings.Contains(f, "bubble") || !strings.Contains(f, "asks to use Bash") {
		t.Errorf("after a verdict the focus is on %q, want what asked for it", f)
	}

	onTo("tab-operator", kb.Tab)
	p.press(kb.ArrowRight)
	p.until("the stranger's phone shows", func(view) bool { return !eval[bool](p, `document.querySelector('#chat-stranger').hidden`) })
	onTo("TEXTAREA", kb.Tab)
	p.write("hello")
	p.press(kb.Enter)
	p.until("the gate's note shows", func(v view) bool { b, _ := v.Stranger.says("hello"); return b.Note != "" })
}

// engine is axe-core, which test/package-lock.json pins.
const engine = "../node_modules/axe-core/axe.min.js"

func TestNothingIsInTheWayOfAssistiveTechnology(t *testing.T) {
	t.Parallel()
	needEngine(t)
	p := startDemo(t).open(t)
	p.scheme("light")
	check := p.accessible

	check("at first")
	p.reply(p.untilSays(question), "yes")
	asked := p.untilAsks(deployBot)
	check("with a request for permission")
	p.click(row(asked.Key, ".ask summary"))
	check("with its details open")
	p.choose(asked, "Allow")
	p.say("operator", "any errors?")
	p.say("operator", "watch a log")
	p.untilAsks(crushSignal)
	p.untilSays("Done: 12 of 12 instances run build 214.")
	p.act(p.untilSays(question), "❤️")
	check("in the middle of a talk")

	p.click(row(p.untilSays("any errors?").Key, ".bubble"))
	check("with the toolbar open")
	p.act(p.untilSays("yes"), "Reply")
	check("with an answer begun")
	p.press(kb.Escape)
	p.click("#join-open")
	check("with the sheet open")
	p.press(kb.Escape)

	p.click("#tab-stranger")
	p.say("stranger", "let me in")
	p.until("the gate's note shows", func(v view) bool { b, _ := v.Stranger.says("let me in"); return b.Note != "" })
	check("on the stranger's phone")

	p.click("#tab-operator")
	p.size(360, 740)
	check("at 360 px")
	if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("at 360 px the page is %d px wide", wide)
	}
	p.scheme("dark")
	check("dark, at 360 px")
	p.size(1280, 800)
	check("dark")
	noMore := p.excuse(outage)
	p.click("#kill")
	p.until("the hub is down", func(v view) bool { return v.State == "down" })
	check("dark, with the hub down")
	p.until("the hub is back", func(v view) bool { return v.State == "back" })
	noMore()
	check("dark, with the hub back")
}

func needEngine(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(engine); err != nil {
		t.Skip("axe-core is not installed: run npm ci in test/")
	}
}

// accessible complains of what is in the way of assistive technology.
func (p *page) accessible(what string) {
	p.t.Helper()
	if !eval[bool](p, `'axe' in window`) {
		source, err := os.ReadFile(engine)
		if err != nil {
			p.t.Fatal(err)
		}
		eval[any](p, string(source)+"; 0")
	}
	r := eval[findings](p, `axe.run().then((r) => ({ passes: r.passes.length, violations: r.violations.map((v) => (
		{ id: v.id, help: v.help, nodes: v.nodes.map((n) => n.html + ' ' + n.failureSummary) })) }))`)
	for _, v := range r.Violations {
		p.t.Errorf("%s: %s", what, v)
	}
	if r.Passes < 10 {
		p.t.Errorf("%s: only %d rules had anything to look at", what, r.Passes)
	}
}

// findings are what axe-core says of a page.
type findings struct {
	Passes     int // rules that found something, and nothing wrong with it
	Violations []violation
}

// A violation is one rule that axe-core finds broken.
type violation struct {
	ID, Help string
	Nodes    []string
}

func (v violation) String() string {
	return fmt.Sprintf("%s (%s):\n\t%s", v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
}
