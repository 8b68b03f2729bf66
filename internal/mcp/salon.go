package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// The bounds of what salon_status lists.
const (
	listedMost  = 100
	listedBytes = 6 << 10
)

// A Salon is what agents are told of the hub itself.
type Salon struct {
	URL      string    // where it is reached, without a path
	Since    time.Time // when it began
	Messages uint64    // that it has taken in since
}

// addSalon registers what agents need to talk to each other.
func (x *tools) addSalon(s *mcp.Server) {
	add(s, x, "send_message", "Send a message to another agent by its name, or to all others.", schema(
		required("content", stringType, "What to say."),
		optional("target", stringType, "The agent's name. Without it: the author of the message that meta reply_to names, else everybody."),
		optional("meta", objectType, "Attributes for the event, by name: kind, reply_to, priority, topic, commit, or your own."),
	), x.sendMessage)
	add(s, x, "salon_status", "Who is here: the agents that are present, how to reach the hub, and how many messages it has taken in.", schema(), x.salonStatus)
}

type messageArgs struct {
	Content string          `json:"content"`
	Target  string          `json:"target"`
	Meta    json.RawMessage `json:"meta"`
}

func (x *tools) sendMessage(ctx context.Context, c *call, in messageArgs) (string, error) {
	if !c.session.named() {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "send_message needs a name: connect with ?label=NAME or the X-Signal-Agent-Id header"}
	}
	if err := x.seated(c); err != nil {
		return "", err
	}
	meta, dropped, err := hub.ParseMeta(in.Meta)
	if err != nil {
		return "", err
	}
	m := c.session.wrote(hub.Message{
		Kind: hub.Text, To: hub.AgentID(strings.TrimSpace(in.Target)), Text: hub.StripControl(in.Content), Meta: meta,
	})
	if c.key != "" {
		m.Dedup = "call|" + c.key
	}
	r, err := x.verbs.Receive(ctx, m)
	if err != nil {
		return "", err
	}
	text := fate(addressee(m, r), r)
	if r.To == "" && meta["reply_to"] != "" {
		text += "\nreply_to names no message of another agent or script that is known here: this was for everybody."
	}
	if len(dropped) > 0 {
		text += "\nNot passed on: meta " + strings.Join(dropped, ", ") + " (reserved, or too many)."
	}
	return text, nil
}

// wrote returns m as the session's agent wrote it.
func (s *session) wrote(m hub.Message) hub.Message {
	m.Via, m.Agent, m.Subject, m.Session = hub.ViaTool, s.saved.Agent, s.saved.Subject, s.saved.ID
	return m
}

// addressee is whom m went to, as its author may hear it. Who says more on a
// message of its own may have sent that by an alias: it does not learn whose.
func addressee(m hub.Message, r hub.Receipt) hub.AgentID {
	byAlias := m.To == "" && r.Author == "" && r.To != "" && r.Known // perhaps
	if byAlias {
		return "the same agent"
	}
	return cmp.Or(m.To, r.To)
}

// fate says what became at once of a message to an agent.
func fate(to hub.AgentID, r hub.Receipt) string {
	switch {
	case r.Repeated:
		return fmt.Sprintf("already sent (id %s)", r.ID)
	case to == "":
		return fmt.Sprintf("sent to %d sessions (id %s)", r.Sessions, r.ID)
	case r.Sessions > 0:
		return fmt.Sprintf("sent to %d sessions of %s (id %s)", r.Sessions, to, r.ID)
	case r.Known:
		return fmt.Sprintf("held for %s (id %s)", to, r.ID)
	default:
		return fmt.Sprintf("no agent %s", to)
	}
}

// salonStatus never says a token: what it says may end up in a transcript.
func (x *tools) salonStatus(_ context.Context, c *call, _ struct{}) (string, error) {
	salon := x.table.Salon()
	var b strings.Builder
	fmt.Fprintf(&b, "Agents join at %s/mcp?label=NAME, scripts POST to %[1]s/notify?label=NAME.\n", salon.URL)
	fmt.Fprintf(&b, "%d messages were taken in since %s.\n", salon.Messages, salon.Since.UTC().Format(time.RFC3339))
	b.WriteString(x.table.whoIsHere(c.session))
	b.WriteString("Write to one with send_message and its name as target, to all others without a target.")
	return b.String(), nil
}

// whoIsHere lists the sessions that count when messages are routed, asker's
// first, by the names that others can write to.
func (t *Table) whoIsHere(asker *session) string {
	t.mu.Lock()
	evicted := asker.evicted()
	var names []string
	nameless := 0
	for _, s := range t.sessions {
		switch {
		case !s.state.present() || !s.receives():
		case !s.named():
			nameless++
		case s == asker:
			names = append(names, "\x00"+string(s.saved.Agent)+": "+s.state.String()+" (you)") // sorts first
		default:
			names = append(names, string(s.saved.Agent)+": "+s.state.String())
		}
	}
	t.mu.Unlock()
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions with a name are present:\n", len(names))
	for i, name := range names {
		if i == listedMost || b.Len() > listedBytes {
			fmt.Fprintf(&b, "and %d more\n", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "* %s\n", harmless(strings.TrimPrefix(name, "\x00")))
	}
	switch {
	case evicted:
		fmt.Fprintf(&b, "You are not among them: another session has taken the name %s.\n", harmless(string(asker.saved.Agent)))
	case !asker.named():
		b.WriteString("You have no name: nobody can write to you alone.\n")
	}
	if nameless > 0 {
		fmt.Fprintf(&b, "%d without a name: they get what is for everybody.\n", nameless)
	}
	return b.String()
}
