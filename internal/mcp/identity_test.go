package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"aldis/internal/hub"
)

func TestIdentity(t *testing.T) {
	h := startHub(t, setup{})
	long := strings.Repeat("x", 128)
	for _, tt := range []struct {
		name          string
		token         string
		header, query string
		status        int
		agent         string // "": the session's id stands in
		seat          bool
	}{
		{"header", sharedToken, "bob", "", 200, "bob", false},
		{"label", sharedToken, "", "label=bob", 200, "bob", true},
		{"both, the same", sharedToken, "bob", "label=bob", 200, "bob", true},
		{"both, different", sharedToken, "bob", "label=eve", 400, "", false},
		{"two labels that differ", sharedToken, "", "label=bob&label=eve", 400, "", false},
		{"label percent-decoded", sharedToken, "", "label=b%C3%B6b%20x", 200, "böb x", true},
		{"plus in a label is a space", sharedToken, "", "label=b+b", 200, "b b", true},
		{"the header is taken as it is", sharedToken, "b%20b+c", "", 200, "b%20b+c", false},
		{"trimmed", sharedToken, "", "label=%20bob%20", 200, "bob", true},
		{"128 bytes", sharedToken, long, "", 200, long, false},
		{"129 bytes", sharedToken, long + "x", "", 400, "", false},
		{"empty label", sharedToken, "", "label=", 400, "", false},
		{"blank label", sharedToken, "", "label=+", 400, "", false},
		{"newline in a label", sharedToken, "", "label=b%0Ab", 400, "", false},
		{"not UTF-8", sharedToken, "", "label=%ff", 400, "", false},
		{"a broken query", sharedToken, "", "label=%zz", 400, "", false},
		{"none", sharedToken, "", "", 200, "", false},
		{"an agent's token alone", aliceToken, "", "", 200, "alice", false},
		{"an agent's token, own header", aliceToken, "alice", "", 200, "alice", false},
		{"an agent's token, own label", aliceToken, "", "label=alice", 200, "alice", true},
		{"an agent's token, another's header", aliceToken, "bob", "", 403, "", false},
		{"an agent's token, another's label", aliceToken, "", "label=bob", 403, "", false},
		{"no token", "", "bob", "", 401, "", false},
		{"a wrong token", "wrong", "bob", "", 401, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.client()
			c.Token, c.Agent = tt.token, tt.header
			if tt.query != "" {
				c.URL += "?" + tt.query
			}
			a := c.Initialize()
			if a.Status != tt.status {
				t.Fatalf("initialize: %d %s, want %d", a.Status, a.Body, tt.status)
			}
			if a.Status != http.StatusOK {
				return
			}
			sv, err := h.store.Session(t.Context(), hub.SessionID(c.Session))
			if err != nil {
				t.Fatal(err)
			}
			want, named := hub.AgentID(tt.agent), tt.agent != ""
			if !named {
				want = hub.AgentID(sv.ID)
			}
			if sv.Agent != want || sv.Named != named || sv.Seat != tt.seat {
				t.Errorf("agent %q, named %v, seat %v; want %q, %v, %v", sv.Agent, sv.Named, sv.Seat, want, named, tt.seat)
			}
			if a := c.Do(t.Context(), "DELETE", ""); a.Status != http.StatusNoContent {
				t.Errorf("DELETE: %d", a.Status)
			}
		})
	}
}

func TestIdentityIsReadAtInitializeOnly(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("bob")
	c.Agent, c.Label = "", "eve"
	s := c.Open("")
	if s.Status != http.StatusOK {
		t.Fatalf("GET with another label: %d", s.Status)
	}
	h.script("bob", "for bob")
	if p := s.Push(); p.Content != "for bob" {
		t.Errorf("got %q", p.Content)
	}
}

func TestSessionBelongsToItsTokensSubject(t *testing.T) {
	h := startHub(t, setup{})
	c := h.mailbox("alice") // of the shared token
	c.Token = aliceToken
	for _, method := range []string{"GET", "POST", "DELETE"} {
		body := ""
		if method == "POST" {
			body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		}
		if a := c.Do(t.Context(), method, body); a.Status != http.StatusForbidden {
			t.Errorf("%s with another subject's token: %d %s", method, a.Status, a.Body)
		}
	}
	c.Token = sharedToken
	if r := c.Call("ping", nil); r.Status != http.StatusOK || r.Error != nil {
		t.Errorf("ping of the owner: %+v", r)
	}
}
