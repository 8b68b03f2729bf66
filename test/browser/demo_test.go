package browser

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a story waits for what must happen.
const patience = 20 * time.Second

// The sample agents of the demo.
const (
	deployBot   = "deploy-bot"
	crushSignal = "crush-signal"
)

// question is what deploy-bot asks first.
const question = "Build 214 is green on main. Roll out to production?"

// A demo is an aldis serve --demo under test.
type demo struct {
	t    *testing.T
	url  string // of the hub: http://127.0.0.1:12345
	link string // that it printed
	temp string // where it may put its folder
	out  *buffer
	log  *buffer
}

var printed = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/phone#\S+`)

// startDemo starts a demo in a clean home, and waits until it prints its link.
// At the end of the test the demo is asked to end, and must leave nothing.
func startDemo(t *testing.T) *demo {
	t.Helper()
	if window == nil {
		t.Skip("there is no Chromium: install it, and fonts-noto-color-emoji, to run the browser's stories")
	}
	d := &demo{t: t, temp: t.TempDir(), out: &buffer{}, log: &buffer{}}
	cmd := d.command(t, "serve", "--demo")
	cmd.Stdout = d.out
	d.start(cmd, func() { d.leftNothing(t) })
	d.eventually("the demo prints its link", func() bool {
		m := printed.FindStringSubmatch(d.out.String())
		if m == nil {
			return false
		}
		d.link, d.url = m[0], m[1]
		return true
	})
	return d
}

// command prepares a run of the program in a clean home.
func (d *demo) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "TMPDIR=" + d.temp}
	cmd.Stderr = d.log
	return cmd
}

// start runs cmd until the end of the test, when it is asked to end. It must do
// so with exit code 0; then then is called.
func (d *demo) start(cmd *exec.Cmd, then func()) {
	d.t.Helper()
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		if timer.Stop(); err != nil {
			d.t.Errorf("%s: %v", strings.Join(cmd.Args[1:], " "), err)
		}
		then()
	})
}

func (d *demo) leftNothing(t *testing.T) {
	left, err := os.ReadDir(d.temp)
	if err != nil {
		t.Error(err)
	}
	for _, e := range left {
		t.Errorf("the demo leaves %s behind", e.Name())
	}
	if t.Failed() || strings.Contains(d.log.String(), "DATA RACE") {
		t.Errorf("log of the demo:\n%s", d.log)
	}
}

// eventually waits until ok says so. What a process does shows only from
// outside, so this looks again and again.
func (d *demo) eventually(what string, ok func() bool) {
	d.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			d.t.Fatalf("waited %s in vain: %s\n%s", patience, what, d.log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A buffer can be read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
