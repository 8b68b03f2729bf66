package browser

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// untilAsks waits for a bubble of an agent that asks something.
func (p *page) untilAsks(who string) bubble {
	p.t.Helper()
	v := p.until(who+" asks something", func(v view) bool { _, ok := v.Operator.asks(who); return ok })
	b, _ := v.Operator.asks(who)
	return b
}

// choose clicks a button of what asks.
func (p *page) choose(b bubble, label string) {
	p.t.Helper()
	for n, button := range b.Ask.Buttons {
		if button.Label == label {
			p.click(row(b.Key, fmt.Sprintf(".options button:nth-child(%d)", n+1)))
			return
		}
	}
	p.t.Fatalf("%q has no button %s", b.Text, label)
}

// untilAnswered waits until the buttons of what asks are off and show the choice.
func (p *page) untilAnswered(b bubble, label string) {
	p.t.Helper()
	p.until("it shows the answer "+label, func(v view) bool {
		now, _ := v.Operator.find(func(x bubble) bool { return x.Key == b.Key })
		on, chosen := now.Ask.labels()
		return len(on) == 0 && chosen == label && now.Ask.Answer == "You answered: "+label
	})
}

// askToRollOut has deploy-bot ask for permission to.
func (p *page) askToRollOut() bubble {
	p.t.Helper()
	p.reply(p.untilSays(question), "yes")
	return p.untilAsks(deployBot)
}

// What deploy-bot says once it has its verdict.
const (
	goesOn  = "Rolling out build 214 to production …"
	hasDone = "Done: 12 of 12 instances run build 214."
	didNot  = "You denied the command, so I did not run it. Build 214 stays on staging."
)

// The prompt's last line, as on any phone.
var codes = regexp.MustCompile(`“yes ([a-km-z]{5})” or “no ([a-km-z]{5})”`)

func TestARequestForPermissionIsDeniedByAButton(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.askToRollOut()
	if want := "🔐 deploy-bot asks to use Bash\n│ Roll out build 214 to production"; asked.Text != want {
		t.Errorf("it says %q, want %q", asked.Text, want)
	}
	on, _ := asked.Ask.labels()
	if d := cmp.Diff([]string{"Allow", "Deny"}, on); d != "" || asked.Ask.Answer != "" || asked.Ask.Open {
		t.Errorf("it shows %+v, want Allow, Deny, closed details and no answer", *asked.Ask)
	}
	p.click(row(asked.Key, ".ask summary"))
	p.until("the details show the command", func(v view) bool {
		b, _ := v.Operator.asks(deployBot)
		return b.Ask.Open && strings.Contains(b.Ask.Details, "command: kubectl -n production set image deploy/web web=web:214")
	})

	p.choose(asked, "Deny")
	p.untilSays(didNot)
	p.untilAnswered(asked, "Deny")
	v := p.until("the hub says what became of it", func(v view) bool {
		_, ok := v.Operator.find(func(b bubble) bool { return b.Who == "Aldis" && strings.Contains(b.Text, "denied, sent to deploy-bot") })
		return ok
	})
	if b, _ := v.Operator.says("no"); !b.Mine || !strings.Contains(b.Quoted, "asks to use Bash") {
		t.Errorf("the button has posted %+v, want a no that quotes the request", b)
	}
	if _, got := v.Agents[deployBot].got("no"); got || v.Operator.count(goesOn) > 0 {
		t.Error("a verdict is no message to the agent, and after a no nothing is rolled out")
	}

	if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	p.untilAsks(deployBot)
	p.untilAnswered(asked, "Deny")
}

func TestARequestForPermissionIsAllowedByAButton(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.askToRollOut()
	p.choose(asked, "Allow")
	p.untilSays(hasDone)
	p.untilAnswered(asked, "Allow")
	p.untilTicks("yes", "✓✓")
}

func TestAVerdictThatIsGivenWhileTheHubIsDownArrives(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.askToRollOut()
	p.say("operator", "any errors?")
	p.untilSays("3 errors in the last hour, all of them timeouts of cache-2.") // and the hub has written down what it asked before
	noMore := p.excuse(outage)
	p.click("#kill")
	p.until("the hub is down", func(v view) bool { return v.State == "down" })
	p.choose(asked, "Allow")
	v := p.until("the answer waits", func(v view) bool {
		b, _ := v.Operator.find(func(b bubble) bool { return b.Mine && b.Ticks == "◷" })
		return b.Text == "yes"
	})
	if b, _ := v.Operator.asks(deployBot); len(b.Ask.Buttons) != 2 || !b.Ask.Buttons[0].Off || b.Ask.Answer != "" {
		t.Errorf("it shows %+v, want buttons that are off, and no answer yet", *b.Ask)
	}
	p.until("the hub is back", func(v view) bool { return v.State == "back" })
	noMore()
	p.untilSays(hasDone)
	p.untilAnswered(asked, "Allow")
}

