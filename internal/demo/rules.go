package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// rollout is what a client asks before its model's command is run.
var rollout = &Permit{
	Tool: "Bash", Description: "Roll out build 214 to production",
	Input: `{"command":"kubectl -n production set image deploy/web web=web:214"}`,
}

// rolledOut is what deploy-bot lets the agent know that watches the logs.
var rolledOut = Note{
	To: "crush-signal", Text: "Build 214 is in production on 12 of 12 instances.",
	Meta: map[string]string{"kind": "status", "topic": "rollout", "commit": "9f2c1e7"},
}

// informs reports whether e is another agent's, or a script's, that by its kind
// wants no answer: two agents that answer each other's would never end.
func informs(e Event) bool {
	return e.Meta["from"] != "" && slices.Contains([]string{"info", "status", "ack", "reply"}, e.Meta["kind"])
}

// DeployBot asks whether to roll out, and does what it is told. The command
// that it needs is run with a person's permission alone.
func DeployBot(e Event) Reply {
	switch {
	case e.Verdict != nil && e.Verdict.Behavior == "allow":
		return Reply{
			Say:  []string{"Rolling out build 214 to production …", "Done: 12 of 12 instances run build 214."},
			Tell: []Note{rolledOut},
		}
	case e.Verdict != nil:
		return say("You denied the command, so I did not run it. Build 214 stays on staging.")
	case informs(e), e.Meta["edited"] != "", e.Meta["deleted"] != "", e.Meta["reaction_removed"] != "":
		return Reply{}
	case e.Meta["route_status"] != "routed" && e.Meta["from"] == "":
		return Reply{} // it is not for us alone
	}
	switch wish(e) {
	case "yes":
		return Reply{Permit: rollout}
	case "no":
		return say("All right. Build 214 stays on staging.")
	case "":
		return say("I can roll out or hold. Answer yes or no, or react with 👍 or 👎.")
	default:
		return Reply{}
	}
}

func say(text ...string) Reply { return Reply{Say: text} }

// wish is "yes" or "no", by the first word or by a thumb; another emoji is
// itself, and empty means that it is neither.
func wish(e Event) string {
	if r := e.Meta["reaction"]; r != "" {
		switch {
		case strings.HasPrefix(r, "👍"):
			return "yes"
		case strings.HasPrefix(r, "👎"):
			return "no"
		default:
			return r
		}
	}
	words := strings.FieldsFunc(strings.ToLower(e.Content), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		return ""
	}
	switch words[0] {
	case "yes", "y", "ok", "go", "roll", "sure":
		return "yes"
	case "no", "n", "hold", "stop", "wait":
		return "no"
	default:
		return ""
	}
}

// logs are what LogWatcher can watch.
var logs = &Question{"Which log shall I watch?", []string{"nginx", "postgres", "cache-2"}}

// LogWatcher is the default agent: it gets what answers nobody, and what was
// meant for an agent that is away.
func LogWatcher(e Event) Reply {
	text := strings.ToLower(e.Content)
	switch {
	case e.Meta["answer"] != "":
		return say(fmt.Sprintf("I watch %s from now on. You will hear of its errors.", e.Meta["answer"]))
	case informs(e), e.Meta["edited"] != "", e.Meta["deleted"] != "", e.Meta["reaction"] != "", e.Meta["question"] != "":
		return Reply{}
	case e.Meta["route_status"] == "agent_offline":
		return say(fmt.Sprintf("%s is not connected. You answered its “%s”; I'll pass it on.", e.Meta["routed_agent"], e.Meta["in_reply_to_text"]))
	case strings.Contains(text, "error"):
		return say("3 errors in the last hour, all of them timeouts of cache-2.")
	case strings.Contains(text, "watch"):
		return Reply{Ask: logs}
	default:
		return say("All quiet in the logs. Ask me about errors, or to watch one. What answers no agent in particular comes to me.")
	}
}

// Echo is the rule of an agent that somebody adds from another terminal.
func Echo(e Event) Reply {
	if informs(e) || e.Meta["edited"] != "" || e.Meta["deleted"] != "" || e.Meta["reaction"] != "" {
		return Reply{}
	}
	return say("I got: " + e.Content)
}
