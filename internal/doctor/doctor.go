// Package doctor says what is wrong with a set-up, and how to mend it: it makes
// a tree of results out of the facts that somebody has gathered.
//
// Its one rule: it looks at nothing itself. What it says follows from [Facts]
// alone, so that any broken set-up can be told in a test, and printed with
// nothing private in it.
package doctor

import "slices"

// A State is how a check came out.
type State string

// The states, better before worse. A check is skipped when it does not matter
// here, or cannot be made; what it says is why.
const (
	Skipped State = "skipped"
	OK      State = "ok"
	Warn    State = "warn"
	Fail    State = "fail"
)

var order = []State{Skipped, OK, Warn, Fail}

// A Result is what a check, or a group of checks, has found.
type Result struct {
	Name  string   `json:"name"`
	State State    `json:"state"`            // of a group: the worst of its parts
	Says  string   `json:"says,omitempty"`   // what was found; if that is bad, the cause
	Mend  string   `json:"mend,omitempty"`   // one command or setting, with what to do
	Parts []Result `json:"checks,omitempty"` // of a group
}

// Examine makes all checks.
func Examine(f Facts) Result {
	groups := []Result{
		group("settings", f.settings()...),
		group("hub", f.hub()...),
		group("state folder", f.folder()...),
		group("clock", f.clock()...),
		group("access", f.access()...),
		group("signal", f.signal()...),
		group("agents", f.agents()...),
		group("clients", f.clients()...),
		group("history", f.history()...),
	}
	if f.Canary != nil {
		groups = append(groups, group("canary", f.canary()...))
	}
	return group("aldis doctor", groups...)
}

// group is a Result of parts.
func group(name string, parts ...Result) Result {
	r := Result{Name: name, State: Skipped, Parts: parts}
	for _, p := range parts {
		if slices.Index(order, p.State) > slices.Index(order, r.State) {
			r.State = p.State
		}
	}
	return r
}

func ok(name, says string) Result   { return Result{Name: name, State: OK, Says: says} }
func skip(name, says string) Result { return Result{Name: name, State: Skipped, Says: says} }

func warn(name, says, mend string) Result {
	return Result{Name: name, State: Warn, Says: says, Mend: mend}
}

func fail(name, says, mend string) Result {
	return Result{Name: name, State: Fail, Says: says, Mend: mend}
}
