package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/hub"
)

// Verbs are what tools ask of the hub; package relay implements them.
type Verbs interface {
	hub.Receiver

	// Send carries m, of any kind, from m.Agent to a chat. m.Ref.Chat is the
	// chat as the caller spells it, empty for the operator's; m.Quote.Ref.Key
	// and m.Target.Key name messages in it.
	Send(ctx context.Context, m hub.Message) (hub.Sent, error)

	// Chats returns the chats that may be written to and match query.
	Chats(ctx context.Context, query string) ([]hub.Chat, error)

	// Acknowledge takes messages out of agent's inbox. It returns the ids
	// that were never offered to it.
	Acknowledge(ctx context.Context, agent hub.AgentID, ids []hub.MessageID) (unknown []hub.MessageID, err error)

	// Permission has the request of a session for permission shown to a person.
	// p has Agent, Subject, Session, Begun, Request and Tool; description and
	// preview are the agent's words. It does not wait for a platform.
	Permission(ctx context.Context, p hub.Prompt, description, preview string)

	// Ask asks the operator a question and returns the answer, or after wait
	// what there is instead. p has Agent, Subject, Session, Begun, Choices,
	// Default and Key.
	Ask(ctx context.Context, p hub.Prompt, question string, wait time.Duration) (hub.Answer, error)
}

// tools serve the agents' calls.
type tools struct {
	table *Table
	verbs Verbs

	mu      sync.Mutex
	flights map[string]*flight // by key
}

// newSDK returns the SDK's server with our tools, for sessions in t.
func newSDK(t *Table, v Verbs, version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "aldis", Version: version}, &mcp.ServerOptions{
		Instructions:              instructions(t.view, ""),
		Logger:                    slog.New(slog.DiscardHandler), // it logs each connection, and ours are not real
		SupportedProtocolVersions: versions,
		Capabilities: &mcp.ServerCapabilities{
			Experimental: map[string]any{"claude/channel": struct{}{}, "claude/channel/permission": struct{}{}},
			Tools:        &mcp.ToolCapabilities{},
		},
	})
	x := &tools{table: t, verbs: v, flights: make(map[string]*flight)}
	add(s, x, "send", "Send a message to the operator's phone. Their answer comes back to you as a channel event that quotes it.", schema(
		required("text", stringType, "What to say, as plain text."),
		optional("attachments", stringList, "Paths of files to send along. Only files below the folders that the operator has allowed."),
	), x.send)
	add(s, x, "reply", "Answer in the chat that an event came from. Pass the event's chat_id.", schema(
		required("chat_id", stringType, "The event's chat_id."),
		required("text", stringType, "What to say, as plain text."),
		optional("reply_to", stringType, "A message_id of that chat to quote."),
		optional("attachments", stringList, "Paths of files to send along."),
	), x.reply)
	add(s, x, "react", "React to a message with an emoji.", schema(
		required("chat_id", stringType, "The event's chat_id."),
		required("message_id", stringType, "The event's message_id."),
		required("emoji", stringType, "One emoji."),
		optional("remove", boolType, "Take that reaction back."),
	), x.react)
	add(s, x, "edit_message", "Replace the text of a message that you sent.", schema(
		required("chat_id", stringType, "The chat it is in."),
		required("message_id", stringType, "Its id, as send or reply named it."),
		required("text", stringType, "The new text."),
	), x.edit)
	add(s, x, "delete_message", "Delete a message that you sent, for everybody.", schema(
		required("chat_id", stringType, "The chat it is in."),
		required("message_id", stringType, "Its id, as send or reply named it."),
	), x.delete)
	add(s, x, "list_chats", "List the people and groups that may be written to, with the chat_id for reply.", schema(
		optional("query", stringType, "Part of a name or id."),
	), x.listChats)
	add(s, x, "inbox", "What was sent to you and you have not acknowledged, new before seen. For when events are not pushed to you, or may have been missed.", schema(
		optional("wait_seconds", intRange(0, 50), "How long to wait for something to arrive. Default 0."),
		optional("ack", stringList, "Ids of events that you have dealt with: they are not listed again."),
	), x.inbox)
	add(s, x, "get_message", "The whole text of an event that was cut, or the whole body of a webhook's, 32 KiB a call.", schema(
		required("id", stringType, "The event's id."),
		optional("offset", intRange(0, 1<<40), "Byte to start at, as the last call named it."),
	), x.getMessage)
	add(s, x, "ask", "Ask the operator a question on the phone and wait for the answer. For a decision that is a person's to make; never for permission to use a tool.", schema(
		required("question", stringType, "What to ask, in a few sentences of plain text."),
		optional("choices", stringList, "Answers to choose from, at most 20. The operator may answer in words nevertheless."),
		optional("timeout_seconds", intRange(0, 50), "How long to wait. Default 45."),
		optional("default", stringType, "The answer to go on with when none comes in time; that closes the question. Without it, a late answer arrives as an event."),
	), x.ask)
	if t.view.routes {
		x.addSalon(s)
	}
	return s
}

