package mcp

import (
	"unicode/utf8"

	"aldis/internal/hub"
)

// A meta is an event's meta, in the order in which it was set.
type meta []pair

type pair struct{ key, value string }

// set adds a key, unless value is empty: an attribute that says nothing is
// left out. A value is cut to what the strictest client takes.
func (m *meta) set(key, value string) {
	if value != "" {
		*m = append(*m, pair{key, hub.Clip(harmless(value), hub.MetaValueBytes)})
	}
}

func (m meta) has(key string) bool {
	for _, p := range m {
		if p.key == key {
			return true
		}
	}
	return false
}

// MarshalJSON implements [json.Marshaler]: a meta is a JSON object.
func (m meta) MarshalJSON() ([]byte, error) { return m.append(nil), nil }

// append is written by hand since every push goes through it: the encoding of
// a map costs an allocation for each of its keys and values.
func (m meta) append(b []byte) []byte {
	b = append(b, '{')
	for i, p := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, p.key)
		b = append(b, ':')
		b = appendString(b, p.value)
	}
	return append(b, '}')
}

// appendString appends s as a JSON string (RFC 8259, section 7). Bytes that are
// not UTF-8 become U+FFFD, and the line separators that JavaScript once did
// not take in strings are escaped.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r == '\u2028' || r == '\u2029':
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
