package mcp

import (
	"net/http"
	"net/url"
	"slices"

	"aldis/internal/auth"
	"aldis/internal/hub"
)

const agentHeader = "X-Signal-Agent-Id"

// identity says which agent a new session is of (INTERFACE, Who a session is).
// It is empty when the client names none.
func identity(r *http.Request, who auth.Principal) (agent hub.AgentID, seat bool, err error) {
	header, byHeader := r.Header[http.CanonicalHeaderKey(agentHeader)]
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", false, hub.Errorf(hub.Invalid, "the query of the address cannot be read")
	}
	label, byLabel := query["label"]
	var names []hub.AgentID
	for _, v := range append(slices.Clone(header), label...) {
		name, err := hub.ParseAgentID(v)
		if err != nil {
			return "", false, err
		}
		names = append(names, name)
	}
	if names = slices.Compact(names); len(names) > 1 {
		return "", false, hub.Errorf(hub.Invalid, "%s and ?label= name different agents", agentHeader)
	}
	switch {
	case byHeader || byLabel:
		agent = names[0]
	default:
		agent = who.Agent
	}
	if who.Agent != "" && agent != who.Agent {
		return "", false, hub.Errorf(hub.Denied, "this token is for agent %s alone", who.Agent)
	}
	return agent, byLabel, nil
}
