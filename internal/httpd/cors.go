package httpd

import (
	"net/http"
	"slices"
	"strings"
)

// Pages are the web pages of elsewhere that may call us: by path, the origins
// that browsers name for them, like "https://app.example"; "*" is every page.
// Browsers let them read the answer (CORS), and send none of our cookies along.
type Pages map[string][]string

func (p Pages) allow(r *http.Request, origin string) bool {
	origins := p[r.URL.Path]
	return slices.Contains(origins, origin) || slices.Contains(origins, "*")
}

// answer tells the browser of such a page that it may read the answer. If the
// browser asks in advance whether it may call, that is the answer.
func (p Pages) answer(w http.ResponseWriter, r *http.Request) (whole bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || !p.allow(r, origin) {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After")
	if slices.Contains(p[r.URL.Path], "*") {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join(sendable(r), ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// sendable returns those of the headers that a page wants to send which MCP
// has (2026-07-28, Transports). It has ones for parameters, so that there is no
// list of them.
func sendable(r *http.Request) []string {
	names := strings.Split(strings.ToLower(r.Header.Get("Access-Control-Request-Headers")), ",")
	var fine []string
	for _, name := range names {
		switch name = strings.TrimSpace(name); name {
		case "accept", "authorization", "content-type", "last-event-id":
			fine = append(fine, name)
		default:
			if strings.HasPrefix(name, "mcp-") {
				fine = append(fine, name)
			}
		}
	}
	return fine
}
