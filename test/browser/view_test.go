package browser

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// A view is what the page shows at one moment.
type view struct {
	State, Status string // of the hub
	Locked        bool   // the page asks for the link
	Operator      chat
	Stranger      chat
	Draft         string // in the operator's composer
	Agents        map[string]agent
}

func (v view) String() string {
	b, _ := json.MarshalIndent(v, "", " ") // strings and numbers
	return string(b)
}

// A chat is the bubbles of one phone, oldest first.
type chat []bubble

type bubble struct {
	Key, Who, Text, Quoted string
	Ticks, Foot, Note      string
	Mine, Deleted          bool
	Reactions              []string
	Ask                    *ask // nil: it is mere words
	Pictures               []struct {
		Name  string
		Width int // zero: it is not loaded
	}
}

// An ask is what is below a bubble that asks something.
type ask struct {
	Details string
	Open    bool // the details
	Buttons []struct {
		Label       string
		Off, Chosen bool
	}
	Answer string // what it says was answered
}

// labels are what the buttons say that can be chosen, and the one that was.
func (a ask) labels() (on []string, chosen string) {
	for _, b := range a.Buttons {
		if !b.Off {
			on = append(on, b.Label)
		}
		if b.Chosen {
			chosen = b.Label
		}
	}
	return on, chosen
}

// from returns the first bubble of an agent.
func (c chat) from(who string) (bubble, bool) {
	return c.find(func(b bubble) bool { return b.Who == who })
}

// asks returns the newest bubble of an agent that asks something.
func (c chat) asks(who string) (last bubble, ok bool) {
	for _, b := range c {
		if b.Who == who && b.Ask != nil {
			last, ok = b, true
		}
	}
	return last, ok
}

// says returns the first bubble with that text.
func (c chat) says(text string) (bubble, bool) {
	return c.find(func(b bubble) bool { return b.Text == text })
}

func (c chat) find(ok func(bubble) bool) (bubble, bool) {
	for _, b := range c {
		if ok(b) {
			return b, true
		}
	}
	return bubble{}, false
}

func (c chat) count(text string) (n int) {
	for _, b := range c {
		if b.Text == text {
			n++
		}
	}
	return n
}

type agent struct {
	State           string
	Default, Online bool
	Received        []event
}

// An event is one that an agent was handed, as its card shows it.
type event struct {
	Status, Head, Again string
	Content             string
	Channel             string // the whole <channel …> text
	Salon               bool   // it is set apart as no person's
}

// got returns the first event with that content.
func (a agent) got(content string) (event, bool) {
	for _, e := range a.Received {
		if e.Content == content {
			return e, true
		}
	}
	return event{}, false
}

func (a agent) count(content string) (n int) {
	for _, e := range a.Received {
		if e.Content == content {
			n++
		}
	}
	return n
}

var attribute = regexp.MustCompile(` ([a-z0-9_]+)="([^"]*)"`)

// meta is what the event's <channel …> text has under a key.
func (e event) meta(key string) string {
	opening, _, _ := strings.Cut(e.Channel, ">"+e.Content)
	for _, m := range attribute.FindAllStringSubmatch(opening, -1) {
		if m[1] == key {
			return m[2]
		}
	}
	return ""
}

// row selects a part of what the page shows for a key: its bubble, or what is
// below that.
func row(key, part string) string { return ".row[data-key=" + strconv.Quote(key) + "] " + part }
