//go:build !windows

package key

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// kwalletd is the part of KDE's daemon that may be used: what a look-up calls
// beyond it does not exist. One wallet, one handle.
type kwalletd struct {
	closed  bool
	denies  bool
	entries map[[2]string]string
	calls   chan string // "open" and "close"
}

const handle = 1417

func (k *kwalletd) serve(t *testing.T, version string) session {
	s := newSession(t)
	k.calls = make(chan string, 10)
	api := map[string]any{
		"networkWallet": func() (string, *dbus.Error) { return "kdewallet", nil },
		"isOpen":        func(wallet string) (bool, *dbus.Error) { return wallet == "kdewallet" && !k.closed, nil },
		"open": func(wallet string, window int64, app string) (int32, *dbus.Error) {
			k.calls <- "open"
			if k.denies {
				return -1, nil
			}
			return handle, nil
		},
		"close": func(h int32, force bool, app string) (int32, *dbus.Error) {
			k.calls <- "close"
			if h != handle || force {
				return 0, dbus.MakeFailedError(errors.New("closes what it must not"))
			}
			return 0, nil
		},
		"hasEntry": func(h int32, folder, entry, app string) (bool, *dbus.Error) {
			_, there := k.entries[[2]string{folder, entry}]
			return there && h == handle, nil
		},
		"readPassword": func(h int32, folder, entry, app string) (string, *dbus.Error) {
			return k.entries[[2]string{folder, entry}], nil
		},
	}
	s.export(version, api)
	return s
}

// export serves a version of KWallet on the session's bus.
func (s session) export(version string, api map[string]any) {
	s.Helper()
	if err := s.ExportMethodTable(api, dbus.ObjectPath("/modules/kwalletd"+version), "org.kde.KWallet"); err != nil {
		s.Fatal(err)
	}
	if _, err := s.RequestName("org.kde.kwalletd"+version, dbus.NameFlagDoNotQueue); err != nil {
		s.Fatal(err)
	}
}

// called lists the calls until now.
func (k *kwalletd) called() string {
	var calls []string
	for len(k.calls) > 0 {
		calls = append(calls, <-k.calls)
	}
	return strings.Join(calls, " ")
}

func TestKWallet(t *testing.T) {
	chromium, signal := [2]string{"Chromium Keys", "Chromium Safe Storage"}, [2]string{"Signal Keys", "Signal Safe Storage"}
	for _, tt := range []struct {
		name, version, backend string
		entries                map[[2]string]string
	}{
		{"version 6", "6", "kwallet6", map[[2]string]string{chromium: aSecret}},
		{"version 5", "5", "kwallet5", map[[2]string]string{chromium: aSecret}},
		{"version 4", "", "kwallet", map[[2]string]string{chromium: aSecret}},
		{"unnamed", "5", "", map[[2]string]string{chromium: aSecret}},
		{"a folder of Signal's own", "6", "kwallet6", map[[2]string]string{signal: aSecret}},
		{"another's secret in the common folder", "6", "kwallet6", map[[2]string]string{chromium: "another's", signal: aSecret}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &kwalletd{entries: tt.entries}
			k.serve(t, tt.version).finds(tt.backend)
			if calls := k.called(); calls != "open close" {
				t.Errorf("called %q", calls)
			}
		})
	}
}

func TestKWalletThatMisbehaves(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer any // to networkWallet
		want   string
	}{
		{"quotes the secret", func() (string, *dbus.Error) { return "", dbus.MakeFailedError(errors.New(aSecret)) }, "networkWallet: org.freedesktop.DBus.Error.Failed"},
		{"gives another type", func() ([]string, *dbus.Error) { return []string{aSecret}, nil }, "networkWallet: the answer is not understood"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t)
			s.export("6", map[string]any{"networkWallet": tt.answer})
			got, err := s.find(t.Context(), "kwallet6")
			refuses(t, got, err, "KWallet 6: "+tt.want)
		})
	}
}

func TestKWalletThatDoesNotAnswer(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.export("6", map[string]any{"networkWallet": func() (string, *dbus.Error) {
		cancel()
		<-t.Context().Done()
		return "", nil
	}})
	if _, err := s.find(ctx, "kwallet6"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestKWalletThatHasItNot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wallet kwalletd
		want   string
		calls  string
	}{
		{"no entry", kwalletd{}, "KWallet 6: it has no item of Signal's", "open close"},
		{"another secret", kwalletd{entries: map[[2]string]string{entries[0]: "x" + aSecret}}, "KWallet 6: the secret does not open", "open close"},
		{"closed: it is not opened", kwalletd{closed: true}, "KWallet 6: it is locked", ""},
		{"no access", kwalletd{denies: true}, "KWallet 6: it gives this program no access", "open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.wallet.serve(t, "6").find(t.Context(), "kwallet6")
			refuses(t, got, err, tt.want, "SIGNAL_MCP_KEY")
			if calls := tt.wallet.called(); calls != tt.calls {
				t.Errorf("called %q, want %q", calls, tt.calls)
			}
		})
	}
}
