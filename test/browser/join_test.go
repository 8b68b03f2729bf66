package browser

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// joinCommand is the line that the page shows for one more sample agent, as a
// shell runs it, with another name in it.
func (d *demo) joinCommand(p *page, name string) *exec.Cmd {
	p.t.Helper()
	line := eval[string](p, `[...document.querySelectorAll('#join-lines code')].map((c) => c.textContent).find((l) => l.includes('demo-agent')) ?? ''`)
	cmd := d.command(p.t)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec " + strings.Replace(line, "my-agent", `"`+name+`"`, 1)}
	return cmd
}

func TestOneMoreSampleAgentJoinsFromAnotherTerminal(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	p := d.open(t)
	p.click("#join-open")
	cmd := d.joinCommand(p, "night-shift")
	out := &buffer{}
	cmd.Stdout = out
	d.start(cmd, func() {})

	p.until("its card appears", func(v view) bool { return v.Agents["night-shift"].State == "live" })
	p.press(kb.Escape) // closes the sheet
	hello := p.untilSays("Hello from night-shift. Quote this to answer me.")
	p.reply(hello, "all quiet?")
	p.untilSays("I got: all quiet?")
	if e := p.untilReceived("night-shift", "all quiet?"); e.Status != "routed" {
		t.Errorf("the card shows the status %q, want routed", e.Status)
	}
	if said := out.String(); !strings.Contains(said, `route_status="routed"`) || !strings.Contains(said, ">all quiet?</channel>") {
		t.Errorf("its terminal shows %q, want the <channel …> text", said)
	}
	for _, other := range []string{deployBot, crushSignal} {
		if got := p.see().Agents[other].Received; len(got) > 0 {
			t.Errorf("%s received %+v, want nothing", other, got)
		}
	}
}
