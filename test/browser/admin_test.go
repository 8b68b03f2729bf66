package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// The tokens of a hub whose pages are looked at.
const (
	sharedToken = "shared-token-of-a-test"
	adminToken  = "admin-token-of-a-test"
)

var listens = regexp.MustCompile(`url=(http://127\.0\.0\.1:(\d+))`)

// startHub starts a hub without a phone, and waits until it listens.
func startHub(t *testing.T) *demo {
	t.Helper()
	if window == nil {
		t.Skip("there is no Chromium: install it, and fonts-noto-color-emoji, to run the browser's stories")
	}
	d := &demo{t: t, temp: t.TempDir(), out: &buffer{}, log: &buffer{}}
	d.start(d.hub(t, t.TempDir(), "0"), func() { d.leftNothing(t) })
	d.untilListens()
	return d
}

// untilListens waits until a hub says where it listens.
func (d *demo) untilListens() (port string) {
	d.t.Helper()
	d.eventually("the hub listens", func() bool {
		m := listens.FindStringSubmatch(d.log.String())
		if m != nil {
			d.url, port = m[1], m[2]
		}
		return m != nil
	})
	return port
}

func (d *demo) hub(t *testing.T, state, port string) *exec.Cmd {
	cmd := d.command(t, "serve", "--port", port, "--state-dir", state, "--default-agent", deployBot)
	cmd.Env = append(cmd.Env, "ALDIS_AUTH_TOKEN="+sharedToken, "ALDIS_ADMIN_TOKEN="+adminToken)
	return cmd
}

// join has an agent join from another terminal, and waits until it listens.
func (d *demo) join(name string) {
	d.t.Helper()
	d.start(d.command(d.t, "demo-agent", name, "--hub", d.url, "--token", sharedToken), func() {})
	d.eventually(name+" has joined", func() bool {
		var status struct {
			Sessions []struct{ Agent, State string }
		}
		if err := json.Unmarshal([]byte(d.ask(http.MethodGet, "/api/status", adminToken, nil, http.StatusOK)), &status); err != nil {
			d.t.Fatal(err)
		}
		for _, s := range status.Sessions {
			if s.Agent == name && s.State == "live" {
				return true
			}
		}
		return false
	})
}

// notify has a script say something; an empty target is everybody.
func (d *demo) notify(label, target, content string) {
	d.t.Helper()
	body, err := json.Marshal(map[string]string{"content": content, "target": target})
	if err != nil {
		d.t.Fatal(err)
	}
	d.ask(http.MethodPost, "/notify?label="+label, sharedToken, body, http.StatusAccepted)
}

// ask calls the hub as a script does.
func (d *demo) ask(method, path, token string, body []byte, status int) string {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		d.t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
	}
	return string(text)
}

// admin opens a page of the hub's in a window of its own, and logs in.
func (d *demo) admin(t *testing.T, path string) *page {
	t.Helper()
	p := d.newPage(t)
	p.visit(d.url + path)
	p.logIn(adminToken)
	p.untilShows("h1", "Messages")
	return p
}

func (p *page) logIn(token string) {
	p.t.Helper()
	p.click("#token")
	p.write(token)
	p.press(kb.Enter)
}

