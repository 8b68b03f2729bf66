package key

import (
	"context"
	"errors"

	"github.com/godbus/dbus/v5"
)

var (
	errNoItem = errors.New("it has no item of Signal's")
	errLocked = errors.New("it is locked; unlock it (logging in to the desktop does, and so does Signal Desktop when it starts)")
)

// secretService returns the secrets of all items that Signal has in GNOME
// Keyring, KeePassXC or another Secret Service
// (https://specifications.freedesktop.org/secret-service, version 0.2).
func secretService(ctx context.Context, bus *dbus.Conn) ([][]byte, error) {
	const api = "org.freedesktop.Secret."
	service := bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets")

	var open, locked []dbus.ObjectPath
	signal := map[string]string{"application": "Signal"} // as Electron names its item
	if err := call(ctx, service, api+"Service.SearchItems", signal).store(&open, &locked); err != nil {
		return nil, err
	}
	switch {
	case len(open) == 0 && len(locked) > 0:
		return nil, errLocked
	case len(open) == 0:
		return nil, errNoItem
	}

	var nothing dbus.Variant
	var session dbus.ObjectPath // ends with the connection
	if err := call(ctx, service, api+"Service.OpenSession", "plain", dbus.MakeVariant("")).store(&nothing, &session); err != nil {
		return nil, err
	}
	var found map[dbus.ObjectPath]struct {
		Session     dbus.ObjectPath
		Parameters  []byte
		Value       []byte
		ContentType string
	}
	if err := call(ctx, service, api+"Service.GetSecrets", open, session).store(&found); err != nil {
		return nil, err
	}
	var secrets [][]byte
	for _, item := range found {
		secrets = append(secrets, item.Value)
	}
	return secrets, nil
}
