package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"aldis/internal/hubtest/openid"
)

func TestAnIssuerThatIsNotUpYet(t *testing.T) {
	iss := openid.New(t)
	h := newHouse(t, iss)
	good, expired := iss.Sign("", h.claims(nil)), iss.Sign("", h.claims(map[string]any{"exp": 1}))
	for range 3 {
		h.wants(t, "while it is out", good, 503, "try again in 1 seconds")
	}
	h.wants(t, "an expired one, while it is out", expired, 401, "expired")
	h.pass(time.Second)
	h.wants(t, "a second later", good, 503, "try again in 2 seconds")
	iss.Start()
	h.wants(t, "up, but asked a moment ago", good, 503, "try again")
	h.pass(2 * time.Second)
	h.wants(t, "up", good, 200, "")
	if log := h.log.String(); strings.Count(log, "level=WARN") != 1 || strings.Count(log, "is back") != 1 {
		t.Errorf("the log has not one line for its absence and one for its return:\n%s", log)
	}
}

func TestThePauseOfAnIssuerThatIsOutHasABound(t *testing.T) {
	h := newHouse(t, openid.New(t))
	token := h.iss.Sign("", h.claims(map[string]any{"exp": h.now().Add(24 * time.Hour).Unix()}))
	for range 40 {
		h.pass(askLast)
		h.wants(t, "out", token, 503, "try again in")
	}
	h.wants(t, "out for long", token, 503, "try again in 60 seconds")
}

func TestAnIssuerThatGoesAwayIsNotMissedForADay(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	token := h.iss.Sign("", h.claims(map[string]any{"exp": h.now().Add(48 * time.Hour).Unix()}))
	h.wants(t, "while it is up", token, 200, "")
	h.iss.Stop()
	for _, later := range []time.Duration{time.Minute, keysFresh, time.Hour, 22 * time.Hour} {
		h.pass(later)
		h.wants(t, "out since "+later.String(), token, 200, "")
	}
	h.pass(2 * time.Hour)
	h.wants(t, "out for more than a day", token, 503, "")
	h.iss.Start()
	h.pass(askLast)
	h.wants(t, "up again", token, 200, "")
}

func TestKeysRotate(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	before := h.iss.Sign("", h.claims(nil))
	h.wants(t, "before", before, 200, "")
	h.pass(askPause)
	h.iss.Rotate()
	h.wants(t, "the old key, not missed yet", before, 200, "")
	h.wants(t, "the new key", h.iss.LogIn("signal:read", publicURL).Access, 200, "")
	h.pass(askPause)
	h.wants(t, "the old key, once that is known", before, 401, "signature")
}

func TestAKeyThatIsWithdrawnEnds(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	token := h.iss.Sign("", h.claims(nil))
	h.wants(t, "before", token, 200, "")
	h.iss.Rotate()
	h.pass(keysFresh + time.Second)
	h.wants(t, "the request that finds out can not look again at once", token, 503, "")
	h.pass(askPause)
	h.wants(t, "after", token, 401, "signature")
}

func TestAttackAFloodOfUnknownKeys(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	good := h.iss.Sign("", h.claims(nil))
	h.wants(t, "before", good, 200, "")
	asked := h.iss.Asked(openid.Keys)
	flood := func(n int) {
		var all sync.WaitGroup
		for i := range n {
			k := h.iss.Public()
			k.KeyID = fmt.Sprint("bogus", i)
			token := strings.Join(append([]string{encode(t, map[string]string{"alg": "RS256", "kid": k.KeyID})}, strings.Split(good, ".")[1:]...), ".")
			all.Go(func() {
				if w, p := knock(h.Resource, "Bearer "+token); w.Code == 200 || p != (Principal{}) {
					t.Errorf("a bogus key: answered %d", w.Code)
				}
			})
		}
		all.Wait()
	}
	flood(100)
	if n := h.iss.Asked(openid.Keys) - asked; n != 0 {
		t.Errorf("the issuer was asked %d times a moment after it was", n)
	}
	h.pass(askPause)
	flood(100)
	if n := h.iss.Asked(openid.Keys) - asked; n != 1 {
		t.Errorf("the issuer was asked %d times, want once", n)
	}
	h.wants(t, "a good token meanwhile", good, 200, "")
}

