package httpd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"
)

// MaxBody is the most bytes that a request's body may have, where nothing else
// is said.
const MaxBody = 1 << 20

// bodyTime is how long a caller may take to send its body.
const bodyTime = 30 * time.Second

// Guard is what every request passes before it reaches next: panics end in a
// 500, each answer carries the hardened headers, a Host or Origin that is not
// in hosts is refused, and the body is bounded in time and to maxBody bytes.
func Guard(log *slog.Logger, hosts *Hosts, maxBody int64, next http.Handler) http.Handler {
	return recovering(log, headers(hosts.check(bounded(maxBody, next))))
}

// headers sets the headers of seed reply-routing.md, section Security. A
// handler of pages may replace the policy by its own.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// bounded answers 413 to a declared length over most, and lets the reading
// of a chunked body fail with an [http.MaxBytesError] past it, which [Handle]
// answers 413 too. The body is not read ahead, so that a caller without a token
// costs no memory.
func bounded(most int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > most {
			w.Header().Set("Connection", "close")
			WriteError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", most))
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = newTimedBody(w, r, most)
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is a request's body with a deadline. The deadline is the whole
// connection's: it is lifted once the body has ended, because the server goes
// on reading to learn whether the caller is still there, and a deadline would
// look as if it had gone.
type timedBody struct {
	rc   *http.ResponseController
	body io.ReadCloser
}

func newTimedBody(w http.ResponseWriter, r *http.Request, most int64) *timedBody {
	b := &timedBody{http.NewResponseController(w), http.MaxBytesReader(w, r.Body, most)}
	// Not supported means no connection to guard: a test's recorder.
	_ = b.rc.SetReadDeadline(time.Now().Add(bodyTime))
	return b
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Close leaves the deadline in place: what the handler left unread, or could
// not read in time, the server reads on, and that must come to an end as well.
func (b *timedBody) Close() error { return b.body.Close() }

// ReadBody returns r's whole body, or an error as [Handle] answers it: 413 for
// one over the bound, 408 for one that came too slowly, 400 for one that broke off.
func ReadBody(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return nil, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, Statusf(http.StatusRequestTimeout, "the body took longer than %s", bodyTime)
	}
	if err != nil {
		return nil, Statusf(http.StatusBadRequest, "the body broke off: %v", err)
	}
	return b, nil
}

// ReadJSON is [ReadBody] for a body that says to be JSON, which a form on a
// foreign page cannot: without that it fails with 415.
func ReadJSON(r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, Statusf(http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json")
	}
	return ReadBody(r)
}

// recovering turns a panic into a 500, or, where an answer has begun, into a
// connection that is cut: the caller must not take half an answer for a whole.
func recovering(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &tracker{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { // a handler's way to cut the connection
				panic(v)
			}
			log.Error("panic", "path", r.URL.Path, "err", fmt.Sprint(v), "stack", string(debug.Stack()))
			if t.started {
				panic(http.ErrAbortHandler)
			}
			WriteError(t, http.StatusInternalServerError, "internal error")
		}()
		next.ServeHTTP(t, r)
	})
}

// tracker remembers whether an answer has begun.
type tracker struct {
	http.ResponseWriter
	started bool
}

func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tracker) WriteHeader(status int) {
	t.started = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(b []byte) (int, error) {
	t.started = true
	return t.ResponseWriter.Write(b)
}

func (t *tracker) FlushError() error {
	t.started = true
	return http.NewResponseController(t.ResponseWriter).Flush()
}

func (t *tracker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.started = true
	return http.NewResponseController(t.ResponseWriter).Hijack()
}

// started reports whether w, or what it wraps, has begun an answer.
func started(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case *tracker:
			return v.started
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}
