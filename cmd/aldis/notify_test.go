package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A hubAway answers each attempt with the next of its answers, the last one for
// ever: "STATUS BODY", or nothing, as if it did not run.
type hubAway struct {
	answers []string
	keys    []string // that came
}

func (h *hubAway) RoundTrip(r *http.Request) (*http.Response, error) {
	h.keys = append(h.keys, r.Header.Get("Idempotency-Key"))
	answer := h.answers[min(len(h.keys), len(h.answers))-1]
	if answer == "" {
		return nil, errors.New("connection refused")
	}
	status, body, _ := strings.Cut(answer, " ")
	code := map[string]int{"202": 202, "401": 401, "422": 422, "429": 429, "503": 503}[status]
	return &http.Response{
		StatusCode: code, Status: status, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func TestNotifyIsTriedAgainWhileTheHubIsAway(t *testing.T) {
	const accepted = `202 {"id":"m1"}`
	for _, tt := range []struct {
		name     string
		answers  []string
		attempts int // 0: several
		id       string
		fails    string
		within   time.Duration
	}{
		{"the hub is there", []string{accepted}, 1, "m1", "", 0},
		{"it is being started", []string{"", "", accepted}, 3, "m1", "", 2 * time.Second},
		{"its disk is full for a moment", []string{`503 {"error":"x"}`, accepted}, 2, "m1", "", 8 * time.Second},
		{"it is asked too much", []string{`429 {"error":"x"}`, accepted}, 2, "m1", "", 8 * time.Second},
		{"its answer breaks off", []string{`202 {"id":`, accepted}, 2, "m1", "", time.Second},
		{"it never comes", []string{""}, 0, "", "is aldis serve running?", notifyFor},
		{"its disk stays full", []string{`503 {"error":"no space"}`}, 0, "", "no space", notifyFor},
		{"it refuses", []string{`422 {"error":"content is missing"}`}, 1, "", "content is missing", 0},
		{"the token is wrong", []string{`401 {"error":"the token is not valid"}`}, 1, "", "not valid", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hubAway{answers: tt.answers}
				n := &notice{client: &http.Client{Transport: h}, hub: "http://hub.test", label: "ci", key: "k", body: []byte(`{"content":"x"}`)}
				ctx, cancel := context.WithTimeout(t.Context(), notifyFor)
				defer cancel()
				begun := time.Now()
				got, err := n.deliver(ctx)
				if string(got.ID) != tt.id || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%q, %v; want %q, %q", got.ID, err, tt.id, tt.fails)
				}
				if took := time.Since(begun); took > tt.within {
					t.Errorf("it took %s, want at most %s", took, tt.within)
				}
				if len(h.keys) != tt.attempts && (tt.attempts > 0 || len(h.keys) < 2) {
					t.Errorf("%d attempts, want %d", len(h.keys), tt.attempts)
				}
				for _, key := range h.keys {
					if key != "k" {
						t.Errorf("key %q", key)
					}
				}
			})
		})
	}
}

func TestWhatNotifyDoesNotEvenTry(t *testing.T) {
	home := func(name string) string {
		return map[string]string{"HOME": t.TempDir(), "USERPROFILE": t.TempDir()}[name]
	}
	for args, want := range map[string]string{
		"--to=bob hi":                "--label",
		"--label=ci --to= hi":        "--to is empty",
		"--label=ci --meta=x hi":     "--meta: want KEY=VALUE",
		"--label=ci \u00a0":          "nothing to say",
		"--label=ci -":               "nothing to say",
		"--label=ci --key=\u00e4 hi": "--key",
		"--label=ci --key=a\nb hi":   "--key",
		"--label=ci --token=a\tb hi": "--token",
		"--label=ci --key=" + strings.Repeat("k", 256) + " hi": "--key",
	} {
		var said strings.Builder
		e := env{stdin: strings.NewReader(" \n"), stdout: &said, stderr: &said, getenv: home}
		if code := run(t.Context(), append([]string{"notify", "--hub=http://127.0.0.1:1"}, strings.Split(args, " ")...), e); code != exitUsage || !strings.Contains(said.String(), want) {
			t.Errorf("notify %q: exit %d, want %d; %s", args, code, exitUsage, said.String())
		}
	}
}
