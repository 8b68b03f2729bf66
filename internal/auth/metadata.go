package auth

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// wellKnown is where hosts look for a resource's metadata: RFC 9728, section 3.
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata is what RFC 9728, section 2, has a resource say of itself.
type metadata struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name,omitempty"`
}

// Metadata serves what RFC 9728 has hosts look for, to anybody, at the paths of
// [Resource.MetadataPaths]. In the mode static it is 404, which hosts take as:
// there is nobody to get a token from, ask the person for one.
func (res *Resource) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case res.issuer == nil:
			httpd.WriteError(w, http.StatusNotFound, "no issuer gives out tokens for this: it takes a fixed one")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			httpd.WriteError(w, http.StatusMethodNotAllowed, r.URL.Path+" is for GET")
		default:
			// An error here means that the caller has gone.
			_ = httpd.WriteJSON(w, http.StatusOK, metadata{res.url.String(), []string{res.issuer.url}, res.scopes, []string{"header"}, res.name})
		}
	})
}

// MetadataPaths returns where Metadata is looked for: at the root, and with the
// path of the resource behind it.
func (res *Resource) MetadataPaths() []string {
	if res.url == nil {
		return []string{wellKnown}
	}
	return []string{wellKnown, wellKnown + res.url.Path}
}

// metadataURL is where a host finds it. There is an issuer, and so a URL.
func (res *Resource) metadataURL() string {
	return res.url.Scheme + "://" + res.url.Host + wellKnown + res.url.Path
}

// Pages returns which web pages may call the resource, which is served at path:
// those of origins. Its metadata is everybody's.
func (res *Resource) Pages(path string, origins []string) httpd.Pages {
	pages := httpd.Pages{path: origins}
	for _, p := range res.MetadataPaths() {
		pages[p] = []string{"*"}
	}
	return pages
}

// Host returns the name in the resource's URL, by which [httpd.Server] must let
// itself be called: a proxy or tunnel passes it on. Empty: not known.
func (res *Resource) Host() string {
	if res.url == nil {
		return ""
	}
	return res.url.Hostname()
}

// locate returns where o's resource is, or nil if nobody has to know.
func locate(o ResourceOptions) (*url.URL, error) {
	switch {
	case o.URL != "":
		return parseURL(o.URL)
	case o.Issuer != "":
		return nil, hub.Errorf(hub.Invalid, "hosts that get a token from an issuer must be told the public URL: set it")
	default:
		return nil, nil
	}
}

// parseURL returns s in its one spelling, by which hosts compare it (RFC 3986,
// section 6.2.3): lower case, no port that goes without saying. It fails with
// Invalid unless s can be what hosts reach a resource by: https (http for loopback
// alone), a path that ends in /mcp, and no more.
func parseURL(s string) (*url.URL, error) {
	u, err := secureURL(s)
	if err != nil {
		return nil, hub.Errorf(hub.Invalid, "the public URL %q: %w", s, err)
	}
	if !strings.HasSuffix(u.Path, "/mcp") || u.EscapedPath() != u.Path || path.Clean(u.Path) != u.Path {
		return nil, hub.Errorf(hub.Invalid, "the public URL %q: its path must be plain and end in /mcp", s)
	}
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u, nil
}

// secureURL takes https, and http for loopback alone, with nothing behind the
// path.
func secureURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, hub.Errorf(hub.Invalid, "want https://HOST/…")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, hub.Errorf(hub.Invalid, "want https; http is for loopback addresses alone")
	case u.User != nil || strings.ContainsAny(s, "?#"):
		return nil, hub.Errorf(hub.Invalid, "want no user, query or fragment in it")
	}
	return u, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
