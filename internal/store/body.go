package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"aldis/internal/hub"
)

// A body is a hub.Message as the record has it, with names that stay when the
// words in the code change.
type body struct {
	ID          hub.MessageID     `json:"id"`
	Via         hub.Via           `json:"via,omitempty"`
	Kind        hub.MessageKind   `json:"kind,omitempty"`
	Time        time.Time         `json:"time,omitzero"`
	Ref         hub.Ref           `json:"ref,omitzero"`
	Dedup       string            `json:"dedup,omitempty"`
	From        hub.Sender        `json:"from,omitzero"`
	Agent       hub.AgentID       `json:"agent,omitempty"`
	Subject     string            `json:"subject,omitempty"`
	Session     hub.SessionID     `json:"session,omitempty"`
	Addr        string            `json:"addr,omitempty"`
	To          hub.AgentID       `json:"to,omitempty"`
	Text        string            `json:"text,omitempty"`
	Raw         string            `json:"raw,omitempty"`
	Removed     bool              `json:"removed,omitempty"`
	Quote       *hub.Quote        `json:"quote,omitempty"`
	Target      hub.Ref           `json:"target,omitzero"`
	Attachments []hub.Attachment  `json:"attachments,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	Hops        int               `json:"hops,omitempty"`
	Group       string            `json:"group,omitempty"`
	Addressed   bool              `json:"addressed,omitempty"`
	Receipt     bool              `json:"receipt,omitempty"`
	Label       hub.AgentID       `json:"label,omitempty"`
	Asks        *hub.Asks         `json:"asks,omitempty"`
}

func encode(m hub.Message) (string, error) {
	b, err := json.Marshal((*body)(&m))
	if err != nil {
		return "", fmt.Errorf("encode message %s: %w", m.ID, err)
	}
	return string(b), nil
}

func decode(text []byte) (m hub.Message, err error) {
	if err := json.Unmarshal(text, (*body)(&m)); err != nil {
		return m, fmt.Errorf("decode a message of the record: %w", err)
	}
	return m, nil
}

// preview is what is kept of m where not everything is.
func preview(m hub.Message) hub.Message {
	if m.Ref.Platform != "" {
		m.Text = hub.Clip(m.Text, hub.PreviewBytes)
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].Path = ""
	}
	return m
}
