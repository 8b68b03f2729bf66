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
		ss.mu.Lock()
		cancel := ss.cancel[fmt.Sprint(cancelled(req.Params))]
		ss.mu.Unlock()
		if cancel != nil {
			(*cancel)(errCancelled)
		}
	case methodHanded:
		s.Table.handed(ss, req.Params)
	case methodPermission:
		s.Table.permission(ctx, s.Verbs, ss, req.Params)
	}
}

// cancelled returns the id of the request that a notifications/cancelled is
// about, as [jsonrpc.ID] has it; nil: none.
func cancelled(params json.RawMessage) any {
	var p struct {
		RequestID any `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // about nothing, then
	switch id := p.RequestID.(type) {
	case float64:
		return int64(id)
	case string:
		return id
	default:
		return nil
	}
}

// The bounds, in bytes, of what a request for permission says.
const (
	requestMax = 128 // an id that is longer could not be given back whole
	toolMax    = 100
	wordsMax   = 2 << 10
)

// permission passes an agent's request for permission on. A session that has
// lost its name to another may not ask under it.
func (t *Table) permission(ctx context.Context, v Verbs, s *session, params json.RawMessage) {
	p := s.prompt()
	description, preview, ok := parsePermission(params, &p)
	t.mu.Lock()
	evicted := s.evicted()
	t.mu.Unlock()
	if !ok || evicted {
		t.Log.Debug("permission request ignored", "session", s.saved.ID)
		return
	}
	v.Permission(ctx, p, description, preview)
}

// parsePermission reads the params of a permission_request. Only the id must be
// there: what is missing or no string is left empty.
func parsePermission(params json.RawMessage, p *hub.Prompt) (description, preview string, ok bool) {
	var in struct {
		Request     any `json:"request_id"`
		Tool        any `json:"tool_name"`
		Description any `json:"description"`
		Preview     any `json:"input_preview"`
	}
	if json.Unmarshal(params, &in) != nil {
		return "", "", false
	}
	words := func(v any, max int) string {
		s, _ := v.(string)
		return hub.Clip(hub.StripControl(s), max)
	}
	p.Request, _ = in.Request.(string)
	p.Tool = words(in.Tool, toolMax)
	return words(in.Description, wordsMax), words(in.Preview, wordsMax), p.Request != "" && len(p.Request) <= requestMax
}
