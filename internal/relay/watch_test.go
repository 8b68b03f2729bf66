package relay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestWatchersHearWhatBecomesOfMessages(t *testing.T) {
	w := &hubtest.Watcher{}
	start(t, func(f *fixture) {
		f.Watch = hub.Watchers{w}
		f.Aliases = map[hub.AgentID]hub.AgentID{"notes": "ci"}
		f.sessions.Connect("ci", "desk")
		f.platform.Answer(func(hub.Message) (hub.Sent, error) {
			time.Sleep(2 * time.Second)
			return hub.Sent{}, hub.Errorf(hub.Unavailable, "the daemon is away")
		})
		says := hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "desk"}

		f.receive(from("in"))
		f.receive(from("of a stranger", func(m *hub.Message) { m.From.ID = "+9" }))
		to := says
		to.To = "notes"
		f.receive(to)
		f.receive(says)
		if _, err := f.Send(f.t.Context(), says); hub.KindOf(err) != hub.Invalid {
			t.Errorf("send nothing: %v", err)
		}
		says.Text = "hello"
		if _, err := f.Send(f.t.Context(), says); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("send: %v", err)
		}
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Receive(f.t.Context(), says); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("receive without a record: %v", err)
		}
	})
	want := []string{
		`received from "" for "": to ["desk"] dropped "" kind "" in 0s`,
		`received from "" for "": to [] dropped "stranger" kind "" in 0s`,
		`received from "desk" for "ci": to ["ci"] dropped "" kind "" in 0s`, // by its real name
		`received from "desk" for "": to ["ci"] dropped "" kind "" in 0s`,
		`sent from "desk": 0 refs kind "unavailable" in 2s`,
		`received from "desk" for "": to [] dropped "" kind "unavailable" in 0s`,
	}
	if d := cmp.Diff(want, w.Heard()); d != "" {
		t.Errorf("heard (-want +got):\n%s", d)
	}
}

func TestWatchersHearVerdicts(t *testing.T) {
	w := &hubtest.Watcher{}
	start(t, func(f *fixture) {
		f.sessions.Connect("ci")
		f.asks("ci", "s1", "r1")
		f.Watch = hub.Watchers{w}
		f.receive(from("in", says("yes oursa")))
		synctest.Wait()
	}, withPrompts)
	want := []string{
		"decided r1 true",
		`received from "" for "": to [] dropped "" kind "" in 0s`,
	}
	if d := cmp.Diff(want, w.Heard()); d != "" {
		t.Errorf("heard (-want +got):\n%s", d)
	}
}
