package hook

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

// An object is a JSON object of a provider's, whose words strangers may have
// written. It is nil for what is none.
type object map[string]any

// parseObject reads an object; nil if body is something else.
func parseObject(body []byte) (o object) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // ids keep their digits
	if dec.Decode(&o) != nil {
		return nil
	}
	return o
}

// fill puts fields in the place of their {path}s. A part in brackets is left
// out when it has a field that the object has not; elsewhere such a one is "?".
func (o object) fill(template string) string {
	var b strings.Builder
	for more := true; more; {
		var part, rest, optional string
		part, rest, more = strings.Cut(template, "[")
		text, _ := o.fields(part)
		b.WriteString(text)
		optional, template, _ = strings.Cut(rest, "]")
		if text, whole := o.fields(optional); whole {
			b.WriteString(text)
		}
	}
	return b.String()
}

// fields is fill without brackets. It reports whether all fields were there.
func (o object) fields(template string) (text string, whole bool) {
	var b strings.Builder
	whole = true
	for {
		before, rest, more := strings.Cut(template, "{")
		b.WriteString(before)
		if !more {
			return b.String(), whole
		}
		var path string
		path, template, _ = strings.Cut(rest, "}")
		value := o.text(path)
		if value == "" {
			value, whole = "?", false
		}
		b.WriteString(value)
	}
}

// text returns the field at path: names parted by dots; "#" is how many a list
// has, "$" its last. It returns "" for what is not there, or false, or no text
// and no number. The text is one harmless line of at most 256 bytes.
func (o object) text(path string) string {
	var v any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			v = element(x, name)
		default:
			return ""
		}
	}
	switch x := v.(type) {
	case string:
		x = strings.TrimPrefix(strings.TrimSpace(x), "refs/heads/")
		return strings.Join(strings.Fields(hub.OneLine(x, hub.PreviewBytes)), " ")
	case json.Number:
		return hub.Clip(x.String(), hub.PreviewBytes)
	case bool:
		if x {
			return "true"
		}
	}
	return ""
}

func element(list []any, name string) any {
	switch {
	case name == "#":
		return json.Number(strconv.Itoa(len(list)))
	case name == "$" && len(list) > 0:
		return list[len(list)-1]
	default:
		return nil
	}
}
