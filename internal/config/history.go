package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// What hosts may be given in one answer, and may send in one request.
const (
	maxMessages      = 200
	maxConversations = 100
	maxBody          = 4 << 20
	minBearer        = 32 // characters
)

// Desktop says which history of Signal Desktop is read, and what of it is seen.
type Desktop struct {
	DB         string `name:"db" vars:"ALDIS_HISTORY_DB,SIGNAL_MCP_DB" placeholder:"PATH" help:"Signal Desktop's database. Default: sql/db.sqlite in the folder where Signal keeps its data here."`
	Config     string `vars:"ALDIS_HISTORY_CONFIG,SIGNAL_MCP_CONFIG" placeholder:"PATH" help:"Signal Desktop's config.json, which has the key of the database. Default: beside the folder of the database."`
	LocalState string `vars:"ALDIS_HISTORY_LOCAL_STATE,SIGNAL_MCP_LOCAL_STATE" placeholder:"PATH" help:"Signal Desktop's file Local State, which Windows needs to read the key. Default: beside config.json."`
	Key        Secret `vars:"ALDIS_HISTORY_KEY,SIGNAL_MCP_KEY" placeholder:"HEX" help:"Key of the database, 64 hexadecimal digits. Default: found as Signal Desktop finds it."`

	Grant []Grant `vars:"ALDIS_HISTORY_GRANTS" placeholder:"conversation=ID" help:"Show this conversation and no other; repeat for more. Default: all."`
	Since Since   `vars:"ALDIS_HISTORY_SINCE" placeholder:"TIME" help:"Show only messages from then on: a date, a time like 2026-03-01T12:00:00Z, or how long before the start, like 90d."`

	MaxMessages      int `vars:"ALDIS_HISTORY_MAX_MESSAGES,SIGNAL_MCP_MAX_MESSAGES" default:"200" help:"Messages in one answer, at most; up to 200."`
	MaxConversations int `vars:"ALDIS_HISTORY_MAX_CONVERSATIONS,SIGNAL_MCP_MAX_CONVERSATIONS" default:"100" help:"Conversations in one answer, at most; up to 100."`
}

// HistoryAuth says who may read the history over HTTP.
type HistoryAuth struct {
	PublicURL          string   `name:"public-url" vars:"ALDIS_HISTORY_PUBLIC_URL,SIGNAL_MCP_PUBLIC_URL" placeholder:"URL" help:"Where hosts reach it: https, ending in /mcp."`
	AuthMode           string   `vars:"ALDIS_HISTORY_AUTH_MODE,SIGNAL_MCP_AUTH_MODE" enum:"static,oidc" default:"static" help:"What opens it: static (a fixed token) or oidc (tokens of an issuer)."`
	BearerToken        Secret   `vars:"ALDIS_HISTORY_BEARER_TOKEN,SIGNAL_MCP_BEARER_TOKEN" placeholder:"TOKEN" help:"The fixed token, at least 32 characters; NEW,OLD are both valid."`
	OAuthIssuer        string   `name:"oauth-issuer" vars:"ALDIS_HISTORY_OAUTH_ISSUER,SIGNAL_MCP_OAUTH_ISSUER" placeholder:"URL" help:"Issuer of tokens, for oidc."`
	OAuthAudience      string   `name:"oauth-audience" vars:"ALDIS_HISTORY_OAUTH_AUDIENCE,SIGNAL_MCP_OAUTH_AUDIENCE" placeholder:"AUDIENCE" help:"Audience that these tokens must name."`
	RequiredScope      []string `vars:"ALDIS_HISTORY_REQUIRED_SCOPES,SIGNAL_MCP_REQUIRED_SCOPES" default:"signal:read" placeholder:"SCOPE" help:"Scope that these tokens must have; repeat for more."`
	AllowedOrigin      []Origin `vars:"ALDIS_HISTORY_ALLOWED_ORIGINS,SIGNAL_MCP_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Web page that may call it from a browser besides our own, like https://app.example; repeat for more."`
	RateLimitPerMinute int      `vars:"ALDIS_HISTORY_RATE_LIMIT_PER_MINUTE,SIGNAL_MCP_RATE_LIMIT_PER_MINUTE" default:"120" help:"Requests a minute of one client; 0 is no limit."`
}

// History are the settings of Signal Desktop's history as an MCP server, aldis
// history. HistoryAuth and what follows are for http alone.
type History struct {
	Common
	Desktop

	Transport string `vars:"ALDIS_HISTORY_TRANSPORT,SIGNAL_MCP_TRANSPORT" enum:"stdio,http" default:"stdio" help:"How hosts are spoken to: stdio or http."`
	HistoryAuth

	Host         string `vars:"ALDIS_HISTORY_HOST,SIGNAL_MCP_HOST" default:"127.0.0.1" help:"Address to listen on."`
	Port         Port   `vars:"ALDIS_HISTORY_PORT,SIGNAL_MCP_PORT" default:"8788" help:"Port to listen on; 0 takes any that is free."`
	MaxBodyBytes Size   `vars:"ALDIS_HISTORY_MAX_BODY_BYTES,SIGNAL_MCP_MAX_BODY_BYTES" default:"1048576" help:"Bytes of one request, at most; up to 4M."`
}

// Address returns host:port.
func (h *History) Address() string { return Listen{Host: h.Host, Port: h.Port}.Address() }

// AfterApply completes and checks the settings. Kong calls it.
func (h *History) AfterApply(l *Loader) error {
	if err := errors.Join(h.Common.complete(l), h.Desktop.check("--")); err != nil {
		return err
	}
	if h.Transport == "stdio" {
		return nil
	}
	return errors.Join(h.HistoryAuth.check("--"), h.checkListen())
}

