package openid

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// store is the provider's own storage in memory, with keys that change, JWTs as
// access tokens, any scope, and the audience that a host has asked for.
type store struct {
	*storage.Storage

	mu        sync.Mutex
	private   jose.JSONWebKey     // guarded by mu
	resources map[string][]string // audience by auth request; guarded by mu
}

func newStore(issuer string) *store {
	clients := map[string]*storage.Client{Client: storage.NativeClient(Client, Callback)}
	s := &store{Storage: storage.NewStorageWithClients(storage.NewUserStore(issuer), clients), resources: map[string][]string{}}
	first, err := s.Storage.SigningKey(context.Background())
	if err != nil {
		panic(err) // it has made one
	}
	s.private = jose.JSONWebKey{Key: first.Key(), KeyID: first.ID(), Algorithm: string(jose.RS256), Use: "sig"}
	return s
}

// rotate goes over to another kind of key, too.
func (s *store) rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // there is no randomness
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.private = jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

func (s *store) key() jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.private
}

// key is a key as the provider has it.
type key struct{ jose.JSONWebKey }

func (k key) ID() string                         { return k.KeyID }
func (k key) Algorithm() jose.SignatureAlgorithm { return k.SignatureAlgorithm() }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(k.JSONWebKey.Algorithm)
}
func (k key) Use() string { return k.JSONWebKey.Use }
func (k key) Key() any    { return k.JSONWebKey.Key }

func (s *store) SigningKey(context.Context) (op.SigningKey, error) { return key{s.key()}, nil }

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	private := s.key()
	return []op.Key{key{private.Public()}}, nil
}

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{key{s.key()}.SignatureAlgorithm()}, nil
}

// client is a host as the provider knows it.
type client struct{ op.Client }

func (client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }
func (client) IsScopeAllowed(string) bool          { return true }

func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	return client{c}, err
}

func (s *store) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(scopes, " ")}, nil
}

// request is a host's wish for tokens that name a resource.
type request struct {
	op.AuthRequest
	resources []string
}

func (r request) GetAudience() []string { return append(r.AuthRequest.GetAudience(), r.resources...) }

type resourceKey struct{}

// withResource passes on the parameter of RFC 8707, which the provider leaves out.
func withResource(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := r.URL.Query()["resource"]
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), resourceKey{}, wanted)))
	})
}

func (s *store) CreateAuthRequest(ctx context.Context, ask *oidc.AuthRequest, user string) (op.AuthRequest, error) {
	r, err := s.Storage.CreateAuthRequest(ctx, ask, user)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[r.GetID()], _ = ctx.Value(resourceKey{}).([]string)
	return r, nil
}

func (s *store) AuthRequestByID(ctx context.Context, id string) (op.AuthRequest, error) {
	return s.withResources(s.Storage.AuthRequestByID(ctx, id))
}

func (s *store) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	return s.withResources(s.Storage.AuthRequestByCode(ctx, code))
}

func (s *store) withResources(r op.AuthRequest, err error) (op.AuthRequest, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return request{r, s.resources[r.GetID()]}, nil
}
