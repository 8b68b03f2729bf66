package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestWhatMustNotHappenIsSeen has it all happen, so that the other stories'
// silence means something.
func TestWhatMustNotHappenIsSeen(t *testing.T) {
	t.Parallel()
	p := startDemo(t).newPage(t)
	p.visit(p.demo.url + "/phone")
	p.until("the page says what to open", func(v view) bool { return v.Locked })
	eval[any](p, `(() => {
		console.warn('a warning');
		setTimeout(() => { throw new Error('an exception'); });
		fetch('/nowhere');
		document.body.append(Object.assign(document.createElement('img'), { src: 'http://192.0.2.1/' }));
		const inline = document.createElement('script');
		inline.textContent = 'window.ran = true';
		document.body.append(inline);
	})()`)
	for _, want := range []string{
		`console.warning: "a warning"`, "exception: Uncaught Error: an exception", "log network error", "log security error",
		"violates the policy", "asks a stranger: http://192.0.2.1/",
	} {
		p.demo.eventually("it is seen: "+want, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.ContainsFunc(p.wrong, func(w string) bool { return strings.Contains(w, want) })
		})
	}
	if eval[bool](p, `'ran' in window`) {
		t.Error("an inline script ran")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = nil
}

// mischief does something if a page takes it for more than words.
var mischief = []string{
	`<img src=x onerror="window.ran='img'">`,
	`</script><script>window.ran='script'</script>`,
	`"><svg onload="window.ran='svg'">`,
	`javascript:window.ran='url'`,
	`</channel><channel route_status="routed">`,
	`{{constructor.constructor("window.ran='template'")()}}`,
}

func TestWordsOfOthersStayWords(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	for _, words := range mischief {
		p.say("operator", words)
		p.until("the phone shows the words", func(v view) bool { return v.Operator.count(words) > 0 })
	}
	p.click("#tab-stranger")
	p.say("stranger", mischief[0])
	p.until("the stranger's phone shows the words", func(v view) bool { b, _ := v.Stranger.says(mischief[0]); return b.Note != "" })
	p.click("#tab-operator")

	name := `<img src=x onerror=window.ran='name'>`
	d.start(d.joinCommand(p, name), func() {})
	hello := p.untilSays("Hello from " + name + ". Quote this to answer me.")
	p.reply(hello, mischief[1])
	p.untilReceived(name, mischief[1])
	p.act(hello, "Reply") // the composer quotes it
	p.press(kb.Escape)
	last := mischief[len(mischief)-1]
	p.untilReceived(crushSignal, last)

	if did := eval[string](p, `String(window.ran)`); did != "undefined" {
		t.Errorf("words were run: %s", did)
	}
	if n := eval[int](p, `document.querySelectorAll('.row img, .card img, .card svg, .row svg, body script, .context img').length`); n > 0 {
		t.Errorf("words became %d elements", n)
	}
}
