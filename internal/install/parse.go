package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

var byteOrderMark = []byte("\uFEFF")

// decode returns what a client's file says; an empty one says nothing. Its
// errors are of type *SyntaxError, without the path.
func (c *Client) decode(text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	root := map[string]any{}
	if len(bytes.TrimSpace(text)) == 0 {
		return root, nil
	}
	if c.format == tomlFormat {
		return root, decodeTOML(text, &root)
	}
	value, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	if _, isObject := value.Value.(*hujson.Object); !isObject {
		return nil, syntaxError(text, value.StartOffset, errors.New("want an object, {…}"))
	}
	plain := text
	if !c.strict {
		value.Standardize()
		plain = value.Pack()
	}
	return root, decodeJSON(plain, &root)
}

// parseJSON reads JSON with comments and commas before closing brackets.
func parseJSON(text []byte) (hujson.Value, error) {
	// A comment in the last line may do without the end of the line, but not
	// for this parser.
	value, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err == nil {
		return value, nil
	}
	wrong := &SyntaxError{Err: errors.Unwrap(err)}
	_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &wrong.Line, &wrong.Column)
	if strings.HasPrefix(wrong.Err.Error(), "invalid literal") {
		wrong.Err = errors.New("this is no valid value") // the literal may be a token
	}
	return value, wrong
}

func decodeJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	offset := d.InputOffset()
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = wrong.Offset - 1
		err = errors.New("this client reads plain JSON alone, without comments and without commas before } or ]")
	}
	return syntaxError(text, int(offset), err)
}

func decodeTOML(text []byte, into any) error {
	err := toml.Unmarshal(text, into)
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := wrong.Position()
		return &SyntaxError{Line: line, Column: column, Err: errors.New(strings.TrimPrefix(wrong.Error(), "toml: "))}
	}
	if err != nil {
		return &SyntaxError{Line: 1, Column: 1, Err: err}
	}
	return nil
}

func syntaxError(text []byte, offset int, err error) *SyntaxError {
	before := text[:max(0, min(offset, len(text)))]
	return &SyntaxError{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Err:    err,
	}
}

// lineOf returns the line, from 1, of an entry that is in a file; 0 if it is not
// found. A project is one of Claude Code's, whose entries lie apart.
func (c *Client) lineOf(text []byte, name, project string) int {
	text = bytes.TrimPrefix(text, byteOrderMark)
	offset := -1
	if c.format == tomlFormat {
		for _, s := range tomlSections(text) {
			if offset < 0 && s.within(append(c.table, name)) {
				offset = s.start
			}
		}
	} else if value, err := parseJSON(text); err == nil {
		path := append([]string{}, c.table...)
		if project != "" {
			path = append([]string{"projects", project}, path...)
		}
		offset = offsetOf(value, append(path, name))
		if offset < 0 { // version 2 of opencode
			offset = offsetOf(value, append(path, "servers", name))
		}
	}
	if offset < 0 {
		return 0
	}
	return syntaxError(text, offset, nil).Line
}

// offsetOf returns where the last of some nested members starts, or -1.
func offsetOf(value hujson.Value, path []string) int {
	offset := -1
	for _, key := range path {
		object, _ := value.Value.(*hujson.Object)
		i := memberOf(object, key)
		if i < 0 {
			return -1
		}
		offset, value = object.Members[i].Name.StartOffset, object.Members[i].Value
	}
	return offset
}

// memberOf returns the last member of a name, the one that counts, or -1. An
// object may be nil.
func memberOf(object *hujson.Object, name string) int {
	if object == nil {
		return -1
	}
	for i := len(object.Members) - 1; i >= 0; i-- {
		if object.Members[i].Name.Value.(hujson.Literal).String() == name {
			return i
		}
	}
	return -1
}