func TestAllWhoComeAtTheStartAskOnce(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	token := h.iss.Sign("", h.claims(nil))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { h.wants(t, "at the start", token, 200, "") })
	}
	all.Wait()
	if n := h.iss.Asked(openid.Keys); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

func TestACallerThatHangsUpBreaksNothingOff(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	token := h.iss.Sign("", h.claims(nil))
	ctx, hangUp := context.WithCancel(t.Context())
	h.iss.Instead(openid.Keys, func(w http.ResponseWriter, r *http.Request) {
		hangUp()
		h.iss.Answer(w, r)
	})
	r := httptest.NewRequestWithContext(ctx, "POST", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	h.Require(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	h.wants(t, "the next one", token, 200, "")
	if n := h.iss.Asked(openid.Keys); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

func TestAnIssuerThatMisbehavesIsOut(t *testing.T) {
	iss, elsewhere := openid.Start(t), openid.Start(t)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	for _, tt := range []struct {
		name, path string
		answer     http.HandlerFunc
		log        string
	}{
		{"no keys to be had", openid.Keys, status(500), "500 Internal Server Error"},
		{"keys that are no JSON", openid.Keys, says("<html>"), "invalid character"},
		{"keys without end", openid.Keys, says(`{"keys":"` + strings.Repeat("x", askBytes)), "larger than"},
		{"an empty list of keys", openid.Keys, says(`{"keys":[]}`), "no key"},
		{"keys that are secret or strange", openid.Keys, says(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"}]}`), "no key"},
		{"keys elsewhere", openid.Keys, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+openid.Keys, http.StatusFound)
		}, "redirects elsewhere"},
		{"an issuer too slow", openid.Keys, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline"},
		{"no metadata", openid.Discovery, status(404), "oauth-authorization-server: 404"},
		{"metadata of another", openid.Discovery, elsewhere.Answer, "set that, to the letter"},
		{"no PKCE", openid.Discovery, nil, "no S256"},
	} {
		h := newHouse(t, iss)
		if tt.answer == nil {
			tt.answer = says(fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, h.iss.URL, h.iss.URL+openid.Keys))
		}
		if tt.name == "an issuer too slow" {
			h.issuer.keys.patience = 100 * time.Millisecond
		}
		h.iss.Instead(tt.path, tt.answer)
		h.wants(t, tt.name, h.iss.Sign("", h.claims(nil)), 503, "the issuer of tokens can not be asked now")
		if !strings.Contains(h.log.String(), tt.log) {
			t.Errorf("%s: the log does not say %q:\n%s", tt.name, tt.log, h.log.String())
		}
		h.iss.Instead(tt.path, nil)
		h.pass(askFirst)
		h.wants(t, tt.name+", mended", h.iss.Sign("", h.claims(nil)), 200, "")
	}
}

func TestAnIssuerThatIsNoOpenIDProvider(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	h.iss.Instead(openid.Discovery, http.NotFound)
	h.iss.Instead("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = openid.Discovery
		h.iss.Answer(w, r)
	})
	h.wants(t, "with RFC 8414 alone", h.iss.LogIn("signal:read", publicURL).Access, 200, "")
}

func TestAnIssuerWhoseKeysHaveAQuery(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	h.iss.Instead(openid.Discovery, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"code_challenge_methods_supported":["S256"]}`, h.iss.URL, h.iss.URL+openid.Keys+"?p=policy")
	})
	h.wants(t, "with a query", h.iss.LogIn("signal:read", publicURL).Access, 200, "")
}

func TestATokenThatNamesNoKeyIsTriedWithAll(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	sign := func() string {
		k := h.iss.Private()
		return openid.Sign(t, jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm), Key: k.Key}, "", h.claims(nil))
	}
	h.wants(t, "its key is there", sign(), 200, "")
	h.pass(askPause)
	h.iss.Rotate()
	h.wants(t, "its key is new", sign(), 200, "")
}
