package relay_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/gate"
	"aldis/internal/hub"
)

// TestStrangerIsToldACode, and nobody else anything: not the group that they
// write in, and not the agents.
func TestStrangerIsToldACode(t *testing.T) {
	pairing := func(f *fixture) {
		f.Gate.NewCode = func() string { return "ABCDEF" }
		f.Gate.Install(gate.Access{Policy: gate.PolicyPairing}, 0)
	}
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		stranger := func(m *hub.Message) { m.From.ID, m.Ref.Chat = "+9", "+9" }
		inGroup := func(m *hub.Message) { m.Group, m.Ref.Chat, m.Addressed = "x", "group:x", true }
		f.receive(from("1", stranger, inGroup))
		for _, key := range []string{"2", "3", "4"} {
			f.receive(from(key, stranger))
		}
		f.wantGot(got{})
		var told []string
		for _, m := range f.platform.Sent() {
			told = append(told, string(m.Ref.Chat)+": "+m.Text)
		}
		const says = "+9: Whoever runs this has to let you in first. Give them this code: ABCDEF"
		if d := cmp.Diff([]string{says, says}, told); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}

		a := f.Gate.Access()
		x, err := a.Pair("abcdef", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		f.Gate.Install(a, len(f.Gate.Unsaved()))
		f.Welcome(x)
		f.receive(from("5", stranger))
		f.wantGot(got{"desk": {"unrouted 5"}})
		sent := f.platform.Sent()
		if last := sent[len(sent)-1]; last.Ref.Chat != "+9" || !strings.Contains(last.Text, "let in") {
			t.Errorf("at last %q is told %q", string(last.Ref.Chat), last.Text)
		}
	}, pairing)
}

// TestNothingIsAskedOfWhoeverHasTheOperatorsNumberNow keeps what agents are up to
// from somebody who has only got the number.
func TestNothingIsAskedOfWhoeverHasTheOperatorsNumberNow(t *testing.T) {
	start(t, func(f *fixture) {
		f.Gate.Operate(fake, hub.SenderID(operator))
		for _, lasting := range []hub.SenderID{"old", "new"} {
			f.receive(from(string(lasting), func(m *hub.Message) { m.From = hub.Sender{ID: hub.SenderID(operator), Lasting: lasting} }))
		}
		before := len(f.platform.Sent())
		f.Permission(f.t.Context(), hub.Prompt{Agent: "ci", Session: "s", Request: "abcde", Tool: "Bash"}, "rm", "{}")
		synctest.Wait()
		if sent := f.platform.Sent()[before:]; len(sent) != 0 {
			t.Errorf("sent: %q", sent[0].Text)
		}
		if n := f.OpenPrompts(); n != 0 {
			t.Errorf("%d are open", n)
		}
	})
}
