package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// askBytes bounds one answer of an issuer.
const askBytes = 1 << 20

// fetch returns the issuer's keys, which its metadata says where to find.
func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	where, err := s.discover(ctx)
	if err != nil {
		return nil, err
	}
	var set struct{ Keys []json.RawMessage }
	if err := s.get(ctx, where, &set); err != nil {
		return nil, err
	}
	var list []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// What we do not understand is for others: RFC 7517, section 5.
		if key.UnmarshalJSON(raw) == nil && key.IsPublic() && key.Use != "enc" {
			list = append(list, key)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("get %s: there is no key that tokens could be signed with", where)
	}
	return list, nil
}

// discover finds out where the issuer's keys are: OpenID Connect Discovery 1.0,
// section 4, and if there is none, RFC 8414, section 3.
func (s *keySet) discover(ctx context.Context) (jwks string, err error) {
	u, err := url.Parse(s.issuer)
	if err != nil {
		return "", err
	}
	base, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.Path, "/")
	jwks, err = s.describe(ctx, base+path+"/.well-known/openid-configuration")
	if err == nil {
		return jwks, nil
	}
	jwks, other := s.describe(ctx, base+"/.well-known/oauth-authorization-server"+path)
	if other != nil {
		return "", fmt.Errorf("%w; %w", err, other)
	}
	return jwks, nil
}

// describe reads an issuer's metadata. A host that finds no S256 there refuses
// to log anybody in (MCP, Authorization, PKCE), so we say what is the matter.
func (s *keySet) describe(ctx context.Context, where string) (jwks string, err error) {
	var m struct {
		Issuer     string   `json:"issuer"`
		JWKS       string   `json:"jwks_uri"`
		Challenges []string `json:"code_challenge_methods_supported"`
	}
	if err := s.get(ctx, where, &m); err != nil {
		return "", err
	}
	if m.Issuer != s.issuer {
		return "", fmt.Errorf("get %s: it is of the issuer %.200q; set that, to the letter", where, m.Issuer)
	}
	if !slices.Contains(m.Challenges, "S256") {
		return "", fmt.Errorf("get %s: code_challenge_methods_supported has no S256, so that hosts can not log in", where)
	}
	address, _, _ := strings.Cut(m.JWKS, "?") // some issuers say there which keys
	u, err := secureURL(address)
	if err != nil || u.Scheme == "http" && !strings.HasPrefix(s.issuer, "http:") {
		return "", fmt.Errorf("get %s: its jwks_uri must be https", where)
	}
	return m.JWKS, nil
}

func (s *keySet) get(ctx context.Context, where string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		return err // names the method and the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", where, resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, askBytes+1))
	if err != nil {
		return fmt.Errorf("get %s: %w", where, err)
	}
	if len(b) > askBytes {
		return fmt.Errorf("get %s: the answer is larger than %d bytes", where, askBytes)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("get %s: %w", where, err)
	}
	return nil
}

// stay keeps a request with the host that it was made to: whom we trust is said
// in the settings.
func stay(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
		return errors.New("it redirects elsewhere")
	}
	return nil
}
