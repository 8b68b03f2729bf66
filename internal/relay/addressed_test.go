package relay_test

import (
	"testing"

	"aldis/internal/hub"
)

// An answer that names nobody goes to whoever wrote what it answers.
func TestAnswerWithoutATargetGoesToTheAuthor(t *testing.T) {
	const everybody, nobody = "ci desk other", ""
	says := func(agent, to hub.AgentID, via hub.Via, replyTo hub.MessageID) hub.Message {
		return hub.Message{Via: via, Kind: hub.Text, Agent: agent, Subject: "main", To: to, Text: "x", Meta: map[string]string{"reply_to": string(replyTo)}}
	}
	for _, tt := range []struct {
		name   string
		first  hub.Message
		answer func(first hub.MessageID) hub.Message
		author hub.AgentID
		gets   string
	}{
		{
			"an agent's message", says("ci", "desk", hub.ViaTool, ""),
			func(id hub.MessageID) hub.Message { return says("desk", "", hub.ViaTool, id) }, "ci", "ci",
		},
		{
			"an agent's broadcast", says("ci", "", hub.ViaTool, ""),
			func(id hub.MessageID) hub.Message { return says("desk", "", hub.ViaTool, id) }, "ci", "ci",
		},
		{
			"a script answers an agent", says("ci", "", hub.ViaTool, ""),
			func(id hub.MessageID) hub.Message { return says("cron", "", hub.ViaNotify, id) }, "ci", "ci",
		},
		{
			"a script under the name of an agent", says("other", "desk", hub.ViaNotify, ""),
			func(id hub.MessageID) hub.Message { return says("desk", "", hub.ViaTool, id) }, "other", "other",
		},
		{
			"a script that nobody listens for", says("cron", "desk", hub.ViaNotify, ""),
			func(id hub.MessageID) hub.Message { return says("desk", "", hub.ViaTool, id) }, "cron", nobody,
		},
		{
			"more on one's own message", says("ci", "desk", hub.ViaTool, ""),
			func(id hub.MessageID) hub.Message { return says("ci", "", hub.ViaTool, id) }, "", "desk",
		},
		{
			"a target counts for more", says("ci", "desk", hub.ViaTool, ""),
			func(id hub.MessageID) hub.Message { return says("desk", "other", hub.ViaTool, id) }, "", "other",
		},
		{
			"a person's message", from("in"),
			func(id hub.MessageID) hub.Message { return says("script", "", hub.ViaTool, id) }, "", everybody,
		},
		{
			"a webhook's", says("desk", "ci", hub.ViaHook, ""),
			func(id hub.MessageID) hub.Message { return says("script", "", hub.ViaTool, id) }, "", everybody,
		},
		{
			"one that nobody knows", says("ci", "desk", hub.ViaTool, ""),
			func(hub.MessageID) hub.Message { return says("script", "", hub.ViaTool, "m999") }, "", everybody,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t, func(f *fixture) {
				f.sessions.Connect("ci", "desk", "other")
				for _, agent := range []hub.AgentID{"ci", "desk", "other"} {
					if err := f.store.SaveSession(f.t.Context(), hub.SavedSession{ID: hub.SessionID(agent), Agent: agent, Named: true}); err != nil {
						t.Fatal(err)
					}
				}
				first := f.receive(tt.first)
				r := f.receive(tt.answer(first.ID))
				gets := ""
				for _, agent := range r.Decision.To {
					if gets != "" {
						gets += " "
					}
					gets += string(agent)
				}
				if r.Author != tt.author || gets != tt.gets {
					t.Errorf("it answers %q and goes to %q, want %q and %q", r.Author, gets, tt.author, tt.gets)
				}
				if n := f.Taken(); n != 2 {
					t.Errorf("%d messages were taken in, want 2", n)
				}
			})
		})
	}
}

func TestWhatIsDroppedOrRepeatedIsNotTakenIn(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("ci", "desk")
		stranger := from("one")
		stranger.From.ID = "+666"
		f.receive(stranger)
		f.receive(from("two"))
		f.receive(from("two"))
		call := hub.Message{Via: hub.ViaTool, Kind: hub.Text, Agent: "ci", Text: "x", Dedup: "call|1"}
		f.receive(call)
		f.receive(call)
		if n := f.Taken(); n != 2 {
			t.Errorf("%d messages were taken in, want 2", n)
		}
	})
}

// Who uses another name for an agent shall find it nowhere again.
func TestAliasIsInNoRecord(t *testing.T) {
	start(t, func(f *fixture) {
		r := f.receive(hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "cron", To: "notes", Text: "x"})
		found, err := f.store.Lookup(f.t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if found.Message.To != "ci" || len(r.Decision.To) != 1 || r.Decision.To[0] != "ci" {
			t.Errorf("recorded for %q, decided for %q, want ci", found.Message.To, r.Decision.To)
		}
	}, func(f *fixture) { f.Aliases = map[hub.AgentID]hub.AgentID{"notes": "ci"} })
}
