package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A section is a table of a TOML file, from the line of its header to the end of
// its last member.
type section struct {
	key        []string
	start, end int // of whole lines
}

// within reports whether a section is the table of a path or below it.
func (s section) within(path []string) bool {
	if len(s.key) < len(path) {
		return false
	}
	for i, key := range path {
		if s.key[i] != key {
			return false
		}
	}
	return true
}

// tomlSections returns the tables of a file that was parsed before.
func tomlSections(text []byte) (list []section) {
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var s section
		s.end = len(text)
		for key := e.Key(); key.Next(); {
			if s.key == nil {
				s.start = bytes.LastIndexByte(text[:key.Node().Raw.Offset], '\n') + 1
			}
			s.key = append(s.key, string(key.Node().Data))
		}
		if n := len(list); n > 0 {
			list[n-1].end = s.start
		}
		list = append(list, s)
	}
	for i := range list {
		list[i].end = endOfMembers(text, list[i])
	}
	return list
}

// endOfMembers leaves out the blank lines and comments before the next header:
// these are about what follows.
func endOfMembers(text []byte, s section) int {
	end := s.end
	for end > s.start {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		line := bytes.TrimSpace(text[start:end])
		if len(line) > 0 && line[0] != '#' {
			break
		}
		end = start
	}
	return end
}

var errByHand = errors.New("the file is written in a way that cannot be edited safely: nothing was changed; do it by hand")

// putTOML sets the table of a path. The file was parsed before, and has the
// table if present.
func putTOML(text []byte, path []string, entry fields, present bool) ([]byte, error) {
	newline := newlineOf(text)
	rendered := strings.ReplaceAll(renderTOML(path, entry), "\n", newline)
	if present {
		return replaceTOML(text, path, rendered)
	}
	out := bytes.Clone(text)
	if len(bytes.TrimSpace(text)) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, newline...)
		}
		out = append(out, newline...)
	}
	return append(out, rendered...), nil
}

// replaceTOML puts something where the table of a path begins, and takes out the
// table and those below it.
func replaceTOML(text []byte, path []string, rendered string) ([]byte, error) {
	var out []byte
	done, found := 0, false
	for _, s := range tomlSections(text) {
		if !s.within(path) {
			continue
		}
		out = append(out, text[done:s.start]...)
		if found || rendered == "" {
			out = trimBlankLine(out)
		} else {
			out = append(out, rendered...)
		}
		done, found = s.end, true
	}
	if !found {
		return nil, errByHand
	}
	return append(out, text[done:]...), nil
}

// trimBlankLine takes out one blank line at the end.
func trimBlankLine(text []byte) []byte {
	for _, end := range []string{"\r\n", "\n"} {
		shorter, cut := bytes.CutSuffix(text, []byte(end))
		if cut && (len(shorter) == 0 || shorter[len(shorter)-1] == '\n') {
			return shorter
		}
	}
	return text
}

func cutTOML(text []byte, path []string) ([]byte, error) {
	return replaceTOML(text, path, "")
}

func renderTOML(path []string, entry fields) string {
	var b strings.Builder
	quoted := make([]string, len(path))
	for i, key := range path {
		quoted[i] = tomlKey(key)
	}
	fmt.Fprintf(&b, "[%s]\n", strings.Join(quoted, "."))
	for _, f := range entry {
		fmt.Fprintf(&b, "%s = %s\n", tomlKey(f.key), tomlValue(f.value))
	}
	return b.String()
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return tomlValue(key)
}

// tomlValue writes strings as JSON does, which TOML reads too.
func tomlValue(value any) string {
	switch v := value.(type) {
	case []string:
		return quoteAll(v)
	case fields:
		members := make([]string, len(v))
		for i, f := range v {
			members[i] = tomlKey(f.key) + " = " + tomlValue(f.value)
		}
		return "{ " + strings.Join(members, ", ") + " }"
	case string:
		return quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// quote writes a string for JSON and TOML.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be written
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// newlineOf is how a file ends its lines.
func newlineOf(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
