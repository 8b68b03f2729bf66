package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// scriptVar makes the test's own program play the hub's process: it prints the
// lines in the variable, then ends with its standard input, or at once if the
// last line is "end".
const scriptVar = "ALDIS_TEST_SCRIPT"

func TestMain(m *testing.M) {
	script, play := os.LookupEnv(scriptVar)
	if !play {
		os.Exit(m.Run())
	}
	for _, line := range strings.Split(script, "\n") {
		if line == "end" {
			os.Exit(3)
		}
		fmt.Println(line)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// play returns a Command that plays one script after the other, the last again
// and again, and how often it was called.
func play(t *testing.T, scripts ...string) (command func() *exec.Cmd, started *int) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started = new(int)
	return func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), scriptVar+"="+scripts[min(*started, len(scripts)-1)])
		*started++
		return cmd
	}, started
}

func TestProcessObeysOrdersUntilItIsToEnd(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var orders []Order
	command, started := play(t, `{"agent":"a","online":true}`+"\nno order\n"+`{"agent":"b"}`)
	p := Process{Command: command, Order: func(o Order) {
		if orders = append(orders, o); o.Agent == "b" {
			stop()
		}
	}}
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if want := []Order{{Agent: "a", Online: true}, {Agent: "b"}}; !slices.Equal(orders, want) || *started != 1 {
		t.Errorf("orders %v in %d runs, want %v in one", orders, *started, want)
	}
}

func TestProcessThatIsKilledIsStartedAgain(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	command, started := play(t, `{"kill":true}`, `{"kill":true}`, `{"agent":"back"}`)
	p := Process{Command: command, Order: func(Order) { stop() }, Down: time.Millisecond}
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if *started != 3 {
		t.Errorf("it was started %d times, want 3", *started)
	}
}

func TestProcessThatEndsByItselfEndsTheDemo(t *testing.T) {
	command, started := play(t, "end")
	err := (&Process{Command: command, Order: func(Order) {}}).Run(t.Context())
	if err == nil || err.Error() != "the hub ended: exit status 3" || *started != 1 {
		t.Errorf("after %d runs: %v, want the exit status of the first", *started, err)
	}
}

func TestProcessThatCannotBeStarted(t *testing.T) {
	p := Process{Command: func() *exec.Cmd { return exec.Command("/does/not/exist") }}
	if err := p.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "start the hub: ") {
		t.Errorf("%v, want what was tried", err)
	}
}

func TestOrdersAreLinesOfJSON(t *testing.T) {
	b, err := json.Marshal([]Order{{Kill: true}, {Agent: "a", Online: true}, {Agent: "a"}})
	if want := `[{"kill":true},{"agent":"a","online":true},{"agent":"a"}]`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

var discard = slog.New(slog.DiscardHandler)
