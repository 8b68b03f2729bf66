// Package mcp serves agents: the Model Context Protocol over streamable HTTP
// and stdio (versions 2024-11-05 to 2025-11-25), and with it Claude's channels
// (notifications/claude/channel).
//
// The request side is the official SDK's (engine.go). The push side is ours,
// because it is what the hub exists for: a session is a cursor into the
// record, its stream replays what the cursor has not passed and then follows
// live, and nothing counts as handed over before the session has proved it.
//
// The one rule: nothing here waits for a session while it holds a lock that
// another session needs.
package mcp