func (h *History) checkListen() error {
	if h.Host == "" {
		return errEmptyHost
	}
	if h.PublicURL == "" {
		return errors.New("hosts must know where they are: set --public-url (ALDIS_HISTORY_PUBLIC_URL), https and ending in /mcp")
	}
	if h.MaxBodyBytes < 1 || h.MaxBodyBytes > maxBody {
		return fmt.Errorf("--max-body-bytes is %d; want 1 to %d", h.MaxBodyBytes, maxBody)
	}
	return nil
}

var hexKey = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// check checks the settings, whose flags begin with dashes.
func (d *Desktop) check(dashes string) error {
	if d.Key != "" && !hexKey.MatchString(string(d.Key)) {
		return fmt.Errorf("%skey: want 64 hexadecimal digits", dashes)
	}
	if d.MaxMessages < 1 || d.MaxMessages > maxMessages {
		return fmt.Errorf("%smax-messages is %d; want 1 to %d", dashes, d.MaxMessages, maxMessages)
	}
	if d.MaxConversations < 1 || d.MaxConversations > maxConversations {
		return fmt.Errorf("%smax-conversations is %d; want 1 to %d", dashes, d.MaxConversations, maxConversations)
	}
	return nil
}

func (a *HistoryAuth) check(dashes string) error {
	if a.RateLimitPerMinute < 0 {
		return fmt.Errorf("%srate-limit-per-minute is %d; want a number, or 0 for no limit", dashes, a.RateLimitPerMinute)
	}
	if a.AuthMode == "oidc" {
		return a.checkOIDC(dashes)
	}
	if a.OAuthIssuer != "" || a.OAuthAudience != "" {
		return fmt.Errorf("%[1]soauth-issuer and %[1]soauth-audience are for %[1]sauth-mode oidc, and the mode is static: set the mode, or leave them out", dashes)
	}
	if a.BearerToken == "" {
		return fmt.Errorf("whoever reaches the history can read it, so it needs a token: set %[1]sbearer-token "+
			"(ALDIS_HISTORY_BEARER_TOKEN), or take those of an issuer with %[1]sauth-mode oidc", dashes)
	}
	if slices.ContainsFunc(a.Tokens(), func(token string) bool { return len(token) < minBearer || !sendable(token) }) {
		return fmt.Errorf("%sbearer-token: a token has at least %d characters, all printable ASCII without blanks; NEW,OLD are two of them", dashes, minBearer)
	}
	return nil
}

func (a *HistoryAuth) checkOIDC(dashes string) error {
	for _, s := range []struct{ value, flag, variable string }{
		{a.PublicURL, "public-url", "PUBLIC_URL"},
		{a.OAuthIssuer, "oauth-issuer", "OAUTH_ISSUER"},
		{a.OAuthAudience, "oauth-audience", "OAUTH_AUDIENCE"},
	} {
		if s.value == "" {
			return fmt.Errorf("%sauth-mode oidc needs %s%s (ALDIS_HISTORY_%s)", dashes, dashes, s.flag, s.variable)
		}
	}
	return nil
}

// Tokens returns the tokens that open the history in the mode static: one, or
// in a rotation more.
func (a *HistoryAuth) Tokens() []string { return split(a.BearerToken) }

// Origins returns AllowedOrigin as package httpd takes it.
func (a *HistoryAuth) Origins() []string {
	origins := make([]string, len(a.AllowedOrigin))
	for i, o := range a.AllowedOrigin {
		origins[i] = string(o)
	}
	return origins
}

// checkHistory checks what the hub serves of the history. No token opens both:
// agents are not to read what people wrote to each other.
func (s *Serve) checkHistory() error {
	if !s.History {
		return nil
	}
	if s.Demo {
		return errors.New("--history and --demo: the demo has nothing of yours in it; leave one of them out")
	}
	for _, token := range s.HistoryAuth.Tokens() {
		if slices.Contains(append(s.Tokens(), string(s.AdminToken)), token) {
			return errors.New("--history-bearer-token is also a token of the hub: what opens one must not open the other; choose another")
		}
	}
	return errors.Join(s.Desktop.check("--history-"), s.HistoryAuth.check("--history-"))
}

// A Grant is something of the history that hosts may see: the id of a
// conversation.
type Grant string

// UnmarshalText reads "conversation=ID".
func (g *Grant) UnmarshalText(text []byte) error {
	id, ok := strings.CutPrefix(string(text), "conversation=")
	if id = strings.TrimSpace(id); !ok || id == "" {
		return fmt.Errorf("want conversation=ID, with an id that signal_list_conversations names; got %q", text)
	}
	*g = Grant(id)
	return nil
}

// Since says from when on hosts may see messages, as it was written; empty:
// from the first.
type Since string

// UnmarshalText reads any text but none: --since "$UNSET" would show everything.
func (s *Since) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("want a time; leave the flag out to show all messages")
	}
	*s = Since(text)
	return nil
}

// Conversations returns the ids of the conversations that hosts may see; none:
// all.
func (d *Desktop) Conversations() []string {
	ids := make([]string, len(d.Grant))
	for i, g := range d.Grant {
		ids[i] = string(g)
	}
	return ids
}

// An Origin is where a web page is from, as browsers send it (RFC 6454, section
// 6.2).
type Origin string

// UnmarshalText reads "https://host" or "https://host:port".
func (o *Origin) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != s {
		return fmt.Errorf("want https://HOST or https://HOST:PORT, with no path; got %q", text)
	}
	*o = Origin(s)
	return nil
}
