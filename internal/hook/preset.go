package hook

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"
)

// A preset is what is known of a sort of caller.
type preset struct {
	// verify fails, with what to answer, if a call is not signed with secret.
	// proof is what no other call has, and a repetition does; empty: nothing.
	verify func(secret string, h http.Header, body []byte, now time.Time) (proof string, err error)

	// describe says what a call is about.
	describe func(h http.Header, body []byte) description

	standard bool // may sign as Standard Webhooks have it
}

// A description is what a caller says of its call. Nobody vouches for its words.
type description struct {
	event    string
	delivery string // the caller's id of this call; the same when it is repeated
	text     string // what is worth reading of the body; empty: all of it
}

var presets = map[string]preset{
	"github":  {verify: verifyGitHub, describe: describeGitHub},
	"gitlab":  {verify: verifyGitLab, describe: describeGitLab, standard: true},
	"stripe":  {verify: verifyStripe, describe: describeStripe},
	"generic": {verify: verifyGeneric, describe: describeGeneric, standard: true},
}

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// describeGeneric takes the headers that many services use. X-Request-Id is
// none of them: it names what a caller was doing, perhaps in several calls.
func describeGeneric(h http.Header, _ []byte) description {
	_, delivery := first(h, "Webhook-Id", "X-Delivery-Id", "X-Delivery")
	return description{event: genericEvent(h), delivery: delivery}
}

func genericEvent(h http.Header) string {
	_, event := first(h, "X-Event-Type", "X-Event")
	return event
}

// first returns the first of the named headers that is there.
func first(h http.Header, names ...string) (name, value string) {
	for _, name := range names {
		if value := h.Get(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// digest describes an object by the template for its kind and action, or for
// its kind, or by these two words alone, as it does what is no object.
func digest(o object, templates map[string]string, kind, action string) string {
	if t := cmp.Or(templates[kind+"."+action], templates[kind]); t != "" && o != nil {
		return o.fill(t)
	}
	return object{"kind": cmp.Or(kind, "webhook"), "action": action}.fill(
		"{kind}:[ {action}] (get_message with the id of this event has the whole body)")
}
