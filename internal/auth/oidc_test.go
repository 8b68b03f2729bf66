package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"aldis/internal/hubtest/openid"
)

const publicURL = "https://box.example/mcp"

// house is a resource that iss has the tokens of, and its clock.
type house struct {
	*Resource
	iss *openid.Provider
	log bytes.Buffer

	mu    sync.Mutex
	clock time.Time // guarded by mu
}

func newHouse(t *testing.T, iss *openid.Provider) *house {
	t.Helper()
	h := &house{iss: iss, clock: time.Now()}
	var err error
	h.Resource, err = NewResource(ResourceOptions{
		URL: publicURL, Name: "Signal history", Issuer: iss.URL, Audience: publicURL, Scopes: []string{"signal:read"},
		Log: slog.New(slog.NewTextHandler(&h.log, nil)), Now: h.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock = h.clock.Add(d)
}

// knock sends a request with these Authorization headers, and returns the
// answer and whom the handler saw.
func knock(res *Resource, headers ...string) (*httptest.ResponseRecorder, Principal) {
	var seen Principal
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = From(r.Context()) })
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.RemoteAddr = "127.0.0.1:50000" // a tunnel's
	r.Header["Authorization"] = headers
	w := httptest.NewRecorder()
	res.Require(next).ServeHTTP(w, r)
	return w, seen
}

// wants knocks with token and fails unless the answer is status, and says why.
func (h *house) wants(t *testing.T, name, token string, status int, why string) {
	t.Helper()
	w, p := knock(h.Resource, "Bearer "+token)
	challenge := w.Header().Get("WWW-Authenticate")
	if w.Code != status || !strings.Contains(w.Body.String(), why) {
		t.Errorf("%s: answered %d %s; want %d, %q", name, w.Code, w.Body, status, why)
	}
	if (p != Principal{}) != (status == 200) {
		t.Errorf("%s: answered %d, and the handler saw %v", name, w.Code, p)
	}
	if strings.Contains(challenge, `error="invalid_token"`) != (status == 401) || strings.Contains(challenge, "insufficient_scope") != (status == 403) {
		t.Errorf("%s: answered %d with the challenge %q", name, w.Code, challenge)
	}
	if (w.Header().Get("Retry-After") != "") != (status == 503) {
		t.Errorf("%s: answered %d with Retry-After %q", name, w.Code, w.Header().Get("Retry-After"))
	}
}

