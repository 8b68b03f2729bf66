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
	rollOut := []string{"Rolling out build 214 to production …", "Done: 12 of 12 instances run build 214."}
	hold := []string{"All right. Build 214 stays on staging."}
	whatCanIDo := []string{"I can roll out or hold. Answer yes or no, or react with 👍 or 👎."}
	quiet := []string{"I watch the logs: all quiet. Ask me about errors. What answers no agent in particular comes to me."}
	errors := []string{"3 errors in the last hour, all of them timeouts of cache-2."}

	for _, tt := range []struct {
		name string
		rule func(Event) []string
		in   Event
		want []string
	}{
		{"deploy-bot rolls out on yes", DeployBot, said("yes", "routed"), rollOut},
		{"however it is written", DeployBot, said(" Yes, do it!\n", "routed"), rollOut},
		{"or put", DeployBot, said("roll out now", "routed"), rollOut},
		{"and on a thumb up", DeployBot, said("[reaction: 👍 to message 1 from aldis]", "routed", "reaction", "👍"), rollOut},
		{"of any skin", DeployBot, said("", "routed", "reaction", "👍🏽"), rollOut},
		{"it holds on no", DeployBot, said("No.", "routed"), hold},
		{"and on a thumb down", DeployBot, said("", "routed", "reaction", "👎"), hold},
		{"another reaction is no verdict", DeployBot, said("", "routed", "reaction", "🎉"), nil},
		{"a picture alone is none either", DeployBot, said("", "routed"), whatCanIDo},
		{"it says what it can do", DeployBot, said("nice weather", "routed"), whatCanIDo},
		{"and takes no word for another", DeployBot, said("nobody knows", "routed"), whatCanIDo},
		{"it leaves alone what is not for it alone", DeployBot, said("yes", "unrouted"), nil},
		{"but not what another agent or a script writes to it", DeployBot, Event{Content: "yes", Meta: map[string]string{"from": "ci"}}, rollOut},
		{"an edit comes too late", DeployBot, said("no", "routed", "edited", "1"), nil},
		{"so does a deletion", DeployBot, said("", "routed", "deleted", "1"), nil},
		{"a reaction that is taken back is none", DeployBot, said("", "routed", "reaction", "👍", "reaction_removed", "true"), nil},

		{"crush-signal knows of errors", LogWatcher, said("Any ERRORS?", "unrouted"), errors},
		{"and of nothing else", LogWatcher, said("hello", "unrouted"), quiet},
		{
			"it says whom an answer was meant for", LogWatcher, said("yes", "agent_offline", "routed_agent", "deploy-bot", "in_reply_to_text", "Roll out?"),
			[]string{"deploy-bot is not connected. You answered its “Roll out?”; I'll pass it on."},
		},
		{"it leaves reactions alone", LogWatcher, said("", "routed", "reaction", "🎉"), nil},

		{"one more agent says what it got", Echo, said("hello", "routed"), []string{"I got: hello"}},
		{"and leaves the rest alone", Echo, said("", "routed", "deleted", "1"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.rule(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
