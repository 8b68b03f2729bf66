// Package browser has the stories of the demo, told in a real browser against
// the real binary: a headless Chromium, a phone of its own for each story, all
// on the loopback address. It is a package of its own so that the other stories
// need not wait for it.
//
// Its one rule: a story does what a person does. It clicks, types and reads
// what the page shows; it calls nothing that a person could not.
package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the pictures in docs/img again")

// What all stories share. Each has a demo and a window of its own.
var (
	binary string          // the program, built once a run
	window context.Context // of the browser; nil: there is none
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Stories wait most of the time: for a stream to prove itself, for an
	// agent to answer.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("4")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	program, found := findBrowser()
	if !found {
		return m.Run() // each story says why it is skipped
	}
	dir, err := os.MkdirTemp("", "aldis-browser-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer removeAll(dir)
	binary = filepath.Join(dir, "aldis")
	args := append([]string{"build", "-buildvcs=false", "-o", binary}, raceFlags...)
	if out, err := exec.Command("go", append(args, "aldis/cmd/aldis")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	ctx, closeBrowser, err := startBrowser(program, filepath.Join(dir, "profile"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the browser:", err)
		return 1
	}
	defer closeBrowser()
	window = ctx
	return m.Run()
}

func findBrowser() (program string, found bool) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && runtime.GOOS != "windows" { // there no process can be asked to end
			return p, true
		}
	}
	return "", false
}

// startBrowser starts a browser that calls nobody by itself.
func startBrowser(program, profile string) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil { // starts it
		cancel()
		return nil, nil, err
	}
	return ctx, func() {
		limit, done := context.WithTimeout(ctx, 10*time.Second)
		defer done()
		_ = chromedp.Cancel(limit) // closes it in order; cancel kills what is left
		cancel()
	}, nil
}

// removeAll removes a folder that a browser's last processes may still be
// writing to.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
