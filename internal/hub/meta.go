package hub

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The bounds of an event's meta (INTERFACE, Events).
const (
	MetaKeys       = 24   // keys an event may have
	MetaValueBytes = 1000 // bytes of one value
	callerKeys     = MetaKeys - 4
)

// reserved are the meta keys that the hub alone sets.
var reserved = []string{
	"id", "ts", "platform", "chat_id", "message_id", "sender", "sender_name", "group", "timestamp",
	"in_reply_to_timestamp", "in_reply_to_author", "in_reply_to_text", "in_reply_to_untrusted",
	"route_status", "routed_agent",
	"reaction", "reaction_target_timestamp", "reaction_target_author", "reaction_removed",
	"edited", "deleted",
	"attachment_1", "attachment_2", "attachment_3", "attachment_4", "attachment_5", "attachment_6", "attachment_7", "attachment_8",
	"source", "from", "path", "method", "event", "delivery", "question", "answer",
}

// ParseMeta reads the meta object of an agent or a script. Numbers and
// booleans become their JSON text, objects and arrays compact JSON, null is
// left out; characters that a key may not have become "_". It returns the
// names of the keys that were dropped: those that the hub reserves, and those
// past the bound. It fails with Invalid if raw is neither an object nor null.
func ParseMeta(raw json.RawMessage) (meta map[string]string, dropped []string, err error) {
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil, nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, Errorf(Invalid, "meta must be an object of key and value")
	}
	meta = make(map[string]string)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, nil, Errorf(Invalid, "meta is not valid JSON")
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, nil, Errorf(Invalid, "meta is not valid JSON")
		}
		key := metaKey(t.(string))
		value, ok := metaValue(v)
		switch _, again := meta[key]; {
		case !ok:
		case slices.Contains(reserved, key), !again && len(meta) >= callerKeys:
			dropped = append(dropped, key)
		default:
			meta[key] = value
		}
	}
	return meta, dropped, nil
}

// metaKey makes key fit [A-Za-z_][A-Za-z0-9_]*, at most 64 bytes.
func metaKey(key string) string {
	key = strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || isAlpha(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return '_'
	}, key)
	if key == "" || isDigit(key[0]) {
		key = "_" + key
	}
	return Clip(key, 64)
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// metaValue is the text of a JSON value; false for null.
func metaValue(v json.RawMessage) (string, bool) {
	var s string
	switch v[0] {
	case 'n':
		return "", false
	case '"':
		if json.Unmarshal(v, &s) != nil {
			return "", false
		}
		s = StripControl(s)
	case '{', '[':
		var b bytes.Buffer
		if json.Compact(&b, v) != nil {
			return "", false
		}
		s = b.String()
	default:
		s = string(v)
	}
	return Clip(s, MetaValueBytes), true
}
