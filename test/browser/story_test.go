package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// act opens the toolbar of a bubble and chooses what it offers under a label.
func (p *page) act(b bubble, label string) {
	p.t.Helper()
	n := -1
	for try := 0; n < 0; try++ { // what comes in meanwhile moves the bubble: who misses it tries again
		if try == 10 {
			p.t.Fatalf("the toolbar of %q does not offer %s", b.Text, label)
		}
		p.click(row(b.Key, ".bubble"))
		n = eval[int](p, `[...document.querySelectorAll('#actions button')].findIndex((b) => b.textContent === '`+label+`')`)
	}
	p.click("#actions button:nth-child(" + string(rune('1'+n)) + ")")
}

// say writes a message on a phone and sends it.
func (p *page) say(phone, text string) {
	p.t.Helper()
	p.click("#chat-" + phone + " textarea")
	p.write(text)
	p.press(kb.Enter)
}

// reply quotes a bubble of the operator's phone.
func (p *page) reply(b bubble, text string) {
	p.t.Helper()
	p.act(b, "Reply")
	p.write(text)
	p.press(kb.Enter)
}

// untilReceived waits until an agent's card shows an event with that content.
func (p *page) untilReceived(name, content string) event {
	p.t.Helper()
	v := p.until(name+" receives "+content, func(v view) bool {
		_, ok := v.Agents[name].got(content)
		return ok
	})
	e, _ := v.Agents[name].got(content)
	return e
}

// untilSays waits for a bubble with that text on the operator's phone, which
// the hub knows of.
func (p *page) untilSays(text string) bubble {
	p.t.Helper()
	v := p.until("the phone shows "+text, func(v view) bool {
		b, _ := v.Operator.says(text)
		return b.Key != ""
	})
	b, _ := v.Operator.says(text)
	return b
}

// untilTicks waits for the ticks of what the operator wrote.
func (p *page) untilTicks(text, ticks string) {
	p.t.Helper()
	p.until(text+" has "+ticks, func(v view) bool {
		b, _ := v.Operator.says(text)
		return b.Ticks == ticks
	})
}

func TestAQuotedAnswerReachesTheAgentThatAskedAndNoOther(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.untilSays(question)
	p.reply(asked, "yes")

	e := p.untilReceived(deployBot, "yes")
	for key, want := range map[string]string{
		"route_status": "routed", "routed_agent": "", "platform": "web", "chat_id": "operator",
		"in_reply_to_text": question, "in_reply_to_timestamp": asked.Key,
	} {
		if got := e.meta(key); got != want {
			t.Errorf("deploy-bot was handed %s=%q, want %q: %s", key, got, want, e.Channel)
		}
	}
	if e.Status != "routed" {
		t.Errorf("the card shows the status %q, want routed", e.Status)
	}
	p.untilTicks("yes", "✓✓")
	p.choose(p.untilAsks(deployBot), "Allow")
	p.untilSays("Rolling out build 214 to production …")
	done := p.untilSays("Done: 12 of 12 instances run build 214.")
	if done.Who != deployBot || !strings.Contains(done.Quoted, "yes") {
		t.Errorf("the answer is of %s and quotes %q, want deploy-bot and yes", done.Who, done.Quoted)
	}
	if n := p.see().Agents[crushSignal].count("yes"); n > 0 {
		t.Errorf("crush-signal received the answer %d times, want never", n)
	}
}

func TestAgentsLetEachOtherKnowAndAnswerNoMereStatus(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.reply(p.untilSays(question), "yes")
	p.choose(p.untilAsks(deployBot), "Allow")

	const told = "Build 214 is in production on 12 of 12 instances."
	e := p.untilReceived(crushSignal, told)
	for key, want := range map[string]string{"from": deployBot, "kind": "status", "topic": "rollout", "platform": "", "route_status": ""} {
		if got := e.meta(key); got != want {
			t.Errorf("crush-signal was handed %s=%q, want %q: %s", key, got, want, e.Channel)
		}
	}
	if !strings.HasPrefix(e.Head, "from deploy-botstatus") || !e.Salon {
		t.Errorf("the card does not set it apart: %+v", e)
	}
	p.say("operator", "any errors?") // what crush-signal does about the status it does before this
	p.untilSays("3 errors in the last hour, all of them timeouts of cache-2.")
	v := p.see()
	if got := v.Agents[deployBot].Received; len(got) != 1 {
		t.Errorf("deploy-bot received %+v, want the answer of the operator alone", got)
	}
	if plain, _ := v.Agents[crushSignal].got("any errors?"); plain.Salon {
		t.Error("a person's words are set apart too")
	}
}

func TestAReactionIsAnAnswer(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.act(p.untilSays(question), "👍")

	p.untilAsks(deployBot)
	v := p.see()
	if b, _ := v.Operator.says(question); !slices.Equal(b.Reactions, []string{"👍"}) {
		t.Errorf("the question shows the reactions %q, want 👍", b.Reactions)
	}
	if e := v.Agents[deployBot].Received[0]; e.Status != "routed" || e.meta("reaction") != "👍" {
		t.Errorf("deploy-bot was handed %s, want a routed 👍", e.Channel)
	}
	if got := v.Agents[crushSignal].Received; len(got) > 0 {
		t.Errorf("crush-signal received %+v, want nothing", got)
	}
}

