package key

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godbus/dbus/v5"
)

// A keeper is a service of the desktop that may keep Signal's secret.
type keeper struct {
	name    string // as people know it
	secrets func(context.Context, *dbus.Conn) ([][]byte, error)
}

// keepers lists those that may be meant by the safeStorageBackend of
// config.json: the one it names, or all.
func keepers(backend string) []keeper {
	all := map[string]keeper{
		"gnome_libsecret": {"Secret Service", secretService},
		"kwallet6":        {"KWallet 6", kwallet("6")},
		"kwallet5":        {"KWallet 5", kwallet("5")},
		"kwallet":         {"KWallet 4", kwallet("")},
	}
	if named, ok := all[backend]; ok {
		return []keeper{named}
	}
	return []keeper{all["gnome_libsecret"], all["kwallet6"], all["kwallet5"], all["kwallet"]}
}

// linux asks the keepers for the secret, one after the other, until one of them
// has it.
func (s system) linux(ctx context.Context, sealed []byte, backend string) ([]byte, error) {
	bus, err := dial(ctx, s.getenv)
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	var reasons error
	for _, k := range keepers(backend) {
		text, err := k.open(ctx, bus, sealed)
		if err == nil {
			return text, nil
		}
		err = fmt.Errorf("%s: %w", k.name, err)
		if reasons != nil {
			err = fmt.Errorf("%w; %w", reasons, err)
		}
		reasons = err
	}
	return nil, reasons
}

func (k keeper) open(ctx context.Context, bus *dbus.Conn, sealed []byte) ([]byte, error) {
	secrets, err := k.secrets(ctx, bus)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, secret := range secrets {
			clear(secret)
		}
	}()
	return openCBC(sealed, linuxRounds, append(secrets, nil)...) // nil: as in basic
}

// dial connects to the bus of the user's session, if there is one: it starts
// none. The connection ends with ctx.
func dial(ctx context.Context, getenv func(string) string) (*dbus.Conn, error) {
	address := busAddress(getenv)
	if address == "" {
		return nil, errors.New("the key is in the keyring of a desktop session, and there is no D-Bus of one: " +
			"run this within the session, or set DBUS_SESSION_BUS_ADDRESS")
	}
	bus, err := dbus.Connect(address, dbus.WithContext(ctx))
	switch {
	case err == nil:
		return bus, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return nil, fmt.Errorf("connect to the D-Bus of the desktop session: %w", err)
}

// busAddress returns where the bus of the session is; empty: there is none.
func busAddress(getenv func(string) string) string {
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address
	}
	dir := getenv("XDG_RUNTIME_DIR")
	socket := filepath.Join(dir, "bus") // systemd's
	if info, err := os.Stat(socket); dir == "" || err != nil || info.Mode().Type() != os.ModeSocket {
		return ""
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(socket)
}

// call calls a method of a service that runs already; it starts none. Of an
// error it tells the name alone, since services may quote what they like.
func call(ctx context.Context, object dbus.BusObject, method string, args ...any) reply {
	return reply{ctx, object.CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)}
}

type reply struct {
	ctx  context.Context
	call *dbus.Call
}

func (r reply) store(values ...any) error {
	err := r.call.Store(values...)
	if err == nil {
		return nil
	}
	var refusal dbus.Error
	switch {
	case r.ctx.Err() != nil:
		err = r.ctx.Err()
	case !errors.As(err, &refusal):
		err = errors.New("the answer is not understood")
	case refusal.Name == "org.freedesktop.DBus.Error.ServiceUnknown", refusal.Name == "org.freedesktop.DBus.Error.NameHasNoOwner":
		return errors.New("it does not run here; log in to the desktop, or start Signal Desktop, first")
	default:
		err = errors.New(refusal.Name)
	}
	method := r.call.Method[strings.LastIndexByte(r.call.Method, '.')+1:]
	return fmt.Errorf("%s: %w", method, err)
}
