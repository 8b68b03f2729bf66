package httpd

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"aldis/internal/hub"
)

// Static serves the file name of files, which are built in. A browser asks each
// time whether it has changed: the next start may be of another version.
func Static(files fs.FS, name string) http.Handler {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err) // it is in this binary, or the build is broken
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType(name))
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(b) // an error means that the browser has gone
	})
}

// mediaType goes by the name's ending. What this machine's own tables say of
// scripts can be wrong, and then a browser would not run them.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(ext)
	}
}

// WantsPage reports whether r is a browser's that would show the answer.
func WantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// OwnPage fails with Denied for what a page of another site has a browser ask
// of us, and for a write that does not say which page it is from: [Guard]
// refuses a foreign Origin, but not none. Who goes by a cookie calls it.
func OwnPage(r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return hub.Errorf(hub.Denied, "pages of other sites may not call this: type the address, or go there from our own pages")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") == "" {
		return hub.Errorf(hub.Denied, "this is taken from our own pages alone: there is no Origin")
	}
	return nil
}

// CookieName returns prefix with the port at its end: cookies are a host's,
// whatever its port, and two hubs may run on one machine.
func CookieName(r *http.Request, prefix string) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	return prefix + "_" + port
}

// writeTime is how long a reader of events may be unable to take one.
const writeTime = 10 * time.Second

// Events is a stream of server-sent events (WHATWG HTML, section 9.2). It is
// one goroutine's.
type Events struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// NewEvents begins such a stream as the answer.
func NewEvents(w http.ResponseWriter) Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return Events{w, http.NewResponseController(w)}
}

// Write writes whole events, as they are on the wire. It fails when the reader
// has gone or takes nothing for 10 s.
func (e Events) Write(text string) error {
	// Not supported means no connection to guard: a test's recorder.
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.rc.Flush()
}
