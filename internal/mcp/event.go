package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
	Content string `json:"content"`
	Meta    meta   `json:"meta"`
}

// A view says how much of the hub a session hears of: a channel for one agent
// alone has no routes to speak of.
type view struct{ routes bool }

// render returns o as one line of JSON-RPC.
func (v view) render(o hub.Offer) []byte {
	p := v.params(o)
	b := make([]byte, 0, 512+len(p.Content))
	b = append(b, `{"jsonrpc":"2.0","method":"`+methodChannel+`","params":{"content":`...)
	b = appendString(b, p.Content)
	b = append(b, `,"meta":`...)
	b = p.Meta.append(b)
	return append(b, "}}"...)
}

func (v view) params(o hub.Offer) channelParams {
	m := o.Message
	meta := make(meta, 0, hub.MetaKeys)
	meta.set("id", string(m.ID))
	meta.set("ts", m.Time.UTC().Format(time.RFC3339Nano))
	if m.Via == hub.ViaPlatform {
		platformMeta(m, &meta)
	} else {
		meta.set("source", string(m.Agent))
		meta.set("from", string(m.Agent))
	}
	if v.routes && o.Decision.Status != "" {
		meta.set("route_status", string(o.Decision.Status))
		if o.Decision.Status != hub.Routed {
			meta.set("routed_agent", string(o.Decision.Meant))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m.Meta)) {
		if len(meta) < hub.MetaKeys && !meta.has(k) {
			meta.set(k, m.Meta[k])
		}
	}
	return channelParams{Content: content(m), Meta: meta}
}

func platformMeta(m hub.Message, meta *meta) {
	meta.set("platform", string(m.Ref.Platform))
	meta.set("chat_id", string(m.Ref.Chat))
	meta.set("message_id", m.Ref.Key)
	meta.set("timestamp", m.Ref.Key)
	meta.set("sender", string(m.From.ID))
	meta.set("sender_name", hub.OneLine(m.From.Name, hub.PreviewBytes))
	meta.set("group", m.Group)
	if q := m.Quote; q != nil {
		quoteMeta(m, *q, meta)
	}
	switch m.Kind {
	case hub.Edit:
		meta.set("edited", m.Target.Key)
	case hub.Deletion:
		meta.set("deleted", m.Target.Key)
	}
	for i, a := range m.Attachments {
		if i == attachmentKeys-1 && len(m.Attachments) > attachmentKeys {
			meta.set(fmt.Sprintf("attachment_%d", attachmentKeys), fmt.Sprintf("and %d more", len(m.Attachments)-i))
			break
		}
		meta.set(fmt.Sprintf("attachment_%d", i+1), attachment(a))
	}
}

func quoteMeta(m hub.Message, q hub.Quote, meta *meta) {
	text := hub.Clip(q.Text, hub.PreviewBytes)
	if q.Untrusted {
		text = hub.OneLine(text, hub.PreviewBytes)
		meta.set("in_reply_to_untrusted", "true")
	}
	meta.set("in_reply_to_timestamp", q.Ref.Key)
	meta.set("in_reply_to_author", string(q.From))
	meta.set("in_reply_to_text", text)
	if m.Kind == hub.Reaction {
		meta.set("reaction", m.Text)
		meta.set("reaction_target_timestamp", q.Ref.Key)
		meta.set("reaction_target_author", string(q.From))
		if m.Removed {
			meta.set("reaction_removed", "true")
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
	text := harmless(strings.ToValidUTF8(m.Text, "\uFFFD"))
	switch {
	case text == "" && len(m.Attachments) > 0:
		return "[attachment]"
	case text == "":
		return "[empty message]" // one client refuses empty content
	case len(text) > contentBytes:
		note := fmt.Sprintf("\n[cut: get_message %s has all %d bytes]", m.ID, len(cmp.Or(m.Raw, m.Text)))
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