func TestWhatAnswersNobodyGoesToTheDefaultAgent(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.say("operator", "any errors?")

	if e := p.untilReceived(crushSignal, "any errors?"); e.Status != "unrouted" {
		t.Errorf("the status is %q, want unrouted", e.Status)
	}
	p.untilTicks("any errors?", "✓✓")
	p.untilSays("3 errors in the last hour, all of them timeouts of cache-2.")
	v := p.see()
	if got := v.Agents[deployBot].Received; len(got) > 0 {
		t.Errorf("deploy-bot received %+v, want nothing", got)
	}
	if !v.Agents[crushSignal].Default || v.Agents[deployBot].Default {
		t.Error("crush-signal alone should be marked as the default agent")
	}
}

func TestAnAnswerToAnAgentThatIsOffLineFallsBack(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.untilSays(question)
	p.click("[aria-label='deploy-bot is on line']")
	p.until("deploy-bot is gone", func(v view) bool { return v.Agents[deployBot].State == "gone" && !v.Agents[deployBot].Online })
	p.reply(asked, "no")

	e := p.untilReceived(crushSignal, "no")
	if e.Status != "agent_offline" || e.meta("routed_agent") != deployBot || !strings.Contains(e.Head, "meant for deploy-bot") {
		t.Errorf("crush-signal's card shows %q for %s, want agent_offline, meant for deploy-bot", e.Head, e.Channel)
	}
	p.untilSays("deploy-bot is not connected. You answered its “" + question + "”; I'll pass it on.")

	p.click("[aria-label='deploy-bot is on line']")
	p.until("deploy-bot is back", func(v view) bool { return v.Agents[deployBot].State == "live" && v.Agents[deployBot].Online })
	p.reply(asked, "yes")
	if e := p.untilReceived(deployBot, "yes"); e.Status != "routed" {
		t.Errorf("once deploy-bot is back the status is %q, want routed", e.Status)
	}
	if _, got := p.see().Agents[deployBot].got("no"); got {
		t.Error("deploy-bot was handed what crush-signal had taken for it")
	}
}

func TestTheGateKeepsTheStrangerOut(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.click("#tab-stranger")
	p.say("stranger", "let me in")

	p.until("the stranger's phone says that the gate kept it out", func(v view) bool {
		b, _ := v.Stranger.says("let me in")
		return strings.Contains(b.Note, "gate kept this out") && b.Ticks == "✓"
	})
	// What comes later has overtaken it if it was on its way.
	p.click("#tab-operator")
	p.say("operator", "hello")
	p.untilReceived(crushSignal, "hello")
	v := p.see()
	for name, a := range v.Agents {
		if _, got := a.got("let me in"); got {
			t.Errorf("%s received what the stranger wrote", name)
		}
	}
	if _, shown := v.Operator.says("let me in"); shown {
		t.Error("the operator's phone shows what the stranger wrote")
	}
}

func TestAnEditAndADeletionFollowTheMessage(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.reply(p.untilSays(question), "maybe")
	p.untilReceived(deployBot, "maybe")
	first := p.untilSays("maybe")

	p.act(first, "Edit")
	eval[any](p, `document.activeElement.select()`)
	p.write("rather not")
	p.press(kb.Enter)
	if e := p.untilReceived(deployBot, "rather not"); e.Status != "routed" || e.meta("edited") != first.Key {
		t.Errorf("deploy-bot was handed %s, want a routed edit of %s", e.Channel, first.Key)
	}
	p.until("the bubble is edited", func(v view) bool {
		b, ok := v.Operator.says("rather not")
		return ok && b.Key == first.Key && strings.Contains(b.Foot, "edited")
	})

	p.act(first, "Delete")
	v := p.until("deploy-bot hears of the deletion", func(v view) bool {
		return slices.ContainsFunc(v.Agents[deployBot].Received, func(e event) bool { return e.meta("deleted") == first.Key })
	})
	if b, _ := v.Operator.find(func(b bubble) bool { return b.Key == first.Key }); !b.Deleted || b.Text != "Deleted" {
		t.Errorf("the bubble shows %+v, want it deleted", b)
	}
	if got := v.Agents[crushSignal].Received; len(got) > 0 {
		t.Errorf("crush-signal received %+v, want nothing", got)
	}
}

func TestAPictureIsAttached(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	file := writePicture(t, "latency.png", 3000, 1200)
	if err := chromedp.Do(p.ctx, chromedp.SetUploadFiles(chromedp.CSS("#chat-operator input[type=file]"), []string{file})); err != nil {
		t.Fatal(err)
	}
	p.demo.eventually("the picture waits to be sent", func() bool {
		return eval[int](p, `document.querySelectorAll('#chat-operator .thumbs img').length`) == 1
	})
	p.say("operator", "look")

	e := p.untilReceived(crushSignal, "look")
	if a := e.meta("attachment_1"); !strings.HasPrefix(a, d.temp) || !strings.Contains(a, "(image/jpeg, ") {
		t.Errorf("attachment_1 is %q, want a file of the demo's, an image/jpeg", a)
	}
	p.until("the bubble shows the picture, scaled down", func(v view) bool {
		b, _ := v.Operator.says("look")
		return b.Key != "" && len(b.Pictures) == 1 && b.Pictures[0].Name == "latency.png" && b.Pictures[0].Width == 1280
	})
}

func TestAMessageThatComesDoesNotTakeTheToolbarAway(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.size(1280, 420) // so that the chat scrolls
	p.say("operator", "any errors?")
	p.click(row(p.untilSays("any errors?").Key, ".bubble"))
	p.untilSays("3 errors in the last hour, all of them timeouts of cache-2.")
	if !eval[bool](p, `document.querySelector('#actions').matches(':popover-open')`) {
		t.Error("the toolbar is gone")
	}
	p.press(kb.Escape)
	p.until("the chat is at its end", func(view) bool {
		return eval[bool](p, `(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2)(document.querySelector('#chat-operator .list'))`)
	})
}
