package demo

import (
	"fmt"
	"strings"
	"unicode"
)

// DeployBot asks whether to roll out, and does what it is told.
func DeployBot(e Event) []string {
	switch {
	case e.Meta["edited"] != "", e.Meta["deleted"] != "", e.Meta["reaction_removed"] != "":
		return nil
	case e.Meta["route_status"] != "routed" && e.Meta["from"] == "":
		return nil // it is not for us alone
	}
	switch verdict(e) {
	case "yes":
		return []string{"Rolling out build 214 to production …", "Done: 12 of 12 instances run build 214."}
	case "no":
		return []string{"All right. Build 214 stays on staging."}
	case "":
		return []string{"I can roll out or hold. Answer yes or no, or react with 👍 or 👎."}
	default:
		return nil
	}
}

// verdict is "yes" or "no", by the first word or by a thumb; another emoji is
// itself, and empty means that it is neither.
func verdict(e Event) string {
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

// LogWatcher is the default agent: it gets what answers nobody, and what was
// meant for an agent that is away.
func LogWatcher(e Event) []string {
	switch {
	case e.Meta["edited"] != "", e.Meta["deleted"] != "", e.Meta["reaction"] != "":
		return nil
	case e.Meta["route_status"] == "agent_offline":
		return []string{fmt.Sprintf("%s is not connected. You answered its “%s”; I'll pass it on.", e.Meta["routed_agent"], e.Meta["in_reply_to_text"])}
	case strings.Contains(strings.ToLower(e.Content), "error"):
		return []string{"3 errors in the last hour, all of them timeouts of cache-2."}
	default:
		return []string{"I watch the logs: all quiet. Ask me about errors. What answers no agent in particular comes to me."}
	}
}

// Echo is the rule of an agent that somebody adds from another terminal.
func Echo(e Event) []string {
	if e.Meta["edited"] != "" || e.Meta["deleted"] != "" || e.Meta["reaction"] != "" {
		return nil
	}
	return []string{"I got: " + e.Content}
}
