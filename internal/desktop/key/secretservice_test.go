//go:build !windows

package key

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const secrets = "org.freedesktop.secrets"

// keyring starts GNOME Keyring in a session, with one keyring that is open.
func keyring(t *testing.T) session {
	s := newSession(t)
	owners := make(chan *dbus.Signal, 100)
	s.Signal(owners)
	if err := s.AddMatchSignal(dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, secrets)); err != nil {
		t.Fatal(err)
	}
	s.start("gnome-keyring-daemon", "password", "--foreground", "--components=secrets", "--unlock")
	for !s.has(secrets) {
		select {
		case <-owners:
		case <-time.After(30 * time.Second):
			t.Fatal("GNOME Keyring did not come up")
		}
	}
	return s
}

// store puts a secret where Electron puts Signal's.
func (s session) store(application, secret string) {
	s.Helper()
	cmd := s.command("secret-tool", secret, "store", "--label", "Chromium Safe Storage",
		"application", application, "xdg:schema", "chrome_libsecret_os_crypt_password_v2")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}

// state is all that the keyring holds: its items, and its files.
func (s session) state() map[string]string {
	s.Helper()
	var open, locked []dbus.ObjectPath
	service := s.Object(secrets, "/org/freedesktop/secrets")
	if err := service.Call("org.freedesktop.Secret.Service.SearchItems", 0, map[string]string{}).Store(&open, &locked); err != nil {
		s.Fatal(err)
	}
	all := map[string]string{"open": fmt.Sprint(open), "locked": fmt.Sprint(locked)}
	collections, err := service.GetProperty("org.freedesktop.Secret.Service.Collections")
	if err != nil {
		s.Fatal(err)
	}
	all["collections"] = collections.String()
	err = filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// untouched checks that do leaves the keyring as it was.
func (s session) untouched(do func()) {
	s.Helper()
	before := s.state()
	do()
	if after := s.state(); !maps.Equal(before, after) {
		s.Errorf("the look-up has changed the keyring:\n%q\n%q", before, after)
	}
}

func TestSecretService(t *testing.T) {
	t.Run("with Signal's item", func(t *testing.T) {
		s := keyring(t)
		s.store("chromium", "another's")
		s.store("Signal", aSecret)
		s.untouched(func() { s.finds("gnome_libsecret") })
		s.untouched(func() { s.finds("") })
	})
	t.Run("with several items", func(t *testing.T) {
		s := keyring(t)
		s.store("Signal", aSecret)
		cmd := s.command("secret-tool", "an older one", "store", "--label", "x", "application", "Signal", "version", "1")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		s.untouched(func() { s.finds("gnome_libsecret") })
	})
	t.Run("without Signal's item", func(t *testing.T) {
		s := keyring(t)
		s.store("chromium", aSecret)
		s.untouched(func() {
			got, err := s.find(t.Context(), "gnome_libsecret")
			refuses(t, got, err, "Secret Service: it has no item of Signal's", "SIGNAL_MCP_KEY")
		})
	})
	t.Run("with another secret", func(t *testing.T) {
		s := keyring(t)
		s.store("Signal", "x"+aSecret)
		got, err := s.find(t.Context(), "gnome_libsecret")
		refuses(t, got, err, "Secret Service", "secret")
	})
	t.Run("locked", func(t *testing.T) {
		s := keyring(t)
		s.store("Signal", aSecret)
		lock := s.Object(secrets, "/org/freedesktop/secrets").
			Call("org.freedesktop.Secret.Service.Lock", 0, []dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"})
		if lock.Err != nil {
			t.Fatal(lock.Err)
		}
		s.untouched(func() {
			got, err := s.find(t.Context(), "gnome_libsecret")
			refuses(t, got, err, "Secret Service: it is locked", "unlock")
		})
	})
}