// add registers a tool. The SDK checks arguments against the schema before
// they reach h. What h returns as text or as an error the model reads; a
// *jsonrpc.Error is a protocol error.
func add[In any](s *mcp.Server, x *tools, name, description string, schema map[string]any, h func(context.Context, *call, In) (string, error)) {
	tool := &mcp.Tool{Name: name, Description: description, InputSchema: schema}
	mcp.AddTool(s, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		result, err := x.once(ctx, name, callOf(req), func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
			text, err := h(ctx, c, in)
			if err != nil {
				return x.refusal(name, err)
			}
			if name != "inbox" {
				text += x.hint(ctx, c.session)
			}
			return says(text, false), nil
		})
		return result, nil, err
	})
}

// says returns the result of a tool that the model reads.
func says(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}

// refusal returns err as the model may read it. What it may not read goes to
// the log.
func (x *tools) refusal(tool string, err error) (*mcp.CallToolResult, error) {
	if _, protocol := errors.AsType[*jsonrpc.Error](err); protocol {
		return nil, err
	}
	if hub.KindOf(err) == hub.Internal && !errors.Is(err, errCancelled) {
		x.table.Log.Error("tool", "tool", tool, "err", err)
	}
	return says(hub.Readable(err), true), nil
}

// hint is the line that tells what waits for s and was not handed over to it;
// empty: nothing does.
func (x *tools) hint(ctx context.Context, s *session) string {
	x.table.mu.Lock()
	receives := s.receives()
	x.table.mu.Unlock()
	if !receives {
		return ""
	}
	n, err := x.table.Mail.Count(ctx, s.saved.Agent, s.saved.ID, s.birth(), s.sent())
	switch {
	case err != nil:
		x.table.Log.Error("count what waits", "session", s.saved.ID, "err", err)
		return ""
	case n == 0:
		return ""
	case n == 1:
		return "\n1 message waits for you: call inbox."
	default:
		return fmt.Sprintf("\n%d messages wait for you: call inbox.", n)
	}
}

type sendArgs struct {
	Text        string   `json:"text"`
	Attachments []string `json:"attachments"`
}

func (x *tools) send(ctx context.Context, c *call, in sendArgs) (string, error) {
	return x.say(ctx, c, hub.Message{Kind: hub.Text, Text: in.Text, Attachments: files(in.Attachments)})
}

type replyArgs struct {
	ChatID      string   `json:"chat_id"`
	Text        string   `json:"text"`
	ReplyTo     string   `json:"reply_to"`
	Attachments []string `json:"attachments"`
}

func (x *tools) reply(ctx context.Context, c *call, in replyArgs) (string, error) {
	m := hub.Message{Kind: hub.Text, Text: in.Text, Attachments: files(in.Attachments)}
	if in.ReplyTo != "" {
		m.Quote = &hub.Quote{Ref: hub.Ref{Key: in.ReplyTo}}
	}
	return x.sayIn(ctx, c, in.ChatID, m)
}

type reactArgs struct {
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"`
	Remove    bool   `json:"remove"`
}

