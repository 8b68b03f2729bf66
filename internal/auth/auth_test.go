package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aldis/internal/hub"
)

func tokens() Tokens {
	deploy := Hash("deploys-token")
	return Tokens{
		Shared: []string{"new-token", "old-token"},
		Admin:  "admin-token",
		Agents: func(hash [32]byte) (hub.AgentID, bool) { return "deploy", hash == deploy },
	}
}

// ask sends a request with the given Authorization headers to what only kinds
// may reach, and returns the answer and whom the handler saw.
func ask(tok Tokens, kinds []Kind, headers ...string) (*httptest.ResponseRecorder, Principal) {
	var seen Principal
	h := tok.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = From(r.Context()) }), kinds...)
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header["Authorization"] = headers
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, seen
}

var (
	forAgents = []Kind{Shared, Agent}
	forAdmin  = []Kind{Admin}
)

func TestValidTokenSaysWhoItIs(t *testing.T) {
	for _, tt := range []struct {
		header  string
		kinds   []Kind
		subject string
	}{
		{"Bearer new-token", forAgents, "main"},
		{"Bearer old-token", forAgents, "main"}, // in a rotation both are the same subject
		{"bearer new-token", forAgents, "main"}, // RFC 7235: the scheme in any case
		{"Bearer   new-token ", forAgents, "main"},
		{"Bearer deploys-token", forAgents, "agent:deploy"},
		{"Bearer admin-token", forAdmin, "admin"},
	} {
		w, p := ask(tokens(), tt.kinds, tt.header)
		if w.Code != 200 || p.Subject() != tt.subject {
			t.Errorf("%q: %d, %s; want %s", tt.header, w.Code, p.Subject(), tt.subject)
		}
	}
}

func TestAttackWithoutAValidToken(t *testing.T) {
	for name, headers := range map[string][]string{
		"none":                     nil,
		"empty header":             {""},
		"empty token":              {"Bearer "},
		"scheme alone":             {"Bearer"},
		"another scheme":           {"Basic new-token"},
		"token without a scheme":   {"new-token"},
		"unknown token":            {"Bearer nothing"},
		"prefix of a token":        {"Bearer new-toke"},
		"token and more":           {"Bearer new-token x"},
		"token in other case":      {"Bearer NEW-TOKEN"},
		"both tokens, as set":      {"Bearer new-token,old-token"},
		"a token's digest":         {"Bearer \x00\x01"},
		"two headers, one is good": {"Bearer nothing", "Bearer new-token"},
		"two headers, first good":  {"Bearer new-token", "Bearer nothing"},
	} {
		w, _ := ask(tokens(), forAgents, headers...)
		if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), `Bearer realm="aldis"`) {
			t.Errorf("%s: %d, challenge %q", name, w.Code, w.Header().Get("WWW-Authenticate"))
		}
		if !strings.HasPrefix(w.Body.String(), `{"error":`) {
			t.Errorf("%s: body %s", name, w.Body)
		}
	}
}

func TestAttackWithAnEmptyTokenWhereNoneIsSet(t *testing.T) {
	for _, h := range []string{"Bearer ", "Bearer", ""} {
		if w, _ := ask(Tokens{}, forAdmin, h); w.Code != 401 {
			t.Errorf("%q: %d", h, w.Code)
		}
	}
}

func TestAttackWithAValidTokenOfTheWrongKind(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		kinds        []Kind
	}{
		{"an agent lets somebody in", "Bearer deploys-token", forAdmin},
		{"the shared token lets somebody in", "Bearer new-token", forAdmin},
		{"the admin's token in an agent's hands", "Bearer admin-token", forAgents},
	} {
		w, p := ask(tokens(), tt.kinds, tt.header)
		if w.Code != 403 || p != (Principal{}) {
			t.Errorf("%s: %d, the handler saw %v", tt.name, w.Code, p)
		}
	}
}

func TestUnauthenticatedIsTheSharedTokenAndNoMore(t *testing.T) {
	tok := tokens()
	tok.AllowUnauthenticated = true
	for _, tt := range []struct {
		name    string
		headers []string
		kinds   []Kind
		want    int
	}{
		{"no token", nil, forAgents, 200},
		{"no token for the admin's", nil, forAdmin, 401},
		{"a wrong token is not ignored", []string{"Bearer nothing"}, forAgents, 401},
		{"an agent's token still names it", []string{"Bearer deploys-token"}, forAgents, 200},
		{"the admin's token for the admin's", []string{"Bearer admin-token"}, forAdmin, 200},
	} {
		if w, _ := ask(tok, tt.kinds, tt.headers...); w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}

func TestChallengeNamesAnErrorOnlyIfATokenCame(t *testing.T) {
	w, _ := ask(tokens(), forAgents)
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer realm="aldis"` {
		t.Errorf("without a token: %s", got)
	}
	w, _ = ask(tokens(), forAgents, "Bearer nothing")
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer realm="aldis", error="invalid_token"` {
		t.Errorf("with a wrong one: %s", got)
	}
}

func TestNobodyIsNotEverybody(t *testing.T) {
	// An empty subject may see all in hub.Mail.
	if s := From(t.Context()).Subject(); s == "" {
		t.Error("a request that nobody authenticated has an empty subject")
	}
}
