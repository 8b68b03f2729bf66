// Package openid is an OpenID provider for tests, an issuer of OAuth tokens,
// with a person who logs in at once and allows everything.
//
// Its one rule: the tokens that it is asked for come by the way that hosts go,
// authorization code with PKCE. Only [Sign] makes others.
package openid

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Client is the id of the host that gets tokens, and User of who lets it.
const (
	Client = "host"
	User   = "id2"
)

// Keys and Discovery are where a provider is asked for its keys and for what it
// is.
const (
	Keys      = "/keys"
	Discovery = "/.well-known/openid-configuration"
)

// Callback is where the host wants to have its code.
const Callback = "http://localhost/auth/callback"

// A Provider runs until its test ends.
type Provider struct {
	URL string

	t       testing.TB
	handler http.Handler
	store   *store
	server  *httptest.Server // nil: stopped

	mu      sync.Mutex
	asked   map[string]int              // guarded by mu
	instead map[string]http.HandlerFunc // guarded by mu
}

// Start starts a provider on the loopback address.
func Start(t testing.TB) *Provider {
	t.Helper()
	p, ln := open(t)
	p.serveOn(ln)
	return p
}

// New returns a provider that is not up yet, but has its address.
func New(t testing.TB) *Provider {
	t.Helper()
	p, ln := open(t)
	_ = ln.Close()
	return p
}

// Start takes the address of a provider that is not up, and serves on it.
func (p *Provider) Start() {
	p.t.Helper()
	ln, err := net.Listen("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.serveOn(ln)
}

func open(t testing.TB) (*Provider, net.Listener) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{URL: "http://" + ln.Addr().String(), t: t, asked: map[string]int{}, instead: map[string]http.HandlerFunc{}}
	p.store = newStore(p.URL)
	config := &op.Config{CryptoKey: sha256.Sum256([]byte("test")), CodeMethodS256: true}
	provider, err := op.NewProvider(config, p.store, op.StaticIssuer(p.URL), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", withResource(provider))
	mux.Handle("/login/", p.login(op.AuthCallbackURL(provider)))
	p.handler = mux
	t.Cleanup(p.Stop)
	return p, ln
}

// login is the page on which the person logs in, with nothing to press.
func (p *Provider) login(back func(context.Context, string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		if err := p.store.CheckUsernamePassword("test-user2", "verysecure", id); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, back(op.ContextWithIssuer(r.Context(), p.URL), id), http.StatusFound)
	}
}

func (p *Provider) serveOn(ln net.Listener) {
	p.server = &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(p.serve)}}
	p.server.Start()
}

// Stop is as if its machine were off.
func (p *Provider) Stop() {
	if p.server != nil {
		p.server.CloseClientConnections()
		p.server.Close()
		p.server = nil
	}
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.URL.Path]++
	h := p.instead[r.URL.Path]
	p.mu.Unlock()
	if h != nil {
		h(w, r)
		return
	}
	p.handler.ServeHTTP(w, r)
}

// Instead has h answer at path; nil: the provider itself again.
func (p *Provider) Instead(path string, h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instead[path] = h
}

// Answer is what the provider itself answers to r; for handlers of Instead.
func (p *Provider) Answer(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Asked returns how often path was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Rotate has the provider sign with a new key, and know no other.
func (p *Provider) Rotate() { p.store.rotate() }

// Tokens are what a host is given.
type Tokens struct {
	Access string `json:"access_token"`
	ID     string `json:"id_token"`
}

// LogIn gets tokens with scope (words with blanks in between) for resource (RFC
// 8707), as a host does.
func (p *Provider) LogIn(scope, resource string) Tokens {
	p.t.Helper()
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	back := p.Follow(p.URL + "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {Client}, "redirect_uri": {Callback},
		"scope": {"openid " + scope}, "resource": {resource}, "state": {"s"}, "nonce": {"n"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	resp, err := http.PostForm(p.URL+"/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Get("code")}, "client_id": {Client}, "redirect_uri": {Callback}, "code_verifier": {verifier},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got Tokens
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Access == "" {
		p.t.Fatalf("the provider gave no token: %s, %v", resp.Status, err)
	}
	return got
}

// Follow does what a browser does with the address that a host has it open: it
// follows the redirects through the login until they lead back to the host, and
// returns what they bring.
func (p *Provider) Follow(address string) url.Values {
	p.t.Helper()
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), Callback) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil || back.Query().Get("code") == "" {
		p.t.Fatalf("the provider let nobody in: %s, %v", resp.Status, back)
	}
	return back.Query()
}

// Sign returns a JWT of the type typ that the provider's own key has signed, for
// what the provider does not write into its tokens.
func (p *Provider) Sign(typ string, claims map[string]any) string {
	p.t.Helper()
	k := p.Private()
	return Sign(p.t, jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm), Key: k}, typ, claims)
}

// Private returns the key with which the provider signs.
func (p *Provider) Private() jose.JSONWebKey { return p.store.key() }

// Public returns the key with which its tokens are checked.
func (p *Provider) Public() jose.JSONWebKey {
	k := p.Private()
	return k.Public()
}

// Sign returns a JWT with claims that any key has signed.
func Sign(t testing.TB, key jose.SigningKey, typ string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(key, new(jose.SignerOptions).WithType(jose.ContentType(typ)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(b)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
