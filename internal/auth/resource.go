package auth

import (
	"log/slog"
	"net/http"
	"time"

	"aldis/internal/hub"
)

// ResourceOptions say what a [Resource] is and whose tokens open it.
type ResourceOptions struct {
	URL  string // where hosts reach it, see [CheckURL]; may be empty in the mode static
	Name string // what people are told it is

	// One of the two: the mode static, or the mode oidc.
	Tokens []string // all valid, each of at least 32 characters
	Issuer string   // https; http for loopback alone

	Audience string   // that Issuer's tokens must name
	Scopes   []string // all of which Issuer's tokens must have

	PerMinute int              // requests of one subject; zero: no limit
	Log       *slog.Logger     // learns that the issuer is out, and that it is back
	Now       func() time.Time // nil: time.Now
}

// A Resource is an OAuth protected resource (RFC 9728): what it lets through
// came with a bearer token that is its own.
type Resource struct{}

// CheckURL fails with Invalid unless url can be what hosts reach a resource by.
func CheckURL(url string) error { return hub.Errorf(hub.Unavailable, "not built yet") }

// NewResource fails with Invalid if o can not work. It asks nothing of the
// issuer, which need not be up.
func NewResource(o ResourceOptions) (*Resource, error) {
	return nil, hub.Errorf(hub.Unavailable, "not built yet")
}

// Require lets only requests with a valid token through, and tells next who it
// is, see [From].
func (res *Resource) Require(next http.Handler) http.Handler { return next }

// Metadata serves what RFC 9728, section 3, has hosts look for, at the paths of
// [Resource.MetadataPaths].
func (res *Resource) Metadata() http.Handler { return http.NotFoundHandler() }

// MetadataPaths returns where Metadata is looked for: at the root, and with the
// path of the resource behind it.
func (res *Resource) MetadataPaths() []string { return nil }

// Host returns the host and port, if it has one, of the resource's URL, to which
// [httpd.Server] must answer.
func (res *Resource) Host() string { return "" }
