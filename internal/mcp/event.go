package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"aldis/internal/hub"
)

// The bounds of what is pushed; the strictest client's (facts on MCP clients).
const (
	contentBytes   = 32 << 10
	attachmentKeys = 8
)

const methodChannel = "notifications/claude/channel"

// channelParams are the params of notifications/claude/channel.
type channelParams struct {
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`
}

type channelEvent struct {
	JSONRPC string        `json:"jsonrpc"`
	Method  string        `json:"method"`
	Params  channelParams `json:"params"`
}

// A view says how much of the hub a session hears of: a channel for one agent
// alone has no routes to speak of.
type view struct{ routes bool }

// render returns o as one line of JSON-RPC.
func (v view) render(o hub.Offer) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(channelEvent{"2.0", methodChannel, v.params(o)}); err != nil {
		panic(err) // strings and maps of strings always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (v view) params(o hub.Offer) channelParams {
	m := o.Message
	meta := make(map[string]string, 16)
	set := func(key, value string) {
		if value != "" {
			meta[key] = hub.Clip(harmless(value), hub.MetaValueBytes) // it makes words longer
		}
	}
	set("id", string(m.ID))
	set("ts", m.Time.UTC().Format(time.RFC3339Nano))
	if m.Via == hub.ViaPlatform {
		platformMeta(m, set)
	} else {
		set("source", string(m.Agent))
		set("from", string(m.Agent))
	}
	if v.routes && o.Decision.Status != "" {
		set("route_status", string(o.Decision.Status))
		if o.Decision.Status != hub.Routed {
			set("routed_agent", string(o.Decision.Meant))
		}
	}
	for k, val := range m.Meta {
		if _, taken := meta[k]; !taken && len(meta) < hub.MetaKeys {
			set(k, val)
		}
	}
	return channelParams{Content: content(m), Meta: meta}
}

func platformMeta(m hub.Message, set func(key, value string)) {
	set("platform", string(m.Ref.Platform))
	set("chat_id", string(m.Ref.Chat))
	set("message_id", m.Ref.Key)
	set("timestamp", m.Ref.Key)
	set("sender", string(m.From.ID))
	set("sender_name", hub.OneLine(m.From.Name, hub.PreviewBytes))
	set("group", m.Group)
	if q := m.Quote; q != nil {
		quoteMeta(m, *q, set)
	}
	switch m.Kind {
	case hub.Edit:
		set("edited", m.Target.Key)
	case hub.Deletion:
		set("deleted", m.Target.Key)
	}
	for i, a := range m.Attachments {
		if i == attachmentKeys-1 && len(m.Attachments) > attachmentKeys {
			set(fmt.Sprintf("attachment_%d", attachmentKeys), fmt.Sprintf("and %d more", len(m.Attachments)-i))
			break
		}
		set(fmt.Sprintf("attachment_%d", i+1), attachment(a))
	}
}

func quoteMeta(m hub.Message, q hub.Quote, set func(key, value string)) {
	text := hub.Clip(q.Text, hub.PreviewBytes)
	if q.Untrusted {
		text = hub.OneLine(text, hub.PreviewBytes)
		set("in_reply_to_untrusted", "true")
	}
	set("in_reply_to_timestamp", q.Ref.Key)
	set("in_reply_to_author", string(q.From))
	set("in_reply_to_text", text)
	if m.Kind == hub.Reaction {
		set("reaction", m.Text)
		set("reaction_target_timestamp", q.Ref.Key)
		set("reaction_target_author", string(q.From))
		if m.Removed {
			set("reaction_removed", "true")
		}
	}
}

func attachment(a hub.Attachment) string {
	size := "size unknown"
	if a.Size >= 0 {
		size = byteSize(a.Size)
	}
	kind := hub.OneLine(a.Type, 100)
	if a.Path != "" {
		return fmt.Sprintf("%s (%s, %s)", a.Path, kind, size)
	}
	name := hub.OneLine(a.Name, hub.PreviewBytes)
	if name == "" {
		name = "attachment"
	}
	return fmt.Sprintf("%s (%s, %s, not available locally)", name, kind, size)
}

// byteSize spells n as people read it: "17 bytes", "245 KB", "1.4 MB".
func byteSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f KB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// content is the body of an event: what was said, or what happened.
func content(m hub.Message) string {
	switch m.Kind {
	case hub.Reaction:
		verb := "reaction"
		if m.Removed {
			verb = "reaction removed"
		}
		var key, author string
		if m.Quote != nil {
			key, author = m.Quote.Ref.Key, string(m.Quote.From)
		}
		return harmless(fmt.Sprintf("[%s: %s to message %s from %s]", verb, m.Text, key, author))
	case hub.Deletion:
		return fmt.Sprintf("[message %s was deleted]", m.Target.Key)
	}
	text := harmless(m.Text)
	switch {
	case text == "" && len(m.Attachments) > 0:
		return "[attachment]"
	case text == "":
		return "[empty message]" // one client refuses empty content
	case len(text) > contentBytes:
		note := fmt.Sprintf("\n[cut: get_message %s has all %d bytes]", m.ID, len(m.Text))
		return hub.Clip(text, contentBytes-len(note)) + note
	default:
		return text
	}
}

// harmless keeps words from ending or opening the tag that a client wraps
// around an event.
func harmless(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '<' && opensChannel(s[i:]) {
			b.WriteString("&lt;")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// opensChannel reports whether s starts with <channel or </channel, any case.
func opensChannel(s string) bool {
	s = strings.TrimPrefix(s[1:], "/")
	const tag = "channel"
	return len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag)
}
