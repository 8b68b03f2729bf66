package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"aldis/internal/hub"
)

// MaxAccessBytes is how long access.json may be.
const MaxAccessBytes = 1 << 20

// ParseAccess reads what access.json holds. It guesses nothing: a field that
// it does not know, one that is there twice, a policy or an entry that makes no
// sense is an error, of kind Invalid, which names nobody.
func ParseAccess(b []byte) (Access, error) {
	a, err := parse(b)
	if err != nil {
		return Access{}, hub.Errorf(hub.Invalid, "%w", err)
	}
	return a, nil
}

// Marshal writes what [ParseAccess] reads, for people to read and change too.
func (a Access) Marshal() ([]byte, error) {
	a.People, a.Groups = append([]Person{}, a.People...), append([]Group{}, a.Groups...) // [], not null
	a.Bindings, a.Pairings = append([]Binding{}, a.Bindings...), append([]Pairing{}, a.Pairings...)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(a)
	return out.Bytes(), err
}

// Spelled returns a with each person and group as spell spells them, which
// takes what people type. The error names nobody.
func (a Access) Spelled(spell func(p hub.PlatformID, id string, group bool) (hub.ChatID, error)) (Access, error) {
	a = a.clone()
	for i, x := range a.People {
		id, err := spell(x.Platform, string(x.ID), false)
		if err != nil {
			return a, hub.Errorf(hub.Invalid, "people[%d]: the id is no person's on %q", i, x.Platform)
		}
		a.People[i].ID = hub.SenderID(id)
	}
	for i, x := range a.Groups {
		id, err := spell(x.Platform, string(x.ID), true)
		if err != nil {
			return a, hub.Errorf(hub.Invalid, "groups[%d]: the id is no group's on %q", i, x.Platform)
		}
		a.Groups[i].ID = id
	}
	if err := a.check(); err != nil { // two may turn out to be one
		return a, hub.Errorf(hub.Invalid, "%w", err)
	}
	return a, nil
}

func parse(b []byte) (a Access, err error) {
	switch {
	case len(b) > MaxAccessBytes:
		return a, fmt.Errorf("it is longer than %d bytes", MaxAccessBytes)
	case !utf8.Valid(b):
		return a, errors.New("it is not UTF-8")
	}
	if err := plainKeys(json.NewDecoder(bytes.NewReader(b)), 0); err != nil {
		return a, where(b, err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, where(b, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return a, errors.New("something follows after its end")
	}
	return a, a.check()
}

// plainKeys refuses keys that are there twice, and any that the decoder would
// take for another: it does not mind capitals.
func plainKeys(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil || t != json.Delim('{') && t != json.Delim('[') {
		return err
	}
	if depth > 3 {
		return errors.New("it is nested too deep")
	}
	seen := make(map[string]bool)
	for dec.More() {
		if t == json.Delim('{') {
			k, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ := k.(string)
			if seen[key] || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
				return fmt.Errorf("unknown field, or one that is there twice: %q", hub.Clip(key, 40))
			}
			seen[key] = true
		}
		if err := plainKeys(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// where adds the line to an error that knows its place.
func where(b []byte, err error) error {
	offset := int64(-1)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
		err = fmt.Errorf("%s can't be a %s", e.Field, e.Value)
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		err = errors.New("a time is to be like 2026-11-30T12:00:00Z")
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends too early")
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if offset < 0 || offset > int64(len(b)) {
		return errors.New(text)
	}
	return fmt.Errorf("line %d: %s", 1+bytes.Count(b[:offset], []byte("\n")), text)
}

// check finds what is well spelled and makes no sense.
func (a Access) check() error {
	if err := a.Policy.Check(); err != nil {
		return err
	}
	people, groups, bindings := make(entries), make(entries), make(entries)
	for i, x := range a.People {
		if !people.add(x.Platform, string(x.ID)) {
			return fmt.Errorf("people[%d] has no platform or id, or is there twice", i)
		}
	}
	for i, x := range a.Groups {
		if !groups.add(x.Platform, string(x.ID)) {
			return fmt.Errorf("groups[%d] has no platform or id, or is there twice", i)
		}
	}
	for i, x := range a.Bindings {
		if !bindings.add(x.Platform, string(x.ID)) || x.Lasting == "" {
			return fmt.Errorf("bindings[%d] has no platform, id or lasting, or is there twice", i)
		}
	}
	for i, x := range a.Pairings {
		if x.Platform == "" || x.ID == "" || x.Chat == "" || !isCode(x.Code) {
			return fmt.Errorf("pairings[%d] has no platform, id or chat, or a code that is none", i)
		}
	}
	return nil
}

// entries are those that were seen.
type entries map[[2]string]bool

// add reports whether the entry is whole and new.
func (e entries) add(p hub.PlatformID, id string) bool {
	k := [2]string{string(p), id}
	ok := p != "" && id != "" && !e[k]
	e[k] = true
	return ok
}
