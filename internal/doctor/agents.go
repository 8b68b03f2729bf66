package doctor

import (
	"fmt"
	"time"
)

// What an agent's client is called when it connects.
const (
	claudeCode = "claude-code"
	crush      = "crush"
)

func (f Facts) agents() []Result {
	switch {
	case !f.Hub.up():
		return []Result{skip("sessions", "the hub does not run")}
	case f.Hub.Admin != Accepted:
		return []Result{skip("sessions", "the hub tells them to its admin alone")}
	}
	var list []Result
	here := false
	for _, s := range f.Sessions {
		if s.State == "gone" {
			continue
		}
		list = append(list, s.check())
		here = here || s.Agent == f.Settings.DefaultAgent
	}
	if len(list) == 0 {
		list = append(list, warn("sessions", "no agent is here: messages wait", "aldis install claude-code, and start that client; docs/clients.md has the others"))
	}
	if f.Settings.DefaultAgent != "" && !here {
		list = append(list, warn("default agent", f.Settings.DefaultAgent+" is not here: what answers no other agent goes to all who are, or waits", "start it, or name another: --default-agent (ALDIS_DEFAULT_AGENT)"))
	}
	return list
}

// check says whether a session is pushed what is for it.
func (s Session) check() Result {
	name := "session " + s.ID
	who := s.Agent
	if who == "" {
		who = "without a name"
	}
	if s.Client != "" {
		who += " (" + s.Client + ")"
	}
	switch {
	case s.Evicted:
		return warn(name, who+": another session took its label, so it gets nothing more", "end one of the two, or give each a label of its own; with the header X-Signal-Agent-Id both get all")
	case s.State == "deaf":
		return fail(name, who+": its stream has ended and was not opened again, so nothing can be pushed to it, though its tools work", s.reconnect())
	case s.State == "pull" && (s.Client == claudeCode || s.Client == crush):
		return fail(name, who+": it has never opened its stream, so nothing can be pushed to it", s.reconnect())
	case s.State == "pull":
		return ok(name, who+": it fetches its messages by the tool inbox; nothing can be pushed to it")
	case s.State == "away":
		return warn(name, who+": its stream has ended a moment ago", "wait 15 s and look again: clients come back by themselves")
	case s.Agent == "":
		return warn(name, who+": it gets what is for everybody, and nobody can write to it", "name it by the header X-Signal-Agent-Id, or ?label= in its URL")
	default:
		return ok(name, who+": "+s.State)
	}
}

// reconnect is what makes a client open its stream again.
func (s Session) reconnect() string {
	switch s.Client {
	case claudeCode:
		return "in that session: /mcp, choose the hub, Reconnect. aldis attach does not lose its stream: aldis install claude-code"
	case crush:
		return "start Crush again"
	default:
		return "connect it again, or start it again; till then it can fetch messages by the tool inbox"
	}
}

// canary says at which gate a test message has stopped.
func (f Facts) canary() []Result {
	c := f.Canary
	waited := " within " + c.Waited.Round(time.Second).String()
	open := fmt.Sprintf("claude --dangerously-load-development-channels server:NAME, with the NAME of the hub among %s's servers (/mcp shows it)", c.Agent)
	gate := func(state State, says, mend string) []Result {
		return []Result{{Name: "message to " + c.Agent, State: state, Says: string(c.Gate) + ": " + says, Mend: mend}}
	}
	switch c.Gate {
	case Acknowledged:
		return gate(OK, "the agent has read it"+waited, "")
	case HandedOver:
		return gate(Warn, "it has reached the agent's client, and the agent has not acknowledged it"+waited+": it may be busy, or its client drops what is pushed",
			"is it idle, see that its client takes channels: "+open)
	case Written:
		return gate(Fail, "it was written to the agent's stream, and nothing shows that it arrived"+waited, "look at the network and at proxies between: they must not buffer /mcp; then connect the agent again")
	case Queued:
		return gate(Fail, "it waits: the agent has no stream that could bring it, and has not fetched it by the tool inbox"+waited, "see the agent's session above; if there is none, start the agent")
	case Decided:
		return gate(Fail, "there is no agent of that name, and there never was", "look at the name (aldis status), or start the agent: aldis install claude-code")
	case Undelivered:
		return gate(Fail, c.Why, "aldis log shows the message and what became of it")
	default:
		return gate(Fail, "the hub did not take it: "+c.Why, "mend what is wrong with the hub and the shared token above")
	}
}
