package browser

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPictures takes the pictures that the README and docs/demo.md show:
//
//	go test ./test/browser -run Pictures -update
func TestPictures(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("the pictures in docs/img are taken with -update")
	}
	p := startDemo(t).newPage(t)
	do(p, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	p.scheme("light")
	p.visit(p.demo.link)
	asked := p.askToRollOut()
	p.untilTicks("yes", "✓✓")
	p.click(row(asked.Key, ".ask summary"))
	p.take("demo.png", 1280, 800)
	p.choose(asked, "Allow")
	p.untilSays(hasDone)
	p.say("operator", "watch a log")
	p.untilAsks(crushSignal)
	p.untilTicks("watch a log", "✓✓")
	p.take("demo-phone.png", 360, 740)

	p.scheme("dark")
	p.size(1280, 800)
	p.click("[aria-label='deploy-bot is on line']")
	p.until("deploy-bot is gone", func(v view) bool { return v.Agents[deployBot].State == "gone" })
	p.reply(p.untilSays("Done: 12 of 12 instances run build 214."), "well done!")
	p.untilReceived(crushSignal, "well done!")
	p.untilSays("deploy-bot is not connected. You answered its “Done: 12 of 12 instances run build 214.”; I'll pass it on.")
	p.untilTicks("well done!", "✓✓")
	p.take("demo-dark.png", 1280, 800)
}

// take writes a picture of the page, at three dots for two pixels.
func (p *page) take(name string, width, height int64) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height, chromedp.EmulateScale(1.5))); err != nil {
		p.t.Fatal(err)
	}
	eval[any](p, `document.querySelectorAll('.list, .scroll').forEach((e) => { e.scrollTop = e.scrollHeight; });
		document.activeElement.blur();
		new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "docs", "img")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), shot, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// writePicture makes a PNG file: a curve, which compresses as a chart does.
func writePicture(t *testing.T, name string, width, height int) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			if y*width > x*height {
				img.SetGray(x, y, color.Gray{Y: 200})
			}
		}
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPicturesOfTheRecord takes the one of docs/admin.md.
func TestPicturesOfTheRecord(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("the pictures in docs/img are taken with -update")
	}
	d := startHub(t)
	d.join(deployBot)
	d.join(crushSignal)
	d.notify("ci", deployBot, "Build 214 is green on main: 412 tests, 3 min 20 s")
	d.notify("nightly-backup", crushSignal, "Backup of db-1 done: 18.2 GB in 6 min")
	d.notify("ci", "laptop-b", "Build 215 failed on main: TestLogin times out")
	d.notify("on-call", "", "Maintenance of cache-2 starts at 14:00. Nobody deploys until it is over, please.")
	d.notify("cron", deployBot, "Certificates of hub.example end in 12 days")
	p := d.newPage(t)
	do(p, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	p.scheme("light")
	p.visit(d.url + "/admin")
	p.logIn(adminToken)
	p.untilShows("#list .what", "Certificates")
	p.demo.eventually("everything is handed over", func() bool {
		return eval[bool](p, `document.querySelectorAll('[data-state=queued], [data-state=written]').length === 0`)
	})
	p.take("admin.png", 1280, 800)
}
