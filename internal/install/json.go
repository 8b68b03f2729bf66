package install

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// putJSON sets the member name of the table at a path, by changing no other
// byte than it must. The file was parsed before.
func putJSON(text []byte, path []string, name string, entry fields) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		newline := newlineOf(text)
		return []byte(layout{newline: newline, unit: "  "}.render(nest(path, fields{{name, entry}})) + newline), nil
	}
	value, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	l := layoutOf(text, value)
	object, at, rest, err := descend(text, value, append(path, name))
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 { // it is there
		member := object.Members[memberOf(object, name)]
		l.flat = l.flat || !bytes.Contains(text[at.StartOffset:at.EndOffset], []byte("\n"))
		l.indent = indentAt(text, member.Name.StartOffset)
		return splice(text, member.Value.StartOffset, member.Value.EndOffset, l.render(entry)), nil
	}
	return l.insert(text, at, object, rest[0], nest(rest[1:], entry)), nil
}

// nest puts members below keys.
func nest(path []string, entry fields) fields {
	for i := len(path) - 1; i >= 0; i-- {
		entry = fields{{path[i], entry}}
	}
	return entry
}

// descend follows a path as far as it goes: to the object of its last member
// that is there, and what of the path is left.
func descend(text []byte, value hujson.Value, path []string) (*hujson.Object, hujson.Value, []string, error) {
	for i, key := range path {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return nil, value, nil, syntaxError(text, value.StartOffset, fmt.Errorf("%s is no object, {…}; mend that by hand first", strings.Join(path[:i], ".")))
		}
		m := memberOf(object, key)
		if m < 0 || i == len(path)-1 {
			rest := path[i:]
			if m >= 0 {
				rest = nil
			}
			return object, value, rest, nil
		}
		value = object.Members[m].Value
	}
	return nil, value, nil, nil // not reached: a path has a name at least
}

// A layout is how a file is written.
type layout struct {
	newline, unit string
	indent        string // of the line that something is written into
	flat          bool   // all in one line
}

// layoutOf takes the first member of a file for how all are indented.
func layoutOf(text []byte, root hujson.Value) layout {
	l := layout{newline: newlineOf(text), unit: "  "}
	object, _ := root.Value.(*hujson.Object)
	if object != nil && len(object.Members) > 0 {
		whole := text[root.StartOffset:root.EndOffset]
		l.flat = !bytes.Contains(whole, []byte("\n"))
		if start := object.Members[0].Name.StartOffset; startsLine(text, start) && indentAt(text, start) != "" {
			l.unit = indentAt(text, start)
		}
	}
	return l
}

// insert writes a new last member into the object at a value.
func (l layout) insert(text []byte, at hujson.Value, object *hujson.Object, name string, entry fields) []byte {
	if len(object.Members) == 0 {
		return l.fill(text, at, object, name, entry)
	}
	last := object.Members[len(object.Members)-1]
	trailing := last.Value.AfterExtra != nil // a comma is there already
	start := last.Value.EndOffset
	if trailing {
		start += len(last.Value.AfterExtra) + len(",")
	}
	gap := text[start : at.EndOffset-len("}")]
	var b strings.Builder
	if !trailing {
		b.WriteByte(',')
	}
	if !bytes.Contains(text[at.StartOffset:at.EndOffset], []byte("\n")) {
		l.flat = true
		b.WriteString(" " + quote(name) + ": " + l.render(entry))
	} else {
		remark := endOfRemark(gap)
		b.Write(gap[:remark])
		gap = gap[remark:]
		l.indent = l.memberIndent(text, at, last)
		b.WriteString(l.newline + l.indent + quote(name) + ": " + l.render(entry))
	}
	if trailing {
		b.WriteByte(',')
	}
	return splice(text, start, at.EndOffset-len("}")-len(gap), b.String())
}

// memberIndent is how members of an object are indented.
func (l layout) memberIndent(text []byte, at hujson.Value, last hujson.ObjectMember) string {
	if startsLine(text, last.Name.StartOffset) {
		return indentAt(text, last.Name.StartOffset)
	}
	return indentAt(text, at.StartOffset) + l.unit
}

// fill writes the only member of an object, below the comments that it may have.
func (l layout) fill(text []byte, at hujson.Value, object *hujson.Object, name string, entry fields) []byte {
	outer := indentAt(text, at.StartOffset)
	l.indent = outer + l.unit
	start := at.StartOffset + len("{")
	gap := string(object.AfterExtra)
	comments := strings.TrimRight(gap, " \t\r\n")
	member := quote(name) + ": " + l.render(entry)
	if l.flat {
		member += gap[len(comments):]
	} else {
		member = l.newline + l.indent + member
		if tail := gap[len(comments):]; comments != "" && strings.Contains(tail, "\n") {
			member += tail
		} else {
			member += l.newline + outer
		}
	}
	return splice(text, start+len(comments), start+len(gap), member)
}

