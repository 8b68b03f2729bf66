// Package auth says whose request it is: it turns a bearer token into a
// Principal, and keeps the admin's token in its file. [Tokens] are the hub's
// own; a [Resource] may take those of an OAuth issuer.
//
// Its one rule: a token of ours is compared by its digest, in constant time,
// with every candidate, and no token leaves this package in an error or a log.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// A Kind says which of the kinds of token a request came with.
type Kind string

// The kinds.
const (
	Shared Kind = "shared" // /mcp under any name, /notify
	Agent  Kind = "agent"  // /mcp and /notify as one agent
	Admin  Kind = "admin"  // /admin, /api, /metrics; never an agent's
	Reader Kind = "reader" // a [Resource]'s: the history, and nothing of the hub
)

// A Principal is who a request's token stands for.
type Principal struct {
	Kind  Kind
	Agent hub.AgentID // whose token it is, if Kind is Agent

	// If Kind is Reader.
	Name   string // "static", or the issuer, "|" and who it says has given leave
	Client string // id of the OAuth client; empty: not known
}

// Subject names the principal in records: what it began stays its own when its
// token is changed. The zero Principal's is that of nobody.
func (p Principal) Subject() string {
	switch p.Kind {
	case Shared:
		return "main"
	case Agent:
		return "agent:" + string(p.Agent)
	case Admin:
		return "admin"
	case Reader:
		return p.Name
	default:
		return "nobody"
	}
}

// Tokens are the tokens that are valid.
type Tokens struct {
	Shared []string // all valid, for a rotation
	Admin  string   // empty: nobody is the admin

	// Agents finds whose token has a digest, see [Hash]. It answers at once,
	// from memory: there is no answer for "can't tell". Nil: agents have none.
	Agents func(hash [sha256.Size]byte) (hub.AgentID, bool)

	// AllowUnauthenticated takes a request without a token as one with the
	// shared one. A token that comes must be valid nevertheless.
	AllowUnauthenticated bool
}

var (
	errNoToken  = errors.New("this needs a token: Authorization: Bearer TOKEN")
	errBadToken = errors.New("the token is not valid")
)

// Hash returns the digest under which a token is kept and compared. Tokens are
// random and long, so a plain digest can not be reversed.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Authenticate returns whose token r carries, or an error that is to be
// answered with [Unauthorized].
func (t Tokens) Authenticate(r *http.Request) (Principal, error) {
	if len(r.Header.Values("Authorization")) == 0 {
		if t.AllowUnauthenticated {
			return Principal{Kind: Shared}, nil
		}
		return Principal{}, errNoToken
	}
	token, ok := bearer(r)
	if !ok {
		return Principal{}, errBadToken
	}
	return t.lookUp(Hash(token))
}

// bearer returns the one token that r's header carries (RFC 6750, section 2.1).
func bearer(r *http.Request) (token string, ok bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// lookUp goes through all candidates whatever matches, so that the time it
// takes tells nothing. An agent's digest is looked up in a table: to be led
// along by its timing one would have to choose digests, not tokens.
func (t Tokens) lookUp(hash [sha256.Size]byte) (Principal, error) {
	shared := 0
	for _, s := range t.Shared {
		shared |= equal(hash, s)
	}
	admin := equal(hash, t.Admin)
	var agent hub.AgentID
	var known bool
	if t.Agents != nil {
		agent, known = t.Agents(hash)
	}
	switch {
	case admin == 1:
		return Principal{Kind: Admin}, nil
	case shared == 1:
		return Principal{Kind: Shared}, nil
	case known:
		return Principal{Kind: Agent, Agent: agent}, nil
	default:
		return Principal{}, errBadToken
	}
}

// equal is 1 if hash is token's. No request carries an empty token, so an unset
// one matches nothing.
func equal(hash [sha256.Size]byte, token string) int {
	candidate := Hash(token)
	return subtle.ConstantTimeCompare(hash[:], candidate[:])
}

// Takes reports whether token is one of them.
func (t Tokens) Takes(token string) bool {
	_, err := t.lookUp(Hash(token))
	return err == nil
}

// Require lets only principals of the given kinds through, and tells next who
// it is, see [From]. It answers 401 without a valid token, and 403 to a valid
// one of another kind.
func (t Tokens) Require(next http.Handler, kinds ...Kind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := t.Authenticate(r)
		if err == nil && !slices.Contains(kinds, p.Kind) && len(r.Header.Values("Authorization")) == 0 {
			err = errNoToken // without one anybody is Shared, but that is not enough here
		}
		if err != nil {
			Unauthorized(w, err)
			return
		}
		if !slices.Contains(kinds, p.Kind) {
			httpd.WriteError(w, http.StatusForbidden, "this token is not for "+r.URL.Path)
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), p)))
	})
}

// Unauthorized answers 401 with what [Tokens.Authenticate] returned, and the
// challenge of RFC 6750, section 3: it names an error only if a token came.
func Unauthorized(w http.ResponseWriter, err error) {
	challenge := `Bearer realm="aldis"`
	if errors.Is(err, errBadToken) {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	httpd.WriteError(w, http.StatusUnauthorized, err.Error())
}

type key struct{}

// From returns whose request ctx is of, or the zero Principal, which may do
// nothing, outside of [Tokens.Require].
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(key{}).(Principal)
	return p
}

// With returns a context of p's, for edges that authenticate in their own way.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}
