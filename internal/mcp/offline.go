package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"aldis/internal/hub"
)

// Offline returns what a hub of that version answers to initialize, in the
// newest protocol version spoken here, and to tools/list, for an agent of that
// name; an empty one is none. It is for who has to answer in the hub's place
// before it can be reached, and tells that the list may change.
func Offline(version string, agent hub.AgentID) (initialize, tools json.RawMessage, err error) {
	t := NewTable()
	defer t.stop()
	e := &engine{server: newSDK(t, nil, version), ctx: t.ctx}
	defer e.close()
	first, _, err := e.initialize(t.ctx, &jsonrpc.Request{
		Method: "initialize",
		Params: json.RawMessage(`{"protocolVersion":"` + versions[0] + `","capabilities":{},"clientInfo":{"name":"aldis","version":"0"}}`),
	})
	if err != nil {
		return nil, nil, err
	}
	initialize, err = amend(first.Result, func(r map[string]any) {
		r["instructions"] = instructions(t.view, agent)
		r["capabilities"].(map[string]any)["tools"] = map[string]any{"listChanged": true}
	})
	if err != nil {
		return nil, nil, err
	}
	list, err := e.do(t.ctx, versions[0], &jsonrpc.Request{Method: "tools/list"}, &call{})
	if err != nil {
		return nil, nil, err
	}
	return initialize, list.Result, nil
}
