package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

var errEmptyHost = errors.New("--host is empty; 0.0.0.0 is every address, 127.0.0.1 this machine alone")

// AfterApply completes and checks the settings. Kong calls it.
func (s *Serve) AfterApply(l *Loader) error { return l.note(s.prepare(l)) }

func (s *Serve) prepare(l *Loader) error {
	if err := s.Common.complete(l); err != nil {
		return err
	}
	s.DB = s.record(s.DB)
	s.Signal.complete(l)
	return errors.Join(s.checkMode(), s.checkTokens(), s.Signal.check(), s.checkNumbers(), s.checkAgents(), s.checkHistory())
}

// AfterApply completes the settings. Kong calls it.
func (i *Import) AfterApply(l *Loader) error {
	err := i.Common.complete(l)
	i.DB = i.record(i.DB)
	return err
}

// record is where the record lies.
func (c *Common) record(path string) string {
	return cmp.Or(path, filepath.Join(c.StateDir, "aldis.db"))
}

func (s *Serve) checkMode() error {
	if s.Transport != "http" {
		return fmt.Errorf("--transport %s: aldis serve speaks http alone; aldis channel is the one for stdio", s.Transport)
	}
	if !s.Channel {
		return errors.New("--channel=false: aldis serve is always a channel; leave the setting out")
	}
	if s.Host == "" { // to Go it means every address, to whoever has written --host "$TYPO" it does not
		return errEmptyHost
	}
	return nil
}

// Hosts returns AllowedHost as package httpd takes it.
func (s *Serve) Hosts() []string {
	hosts := make([]string, len(s.AllowedHost))
	for i, h := range s.AllowedHost {
		hosts[i] = string(h)
	}
	return hosts
}

func (s *Serve) checkTokens() error {
	if s.AllowUnauthenticated && !s.Loopback() {
		return fmt.Errorf("--allow-unauthenticated is for loopback addresses alone, and --host is %s; set --auth-token (ALDIS_AUTH_TOKEN) instead", s.Host)
	}
	if s.AuthToken == "" && !s.AllowUnauthenticated && !s.Demo {
		return errors.New("whoever reaches the hub can write as you, so it needs a token: set --auth-token (ALDIS_AUTH_TOKEN), " +
			"or, on a loopback address, allow everybody on this machine with --allow-unauthenticated. To try it out: aldis serve --demo")
	}
	if err := checkShared(s.Tokens()); err != nil {
		return err
	}
	if slices.Contains(s.Tokens(), string(s.AdminToken)) {
		return errors.New("--admin-token is also an --auth-token: an agent would be the admin; choose another")
	}
	if s.AdminToken != "" && !sendable(string(s.AdminToken)) {
		return errors.New("--admin-token: a token is printable ASCII without blanks")
	}
	return nil
}

func checkShared(tokens []string) error {
	if slices.ContainsFunc(tokens, func(token string) bool { return !sendable(token) }) {
		return errors.New("--auth-token: a token is printable ASCII without blanks; NEW,OLD are two of them")
	}
	return nil
}

// sendable reports whether token can stand in an Authorization header.
func sendable(token string) bool {
	bad := func(r rune) bool { return r <= ' ' || r > '~' }
	return token != "" && !strings.ContainsFunc(token, bad)
}

// Tokens returns the shared tokens: one, or in a rotation more. There is none
// only if AllowUnauthenticated is set.
func (s *Serve) Tokens() []string { return split(s.AuthToken) }

// split returns the tokens of NEW,OLD.
func split(list Secret) []string {
	if list == "" {
		return nil
	}
	tokens := strings.Split(string(list), ",")
	for i := range tokens {
		tokens[i] = strings.TrimSpace(tokens[i])
	}
	return tokens
}

func (s *Serve) checkNumbers() error {
	if s.RouteMaxEntries <= 0 {
		return fmt.Errorf("--route-max-entries is %d; want 1 or more", s.RouteMaxEntries)
	}
	if s.RateLimit < 0 {
		return fmt.Errorf("--rate-limit is %d; want a number a minute, or 0 for no limit", s.RateLimit)
	}
	if s.PairRate < 0 {
		return fmt.Errorf("--pair-rate is %d; want a number in 5 minutes, or 0 for no limit", s.PairRate)
	}
	return nil
}

func (s *Serve) checkAgents() error {
	if s.DefaultAgent != "" && !agentName(string(s.DefaultAgent)) {
		return errors.New("--default-agent: want 1 to 128 bytes of printable text without blanks around it")
	}
	seen := map[string]hub.AgentID{}
	for _, a := range s.Alias {
		if other, ok := seen[a.Name]; ok && other != a.Agent {
			return fmt.Errorf("--alias %s stands for both %s and %s; keep one", a.Name, other, a.Agent)
		}
		seen[a.Name] = a.Agent
	}
	return nil
}

// Aliases returns what each alias stands for.
func (s *Serve) Aliases() map[hub.AgentID]hub.AgentID {
	m := make(map[hub.AgentID]hub.AgentID, len(s.Alias))
	for _, a := range s.Alias {
		m[hub.AgentID(a.Name)] = a.Agent
	}
	return m
}

// agentName reports whether s can name an agent, as it stands.
func agentName(s string) bool {
	id, err := hub.ParseAgentID(s)
	return err == nil && string(id) == s
}

// AfterApply completes and checks the settings. Kong calls it.
func (c *Channel) AfterApply(l *Loader) error {
	if err := c.Common.complete(l); err != nil {
		return err
	}
	c.Signal.complete(l)
	switch {
	case c.Transport != "stdio":
		return fmt.Errorf("--transport %s: aldis channel speaks stdio alone; aldis serve is the one for http", c.Transport)
	case !c.Channel:
		return errors.New("--channel=false: aldis channel is always a channel; leave the setting out")
	case c.Operator == "" && c.Listen == "":
		return errors.New("a channel needs somebody to talk to: set --operator (ALDIS_OPERATOR), or take webhooks with --listen")
	}
	return errors.Join(c.Signal.check(), c.checkListen())
}

