package mcp_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Tests in virtual time fail by themselves if a goroutine is left; this one
// looks on real sockets.
func TestNothingIsLeftWhenTheTableHasEnded(t *testing.T) {
	h := startHub(t, setup{})
	h.mailbox("alice").Open("")
	h.mailbox("bob").Stall()
	h.label("carol").Open("")
	h.label("carol").Open("") // waits for the seat
	c := h.mailbox("dave")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.Call("tools/call", map[string]any{"name": "inbox", "arguments": map[string]any{"wait_seconds": 50}})
	}()
	eventually(t, func() error { return want("dave", h.states("dave"), "pull") })
	for range 20 {
		h.says(strings.Repeat("x", 30<<10))
	}
	h.stop()
	<-answered
	var left string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if left = goroutinesOf("internal/mcp.", "go-sdk/"); left == "" {
			return
		}
	}
	t.Errorf("still there:\n%s", left)
}

// goroutinesOf returns the stacks that name any of these packages.
func goroutinesOf(packages ...string) string {
	buf := make([]byte, 4<<20)
	var found []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, p := range packages {
			if strings.Contains(stack, p) {
				found = append(found, stack)
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}
