// Package tools serves Signal Desktop's history to MCP hosts: four tools that
// read, over stdio and over HTTP.
//
// Its one rule: what a person wrote goes into an answer and nowhere else. No
// log line holds a text, a name, a number, an id or a text that was searched
// for.
package tools

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"aldis/internal/desktop"
)

// History is what the tools read. [desktop.Reader] implements it. The Msg of a
// hub.Error that it returns is shown to the model; another error is not.
type History interface {
	Conversations(ctx context.Context, q desktop.ConversationQuery) (desktop.Conversations, error)
	Messages(ctx context.Context, q desktop.MessageQuery) (desktop.Messages, error)
	Search(ctx context.Context, q desktop.SearchQuery) (desktop.Messages, error)
	Message(ctx context.Context, id string) (desktop.Message, error)
}

// A Server serves the tools. It may serve stdio and HTTP at once.
type Server struct {
	// Set before use.
	History History
	Log     *slog.Logger
	Version string // of this program, as hosts are told
}

// ServeStdio serves one host that writes to in and reads from out, until in
// ends or ctx does: both are a clean end. Nothing but JSON-RPC goes to out. It
// closes in.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	return errors.ErrUnsupported
}

// Handler serves /mcp. Whoever calls it has passed the authentication: who it
// is comes with the request's context, see auth.From.
func (s *Server) Handler() http.Handler { return http.NotFoundHandler() }
