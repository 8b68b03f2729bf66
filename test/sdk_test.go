package test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestRoutingWithTheTypeScriptSDK tells the story of reply-routing.md with the
// official TypeScript client, as most agents are built on it.
func TestRoutingWithTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	needSDK(t)
	tellRouting(t, func(h *hub, name string) client { return h.connectSDK(name) })
}

// needSDK skips a test where the client cannot run.
func needSDK(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node to run the TypeScript SDK on")
	}
	if _, err := os.Stat("node_modules/@modelcontextprotocol/sdk"); err != nil {
		t.Skip("the TypeScript SDK is not installed: run npm ci in test/")
	}
}

// An sdkAgent is an agent on the TypeScript SDK: a process of sdk/agent.mjs.
type sdkAgent struct {
	t       testing.TB
	hub     *hub
	name    string
	in      io.WriteCloser
	cmd     *exec.Cmd
	answers chan sdkAnswer
	read    sync.WaitGroup

	mu     sync.Mutex
	events []event
}

type sdkAnswer struct {
	Text    string
	IsError bool
}

// connectSDK joins the hub, and waits until it counts the agent as present.
func (h *hub) connectSDK(name string) *sdkAgent {
	h.t.Helper()
	script, err := filepath.Abs("sdk/agent.mjs")
	if err != nil {
		h.t.Fatal(err)
	}
	a := &sdkAgent{t: h.t, hub: h, name: name, answers: make(chan sdkAnswer, 16)}
	a.cmd = exec.Command("node", script, h.url+"/mcp", token, name)
	a.cmd.Stderr = os.Stderr
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	a.read.Go(func() { a.listen(out) })
	h.t.Cleanup(a.disconnect)
	h.awaitPresence(name, true)
	return a
}

func (a *sdkAgent) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var l struct {
			Event  *event
			Answer *sdkAnswer
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			a.t.Errorf("the SDK's agent printed %q: %v", lines.Text(), err)
			return
		}
		switch {
		case l.Event != nil:
			a.mu.Lock()
			a.events = append(a.events, *l.Event)
			a.mu.Unlock()
		case l.Answer != nil:
			a.answers <- *l.Answer
		}
	}
}

// disconnect ends the process, which closes its stream.
func (a *sdkAgent) disconnect() {
	_ = a.in.Close()         // it ends by itself
	_ = a.cmd.Process.Kill() // and if not, so
	a.read.Wait()
	_ = a.cmd.Wait() // killed or not, it has ended
}

func (a *sdkAgent) call(tool string, args map[string]any) string {
	a.t.Helper()
	b, err := json.Marshal(map[string]any{"tool": tool, "args": args})
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(append(b, '\n')); err != nil {
		a.t.Fatal(err)
	}
	var got sdkAnswer
	eventually(a.t, "the tool answers", func() bool {
		select {
		case got = <-a.answers:
			return true
		default:
			return false
		}
	})
	if got.IsError {
		a.t.Fatalf("%s: %s", tool, got.Text)
	}
	return got.Text
}

func (a *sdkAgent) got() []event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

func (a *sdkAgent) await(n int) []event {
	a.t.Helper()
	eventually(a.t, a.name+" has its events", func() bool { return len(a.got()) >= n })
	return a.got()
}
