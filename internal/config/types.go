package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"aldis/internal/hub"
)

// A Secret prints masked, whoever prints it. string(s) is the secret itself.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(secret)"
}

// GoString masks %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue masks the secret in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks the secret in JSON and whatever else is made from text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Duration is more than zero, and is written as seconds or as Go writes it.
type Duration time.Duration

// UnmarshalText reads "604800" or "168h".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if n, intErr := strconv.ParseInt(string(text), 10, 64); intErr == nil && n <= math.MaxInt64/int64(time.Second) {
		v, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || v <= 0 {
		return fmt.Errorf("want more than zero seconds, or a duration like 168h or 90m; got %q", text)
	}
	*d = Duration(v)
	return nil
}

// An Age is how old something may get; 0: any age. It is written as a [Duration]
// is, or in days.
type Age time.Duration

// UnmarshalText reads "90d" or what a Duration may be, or "0".
func (a *Age) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("want days like 90d, or hours like 36h; got %q", s)
		}
		*a = Age(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	if s == "0" {
		*a = 0
		return nil
	}
	return (*Duration)(a).UnmarshalText(text)
}

// A Size is a number of bytes; 0: any number.
type Size int64

// UnmarshalText reads a whole number of bytes, or of units of 1,024 bytes (K),
// as many of these (M), and so on (G, T).
func (z *Size) UnmarshalText(text []byte) error {
	s := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(string(text)), "B"), "I")
	unit := int64(1)
	if i := strings.IndexAny(s, "KMGT"); i >= 0 && i == len(s)-1 {
		unit <<= 10 * (1 + strings.IndexByte("KMGT", s[i]))
		s = s[:i]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("want a number of bytes like 500M or 2G, got %q", text)
	}
	*z = Size(n * unit)
	return nil
}

// A Port is a TCP port; 0 lets the system choose one.
type Port uint16

// UnmarshalText reads a decimal number.
func (p *Port) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return fmt.Errorf("want a port from 0 to 65535, got %q", text)
	}
	*p = Port(n)
	return nil
}

// A Person is a Signal account: a phone number or a UUID. Errors about one do
// not repeat it, and it prints masked in logs.
type Person string

// LogValue masks the number.
func (Person) LogValue() slog.Value { return slog.StringValue("(person)") }

var person = regexp.MustCompile(`^(\+[1-9][0-9]{4,14}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// UnmarshalText reads a number in international form (E.164), or a UUID.
func (p *Person) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	if !person.MatchString(s) {
		return errors.New("want a phone number like +15551234567, or a UUID")
	}
	*p = Person(s)
	return nil
}

// A Recipient is whom agents may write to: a [Person], a group, or everybody.
type Recipient string

// Everybody is the Recipient that stands for all.
const Everybody Recipient = "*"

// LogValue masks the number.
func (Recipient) LogValue() slog.Value { return slog.StringValue("(recipient)") }

// UnmarshalText reads what a Person may be, "group:" and a group's id in
// standard base64, or "*".
func (r *Recipient) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if id, ok := strings.CutPrefix(s, "group:"); ok && id != "" {
		if _, err := base64.StdEncoding.DecodeString(id); err == nil {
			*r = Recipient(s)
			return nil
		}
	}
	var p Person
	if s != string(Everybody) {
		if err := p.UnmarshalText(text); err != nil {
			return fmt.Errorf("%w, group:ID with the id in base64, or *", err)
		}
		s = string(p)
	}
	*r = Recipient(s)
	return nil
}

// An Address is where the signal-cli daemon listens, as net.Dial takes it.
type Address struct {
	Network string // "tcp" or "unix"
	Addr    string
}

func (a Address) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Addr
	}
	return a.Addr
}

// UnmarshalText reads "host:port" or "unix:/path".
func (a *Address) UnmarshalText(text []byte) error {
	s := string(text)
	if path, ok := strings.CutPrefix(s, "unix:"); ok && path != "" {
		*a = Address{"unix", path}
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || host == "" || n == 0 {
		return fmt.Errorf("want host:port or unix:/path, got %q", s)
	}
	*a = Address{"tcp", s}
	return nil
}

// A HostName is a name under which the hub may be called: host or host:port.
type HostName string

// UnmarshalText refuses what can not stand in a Host header.
func (h *HostName) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	u, err := url.Parse("//" + s)
	if err != nil || u.Host != s || u.Hostname() == "" {
		return fmt.Errorf("want a host or host:port, with no scheme and no path; got %q", s)
	}
	*h = HostName(s)
	return nil
}

// An Alias is another name under which messages to an agent may be sent.
type Alias struct {
	Name  string
	Agent hub.AgentID
}

// UnmarshalText reads "NAME=AGENT", or "NAME:AGENT" as seed agent-salon.md has
// it; the first of the two signs counts.
func (a *Alias) UnmarshalText(text []byte) error {
	s := string(text)
	i := strings.IndexAny(s, "=:")
	if i < 0 {
		return fmt.Errorf("want NAME=AGENT, got %q", s)
	}
	name, agent := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
	if !agentName(name) || !agentName(agent) {
		return fmt.Errorf("want NAME=AGENT, each 1 to 128 bytes of printable text; got %q", s)
	}
	*a = Alias{name, hub.AgentID(agent)}
	return nil
}

// A Pattern is a regular expression that ignores case. The zero Pattern is not
// to be used.
type Pattern struct{ *regexp.Regexp }

// UnmarshalText reads RE2 syntax (package regexp/syntax).
func (p *Pattern) UnmarshalText(text []byte) error {
	re, err := regexp.Compile("(?i:" + string(text) + ")")
	if err != nil || len(text) == 0 {
		return fmt.Errorf("want a regular expression, got %q", text)
	}
	p.Regexp = re
	return nil
}