// render writes an entry, whose first line is indented already.
func (l layout) render(value any) string {
	switch v := value.(type) {
	case fields:
		inner := l
		inner.indent += l.unit
		members := make([]string, len(v))
		for i, f := range v {
			members[i] = quote(f.key) + ": " + inner.render(f.value)
		}
		if l.flat {
			return "{" + strings.Join(members, ", ") + "}"
		}
		line := l.newline + inner.indent
		return "{" + line + strings.Join(members, ","+line) + l.newline + l.indent + "}"
	case []string:
		return quoteAll(v)
	case string:
		return quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// cutJSON takes the member name out of the table at a path, which has it. What
// it leaves is what was there before putJSON, but that an object that was empty
// is {} then.
func cutJSON(text []byte, path []string, name string) ([]byte, error) {
	value, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	object, at, rest, err := descend(text, value, append(path, name))
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	i := memberOf(object, name)
	member := object.Members[i]
	start := startOfMember(member)
	end := member.Value.EndOffset
	last := i == len(object.Members)-1
	if !last || member.Value.AfterExtra != nil { // a comma follows
		end += len(member.Value.AfterExtra) + len(",")
	} else if i > 0 { // the comma before goes too
		comma := object.Members[i-1].Value
		at := comma.EndOffset + len(comma.AfterExtra)
		text = splice(text, at, at+len(","), "")
		start, end = start-1, end-1
		return cutMember(text, start, end, member), nil
	}
	if len(object.Members) == 1 && isBlank(text[at.StartOffset+1:start]) && isBlank(text[end:at.EndOffset-1]) {
		start, end = at.StartOffset+1, at.EndOffset-1
	}
	return cutMember(text, start, end, member), nil
}

// startOfMember is where the line of a member starts, which is the end of the
// one before; where it starts no line, the blanks before it.
func startOfMember(member hujson.ObjectMember) int {
	before := member.Name.BeforeExtra
	blanks := before[len(bytes.TrimRight(before, " \t\r\n")):]
	start := member.Name.StartOffset - len(blanks)
	i := bytes.LastIndexByte(blanks, '\n')
	if i > 0 && blanks[i-1] == '\r' {
		i--
	}
	return start + max(i, 0)
}

// cutMember takes out a piece that begins with a member. A comment that would go
// on in its line then keeps the end of it.
func cutMember(text []byte, start, end int, member hujson.ObjectMember) []byte {
	rest := bytes.TrimLeft(text[end:], " \t\r")
	before := bytes.TrimRight(member.Name.BeforeExtra, " \t\r\n")
	if endsInRemark(before) && !bytes.HasPrefix(rest, []byte("\n")) {
		return splice(text, start, end, newlineOf(text))
	}
	return splice(text, start, end, "")
}

// endsInRemark reports whether the last of some comments needs the end of its
// line, which is cut off.
func endsInRemark(comments []byte) bool {
	for {
		i := bytes.IndexByte(comments, '/')
		if i < 0 {
			return false
		}
		end := "*/"
		if bytes.HasPrefix(comments[i:], []byte("//")) {
			end = "\n"
		}
		_, rest, found := bytes.Cut(comments[i+len("//"):], []byte(end))
		if !found {
			return true
		}
		comments = rest
	}
}

func splice(text []byte, start, end int, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:start]...)
	out = append(out, with...)
	return append(out, text[end:]...)
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// indentAt returns the blanks with which the line of an offset starts.
func indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// startsLine reports whether only blanks come before an offset in its line.
func startsLine(text []byte, offset int) bool {
	i := bytes.LastIndexByte(text[:offset], '\n')
	return i >= 0 && isBlank(text[i:offset])
}

// endOfRemark returns the length of what belongs to the line before: comments
// up to the end of the line.
func endOfRemark(gap []byte) int {
	at, end := 0, 0
	for at < len(gap) && gap[at] != '\n' {
		switch {
		case bytes.HasPrefix(gap[at:], []byte("//")):
			at += bytes.IndexByte(gap[at:], '\n')
			end = at
			if gap[at-1] == '\r' {
				end--
			}
			return end
		case bytes.HasPrefix(gap[at:], []byte("/*")):
			at += bytes.Index(gap[at:], []byte("*/")) + len("*/")
			end = at
		default:
			at++
		}
	}
	return end
}