// rows are the texts of the messages in the list.
func (p *page) rows() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll('#list tbody .what')].map((e) => e.textContent)`)
}

// untilRows waits until the list has these messages.
func (p *page) untilRows(want ...string) {
	p.t.Helper()
	var got []string
	p.demo.eventually("the list shows "+strings.Join(want, ", "), func() bool {
		got = p.rows()
		return strings.Join(got, "|") == strings.Join(want, "|")
	})
}

// untilShows waits until an element that the selector names has that in it.
func (p *page) untilShows(selector, text string) {
	p.t.Helper()
	p.demo.eventually(selector+" shows "+text, func() bool {
		return eval[bool](p, `document.readyState === 'complete' && [...document.querySelectorAll(`+strconv.Quote(selector)+`)].some((e) => e.innerText.includes(`+strconv.Quote(text)+`))`)
	})
}

// message returns the path of the nth newest message.
func (p *page) message(d *demo, n int) string {
	p.t.Helper()
	p.visit(d.url + "/admin")
	return eval[string](p, `document.querySelector('#list tbody tr:nth-child(`+strconv.Itoa(n)+`) a').getAttribute('href')`)
}

// untilMessage waits for the page of one message, whose title the list's begins with.
func (p *page) untilMessage() {
	p.t.Helper()
	p.demo.eventually("the page of a message", func() bool {
		return eval[bool](p, `document.readyState === 'complete' && !!document.querySelector('.text')`)
	})
}

// refused is what Chrome itself says of a page with such a status.
func refused(status string) string {
	return `log network error: Failed to load resource: the server responded with a status of ` + status + ` .*`
}

func TestTheAdminLogsInReadsAndLogsOut(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	d.notify("ci", deployBot, "build 7 failed\non main")
	p := d.newPage(t)
	p.visit(d.url + "/admin?source=ci")
	noMore := p.excuse(refused(`403 \(Forbidden\)`))
	p.logIn("guess")
	p.untilShows("[role=alert]", "this is not the admin's token")
	noMore()
	p.logIn(adminToken)
	p.untilRows("build 7 failed on main")
	if at := eval[string](p, `location.search`); at != "?source=ci" {
		t.Errorf("after the login the address has %q, want what was asked for", at)
	}
	if c := eval[string](p, `document.cookie`); c != "" {
		t.Errorf("the page can read its cookie: %q", c)
	}

	p.click("#list .what a")
	p.untilShows(".text", "build 7 failed\non main")
	p.untilShows("td", "no agent of that name")
	p.click("[action='/logout'] button")
	p.untilShows("h1", "Log in")
	p.visit(d.url + "/admin")
	p.untilShows("h1", "Log in")
}

func TestTheListIsFilteredInTheReadersZone(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	d.notify("ci", deployBot, "build failed")
	d.notify("cron", crushSignal, "backup done")
	d.notify("ci", crushSignal, "build mended")
	p := d.newPage(t)
	do(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"}) // +05:45
	p.visit(d.url + "/admin")
	p.logIn(adminToken)
	p.untilRows("build mended", "backup done", "build failed")

	p.click("#filter summary")
	p.click("#source")
	p.write("ci")
	p.press(kb.Enter)
	p.untilRows("build mended", "build failed")
	p.click("#q")
	p.write("mend")
	p.press(kb.Enter)
	p.untilRows("build mended")
	p.click(".do a")
	p.untilRows("build mended", "backup done", "build failed")

	p.click("#filter summary")
	p.click("#exclude")
	p.write("cron, nobody")
	eval[any](p, `(() => {
		const hourAgo = new Date(Date.now() - 3600_000);
		const two = (n) => String(n).padStart(2, '0');
		document.querySelector('#since').value = window.name = hourAgo.getFullYear() + '-' + two(hourAgo.getMonth() + 1) + '-' + two(hourAgo.getDate()) +
			'T' + two(hourAgo.getHours()) + ':' + two(hourAgo.getMinutes());
	})()`)
	p.press(kb.Enter)
	p.untilRows("build mended", "build failed")
	p.demo.eventually("the form shows the time as it was given", func() bool {
		return eval[bool](p, `document.querySelector('#since').value.startsWith(window.name) && document.querySelector('#tz').value.startsWith('Asia/Kat')`)
	})
	if !eval[bool](p, `(() => {
		const t = document.querySelector('#list time');
		return t.textContent.includes(String(new Date(t.dateTime).getMinutes()).padStart(2, '0')) && !t.textContent.includes('UTC');
	})()`) {
		t.Error("the list does not show times in the reader's zone")
	}
}

func TestTheListIsLive(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	p := d.admin(t, "/admin")
	p.untilShows("#list", "Nothing was said yet.")
	d.notify("ci", deployBot, "first")
	p.untilRows("first")
	p.untilShows("#news", "A new message")
	if len(p.rows()) != 1 || !eval[bool](p, `document.querySelector('#list tr.new') !== null`) {
		t.Error("the new row is not marked")
	}

	d.join(deployBot)
	d.notify("ci", deployBot, "second")
	p.untilShows("#list tbody .what", "second")
	p.untilShows("#list tbody .fate", deployBot+": handed over")
}

func TestALoginAndTheLiveListOutliveTheHub(t *testing.T) {
	t.Parallel()
	if window == nil {
		t.Skip("there is no Chromium")
	}
	d := &demo{t: t, temp: t.TempDir(), out: &buffer{}, log: &buffer{}}
	state := t.TempDir()
	first := d.hub(t, state, "0")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	port := d.untilListens()
	d.notify("ci", "nobody", "before")
	p := d.admin(t, "/admin")
	p.untilRows("before")

	noMore := p.excuse(`log network error: Failed to load resource: net::ERR_\S+ /(admin|login)\S*`)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	d.log = &buffer{}
	d.start(d.hub(t, state, port), func() { d.leftNothing(t) })
	d.untilListens()
	d.notify("ci", "nobody", "after")
	p.untilRows("after", "before")
	noMore()
}

func TestWhatIsReadDoesNotMove(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	d.notify("ci", "nobody", "one")
	p := d.admin(t, "/admin")
	p.untilRows("one")
	eval[any](p, `getSelection().selectAllChildren(document.querySelector('#list .what'))`)
	d.notify("ci", "nobody", "two")
	p.demo.eventually("the record has two messages", func() bool {
		return eval[bool](p, `fetch('/admin').then((r) => r.text()).then((t) => t.includes('>two<'))`)
	})
	p.untilRows("one")
	eval[any](p, `document.querySelector('#list a').focus()`)
	eval[any](p, `getSelection().removeAllRanges()`)
	p.untilRows("two", "one")
	if at := eval[string](p, `document.activeElement.textContent`); at != "one" {
		t.Errorf("the focus has moved to %q", at)
	}

	p.click("#live")
	d.notify("ci", "nobody", "three")
	if on := eval[string](p, `document.querySelector('#live').getAttribute('aria-checked')`); on != "false" {
		t.Errorf("the switch is %s, want it off", on)
	}
	p.untilRows("two", "one")
	p.click("#live")
	p.untilRows("three", "two", "one")
}

// A browser has six connections to one hub, for all its tabs.
func TestAPageThatNobodySeesHoldsNoConnection(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	d.notify("ci", "nobody", "one")
	p := d.admin(t, "/admin")
	p.untilRows("one")
	eval[any](p, `void (window.others = Array.from({ length: 5 }, () => new EventSource('/admin/live')))`)
	p.demo.eventually("five other pages are live", func() bool {
		return eval[bool](p, `others.every((s) => s.readyState === EventSource.OPEN)`)
	})
	const show = `Object.defineProperty(document, 'hidden', { value: %v, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`
	eval[any](p, fmt.Sprintf(show, true))
	if !eval[bool](p, `fetch('/admin', { signal: AbortSignal.timeout(5000) }).then((r) => r.ok, () => false)`) {
		t.Error("a hidden page is in the way of others")
	}
	d.notify("ci", "nobody", "two")
	eval[any](p, `others.forEach((s) => s.close())`)
	eval[any](p, fmt.Sprintf(show, false))
	p.untilRows("two", "one")
}

func TestThePagesWithoutAMouse(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	d.notify("ci", "nobody", "one")
	p := d.admin(t, "/admin")
	onTo := func(what string) {
		t.Helper()
		for range 60 { // a field for a time has one place for each part of it
			if eval[string](p, `document.activeElement.id + ' ' + document.activeElement.textContent.trim().slice(0, 40)`) == what {
				return
			}
			p.press(kb.Tab)
		}
		t.Fatalf("%q never gets the focus", what)
	}
	onTo("live ")
	p.press(" ")
	p.untilShows(".live", "Live")
	onTo(" Filter")
	p.press(kb.Enter)
	onTo("q ")
	p.write("one")
	p.press(kb.Enter)
	p.demo.eventually("the filter is in the address", func() bool { return strings.Contains(eval[string](p, `location.search`), "q=one") })
	onTo(" one")
	if !eval[bool](p, `getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
		t.Error("the focus cannot be seen")
	}
	p.press(kb.Enter)
	p.untilMessage()
	p.untilShows(".text", "one")
	onTo(" Agents")
	p.press(kb.Enter)
	p.untilShows("h1", "Agents")
	onTo(" Log out")
	p.press(kb.Enter)
	p.untilShows("h1", "Log in")
}

