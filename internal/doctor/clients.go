package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func (f Facts) clients() []Result {
	var list []Result
	for _, b := range f.BadFiles {
		list = append(list, fail(b.Client, b.Why, "mend the file; aldis install "+b.Client+" prints what belongs in it"))
	}
	pushed := false
	for _, c := range f.Clients {
		list = append(list, c.check(f.Hub))
		pushed = pushed || c.ID == claudeCode && c.Verb != "history"
	}
	switch {
	case f.NoClients != "":
		list = append(list, skip("entries", "clients' files were not looked for: "+f.NoClients))
	case len(list) == 0:
		list = append(list, skip("entries", "no client's file names the hub; aldis install CLIENT does that"))
	}
	for _, s := range f.Switches {
		if pushed {
			list = append(list, s.check())
		}
	}
	return list
}

func (c Client) name() string { return c.ID + " server " + c.Name }

// check says whether a client that is started now would find the hub.
func (c Client) check(h Hub) Result {
	name, again := c.name(), "aldis install "+c.ID+" --write"
	switch {
	case c.Off:
		return skip(name, "it is switched off in "+c.Where)
	case c.Absent != "":
		return fail(name, fmt.Sprintf("%s starts %s, and there is no such program", c.Where, c.Absent), again)
	case c.Verb == "channel" && h.up():
		return warn(name, c.Where+" starts aldis channel, which talks to signal-cli itself: beside the hub, both hear everything", again+" has it use the hub")
	case c.Verb != "" && c.Verb != "attach":
		return ok(name, "it starts aldis "+c.Verb+", which needs no hub")
	case c.Unset != "":
		return warn(name, fmt.Sprintf("%s takes the token from the variable %s, which is not set here", c.Where, c.Unset), "see that "+c.Unset+" is set where the client is started; start it again if not")
	case !c.Here && h.up():
		return fail(name, fmt.Sprintf("%s leads to %s, and the hub is at %s", c.Where, c.URL, h.URL), again)
	case c.Agent == "" && !c.Own:
		return fail(name, c.Where+" has no X-Signal-Agent-Id (nor ?label=, nor --agent): nobody can write to it", again)
	default:
		return c.token(name, again)
	}
}

func (c Client) token(name, again string) Result {
	agent := c.Agent
	if agent == "" {
		agent = "the agent of its token"
	}
	switch c.Token {
	case Unknown:
		where := "that " + c.Where + " leads to"
		if c.Literal {
			where = "in " + c.Where
		}
		return fail(name, "the hub does not take the token "+where, again+" with the hub's own (ALDIS_AUTH_TOKEN), or one of aldis token add "+quote(agent))
	case WrongKind:
		return fail(name, fmt.Sprintf("the token of %s is not for %s", c.Where, agent), "aldis token add "+quote(agent)+", and put that one there; the admin's belongs in no agent's hands")
	case NoToken:
		return fail(name, c.Where+" has no token, and the hub wants one", again)
	case Accepted:
		return ok(name, "the hub takes its token, as "+agent+c.flags())
	default:
		return ok(name, c.Where+" names the hub, as "+agent+"; its token was not tried"+c.flags())
	}
}

// flags says with which flags the client has to be started to be pushed to.
func (c Client) flags() string {
	if c.ID != claudeCode {
		return ""
	}
	return "; what is pushed is shown if it is started so: claude --dangerously-load-development-channels server:" + c.Name
}

// mild are switches that leave it to other rules, which are not looked at,
// whether anything is pushed.
var mild = []string{"allowedChannelPlugins", "allowManagedMcpServersOnly", "allowedMcpServers", "deniedMcpServers", "managed-mcp.json"}

func (s Switch) check() Result {
	name, says := "channels of "+claudeCode, fmt.Sprintf("%s is %s in %s: %s", s.Name, s.Value, s.Where, s.Means)
	mend := "take " + s.Name + " out of " + s.Where
	if s.Managed {
		mend = "have whoever manages this machine change " + s.Where
	} else if !strings.ContainsAny(s.Where, `/\`) {
		mend = "unset " + s.Name + ", and start Claude Code again"
	}
	if slices.Contains(mild, s.Name) {
		return warn(name, says, mend)
	}
	return fail(name, says, mend+"; without, the tool inbox still works")
}
