package mcp

import "aldis/internal/hub"

// Decide implements [hub.Sessions].
func (t *Table) Decide(v hub.Verdict) { v.Done(false) }