func TestThePagesAreInNobodysWay(t *testing.T) {
	t.Parallel()
	needEngine(t)
	d := startHub(t)
	d.join(deployBot)
	d.notify("ci", deployBot, "build 7 failed on main: "+strings.Repeat("a-very-long-word", 20))
	d.notify("ci", "nobody", "lost")
	d.notify("ci", "", "to all")
	p := d.newPage(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			p.scheme(scheme)
			p.size(width, 800)
			check := func(path, title string) {
				t.Helper()
				p.visit(d.url + path)
				p.untilShows("h1", title)
				what := scheme + ", " + strconv.FormatInt(width, 10) + " px: " + path
				p.accessible(what)
				if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("%s is %d px wide", what, wide)
				}
			}
			check("/login", "Log in")
			p.logIn(adminToken)
			p.untilShows("h1", "Messages")
			check("/admin", "Messages")
			check("/admin?source=ci", "Messages") // the filter is open
			check("/admin/agents", "Agents")
			check("/admin/prompts", "Permissions")
			check("/", "Aldis")
			check(p.message(d, 1), "Message")
			noMore := p.excuse(refused(`400 \(Bad Request\)`))
			check("/admin?page=x", "Bad Request")
			noMore()
			p.click("[action='/logout'] button")
			p.untilShows("h1", "Log in")
		}
	}
}

func TestAttackAMessageIsNothingButWords(t *testing.T) {
	t.Parallel()
	d := startHub(t)
	for _, m := range mischief {
		d.notify("ci", "nobody", m)
	}
	p := d.admin(t, "/admin")
	p.demo.eventually("the list shows them all", func() bool { return len(p.rows()) == len(mischief) })
	for i, m := range mischief {
		p.visit(d.url + p.message(d, len(mischief)-i))
		p.untilMessage()
		if got := eval[string](p, `document.querySelector('.text').textContent`); got != m {
			t.Errorf("the page shows %q, want %q", got, m)
		}
		if eval[bool](p, `'ran' in window`) {
			t.Errorf("%s ran", m)
		}
	}
}
