package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"aldis/internal/hub"
)

// A Handler answers a request or returns why it did not. An error that it
// returns once the answer has begun is for the log alone.
type Handler func(w http.ResponseWriter, r *http.Request) error

// A StatusError is an error whose HTTP status no kind of hub.Error stands for.
type StatusError struct {
	Status int
	Msg    string // the caller reads it
}

func (e *StatusError) Error() string { return e.Msg }

// Statusf returns a StatusError.
func Statusf(status int, format string, args ...any) error {
	return &StatusError{status, fmt.Sprintf(format, args...)}
}

var statuses = map[hub.Kind]int{
	hub.Invalid:     http.StatusBadRequest,
	hub.NotFound:    http.StatusNotFound,
	hub.Denied:      http.StatusForbidden,
	hub.Conflict:    http.StatusConflict,
	hub.Limited:     http.StatusTooManyRequests,
	hub.Unavailable: http.StatusServiceUnavailable,
}

// Handle makes an http.Handler of h. An error is answered by its kind, with its
// safe message; one of no kind is answered "internal error", and only log
// learns what it was.
func Handle(log *slog.Logger, h Handler) http.Handler {
	return HandleAs(log, func(w http.ResponseWriter, _ *http.Request, status int, msg string) { WriteError(w, status, msg) }, h)
}

// HandleAs is [Handle] with a way of its own to answer that h failed.
func HandleAs(log *slog.Logger, write func(w http.ResponseWriter, r *http.Request, status int, msg string), h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		switch {
		case err == nil:
		case started(w):
			log.Debug("request broke off", "path", r.URL.Path, "err", err)
		default:
			status, msg := answer(err)
			note(log, r, status, err)
			write(w, r, status, msg)
		}
	})
}

// note logs that r was answered with status because of err.
func note(log *slog.Logger, r *http.Request, status int, err error) {
	// What a caller that hung up has broken off is nobody's fault.
	if status == http.StatusInternalServerError && r.Context().Err() == nil {
		log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	} else {
		log.Debug("request refused", "method", r.Method, "path", r.URL.Path, "status", status, "err", err)
	}
}

// answer returns the status of err, and the part of it that a caller may read.
func answer(err error) (status int, msg string) {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status, e.Msg
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", e.Limit)
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		if status, ok := statuses[e.Kind]; ok {
			return status, e.Msg
		}
	}
	return http.StatusInternalServerError, "internal error"
}

// WriteError answers with status and the body {"error": msg}.
func WriteError(w http.ResponseWriter, status int, msg string) {
	// An error here means that the caller has gone; there is nobody to tell.
	_ = WriteJSON(w, status, map[string]string{"error": msg})
}

// WriteJSON answers with status and v as JSON. It fails before anything is
// written if v can't be encoded, and after that if the caller has gone.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	return err
}

// Mux serves m, but answers what m has no handler for in JSON as all else is.
func Mux(m *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := m.Handler(r)
		if pattern != "" {
			m.ServeHTTP(w, r)
			return
		}
		refusal := discard{header: w.Header()} // keeps Allow
		h.ServeHTTP(&refusal, r)
		if refusal.status == http.StatusMethodNotAllowed {
			WriteError(w, refusal.status, fmt.Sprintf("%s is not for %s; it takes %s", r.URL.Path, r.Method, w.Header().Get("Allow")))
			return
		}
		WriteError(w, http.StatusNotFound, "nothing is at "+r.URL.Path)
	})
}

// discard takes a handler's status and header, and drops its text.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
