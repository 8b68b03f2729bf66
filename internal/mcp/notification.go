package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/hub"
)

const methodPermission = "notifications/claude/channel/permission_request"

// notification takes what a client tells. Unknown ones are no error.
func (s *Server) notification(ctx context.Context, ss *session, req *jsonrpc.Request) {
	switch req.Method {
	case "notifications/cancelled":
		var p struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &p) != nil {
			return
		}
		if f, ok := p.RequestID.(float64); ok {
			p.RequestID = int64(f)
		}
		ss.mu.Lock()
		cancel := ss.cancel[fmt.Sprint(p.RequestID)]
		ss.mu.Unlock()
		if cancel != nil {
			cancel(errCancelled)
		}
	case methodPermission:
		s.Table.permission(ctx, s.Verbs, ss, req.Params)
	}
}

// permission records an agent's request for permission. The dialog in its
// terminal decides.
func (t *Table) permission(ctx context.Context, v Verbs, s *session, params json.RawMessage) {
	var p struct {
		RequestID    string `json:"request_id"`
		ToolName     string `json:"tool_name"`
		Description  string `json:"description"`
		InputPreview string `json:"input_preview"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		t.Log.Debug("permission request cannot be read", "session", s.saved.ID)
		return
	}
	clip := func(s string) string { return hub.Clip(hub.StripControl(s), hub.MetaValueBytes) }
	err := v.Note(ctx, hub.Message{
		Via: hub.ViaPrompt, Kind: hub.Text, Agent: s.saved.Agent, Subject: s.saved.Subject, Text: clip(p.Description),
		Meta: map[string]string{"request_id": clip(p.RequestID), "tool_name": clip(p.ToolName), "input_preview": clip(p.InputPreview)},
	})
	if err != nil {
		t.Log.Error("record permission request", "session", s.saved.ID, "err", err)
	}
}
