package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is a message of the operator's, routed as the status says.
func said(text, status string, more ...string) Event {
	e := Event{Content: text, Meta: map[string]string{"chat_id": "operator", "route_status": status}}
	for i := 0; i < len(more); i += 2 {
		e.Meta[more[i]] = more[i+1]
	}
	return e
}

func TestWhatSampleAgentsAnswer(t *testing.T) {
	mayI := Reply{Permit: rollout}
	rollOut := say("Rolling out build 214 to production …", "Done: 12 of 12 instances run build 214.")
	rollOut.Tell = []Note{rolledOut}
	denied := say("You denied the command, so I did not run it. Build 214 stays on staging.")
	hold := say("All right. Build 214 stays on staging.")
	whatCanIDo := say("I can roll out or hold. Answer yes or no, or react with 👍 or 👎.")
	quiet := say("All quiet in the logs. Ask me about errors, or to watch one. What answers no agent in particular comes to me.")
	errors := say("3 errors in the last hour, all of them timeouts of cache-2.")
	wrote := func(text, kind string) Event {
		return Event{Content: text, Meta: map[string]string{"from": "ci", "kind": kind}}
	}
	verdict := func(behavior string) Event {
		return Event{Content: "yes", Verdict: &Verdict{"abcde", behavior}}
	}

	for _, tt := range []struct {
		name string
		rule func(Event) Reply
		in   Event
		want Reply
	}{
		{"deploy-bot asks for permission on yes", DeployBot, said("yes", "routed"), mayI},
		{"however it is written", DeployBot, said(" Yes, do it!\n", "routed"), mayI},
		{"or put", DeployBot, said("roll out now", "routed"), mayI},
		{"and on a thumb up", DeployBot, said("[reaction: 👍 to message 1 from aldis]", "routed", "reaction", "👍"), mayI},
		{"of any skin", DeployBot, said("", "routed", "reaction", "👍🏽"), mayI},
		{"it rolls out once it is allowed", DeployBot, verdict("allow"), rollOut},
		{"and does not when it is denied", DeployBot, verdict("deny"), denied},
		{"nor on any other verdict", DeployBot, verdict("maybe"), denied},
		{"it holds on no", DeployBot, said("No.", "routed"), hold},
		{"and on a thumb down", DeployBot, said("", "routed", "reaction", "👎"), hold},
		{"another reaction is no verdict", DeployBot, said("", "routed", "reaction", "🎉"), Reply{}},
		{"a picture alone is none either", DeployBot, said("", "routed"), whatCanIDo},
		{"it says what it can do", DeployBot, said("nice weather", "routed"), whatCanIDo},
		{"and takes no word for another", DeployBot, said("nobody knows", "routed"), whatCanIDo},
		{"it leaves alone what is not for it alone", DeployBot, said("yes", "unrouted"), Reply{}},
		{"but not what another agent or a script writes to it", DeployBot, Event{Content: "yes", Meta: map[string]string{"from": "ci"}}, mayI},
		{"a question of one too", DeployBot, wrote("yes", "question"), mayI},
		{"it answers no answer", DeployBot, wrote("yes", "reply"), Reply{}},
		{"an edit comes too late", DeployBot, said("no", "routed", "edited", "1"), Reply{}},
		{"so does a deletion", DeployBot, said("", "routed", "deleted", "1"), Reply{}},
		{"a reaction that is taken back is none", DeployBot, said("", "routed", "reaction", "👍", "reaction_removed", "true"), Reply{}},

		{"crush-signal knows of errors", LogWatcher, said("Any ERRORS?", "unrouted"), errors},
		{"it asks which log to watch", LogWatcher, said("Watch a log, please", "unrouted"), Reply{Ask: logs}},
		{"and says which it watches", LogWatcher, said("2", "routed", "question", "1", "answer", "postgres"), say("I watch postgres from now on. You will hear of its errors.")},
		{"a reaction answers too", LogWatcher, said("", "routed", "question", "1", "answer", "🎉", "reaction", "🎉"), say("I watch 🎉 from now on. You will hear of its errors.")},
		{"no answer is none", LogWatcher, Event{Content: "[nobody has answered]", Meta: map[string]string{"question": "1", "from": "aldis"}}, Reply{}},
		{"it knows of nothing else", LogWatcher, said("hello", "unrouted"), quiet},
		{
			"it says whom an answer was meant for", LogWatcher, said("yes", "agent_offline", "routed_agent", "deploy-bot", "in_reply_to_text", "Roll out?"),
			say("deploy-bot is not connected. You answered its “Roll out?”; I'll pass it on."),
		},
		{"it takes note of a rollout, and no more", LogWatcher, wrote(rolledOut.Text, "status"), Reply{}},
		{"of what it is told too", LogWatcher, wrote("any errors?", "info"), Reply{}},
		{"and of an acknowledgement", LogWatcher, wrote("ok", "ack"), Reply{}},
		{"but an agent's request", LogWatcher, wrote("any errors?", "request"), errors},
		{"it leaves reactions alone", LogWatcher, said("", "routed", "reaction", "🎉"), Reply{}},

		{"one more agent says what it got", Echo, said("hello", "routed"), say("I got: hello")},
		{"but not to who has only answered", Echo, wrote("I got: hello", "reply"), Reply{}},
		{"and leaves the rest alone", Echo, said("", "routed", "deleted", "1"), Reply{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.rule(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
