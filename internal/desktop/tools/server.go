// Package tools serves Signal Desktop's history to MCP hosts: four tools that
// read, over stdio and over HTTP.
//
// Its one rule: what a person wrote goes into an answer and nowhere else. No
// log line holds a text, a name, a number, an id or a text that was searched
// for.
package tools

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/desktop"
)

// History is what the tools read. [desktop.Reader] implements it. The Msg of a
// hub.Error that it returns is shown to the model; of another error it is told
// only that there was one.
type History interface {
	Conversations(ctx context.Context, q desktop.ConversationQuery) (desktop.Conversations, error)
	Messages(ctx context.Context, q desktop.MessageQuery) (desktop.Messages, error)
	Search(ctx context.Context, q desktop.SearchQuery) (desktop.Messages, error)
	Message(ctx context.Context, id string) (desktop.Message, error)
}

// A Server serves the tools. Each handler, and each host on stdio, runs up to 4
// calls at once for up to 30 s each, and has up to 16 wait.
type Server struct {
	// set before use
	History History
	Log     *slog.Logger // gets a line for each call, "history read"; see docs/history.md
	Version string       // of this program, as hosts are told
}

// sdk returns the SDK's server with the tools. who finds out whose call it is.
func (s *Server) sdk(who func(context.Context, *mcp.CallToolRequest) caller) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "aldis-history", Title: "Signal history", Version: s.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(slog.DiscardHandler), // it logs each request
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	d := &desk{history: s.History, log: s.Log, running: make(chan struct{}, maxRunning)}
	for _, t := range tools {
		srv.AddTool(t.described(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return d.call(ctx, who(ctx, req), t, req.Params.Arguments)
		})
	}
	return srv
}

func (t tool) described() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: schema(t.args),
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
}
