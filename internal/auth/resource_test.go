package auth

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/hubtest/openid"
)

const fixedToken = "0123456789abcdef0123456789abcdef"

func fixed(t *testing.T, perMinute int, now func() time.Time) *Resource {
	t.Helper()
	res, err := NewResource(ResourceOptions{
		Tokens: []string{fixedToken, "an-older-one-0123456789abcdef0123"}, PerMinute: perMinute, Log: slog.New(slog.DiscardHandler), Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAFixedTokenIsThatOfOneReader(t *testing.T) {
	for _, header := range []string{"Bearer " + fixedToken, "bearer  " + fixedToken + " ", "Bearer an-older-one-0123456789abcdef0123"} {
		w, p := knock(fixed(t, 0, nil), header)
		if w.Code != 200 || p != (Principal{Kind: Reader, Name: "static"}) || p.Subject() != "static" {
			t.Errorf("%q: answered %d, the handler saw %v", header, w.Code, p)
		}
	}
}

func TestAttackAFixedTokenThatIsNotOne(t *testing.T) {
	for name, headers := range map[string][]string{
		"none":              nil,
		"an empty one":      {"Bearer "},
		"another scheme":    {"Basic " + fixedToken},
		"its beginning":     {"Bearer " + fixedToken[:31]},
		"it and more":       {"Bearer " + fixedToken + "0"},
		"in other case":     {"Bearer " + strings.ToUpper(fixedToken)},
		"it, after another": {"Bearer x", "Bearer " + fixedToken},
		"both":              {"Bearer " + fixedToken + ",an-older-one-0123456789abcdef0123"},
	} {
		w, p := knock(fixed(t, 0, nil), headers...)
		want := `Bearer realm="aldis"`
		if headers != nil {
			want += `, error="invalid_token", error_description="`
		}
		if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || p != (Principal{}) || !strings.HasPrefix(got, want) || headers == nil && got != want {
			t.Errorf("%s: answered %d with the challenge %q; want %q", name, w.Code, got, want)
		}
	}
}

func TestATokenInAnAddressIsNotTaken(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp?access_token="+fixedToken, nil)
	w := httptest.NewRecorder()
	fixed(t, 0, nil).Require(http.NotFoundHandler()).ServeHTTP(w, r)
	if got := w.Header().Get("WWW-Authenticate"); w.Code != 400 || !strings.Contains(got, `error="invalid_request"`) {
		t.Errorf("answered %d with the challenge %q", w.Code, got)
	}
}

func TestAttackGuessesOfATokenAreFew(t *testing.T) {
	clock := time.Now()
	h := fixed(t, 0, func() time.Time { return clock }).Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	try := func(method, addr, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/mcp", nil)
		r.RemoteAddr = addr
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Forwarded-For", "192.0.2.9") // anybody can say so
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for range badTokens {
		if w := try("GET", "[2001:db8::1]:1", "guess"); w.Code != 401 {
			t.Fatalf("a guess: %d", w.Code)
		}
	}
	if w := try("POST", "[2001:db8::2]:2", fixedToken); w.Code != 429 || w.Header().Get("Retry-After") != "2" {
		t.Errorf("the right one from the same network: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := try("POST", "192.0.2.7:1", fixedToken); w.Code != 200 {
		t.Errorf("the right one from another: %d", w.Code)
	}
	clock = clock.Add(time.Minute)
	if w := try("POST", "[2001:db8::1]:1", fixedToken); w.Code != 200 {
		t.Errorf("a minute later: %d", w.Code)
	}
	for _, addr := range []string{"127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "172.17.0.1:1", "[fd00::1]:1"} {
		for range 2 * badTokens {
			try("POST", addr, "guess")
		}
		if w := try("POST", addr, fixedToken); w.Code != 200 {
			t.Errorf("through a tunnel that somebody else guesses through, at %s: %d", addr, w.Code)
		}
	}
}

func TestOnlyPostsAreCounted(t *testing.T) {
	clock := time.Now()
	h := fixed(t, 2, func() time.Time { return clock }).Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for i, tt := range []struct {
		method string
		status int
	}{{"POST", 200}, {"GET", 200}, {"DELETE", 200}, {"POST", 200}, {"POST", 429}, {"GET", 200}, {"DELETE", 200}} {
		r := httptest.NewRequest(tt.method, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+fixedToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || w.Code == 429 && w.Header().Get("Retry-After") != "30" {
			t.Errorf("%d: %s answered %d, Retry-After %q; want %d", i, tt.method, w.Code, w.Header().Get("Retry-After"), tt.status)
		}
	}
}

func TestTheChallengeSaysWhereToLogIn(t *testing.T) {
	h := newHouse(t, openid.Start(t))
	const where = `Bearer resource_metadata="https://box.example/.well-known/oauth-protected-resource/mcp", scope="signal:read"`
	for _, tt := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"no token", nil, where},
		{"a bad one", []string{"Bearer x"}, where + `, error="invalid_token", error_description="the token is not a JWT with a signature that is taken here"`},
		{
			"one that may less",
			[]string{"Bearer " + h.iss.Sign("", h.claims(map[string]any{"scope": ""}))},
			where + `, error="insufficient_scope", error_description="the token lacks the scope signal:read"`,
		},
	} {
		w, _ := knock(h.Resource, tt.headers...)
		if diff := cmp.Diff(tt.want, w.Header().Get("WWW-Authenticate")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMetadata(t *testing.T) {
	iss := openid.New(t)
	h := newHouse(t, iss)
	if diff := cmp.Diff([]string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"}, h.MetadataPaths()); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	w := httptest.NewRecorder()
	h.Metadata().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resource": publicURL, "authorization_servers": []any{iss.URL}, "scopes_supported": []any{"signal:read"},
		"bearer_methods_supported": []any{"header"}, "resource_name": "Signal history",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		res    *Resource
		method string
		want   int
	}{{h.Resource, "POST", 405}, {h.Resource, "HEAD", 200}, {fixed(t, 0, nil), "GET", 404}} {
		w := httptest.NewRecorder()
		tt.res.Metadata().ServeHTTP(w, httptest.NewRequest(tt.method, "/", nil))
		if w.Code != tt.want {
			t.Errorf("%s: answered %d, want %d", tt.method, w.Code, tt.want)
		}
	}
}

func TestWhoMayCallFromAPage(t *testing.T) {
	h := newHouse(t, openid.New(t))
	origins := []string{"https://app.example"}
	if h.Host() != "box.example" {
		t.Errorf("the host is %q", h.Host())
	}
	want := httpd.Pages{"/history/mcp": origins, wellKnown: {"*"}, wellKnown + "/mcp": {"*"}}
	if diff := cmp.Diff(want, h.Pages("/history/mcp", origins)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if res := fixed(t, 0, nil); res.Host() != "" || len(res.MetadataPaths()) != 1 {
		t.Errorf("without a URL: the host %q, metadata at %v", res.Host(), res.MetadataPaths())
	}
}

// The client of the MCP SDK finds its own way from the first 401 to the tools.
func TestAHostLogsInByItself(t *testing.T) {
	iss := openid.Start(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	res, err := NewResource(ResourceOptions{
		URL: server.URL + "/mcp", Issuer: iss.URL, Audience: server.URL + "/mcp", Scopes: []string{"signal:read"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "history"}, nil)
	}, nil)
	mux.Handle("/mcp", res.Require(tools))
	for _, path := range res.MetadataPaths() {
		mux.Handle(path, res.Metadata())
	}
	login, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: openid.Client},
		RedirectURL:         openid.Callback,
		ScopeFilter:         func(found []string) []string { return append(found, "openid") }, // the provider's own wish
		AuthorizationCodeFetcher: func(_ context.Context, a *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
			back := iss.Follow(a.URL)
			return &sdkauth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: openid.Client}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", OAuthHandler: login}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestThePublicURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://box.example/mcp":         "https://box.example/mcp",
		"HTTPS://Box.Example:443/mcp":     "https://box.example/mcp",
		"https://box.example:8443/mcp":    "https://box.example:8443/mcp",
		"https://box.example/history/mcp": "https://box.example/history/mcp",
		"http://127.0.0.1:8788/mcp":       "http://127.0.0.1:8788/mcp",
		"http://localhost/mcp":            "http://localhost/mcp",
		"http://[::1]:80/mcp":             "http://[::1]/mcp",

		"":                                "",
		"box.example/mcp":                 "",
		"http://box.example/mcp":          "",
		"http://127.0.0.1.example/mcp":    "",
		"ftp://box.example/mcp":           "",
		"https:///mcp":                    "",
		"https://box.example":             "",
		"https://box.example/mcp/":        "",
		"https://box.example/notmcp":      "",
		"https://box.example/a/../mcp":    "",
		"https://box.example//mcp":        "",
		"https://box.example/%6dcp":       "",
		"https://box.example/a%22/mcp":    "",
		"https://box.example/mcp?":        "",
		"https://box.example/mcp?a=b":     "",
		"https://box.example/mcp#":        "",
		"https://ann@box.example/mcp":     "",
		"https://box.example/mcp\r\nX: y": "",
	} {
		u, err := parseURL(in)
		if u == nil {
			u = &url.URL{}
		}
		if u.String() != want || (err == nil) != (want != "") || err != nil && hub.KindOf(err) != hub.Invalid {
			t.Errorf("%q: %q, %v; want %q", in, u, err, want)
		}
	}
}

func TestOptionsThatCanNotWork(t *testing.T) {
	good := ResourceOptions{URL: publicURL, Issuer: "https://login.example", Audience: publicURL, Scopes: []string{"signal:read"}}
	for name, change := range map[string]func(*ResourceOptions){
		"no token and no issuer":  func(o *ResourceOptions) { o.Issuer = "" },
		"a short token":           func(o *ResourceOptions) { o.Issuer, o.Tokens = "", []string{fixedToken, fixedToken[:31]} },
		"a token and an issuer":   func(o *ResourceOptions) { o.Tokens = []string{fixedToken} },
		"an issuer in the clear":  func(o *ResourceOptions) { o.Issuer = "http://login.example" },
		"an issuer with a query":  func(o *ResourceOptions) { o.Issuer += "?tenant=1" },
		"no URL":                  func(o *ResourceOptions) { o.URL = "" },
		"no audience":             func(o *ResourceOptions) { o.Audience = "" },
		"a scope that is two":     func(o *ResourceOptions) { o.Scopes = []string{"signal:read openid"} },
		"a scope that is quoted":  func(o *ResourceOptions) { o.Scopes = []string{`signal"read`} },
		"an empty scope":          func(o *ResourceOptions) { o.Scopes = []string{""} },
		"a URL that is no public": func(o *ResourceOptions) { o.URL = "https://box.example/" },
	} {
		o := good
		change(&o)
		if _, err := NewResource(o); hub.KindOf(err) != hub.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	if _, err := NewResource(good); err != nil {
		t.Errorf("what they are changed from: %v", err)
	}
}
