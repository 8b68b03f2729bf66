package hook

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// An Intake is what all ways in have in common.
type Intake struct {
	Receiver hub.Receiver

	// Once returns the id of the message that stands for all that come with one
	// of keys within 24 h: the one that it returned for such a key before, else id.
	Once  func(ctx context.Context, keys []string, id hub.MessageID) (hub.MessageID, error)
	NewID func() hub.MessageID

	// Allow reports whether a call under key is within the rate limit, else
	// how long to wait.
	Allow func(key string) (wait time.Duration, ok bool)
}

// checkSite fails for what a page of somebody else's has a browser call: with an
// image or a link it names no Origin, and may need no token. Browsers say so
// themselves (W3C Fetch Metadata, Sec-Fetch-Site).
func checkSite(h http.Header) error {
	switch h.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	default:
		return hub.Errorf(hub.Denied, "a page elsewhere may not call this")
	}
}

// limit fails with Limited if there are too many calls under key, and has w say
// how long to wait.
func (in Intake) limit(w http.ResponseWriter, key string) error {
	wait, ok := in.Allow(key)
	if ok {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(httpd.Seconds(wait)))
	return hub.Errorf(hub.Limited, "too many messages: Retry-After says how many seconds to wait")
}

// receive carries m. Where m.ID is one that [Intake.Once] returned, it does so
// once: that it came before is known by its id, which the record takes in once.
// So an attempt that failed, or died, leaves the next one free to succeed.
func (in Intake) receive(ctx context.Context, m hub.Message) (id hub.MessageID, repeated bool, err error) {
	receipt, err := in.Receiver.Receive(ctx, m)
	if m.ID != "" && hub.KindOf(err) == hub.Conflict {
		return m.ID, true, nil
	}
	return receipt.ID, false, err
}

// onceKey is the key of what is called id within scope, whose parts have no
// line breaks.
func onceKey(id string, scope ...string) string {
	return strings.Join(append(scope, id), "\n")
}

// idempotencyKey returns the caller's Idempotency-Key; empty: there is none.
func idempotencyKey(h http.Header) (string, error) {
	const name = "Idempotency-Key"
	key := h.Get(name)
	if len(h.Values(name)) > 0 && key == "" {
		return "", badKey(name)
	}
	return key, checkKey(name, key)
}

// checkKey fails if key, where there is one, is not 1 to 255 printable ASCII
// characters.
func checkKey(what, key string) error {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if len(key) > 255 || strings.ContainsFunc(key, odd) {
		return badKey(what)
	}
	return nil
}

func badKey(what string) error {
	return httpd.Statusf(http.StatusBadRequest, "%s: want 1 to 255 printable ASCII characters", what)
}
