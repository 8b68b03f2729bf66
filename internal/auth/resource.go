package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

const (
	minToken  = 32       // characters of a token that a person has chosen
	maxToken  = 16 << 10 // bytes of a token that is looked at
	badTokens = 30       // a minute and network
)

// ResourceOptions say what a [Resource] is and whose tokens open it.
type ResourceOptions struct {
	URL  string // where hosts reach it: https (http for loopback alone) and a path that ends in /mcp; may be empty in the mode static
	Name string // what people are told it is

	// One of the two: the mode static, or the mode oidc.
	Tokens []string // all valid, each of at least 32 characters
	Issuer string   // https; http for loopback alone

	// In the mode oidc.
	Audience string   // that a token must name (RFC 8707)
	Scopes   []string // all of which a token must have

	PerMinute int              // POST requests of one subject; zero: no limit
	Log       *slog.Logger     // learns that the issuer is out, and that it is back
	Now       func() time.Time // nil: time.Now
}

// A Resource is an OAuth protected resource: it lets through what comes with a
// bearer token (RFC 6750) that is fixed, or that its issuer has signed.
//
// It answers 401 for a fault of the token alone, because hosts take one 401 as
// "log in anew": what can't be decided because the issuer is out is a 503.
type Resource struct {
	url      *url.URL // nil: not known
	name     string
	scopes   []string
	tokens   Tokens        // in the mode static
	issuer   *issuer       // in the mode oidc, else nil
	requests httpd.Limiter // by subject
	tries    httpd.Limiter // with a token that was not valid, by network
	log      *slog.Logger
}

// NewResource fails with Invalid if o can not work. It asks nothing of the
// issuer, which need not be up.
func NewResource(o ResourceOptions) (*Resource, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	check := checkIssuer
	if o.Issuer == "" {
		check = checkTokens
	}
	u, err := locate(o)
	if err = cmp.Or(err, check(o)); err != nil {
		return nil, err
	}
	res := &Resource{
		url: u, name: o.Name, scopes: o.Scopes, tokens: Tokens{Shared: o.Tokens}, log: o.Log,
		requests: httpd.Limiter{PerMinute: o.PerMinute, Now: o.Now},
		tries:    httpd.Limiter{PerMinute: badTokens, Now: o.Now},
	}
	if o.Issuer != "" {
		res.issuer = newIssuer(o)
	}
	return res, nil
}

func checkTokens(o ResourceOptions) error {
	if len(o.Tokens) == 0 {
		return hub.Errorf(hub.Invalid, "set a token or an issuer of tokens: whoever reaches this could read it")
	}
	if slices.ContainsFunc(o.Tokens, func(t string) bool { return len(t) < minToken }) {
		return hub.Errorf(hub.Invalid, "a token needs at least %d characters", minToken)
	}
	return nil
}

// verify returns whom token stands for. A fixed one is that of one reader.
func (res *Resource) verify(ctx context.Context, token string) (Principal, *refusal) {
	if res.issuer != nil {
		return res.issuer.verify(ctx, token)
	}
	if _, err := res.tokens.lookUp(Hash(token)); err != nil {
		return Principal{}, invalid(err.Error())
	}
	return Principal{Kind: Reader, Name: "static"}, nil
}

// Require lets only requests with a valid token through, and tells next who it
// is, see [From].
func (res *Resource) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, no := res.authenticate(r)
		if no == nil && r.Method == http.MethodPost {
			no = limited(res.requests.Allow(p.Subject()))
		}
		if no != nil {
			res.refuse(w, r, no)
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), p)))
	})
}

// authenticate returns whose token r carries. Who has tried too many is not
// heard, so that guessing is slow. A proxy or tunnel sends everybody's requests
// from its own address, which one who guesses must not shut; what it says of
// who asked is not believed, since anybody may write that.
func (res *Resource) authenticate(r *http.Request) (Principal, *refusal) {
	if r.URL.Query().Has("access_token") {
		return Principal{}, &refusal{http.StatusBadRequest, "invalid_request", "send the token in the Authorization header: addresses end up in logs", 0}
	}
	if len(r.Header.Values("Authorization")) == 0 {
		return Principal{}, &refusal{status: http.StatusUnauthorized, msg: errNoToken.Error()}
	}
	from := network(r.RemoteAddr)
	if wait := res.tries.Wait(from); wait > 0 {
		return Principal{}, limited(wait, false)
	}
	token, ok := bearer(r)
	if !ok || len(token) > maxToken {
		return Principal{}, invalid("this is not a bearer token")
	}
	p, no := res.verify(r.Context(), token)
	if no != nil && no.code == invalidToken && !near(r.RemoteAddr) {
		_, _ = res.tries.Allow(from) // counts; the answer is for the next one
	}
	return p, no
}

// near reports whether addr may be that of a proxy or tunnel in front of us.
func near(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	ip := a.Addr().Unmap()
	return err == nil && (ip.IsLoopback() || ip.IsPrivate())
}

// A refusal is the answer to a request that is not let through.
type refusal struct {
	status int
	code   string        // RFC 6750, section 3.1; empty: no credentials came, or it is not about them
	msg    string        // a person or host reads it; printable ASCII without " and \
	wait   time.Duration // until it may go better; zero: it will not
}

const invalidToken = "invalid_token"

func invalid(msg string) *refusal {
	return &refusal{http.StatusUnauthorized, invalidToken, msg, 0}
}

// limited is nil if ok.
func limited(wait time.Duration, ok bool) *refusal {
	if ok {
		return nil
	}
	return &refusal{http.StatusTooManyRequests, "", "too many requests: try again in " + seconds(wait) + " seconds", wait}
}

func seconds(d time.Duration) string { return strconv.Itoa(max(httpd.Seconds(d), 1)) }

func (res *Resource) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	res.log.Debug("request refused", "method", r.Method, "path", r.URL.Path, "status", no.status, "err", no.msg)
	if no.status == http.StatusUnauthorized || no.code != "" {
		w.Header().Set("WWW-Authenticate", res.challenge(no))
	}
	if no.wait > 0 {
		w.Header().Set("Retry-After", seconds(no.wait))
	}
	httpd.WriteError(w, no.status, no.msg)
}

// challenge tells a host where to find out how to get a token (RFC 9728,
// section 5.1), and, if one came, what is wrong with it (RFC 6750, section 3).
func (res *Resource) challenge(no *refusal) string {
	params := []string{`realm="aldis"`}
	if res.issuer != nil {
		params = []string{`resource_metadata="` + res.metadataURL() + `"`}
		if len(res.scopes) > 0 {
			params = append(params, `scope="`+strings.Join(res.scopes, " ")+`"`)
		}
	}
	if no.code != "" {
		params = append(params, `error="`+no.code+`"`, `error_description="`+no.msg+`"`)
	}
	return "Bearer " + strings.Join(params, ", ")
}
