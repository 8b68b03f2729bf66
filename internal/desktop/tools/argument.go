package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

// An argument is one that a tool takes. It is told to hosts as JSON Schema, and
// what they send is checked against it.
type argument struct {
	name    string
	kind    kind
	must    bool     // be there
	about   string   // for the model
	choices []string // of a text; none: any
	max     int      // bytes of a text; 0: 256, which an id never is
	min     int64    // of an integer
}

type kind string

const (
	text    kind = "string"
	integer kind = "integer"
	flag    kind = "boolean"
)

// maxText is how long a text may be that is not meant to be long.
const maxText = 256

// schema describes args in JSON Schema 2020-12. The SDK can not make it of a
// struct: there is none, so that no number passes through a float.
func schema(args []argument) map[string]any {
	props, must := map[string]any{}, []string{}
	for _, a := range args {
		props[a.name] = a.schema()
		if a.must {
			must = append(must, a.name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": must, "additionalProperties": false}
}

func (a argument) schema() map[string]any {
	s := map[string]any{"type": string(a.kind), "description": a.about}
	switch {
	case a.choices != nil:
		s["enum"] = a.choices
	case a.kind == text:
		s["minLength"], s["maxLength"] = 1, a.most()
	case a.kind == integer:
		s["minimum"] = a.min
	}
	return s
}

func (a argument) most() int {
	if a.max == 0 {
		return maxText
	}
	return a.max
}

// values are the arguments of a call, checked, by name: string, int64 or bool.
type values map[string]any

func (v values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

func (v values) integer(name string) int64 {
	n, _ := v[name].(int64)
	return n
}

func (v values) flag(name string) bool {
	b, _ := v[name].(bool)
	return b
}

// parse reads the arguments of a call. One that is null counts as left out:
// some hosts send all that a schema names. Its errors are for the model.
func parse(args []argument, raw json.RawMessage) (values, error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, hub.Errorf(hub.Invalid, "the arguments must be a JSON object of %s", names(args))
		}
	}
	v := values{}
	for _, a := range args {
		raw, ok := given[a.name]
		delete(given, a.name)
		if !ok || string(raw) == "null" {
			if a.must {
				return nil, hub.Errorf(hub.Invalid, "%s is missing (%s)", a.name, a.about)
			}
			continue
		}
		value, err := a.parse(raw)
		if err != nil {
			return nil, err
		}
		v[a.name] = value
	}
	if len(given) > 0 {
		unknown := slices.Min(slices.Collect(maps.Keys(given)))
		return nil, hub.Errorf(hub.Invalid, "there is no argument %q here: use %s", hub.OneLine(unknown, 64), names(args))
	}
	return v, nil
}

func names(args []argument) string {
	var ns []string
	for _, a := range args {
		ns = append(ns, a.name)
	}
	return strings.Join(ns, ", ")
}

func (a argument) parse(raw json.RawMessage) (any, error) {
	switch a.kind {
	case flag:
		return a.flag(raw)
	case integer:
		return a.integer(raw)
	default:
		return a.text(raw)
	}
}

func (a argument) flag(raw json.RawMessage) (any, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, a.wrong("must be true or false")
}

func (a argument) text(raw json.RawMessage) (any, error) {
	var s string
	switch {
	case raw[0] != '"' || json.Unmarshal(raw, &s) != nil:
		return nil, a.wrong("must be a string")
	case a.choices != nil && !slices.Contains(a.choices, s):
		return nil, a.wrong("must be one of " + strings.Join(a.choices, ", "))
	case s == "":
		return nil, a.wrong("must not be empty")
	case len(s) > a.most():
		return nil, a.wrong(fmt.Sprintf("has %d bytes, and may have %d at most", len(s), a.most()))
	}
	return s, nil
}

// integer takes what JSON Schema calls an integer: 1.0 and 1e3 too, as long as
// they are exact.
func (a argument) integer(raw json.RawMessage) (any, error) {
	n, ok := whole(string(raw))
	switch {
	case !ok:
		return nil, a.wrong("must be an integer")
	case n < a.min:
		return nil, a.wrong(fmt.Sprintf("must be %d or more", a.min))
	}
	return n, nil
}

// whole returns the whole number that a JSON number is. Digits alone may have
// any value that fits; other spellings only what a float64 holds exactly.
func whole(number string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact || !strings.ContainsAny(number, ".eE") {
		return 0, false
	}
	return int64(f), true
}

func (a argument) wrong(what string) error {
	return hub.Errorf(hub.Invalid, "%s %s (%s)", a.name, what, a.about)
}