func (x *tools) react(ctx context.Context, c *call, in reactArgs) (string, error) {
	return x.sayIn(ctx, c, in.ChatID, hub.Message{
		Kind: hub.Reaction, Text: in.Emoji, Removed: in.Remove, Quote: &hub.Quote{Ref: hub.Ref{Key: in.MessageID}},
	})
}

type editArgs struct {
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
}

func (x *tools) edit(ctx context.Context, c *call, in editArgs) (string, error) {
	return x.sayIn(ctx, c, in.ChatID, hub.Message{Kind: hub.Edit, Text: in.Text, Target: hub.Ref{Key: in.MessageID}})
}

type deleteArgs struct {
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"`
}

func (x *tools) delete(ctx context.Context, c *call, in deleteArgs) (string, error) {
	return x.sayIn(ctx, c, in.ChatID, hub.Message{Kind: hub.Deletion, Target: hub.Ref{Key: in.MessageID}})
}

func (x *tools) sayIn(ctx context.Context, c *call, chat string, m hub.Message) (string, error) {
	if chat == "" {
		return "", hub.Errorf(hub.Invalid, "chat_id is empty: pass the chat_id of the event that you answer")
	}
	m.Ref.Chat = hub.ChatID(chat)
	return x.say(ctx, c, m)
}

func (x *tools) say(ctx context.Context, c *call, m hub.Message) (string, error) {
	if err := x.seated(c); err != nil {
		return "", err
	}
	m = c.session.wrote(m)
	sent, err := x.verbs.Send(ctx, m)
	if err != nil {
		return "", err
	}
	return report(sent)
}

// report says what became of a message that was sent, and no more than that.
func report(s hub.Sent) (string, error) {
	var b strings.Builder
	switch {
	case s.Unknown:
		b.WriteString("Outcome unknown: no answer that proves anything came in time. The message may have arrived; do not send it again without asking.")
	case len(s.Failed) == 0:
		b.WriteString("Sent.")
	default:
		fmt.Fprintf(&b, "Sent to %d of %d recipients.", s.Reached, s.Reached+len(s.Failed))
	}
	for i, ref := range s.Refs {
		if i == 0 {
			fmt.Fprintf(&b, " chat_id %s, message_id %s", ref.Chat, ref.Key)
			continue
		}
		fmt.Fprintf(&b, ", %s", ref.Key)
	}
	for _, f := range s.Failed {
		fmt.Fprintf(&b, "\nNot reached: %s (%s)", f.Recipient, f.Reason)
	}
	if s.Reached == 0 && len(s.Failed) > 0 && !s.Unknown {
		return "", hub.Errorf(hub.Unavailable, "%s", strings.Replace(b.String(), "Sent to", "Reached", 1))
	}
	return b.String(), nil
}

func files(paths []string) []hub.Attachment {
	var as []hub.Attachment
	for _, p := range paths {
		as = append(as, hub.Attachment{Path: p, Size: -1})
	}
	return as
}

type listArgs struct {
	Query string `json:"query"`
}

func (x *tools) listChats(ctx context.Context, _ *call, in listArgs) (string, error) {
	chats, err := x.verbs.Chats(ctx, in.Query)
	if err != nil {
		return "", err
	}
	if len(chats) == 0 {
		return "No chat may be written to that matches.", nil
	}
	var b strings.Builder
	const most = 200
	for i, c := range chats {
		if i == most {
			fmt.Fprintf(&b, "and %d more: pass a query\n", len(chats)-most)
			break
		}
		kind := "person"
		if c.Group {
			kind = "group"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\n", c.ID, kind, hub.OneLine(c.Name, hub.PreviewBytes))
	}
	return harmless(b.String()), nil
}

// seated refuses a session that has lost its name to another.
func (x *tools) seated(c *call) error {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	if c.session.evicted() {
		return hub.Errorf(hub.Denied, "another session has taken the name %s: this one gets nothing and may not speak for it. Reconnect to take it back.", c.session.saved.Agent)
	}
	return nil
}
