package signal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

func TestLinking(t *testing.T) {
	d := hubtest.NewDaemon(t)
	d.Accounts, d.LinkNumber = []string{bobNumber}, aliceNumber
	l := openLinker(t, d)
	if l.Version != d.Version {
		t.Errorf("version %q, want %q", l.Version, d.Version)
	}
	if numbers, err := l.Accounts(t.Context()); err != nil || len(numbers) != 1 || numbers[0] != bobNumber {
		t.Errorf("accounts %v, %v", numbers, err)
	}
	uri, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if number, err := l.Finish(t.Context(), uri, "aldis"); err != nil || number != aliceNumber {
		t.Errorf("linked %q, %v", number, err)
	}
	if r := d.Requests("finishLink")[0]; r.Params["deviceName"] != "aldis" || r.Params["deviceLinkUri"] != uri {
		t.Errorf("asked with %v", r.Params)
	}
	if _, err := l.Finish(t.Context(), uri, "aldis"); hub.KindOf(err) != hub.Conflict {
		t.Errorf("a second time: %v", err)
	}
}

func TestLinkingFails(t *testing.T) {
	const start, finish = "startLink", "finishLink"
	for _, tt := range []struct {
		name, method string
		answer       hubtest.DaemonAnswer
		want         error  // nil: any
		says         string // "" is not looked at
	}{
		{"nobody scans", finish, refuses(-1, "Link request timed out, please try again."), ErrExpired, ""},
		{"Signal gives up first", finish, refuses(-3, "Link request error: Connection closed!"), ErrExpired, ""},
		{"the phone has too many devices", finish, refuses(-3, "Link request error: [411] Bad response: 411"), nil, "411"},
		{"no network", start, refuses(-3, "Link request error: Connection closed!"), nil, "can't reach Signal"},
		{"a daemon for one account", start, refuses(-32601, "Method not implemented"), ErrOneAccount, ""},
		{"no code", start, hubtest.DaemonAnswer{Result: map[string]any{}}, nil, "no code"},
		{"it ends", start, hubtest.DaemonAnswer{Cut: true}, errUnanswered, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := hubtest.NewDaemon(t)
			d.Answer(tt.method, func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return tt.answer })
			l := openLinker(t, d)
			uri, err := l.Start(t.Context())
			if tt.method == finish {
				_, err = l.Finish(t.Context(), uri, "aldis")
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			wantIn(t, err.Error(), tt.says)
		})
	}
}

// A daemon that never answers does not keep anybody longer than a code lives.
func TestLinkingEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := hubtest.PipeDaemon(t)
		d.Answer("finishLink", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		l := newLinker(t.Context(), d.Dial())
		defer l.Close()
		began := time.Now()
		if _, err := l.Finish(t.Context(), "sgnl://linkdevice", "aldis"); !errors.Is(err, ErrExpired) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took < CodeLife || took > 2*CodeLife {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Finish(ctx, "sgnl://linkdevice", "aldis"); !errors.Is(err, context.Canceled) {
			t.Errorf("told to end: %v", err)
		}
	})
}

func TestNothingToLinkTo(t *testing.T) {
	d := hubtest.NewDaemon(t)
	d.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Cut: true} })
	_, err := OpenLinker(t.Context(), d.Address())
	wantIn(t, err.Error(), "does not answer as a signal-cli daemon does")
	d.Close()
	_, err = OpenLinker(t.Context(), d.Address())
	wantIn(t, err.Error(), "connect to signal-cli at "+d.Address())
}

// TestRealDaemonLinks asks signal-cli itself for a code, which it has from
// Signal's servers alone.
func TestRealDaemonLinks(t *testing.T) {
	c := &Client{Address: startDaemon(t), Account: aliceNumber}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, &inbox{}) }()
	connected(ctx, t, c)
	cancel()
	<-done

	l, err := OpenLinker(t.Context(), c.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if numbers, err := l.Accounts(t.Context()); err != nil || len(numbers) != 0 {
		t.Errorf("accounts %v, %v", numbers, err)
	}
	if uri, err := l.Start(t.Context()); err != nil {
		wantIn(t, err.Error(), "can't reach Signal")
	} else {
		wantIn(t, uri, "sgnl://linkdevice?uuid=")
	}
	_, err = l.Finish(t.Context(), "sgnl://linkdevice?uuid=x&pub_key=y", "aldis")
	wantIn(t, err.Error(), "Unknown device link uri")
}

func openLinker(t *testing.T, d *hubtest.Daemon) *Linker {
	t.Helper()
	l, err := OpenLinker(t.Context(), d.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func refuses(code int, message string) hubtest.DaemonAnswer {
	return hubtest.DaemonAnswer{Error: hubtest.DaemonError(code, message, nil)}
}
