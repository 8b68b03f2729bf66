package browser

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// joinCommand is the line that the page shows for one more sample agent, with
// another name in it.
func (d *demo) joinCommand(p *page, name string) *exec.Cmd {
	p.t.Helper()
	line := eval[string](p, `[...document.querySelectorAll('#join-lines code')].map((c) => c.textContent).find((l) => l.includes('demo-agent'))`)
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[1] != "aldis" {
		p.t.Fatalf("the page shows no line for a sample agent: %q", line)
	}
	for i, f := range fields {
		if f == "my-agent" {
			fields[i] = name
		}
	}
	cmd := d.command(p.t, fields[2:]...)
	cmd.Env = append(cmd.Env, fields[0])
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
