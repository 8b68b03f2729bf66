package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aldis/internal/auth"
	"aldis/internal/doctor"
	"aldis/internal/hub"
	"aldis/internal/store"
)

// A heard is what somebody at an address has answered.
type heard struct {
	status int
	header http.Header
	body   []byte
	err    error // there was no answer
}

// says is what it said in words: the error in its body, else its status.
func (a heard) says() string {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(a.body, &e) == nil && e.Error != "" {
		return hub.OneLine(e.Error, hub.PreviewBytes)
	}
	return fmt.Sprintf("it answers %d %s", a.status, http.StatusText(a.status))
}

// ask makes a request that changes nothing. What would have it go elsewhere is
// not followed: the token is for this address.
func ask(ctx context.Context, method, url, token string) heard {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return heard{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return heard{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return heard{resp.StatusCode, resp.Header, b, err}
}

// hub asks the hub, if it is one: a token is shown to no other program.
func (p *prober) hub(ctx context.Context) {
	h := &p.facts.Hub
	if h.URL = p.URL; h.URL == "" {
		h.Presence = doctor.Unsettled
		return
	}
	if strings.HasSuffix(h.URL, ":0") {
		h.Presence = doctor.Unplaced
		return
	}
	a := ask(ctx, http.MethodGet, h.URL+"/api/status", "")
	h.Presence, h.Why = whose(h.URL, a)
	if at, err := http.ParseTime(a.header.Get("Date")); err == nil {
		h.Skew = time.Until(at).Round(time.Second)
	}
	switch h.Presence {
	case doctor.Nobody:
		h.Elsewhere = p.elsewhere(ctx)
	case doctor.Ours:
		if ready := ask(ctx, http.MethodGet, h.URL+"/readyz", ""); ready.err == nil && ready.status != http.StatusOK {
			h.NotReady = ready.says()
		}
		p.askAdmin(ctx)
		p.askShared(ctx)
	}
}

// whose says who has answered a request for /api/status without a token.
func whose(base string, a heard) (who doctor.Presence, why string) {
	failed, _ := errors.AsType[*net.OpError](a.err)
	untrusted, _ := errors.AsType[*tls.CertificateVerificationError](a.err)
	switch {
	case refused(a.err):
		return doctor.Nobody, ""
	case errors.Is(a.err, context.DeadlineExceeded):
		return doctor.Silent, "there was no answer in time"
	case failed != nil && failed.Op == "dial":
		return doctor.Silent, failed.Err.Error()
	case untrusted != nil:
		return doctor.Silent, "its certificate is not trusted here: " + untrusted.Err.Error()
	case a.err != nil:
		scheme, _, _ := strings.Cut(base, ":")
		return doctor.Foreign, "it does not speak " + strings.ToUpper(scheme)
	case a.status == http.StatusUnauthorized && strings.Contains(a.header.Get("WWW-Authenticate"), `realm="aldis"`):
		return doctor.Ours, ""
	case a.status == http.StatusForbidden && strings.Contains(string(a.body), "this hub does not answer to"):
		return doctor.Refusing, a.says()
	default:
		return doctor.Foreign, a.says()
	}
}

// elsewhere returns the URL of the hub that has the state folder, if one is
// where the folder's lock says.
func (p *prober) elsewhere(ctx context.Context) string {
	var holder store.Holder
	b, err := os.ReadFile(filepath.Join(p.StateDir, "lock"))
	if err != nil || json.Unmarshal(b, &holder) != nil {
		return ""
	}
	host, port, err := net.SplitHostPort(holder.Address)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	at := "http://" + net.JoinHostPort(host, port)
	if who, _ := whose(at, ask(ctx, http.MethodGet, at+"/api/status", "")); who != doctor.Ours || at == p.URL {
		return ""
	}
	return at
}

// askAdmin asks for what the admin alone is told.
func (p *prober) askAdmin(ctx context.Context) {
	h := &p.facts.Hub
	if p.admin = string(p.AdminToken); p.admin == "" {
		var err error
		if p.admin, err = auth.ReadAdminToken(p.StateDir); err != nil {
			h.Admin, h.AdminFile = doctor.NoToken, err.Error()
			return
		}
		p.keep(p.admin)
	}
	a := ask(ctx, http.MethodGet, h.URL+"/api/status", p.admin)
	var s status
	switch {
	case a.err != nil:
	case a.status == http.StatusUnauthorized:
		h.Admin = doctor.Unknown
	case a.status == http.StatusForbidden:
		h.Admin = doctor.WrongKind
	case a.status == http.StatusOK && json.Unmarshal(a.body, &s) == nil:
		h.Admin, h.Version, p.status = doctor.Accepted, s.Version, &s
	}
}

func (p *prober) askShared(ctx context.Context) {
	h := &p.facts.Hub
	h.Shared, _ = try(ctx, h.URL, p.shared(), "")
}

// try shows the hub at base a token, and says what came of it, and whether it
// stands for one agent. A token of another agent than the one given is of the
// wrong kind. Neither request reaches what it is for.
func try(ctx context.Context, base, token string, agent hub.AgentID) (v doctor.Verdict, own bool) {
	a := ask(ctx, http.MethodGet, base+"/mcp", token) // without a session: 405 for whoever may have one
	switch {
	case a.err != nil:
		return "", false
	case a.status == http.StatusUnauthorized && token == "":
		return doctor.NoToken, false
	case a.status == http.StatusUnauthorized:
		return doctor.Unknown, false
	case a.status == http.StatusForbidden:
		return doctor.WrongKind, false
	}
	label := string(agent)
	if label == "" {
		label = "aldis doctor"
	}
	a = ask(ctx, http.MethodPost, base+"/notify?label="+url.QueryEscape(label), token) // without a body: 415 for whoever may write so
	switch own = a.status == http.StatusForbidden; {
	case own && agent != "":
		return doctor.WrongKind, true
	default:
		return doctor.Accepted, own
	}
}