func (c *Channel) checkListen() error {
	if c.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	var at Listen
	if err != nil || host == "" || at.Port.UnmarshalText([]byte(port)) != nil {
		return fmt.Errorf("--listen %s: want HOST:PORT, like 127.0.0.1:8788; port 0 takes any that is free", c.Listen)
	}
	at.Host = host
	if c.AllowUnauthenticated && !at.Loopback() {
		return fmt.Errorf("--allow-unauthenticated is for loopback addresses alone, and --listen is %s; set --auth-token (ALDIS_AUTH_TOKEN) instead", c.Listen)
	}
	if c.AuthToken == "" && !c.AllowUnauthenticated {
		return errors.New("whoever reaches --listen can write to the agent, so it needs a token: set --auth-token (ALDIS_AUTH_TOKEN), " +
			"or, on a loopback address, allow everybody on this machine with --allow-unauthenticated")
	}
	return checkShared(c.Tokens())
}

// Tokens returns the tokens that Listen takes: one, or in a rotation more.
func (c *Channel) Tokens() []string { return split(c.AuthToken) }

// complete fills in whose account it is, who decides, and where signal-cli keeps
// files.
func (s *Signal) complete(l *Loader) {
	if s.Account == "" {
		s.Account = s.Operator
	}
	if len(s.Approver) == 0 && s.Operator != "" {
		s.Approver = []Person{s.Operator}
	}
	s.OperatorDevice = append([]int{1}, s.OperatorDevice...)
	if s.AttachmentsDir == "" {
		// signal-cli looks there on every system. Without a home there are
		// no such files, and attachments are named but not available.
		s.AttachmentsDir = l.under("XDG_DATA_HOME", ".local/share", "signal-cli/attachments")
	}
}

func (s *Signal) check() error {
	if s.Operator == "" && s.Account != "" {
		return errors.New("--account is for Signal, which needs --operator (ALDIS_OPERATOR) too")
	}
	if strings.TrimSpace(s.Prefix) != s.Prefix {
		return fmt.Errorf("--prefix %q has blanks around it, and would never match", s.Prefix)
	}
	for _, n := range s.OperatorDevice {
		if n < 1 {
			return fmt.Errorf("--operator-device %d: devices count from 1", n)
		}
	}
	return nil
}

// complete fills in the state folder.
func (c *Common) complete(l *Loader) error {
	if c.StateDir != "" {
		return nil
	}
	if runtime.GOOS == "windows" {
		c.StateDir = l.under("LocalAppData", "AppData/Local", "aldis")
	} else {
		c.StateDir = l.under("XDG_STATE_HOME", ".local/state", "aldis")
	}
	if c.StateDir == "" {
		return errors.New("no home folder to keep the state in: set --state-dir (ALDIS_STATE_DIR)")
	}
	return nil
}

// under returns path in the folder that the variable names, else in folder of
// the user's home, else nothing. The XDG base directory specification 0.8 has
// relative folders ignored.
func (l *Loader) under(variable, folder, path string) string {
	if base := l.getenv(variable); filepath.IsAbs(base) {
		return filepath.Join(base, filepath.FromSlash(path))
	}
	home := l.getenv("HOME")
	if runtime.GOOS == "windows" {
		home = l.getenv("USERPROFILE")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(folder), filepath.FromSlash(path))
}

// Address returns host:port.
func (a Listen) Address() string {
	return net.JoinHostPort(strings.Trim(a.Host, "[]"), strconv.Itoa(int(a.Port)))
}

// Loopback reports whether only this machine can reach the address.
func (a Listen) Loopback() bool {
	ip := net.ParseIP(strings.Trim(a.Host, "[]"))
	return strings.EqualFold(a.Host, "localhost") || ip != nil && ip.IsLoopback()
}

// AfterApply completes and checks the settings. Kong calls it.
func (h *Hub) AfterApply() error {
	if h.URL == "" {
		h.URL = h.local()
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("--hub: want the hub's address, like http://127.0.0.1:8765")
	}
	h.URL = strings.TrimRight(h.URL, "/")
	return nil
}

// AfterApply finds the state folder, where the token is read there. Kong calls it.
func (h *HubAdmin) AfterApply(l *Loader) error {
	if h.AdminToken != "" {
		return nil
	}
	return h.complete(l)
}

// local is where a hub with these settings is reached from its own machine: one
// that listens on all addresses listens on the loopback one too.
func (h *Hub) local() string {
	at := h.Listen
	if ip := net.ParseIP(strings.Trim(at.Host, "[]")); at.Host == "" || ip != nil && ip.IsUnspecified() {
		at.Host = "127.0.0.1"
	}
	return "http://" + at.Address()
}

// AfterApply takes the first of several tokens: the hub takes each. Kong calls it.
func (h *HubSender) AfterApply() error {
	first, _, _ := strings.Cut(string(h.Token), ",")
	h.Token = Secret(strings.TrimSpace(first))
	if h.Token != "" && !sendable(string(h.Token)) {
		return errors.New("--token: a token is printable ASCII without blanks")
	}
	return nil
}

// AfterApply checks the settings. Kong calls it.
func (a *Attach) AfterApply() error {
	if a.Agent != "" && !agentName(string(a.Agent)) {
		return errors.New("--agent: want 1 to 128 bytes of printable text without blanks around it")
	}
	return nil
}
