package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestNothingIsLostOrDoubledWhenTheHubIsKilled(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.untilSays(question)
	var said []string
	say := func(text string) { said = append(said, text); p.write(text); p.press(kb.Enter) }

	p.click("#chat-operator textarea")
	say("before the kill")
	noMore := p.excuse(outage)
	eval[any](p, `document.querySelector('#kill').click()`) // whatever is under way
	for n := range 3 {
		say(fmt.Sprintf("into the kill %d", n+1))
	}
	p.until("the banner says that the hub is down", func(v view) bool {
		return v.State == "down" && strings.HasPrefix(v.Status, "The hub is down — restarting…")
	})
	say("while it is down")
	p.write("half a draft")
	p.until("what was written waits, and the draft stays", func(v view) bool {
		b, _ := v.Operator.says("while it is down")
		return b.Ticks == "◷" && strings.HasSuffix(v.Status, " unsent") && v.Draft == "half a draft"
	})
	p.until("the page says that nothing was lost", func(v view) bool { return v.State == "back" && v.Status == "Back: nothing was lost" })
	noMore()

	v := p.until("crush-signal has all that was said, and the phone says so", func(v view) bool {
		for _, text := range said {
			_, got := v.Agents[crushSignal].got(text)
			if b, _ := v.Operator.says(text); !got || b.Ticks != "✓✓" {
				return false
			}
		}
		return true
	})
	if v.Draft != "half a draft" {
		t.Errorf("the draft is %q, want half a draft", v.Draft)
	}
	p.act(asked, "Reply") // the draft becomes the answer
	p.press(kb.Enter)
	if e := p.untilReceived(deployBot, "half a draft"); e.Status != "routed" {
		t.Errorf("an answer to what was asked before the kill is %q, want routed", e.Status)
	}
	quiet := "All quiet in the logs. Ask me about errors, or to watch one. What answers no agent in particular comes to me."
	v = p.until("crush-signal has answered all of it", func(v view) bool { return v.Operator.count(quiet) >= len(said) })
	if n := v.Operator.count(quiet); n > len(said) {
		t.Errorf("crush-signal has answered %d messages %d times", len(said), n)
	}
	for _, text := range said {
		if n, m := v.Operator.count(text), v.Agents[crushSignal].count(text); n != 1 || m != 1 {
			t.Errorf("%q is on the phone %d times and at crush-signal %d times, want once", text, n, m)
		}
	}
	if n := v.Operator.count(question); n != 1 {
		t.Errorf("deploy-bot asked %d times, want once", n)
	}
}

func TestTheLinkWorksOnceAndTheCookieOutlivesARestart(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	if at := eval[string](p, `location.href`); at != d.url+"/phone" {
		t.Errorf("the address bar shows %s: the code should be gone", at)
	}
	noMore := p.excuse(outage)
	p.click("#kill")
	p.until("the hub is down", func(v view) bool { return v.State == "down" })
	p.until("the hub is back", func(v view) bool { return v.State == "back" })
	noMore()

	if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	p.until("the phone is there after a reload", func(v view) bool { return v.State == "up" && v.Operator.count(question) == 1 })

	for name, link := range map[string]string{"the same link again": d.link, "a guess": d.url + "/phone#guess"} {
		other := d.newPage(t)
		other.excuse(`log network error: Failed to load resource: the server responded with a status of 403 \(Forbidden\) /phone/session`)
		other.visit(link)
		if v := other.until(name+" is turned away", func(v view) bool { return v.Locked }); len(v.Operator) > 0 || len(v.Agents) > 0 {
			t.Errorf("%s shows %s", name, v)
		}
	}
	without := d.newPage(t)
	without.visit(d.url + "/phone")
	without.until("without a code the page says what to open", func(v view) bool { return v.Locked })
}
