package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"aldis/internal/hub"
)

// skew is how far the issuer's clock may be from ours.
const skew = 60 * time.Second

// algorithms are those whose keys can be published: with HMAC whoever can
// verify can sign.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// An issuer is who signs the access tokens, which are JWTs (RFC 9068).
type issuer struct {
	url      string
	audience string
	scopes   []string
	now      func() time.Time
	keys     *keySet
}

func newIssuer(o ResourceOptions) *issuer {
	return &issuer{o.Issuer, o.Audience, o.Scopes, o.Now, newKeySet(o)}
}

func checkIssuer(o ResourceOptions) error {
	if _, err := secureURL(o.Issuer); err != nil {
		return hub.Errorf(hub.Invalid, "the issuer %q: %w", o.Issuer, err)
	}
	if len(o.Tokens) > 0 {
		return hub.Errorf(hub.Invalid, "there are an issuer and fixed tokens: keep one of the two")
	}
	if o.Audience == "" {
		return hub.Errorf(hub.Invalid, "set the audience that the issuer's tokens must name: without it they open all that trusts the issuer")
	}
	if i := slices.IndexFunc(o.Scopes, func(s string) bool { return !isScope(s) }); i >= 0 {
		return hub.Errorf(hub.Invalid, "the scope %q: want printable ASCII without blanks, quotes and backslashes", o.Scopes[i])
	}
	return nil
}

// isScope goes by RFC 6749, section 3.3.
func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// claims are those of a token that matter.
type claims struct {
	jwt.Claims
	Scope    words  `json:"scope"`
	Scp      words  `json:"scp"` // how some issuers spell it
	ClientID string `json:"client_id"`
	Party    string `json:"azp"`

	// what ID tokens have
	Type       string `json:"typ"` // Keycloak's
	Nonce      string `json:"nonce"`
	AccessHash string `json:"at_hash"`
	CodeHash   string `json:"c_hash"`
}

// words are a list, or a text with blanks in between.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*w = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(w))
}

// verify looks at what a token says before it looks at the signature: what is
// refused for its own words costs the issuer nothing, and stays refused while
// the issuer is out. Nothing of it is believed until the signature is.
func (i *issuer) verify(ctx context.Context, raw string) (Principal, *refusal) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return Principal{}, invalid("the token is not a JWT with a signature that is taken here")
	}
	var c claims
	if err := token.UnsafeClaimsWithoutVerification(&c); err != nil {
		return Principal{}, invalid("the token says things that make no sense")
	}
	if msg := i.fault(token.Headers[0], c); msg != "" {
		return Principal{}, invalid(msg)
	}
	if no := i.keys.verify(ctx, token); no != nil {
		return Principal{}, no
	}
	if missing := i.missing(c); missing != "" {
		return Principal{}, &refusal{http.StatusForbidden, "insufficient_scope", "the token lacks the scope " + missing, 0}
	}
	client := c.ClientID
	if client == "" {
		client = c.Party
	}
	return Principal{Kind: Reader, Name: i.url + "|" + c.Subject, Client: client}, nil
}

// fault returns what is wrong with what a token says; empty: nothing.
func (i *issuer) fault(h jose.Header, c claims) string {
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: i.url, AnyAudience: jwt.Audience{i.audience}, Time: i.now()}, skew)
	switch {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return "the token is of another issuer"
	case errors.Is(err, jwt.ErrInvalidAudience):
		return "the token is for another audience"
	case errors.Is(err, jwt.ErrExpired), c.Expiry == nil:
		return "the token has expired"
	case err != nil:
		return "the token is not valid yet"
	case c.Subject == "":
		return "the token does not say whose it is"
	case !isAccess(h, c):
		return "the token is not an access token"
	default:
		return ""
	}
}

// isAccess tells access tokens from what else an issuer signs. RFC 9068 has
// them say so. Those of older issuers are plain JWTs, as ID tokens are; these
// are known by what OpenID Connect Core puts into them (sections 2, 3.3.2.11).
// One that has none of it would still need our audience and scopes, which the
// application that it is meant for has no reason to have.
func isAccess(h jose.Header, c claims) bool {
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "at+jwt":
		return true
	case "jwt", "":
		return c.Type == "Bearer" || c.Type == "" && c.Nonce == "" && c.AccessHash == "" && c.CodeHash == ""
	default:
		return false
	}
}

// missing returns the first scope that c lacks.
func (i *issuer) missing(c claims) string {
	for _, s := range i.scopes {
		if !slices.Contains(c.Scope, s) && !slices.Contains(c.Scp, s) {
			return s
		}
	}
	return ""
}
