package key

import (
	"context"
	"errors"

	"github.com/godbus/dbus/v5"
)

// appID is how KWallet's dialogs name this program.
const appID = "Aldis"

// entries lists where an app of Electron may have its secret in a wallet:
// folder and entry. The first is where Electron puts those of all apps.
var entries = [][2]string{
	{"Chromium Keys", "Chromium Safe Storage"},
	{"Signal Keys", "Signal Safe Storage"},
}

// kwallet returns what reads the secret from a version of KWallet, "6", "5" or
// "" (4). Its API is org.kde.KWallet.xml of the KWallet framework.
func kwallet(version string) func(context.Context, *dbus.Conn) ([][]byte, error) {
	return func(ctx context.Context, bus *dbus.Conn) ([][]byte, error) {
		daemon := bus.Object("org.kde.kwalletd"+version, dbus.ObjectPath("/modules/kwalletd"+version))
		return wallet{ctx, daemon}.secrets()
	}
}

type wallet struct {
	ctx    context.Context
	daemon dbus.BusObject
}

func (w wallet) call(method string, args ...any) reply {
	return call(w.ctx, w.daemon, "org.kde.KWallet."+method, args...)
}

func (w wallet) secrets() ([][]byte, error) {
	var name string
	if err := w.call("networkWallet").store(&name); err != nil {
		return nil, err
	}
	var isOpen bool
	if err := w.call("isOpen", name).store(&isOpen); err != nil {
		return nil, err
	}
	if !isOpen { // to open it would ask the user, or even make it
		return nil, errLocked
	}
	var handle int32
	if err := w.call("open", name, int64(0), appID).store(&handle); err != nil {
		return nil, err
	}
	if handle < 0 {
		return nil, errors.New("it gives this program no access to the wallet; allow it in KDE's settings of KWallet")
	}
	defer w.call("close", handle, false, appID) // false: for this program alone
	return w.read(handle)
}

func (w wallet) read(handle int32) (secrets [][]byte, err error) {
	for _, e := range entries {
		var there bool
		if err := w.call("hasEntry", handle, e[0], e[1], appID).store(&there); err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		var password string
		if err := w.call("readPassword", handle, e[0], e[1], appID).store(&password); err != nil {
			return nil, err
		}
		secrets = append(secrets, []byte(password))
	}
	if secrets == nil {
		return nil, errNoItem
	}
	return secrets, nil
}
