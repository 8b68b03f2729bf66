package tools

// HandlerOf serves another server of the SDK as [Server.Handler] does ours: the
// conformance suite wants tools that we do not have.
var HandlerOf = handler
