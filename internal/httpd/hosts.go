package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Hosts are the names under which we may be called. A page on the web that has
// a name of its own point at our address (DNS rebinding), or that has its
// visitor's browser call us, names another Host or Origin.
type Hosts struct {
	Pages Pages // set before use

	exact map[string]bool // host:port, or a host alone: our port, or none
	any   map[string]bool // hosts that may be called at any port
}

// NewHosts allows the loopback names and bind, the host that we listen on, at
// our port or with none, and allowed: each host:port, or a host at any port, as
// a proxy in front of us may have another.
func NewHosts(bind, port string, allowed []string) *Hosts {
	h := &Hosts{exact: map[string]bool{}, any: map[string]bool{}}
	for _, name := range []string{"localhost", "127.0.0.1", "::1", strings.ToLower(bind)} {
		h.exact[name], h.exact[net.JoinHostPort(name, port)] = true, true
	}
	for _, a := range allowed {
		if host, port := splitHost(a); port == "" {
			h.any[host] = true
		} else {
			h.exact[net.JoinHostPort(host, port)] = true
		}
	}
	return h
}

// check refuses a foreign Host or Origin. What sends no Origin is no browser,
// or a browser that only follows a link.
func (h *Hosts) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.allows(r.Host) {
			WriteError(w, http.StatusForbidden, fmt.Sprintf("this hub does not answer to the host %.100q; --allowed-host (aldis history: --public-url) adds a name", r.Host))
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			if !sameOrigin(r, origin) && !h.Pages.allow(r, origin) {
				WriteError(w, http.StatusForbidden, fmt.Sprintf("a page of %.100q may not call this hub", origin))
				return
			}
		}
		if !h.Pages.answer(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

func (h *Hosts) allows(hostport string) bool {
	host, port := splitHost(hostport)
	if host == "" {
		return false
	}
	if port == "" {
		return h.exact[host] || h.any[host]
	}
	return h.exact[net.JoinHostPort(host, port)] || h.any[host]
}

// sameOrigin reports whether origin is where r itself was sent to. With TLS
// ended by a proxy the scheme is the one that the proxy names; a page can not
// set that header on a request to somebody else's host unless we agree, which
// we never do. A proxy that names none may have ended TLS or not.
func sameOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return false // "null", for one
	}
	host, port := splitHost(r.Host)
	oHost, oPort := splitHost(u.Host)
	return host == oHost && orDefault(port, u.Scheme) == orDefault(oPort, u.Scheme) && schemeFits(r, host, u.Scheme)
}

func schemeFits(r *http.Request, host, scheme string) bool {
	if r.TLS != nil {
		return scheme == "https"
	}
	if proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ","); proto != "" {
		return scheme == strings.ToLower(proto)
	}
	return scheme == "http" || scheme == "https" && !loopback(host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func orDefault(port, scheme string) string {
	switch {
	case port != "":
		return port
	case scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// splitHost splits host, host:port, [v6] or [v6]:port, in lower case. It
// returns an empty host for what is none of these.
func splitHost(s string) (host, port string) {
	s = strings.ToLower(s)
	if host, port, err := net.SplitHostPort(s); err == nil {
		return host, port
	}
	if v6, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(v6, "]")
	}
	return s, ""
}