// claims are good ones, with some changed or, where nil, left out.
func (h *house) claims(changed map[string]any) map[string]any {
	c := map[string]any{
		"iss": h.iss.URL, "sub": "ann", "aud": publicURL, "scope": "signal:read", "client_id": "host",
		"iat": h.now().Unix(), "exp": h.now().Add(time.Hour).Unix(),
	}
	maps.Copy(c, changed)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func TestAHostThatLoggedInIsLetIn(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	w, p := knock(h.Resource, "Bearer "+h.iss.LogIn("signal:read", publicURL).Access)
	want := Principal{Kind: Reader, Name: h.iss.URL + "|" + openid.User, Client: openid.Client}
	if w.Code != 200 || p != want || p.Subject() != want.Name {
		t.Errorf("answered %d %s; the handler saw %v, want %v", w.Code, w.Body, p, want)
	}
}

func TestAttackATokenThatIsNotForUs(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	login := h.iss.LogIn("signal:read", publicURL)
	other := openid.Start(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := h.iss.Public()
	published, err := json.Marshal(public)
	if err != nil {
		t.Fatal(err)
	}
	signed := strings.Split(login.Access, ".")
	sign := func(alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
		k := jose.JSONWebKey{Key: key, KeyID: public.KeyID}
		return openid.Sign(t, jose.SigningKey{Algorithm: alg, Key: k}, "at+jwt", h.claims(claims))
	}
	for _, tt := range []struct {
		name, token string
		status      int
		why         string
	}{
		{"the token itself passes", login.Access, 200, ""},
		{"the ID token of the same login, which names us", login.ID, 401, "not an access token"},
		{"a token for another resource", h.iss.LogIn("signal:read", "https://elsewhere.example/mcp").Access, 401, "another audience"},
		{"a token for no resource", h.iss.LogIn("signal:read", "").Access, 401, "another audience"},
		{"a token of another issuer", other.LogIn("signal:read", publicURL).Access, 401, "another issuer"},
		{"a token with another scope", h.iss.LogIn("signal:write", publicURL).Access, 403, "lacks the scope signal:read"},
		{"a token with a scope that ours begins", h.iss.LogIn("signal:read-all", publicURL).Access, 403, "lacks the scope"},
		{"another issuer's that calls itself ours", sign(jose.ES256, stranger, nil), 401, "signature"},
		{"not signed: alg none", unsigned(t, "none", h.claims(nil)), 401, "not a JWT"},
		{"not signed: alg nOnE", unsigned(t, "nOnE", h.claims(nil)), 401, "not a JWT"},
		{"HS256 with the public key as the secret", sign(jose.HS256, published, nil), 401, "not a JWT"},
		{"signed with a key that it brings along", withOwnKey(t, stranger, h.claims(nil)), 401, "signature"},
		{"the words changed", signed[0] + "." + encode(t, h.claims(map[string]any{"sub": "admin"})) + "." + signed[2], 401, "signature"},
		{"the signature cut off", signed[0] + "." + signed[1] + ".", 401, "signature"},
		{"the signature left out", signed[0] + "." + signed[1], 401, "not a JWT"},
		{"longer than is looked at", strings.Repeat("x", maxToken+1), 401, "not a bearer token"},
		{"a word", "letmein", 401, "not a JWT"},
		{"JSON in place of a JWT", `{"payload":"e30"}`, 401, "not a JWT"},
	} {
		h.pass(askPause) // its key may be asked for
		h.wants(t, tt.name, tt.token, tt.status, tt.why)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func unsigned(t *testing.T, alg string, claims map[string]any) string {
	t.Helper()
	return encode(t, map[string]string{"alg": alg, "typ": "at+jwt"}) + "." + encode(t, claims) + "."
}

func withOwnKey(t *testing.T, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign([]byte(must(json.Marshal(claims))))
	if err != nil {
		t.Fatal(err)
	}
	return must(jws.CompactSerialize())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestWhatATokenSays(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	in := func(d time.Duration) int64 { return h.now().Add(d).Unix() }
	for _, tt := range []struct {
		name, typ string
		changed   map[string]any
		status    int
		why       string
	}{
		{"an access token by its type", "at+jwt", nil, 200, ""},
		{"the same, spelled out", "application/at+jwt", map[string]any{"nonce": "n"}, 200, ""},
		{"a JWT that does not say what for", "JWT", nil, 200, ""},
		{"Keycloak's", "JWT", map[string]any{"typ": "Bearer", "nonce": "n"}, 200, ""},
		{"Keycloak's ID token", "JWT", map[string]any{"typ": "ID"}, 401, "not an access token"},
		{"an ID token by its nonce", "JWT", map[string]any{"nonce": "n"}, 401, "not an access token"},
		{"an ID token by the hash of a code", "JWT", map[string]any{"c_hash": "x"}, 401, "not an access token"},
		{"a logout token", "logout+jwt", nil, 401, "not an access token"},

		{"for us and others", "", map[string]any{"aud": []string{"https://a.example", publicURL}}, 200, ""},
		{"for nobody", "", map[string]any{"aud": nil}, 401, "another audience"},
		{"for what our URL begins with", "", map[string]any{"aud": "https://box.example"}, 401, "another audience"},
		{"of an issuer with a slash more", "", map[string]any{"iss": h.iss.URL + "/"}, 401, "another issuer"},
		{"of nobody", "", map[string]any{"sub": nil}, 401, "whose it is"},

		{"expired within the skew", "", map[string]any{"exp": in(-skew + time.Second)}, 200, ""},
		{"expired", "", map[string]any{"exp": in(-skew - 2*time.Second)}, 401, "expired"},
		{"never expires", "", map[string]any{"exp": nil}, 401, "expired"},
		{"expires at no number", "", map[string]any{"exp": "tomorrow"}, 401, "no sense"},
		{"valid soon, within the skew", "", map[string]any{"nbf": in(skew - time.Second)}, 200, ""},
		{"valid later", "", map[string]any{"nbf": in(skew + 2*time.Second)}, 401, "not valid yet"},
		{"made in the future", "", map[string]any{"iat": in(time.Hour), "exp": in(2 * time.Hour)}, 401, "not valid yet"},

		{"several scopes", "", map[string]any{"scope": "openid signal:read"}, 200, ""},
		{"scopes as scp", "", map[string]any{"scope": nil, "scp": "openid signal:read"}, 200, ""},
		{"scopes as a list", "", map[string]any{"scope": nil, "scp": []string{"openid", "signal:read"}}, 200, ""},
		{"no scopes", "", map[string]any{"scope": nil}, 403, "lacks the scope"},
		{"scopes that are a number", "", map[string]any{"scope": 7}, 401, "no sense"},
		{"several scopes as one of a list", "", map[string]any{"scope": nil, "scp": []string{"openid signal:read"}}, 403, "lacks the scope"},
	} {
		h.wants(t, tt.name, h.iss.Sign(tt.typ, h.claims(tt.changed)), tt.status, tt.why)
	}
}

func TestATokenAgesWithTheClock(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	token := h.iss.LogIn("signal:read", publicURL).Access // for 5 minutes
	h.pass(-3 * time.Minute)
	h.wants(t, "before it was made", token, 401, "not valid yet")
	h.pass(3 * time.Minute)
	h.wants(t, "now", token, 200, "")
	h.pass(5*time.Minute + 30*time.Second)
	h.wants(t, "at its end", token, 200, "")
	h.pass(time.Minute)
	h.wants(t, "past it", token, 401, "expired")
}

func TestTheClientIsKnownByEitherName(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	for _, changed := range []map[string]any{{"client_id": "app"}, {"client_id": nil, "azp": "app"}} {
		if _, p := knock(h.Resource, "Bearer "+h.iss.Sign("", h.claims(changed))); p.Client != "app" {
			t.Errorf("%v: the client is %q", changed, p.Client)
		}
	}
}

func FuzzAuthorization(f *testing.F) {
	iss := openid.New(f) // never up: nothing that a token says gets it past that
	static, err := NewResource(ResourceOptions{Tokens: []string{strings.Repeat("a", minToken)}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	h := &house{iss: iss, clock: time.Now()}
	for _, header := range []string{
		"", "Bearer", "Bearer x", "bearer  a.b.c ", "Basic eA==", "Bearer " + iss.Sign("at+jwt", h.claims(nil)),
		"Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer eyJhbGciOiJSUzI1NiIsImNyaXQiOlsiYjY0Il0sImI2NCI6ZmFsc2V9.e30.AA",
	} {
		f.Add(header)
	}
	issued, err := NewResource(ResourceOptions{
		URL: publicURL, Issuer: iss.URL, Audience: publicURL, Log: slog.New(slog.DiscardHandler), Now: h.now,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, res := range []*Resource{static, issued} {
			w, p := knock(res, header)
			if p != (Principal{}) || w.Code != 401 && w.Code != 503 || w.Code == 503 && res == static {
				t.Fatalf("%q: answered %d, the handler saw %v", header, w.Code, p)
			}
			if c := w.Header().Get("WWW-Authenticate"); (c == "") != (w.Code == 503) || strings.ContainsAny(c, "\r\n\\") {
				t.Fatalf("%q: answered %d, the challenge is %q", header, w.Code, c)
			}
		}
	})
}