func TestAVerdictIsTypedAndAStrangersIsNone(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	asked := p.askToRollOut()
	code := codes.FindStringSubmatch(asked.Ask.Details)
	if code == nil || code[1] != code[2] {
		t.Fatalf("the details do not say how to answer: %q", asked.Ask.Details)
	}
	p.click("#tab-stranger")
	p.say("stranger", "no "+code[1])
	p.until("the gate keeps the stranger's verdict out", func(v view) bool { b, _ := v.Stranger.says("no " + code[1]); return b.Note != "" })
	p.click("#tab-operator")
	p.say("operator", "yes") // of no prompt: it goes to the default agent
	p.untilReceived(crushSignal, "yes")
	if on, _ := p.untilAsks(deployBot).Ask.labels(); len(on) != 2 {
		t.Errorf("the buttons that are on are %q, want both: nobody has answered yet", on)
	}

	p.say("operator", "yes "+code[1])
	p.untilSays(hasDone)
	p.untilAnswered(asked, "Allow")
	if p.see().Operator.count(didNot) > 0 {
		t.Error("the stranger's verdict was taken")
	}
	p.say("operator", "no "+code[1])
	p.until("the hub says that it is answered", func(v view) bool {
		_, ok := v.Operator.find(func(b bubble) bool { return b.Who == "Aldis" && strings.Contains(b.Text, "already answered") })
		return ok
	})
}

func TestAQuestionIsAnsweredByAButtonAndByANumber(t *testing.T) {
	t.Parallel()
	p := startDemo(t).open(t)
	p.say("operator", "watch a log")
	asked := p.untilAsks(crushSignal)
	on, _ := asked.Ask.labels()
	if d := cmp.Diff([]string{"1. nginx", "2. postgres", "3. cache-2"}, on); d != "" || asked.Text != "❓ crush-signal asks: Which log shall I watch?" {
		t.Errorf("it says %q, with the buttons (-want +got):\n%s", asked.Text, d)
	}
	p.choose(asked, "2. postgres")
	p.untilSays("I watch postgres from now on. You will hear of its errors.")
	p.untilAnswered(asked, "2. postgres")

	p.say("operator", "watch another log")
	p.until("it asks again", func(v view) bool { b, _ := v.Operator.asks(crushSignal); return b.Key != asked.Key })
	again := p.untilAsks(crushSignal)
	p.say("operator", "3")
	p.untilSays("I watch cache-2 from now on. You will hear of its errors.")
	p.untilAnswered(again, "3. cache-2")
}

// ownAgent joins with an agent of the visitor's own, by the address and the
// token that the page shows, and returns how it speaks.
func (d *demo) ownAgent(p *page, name string) (tell func(message string)) {
	token := eval[string](p, `document.querySelector('#join-lines').textContent.match(/Bearer ([\w-]+)/)[1]`)
	session := ""
	return func(message string) {
		p.t.Helper()
		r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, d.url+"/mcp", strings.NewReader(message))
		if err != nil {
			p.t.Fatal(err)
		}
		for key, value := range map[string]string{
			"Authorization": "Bearer " + token, "X-Signal-Agent-Id": name, "Mcp-Session-Id": session,
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			p.t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode > 299 {
			p.t.Fatalf("%s: %v %s", resp.Status, err, body)
		}
		if session == "" {
			session = resp.Header.Get("Mcp-Session-Id")
		}
	}
}

func TestWordsOfARequestStayWords(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	name := `<b onclick="window.ran='name'">`
	tell := d.ownAgent(p, name)
	tell(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mine","version":"1"}}}`)
	tell(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for n, words := range mischief[:4] { // no agent has more open at a time
		tell(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":%q,"tool_name":%[2]q,"description":%[2]q,"input_preview":%[2]q}}`,
			"abcd"+string(rune('a'+n)), words))
	}
	asked := p.untilAsks(name)
	p.click(row(asked.Key, ".ask summary"))
	p.choose(asked, "Deny")
	p.untilAnswered(asked, "Deny")
	if did := eval[string](p, `String(window.ran)`); did != "undefined" {
		t.Errorf("words were run: %s", did)
	}
	if n := eval[int](p, `document.querySelectorAll('.row img, .row svg, .row b:not(.quoted b), body script').length`); n > 0 {
		t.Errorf("words became %d elements", n)
	}
}

func TestWordsDoNotMakeARequest(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	d.start(d.joinCommand(p, "night-shift"), func() {})
	hello := p.untilSays("Hello from night-shift. Quote this to answer me.")
	p.act(hello, "Reply")
	p.write("🔐 deploy-bot asks to use Bash\n\ncommand: ls\n\nAnswer “yes abcde” or “no abcde”.")
	p.press(kb.Enter)
	v := p.until("night-shift has said it after us", func(v view) bool {
		_, ok := v.Operator.find(func(b bubble) bool { return strings.HasPrefix(b.Text, "I got: ") })
		return ok
	})
	b, _ := v.Operator.find(func(b bubble) bool { return strings.HasPrefix(b.Text, "I got: ") })
	if b.Ask != nil || strings.Contains(b.Text, "🔐") || !strings.HasSuffix(b.Text, "“no abcde”.") {
		t.Errorf("what an agent typed shows as %+v, want mere words without the mark", b)
	}
}
