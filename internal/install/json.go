package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// putJSON sets the member name of the table at a path, by changing no other
// byte than it must. The file was parsed before.
func putJSON(text []byte, path []string, name string, entry fields) ([]byte, error) {
	if isBlank(text) {
		newline := newlineOf(text)
		return []byte(layout{newline: newline, unit: "  "}.render(nest(path, fields{{name, entry}})) + newline), nil
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	at, rest, err := descend(text, root, path)
	if err != nil {
		return nil, err
	}
	l := layoutOf(text, root)
	if i := memberOf(at.object, name); i >= 0 && len(rest) == 0 {
		member := at.object.Members[i]
		l.flat = l.flat || !at.hasLines(text)
		l.indent = indentAt(text, member.Name.StartOffset)
		return splice(text, member.Value.StartOffset, member.Value.EndOffset, l.render(entry)), nil
	}
	rest = append(slices.Clip(rest), name)
	return l.insert(text, at, rest[0], nest(rest[1:], entry)), nil
}

// nest puts members below keys.
func nest(path []string, entry fields) fields {
	for i := len(path) - 1; i >= 0; i-- {
		entry = fields{{path[i], entry}}
	}
	return entry
}

// A spot is an object of a file, from { to behind }.
type spot struct {
	object     *hujson.Object
	start, end int
}

func (at spot) hasLines(text []byte) bool {
	return bytes.Contains(text[at.start:at.end], []byte("\n"))
}

// descend follows a path as far as there are objects, and returns the last and
// what of the path is left.
func descend(text []byte, value hujson.Value, path []string) (at spot, rest []string, err error) {
	for i := 0; ; i++ {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return at, nil, syntaxError(text, value.StartOffset, fmt.Errorf("%s is no object, {…}; mend that by hand first", strings.Join(path[:i], ".")))
		}
		at = spot{object, value.StartOffset, value.EndOffset}
		if i == len(path) {
			return at, nil, nil
		}
		m := memberOf(object, path[i])
		if m < 0 {
			return at, path[i:], nil
		}
		value = object.Members[m].Value
	}
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

// insert writes a new last member into an object.
func (l layout) insert(text []byte, at spot, name string, entry fields) []byte {
	if len(at.object.Members) == 0 {
		return l.fill(text, at, name, entry)
	}
	last := at.object.Members[len(at.object.Members)-1]
	start, before, after := last.Value.EndOffset, ",", ""
	if last.Value.AfterExtra != nil { // a comma is there already
		start += len(last.Value.AfterExtra) + len(",")
		before, after = "", ","
	}
	if !at.hasLines(text) {
		l.flat = true
		return splice(text, start, start, before+" "+l.member(name, entry)+after)
	}
	remark := endOfRemark(text[start : at.end-len("}")])
	l.indent = indentAt(text, at.start) + l.unit
	if startsLine(text, last.Name.StartOffset) {
		l.indent = indentAt(text, last.Name.StartOffset)
	}
	before += string(text[start:start+remark]) + l.newline + l.indent
	return splice(text, start, start+remark, before+l.member(name, entry)+after)
}

// fill writes the only member of an object, below the comments that it may have.
func (l layout) fill(text []byte, at spot, name string, entry fields) []byte {
	outer := indentAt(text, at.start)
	l.indent = outer + l.unit
	gap := string(at.object.AfterExtra)
	comments := strings.TrimRight(gap, " \t\r\n")
	end := gap[len(comments):]
	start := at.start + len("{") + len(comments)
	if l.flat {
		return splice(text, start, start, l.member(name, entry))
	}
	if comments == "" || !strings.Contains(end, "\n") {
		end = l.newline + outer
	}
	return splice(text, start, at.end-len("}"), l.newline+l.indent+l.member(name, entry)+end)
}

func (l layout) member(name string, entry fields) string { return quote(name) + ": " + l.render(entry) }

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
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	at, _, err := descend(text, root, path)
	if err != nil {
		return nil, err
	}
	i := memberOf(at.object, name)
	member := at.object.Members[i]
	start, end := startOfMember(member), member.Value.EndOffset
	switch {
	case i < len(at.object.Members)-1 || member.Value.AfterExtra != nil: // a comma follows
		end += len(member.Value.AfterExtra) + len(",")
	case i > 0: // the comma before goes
		before := at.object.Members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		text = splice(text, comma, comma+len(","), "")
		return cutMember(text, start-len(","), end-len(","), member), nil
	}
	if inner := at.start + len("{"); len(at.object.Members) == 1 && isBlank(text[inner:start]) && isBlank(text[end:at.end-len("}")]) {
		start, end = inner, at.end-len("}")
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
