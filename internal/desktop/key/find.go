package key

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"aldis/internal/desktop/sqlcipher"
)

// patience bounds all the waiting of one look-up. It is long enough for a
// person to press Allow where macOS or KWallet asks.
const patience = 30 * time.Second

// Options say where to look. The zero value of each means the usual place.
type Options struct {
	Explicit   string // the key itself, 64 hexadecimal digits; nothing else is looked at then
	Config     string // path of Signal's config.json; else the one in [Folder]
	LocalState string // path of Chromium's "Local State", of Windows alone; else the one beside Config

	// Getenv looks up a variable of the environment; nil is an environment
	// without any. It has to know what [Folder] needs, and on Linux
	// DBUS_SESSION_BUS_ADDRESS and XDG_RUNTIME_DIR.
	Getenv func(name string) string
}

// Find returns the key of Signal Desktop's database: the explicit one, else the
// plain one of config.json, else the wrapped one there. It waits for the
// system's keyring until ctx ends, and 30 seconds at most. That the key is the
// right one shows only when the database is opened.
//
// An error says what was looked at and what to do, and holds no part of a key.
func Find(ctx context.Context, o Options) (sqlcipher.Key, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return o.find(ctx, system{
		os: runtime.GOOS, getenv: o.Getenv, localState: o.LocalState,
		security: "/usr/bin/security", unprotect: unprotect,
	})
}

func (o Options) find(ctx context.Context, sys system) (sqlcipher.Key, error) {
	if o.Explicit != "" {
		return parse([]byte(o.Explicit), "the key that is set (SIGNAL_MCP_KEY)")
	}
	path, err := o.config()
	if err != nil {
		return sqlcipher.Key{}, err
	}
	c, err := readConfig(path)
	if err != nil {
		return sqlcipher.Key{}, err
	}
	defer c.wipe()
	if len(c.Key) > 0 {
		return parse(c.Key, `"key" of `+path)
	}
	if sys.localState == "" {
		sys.localState = filepath.Join(filepath.Dir(path), "Local State")
	}
	key, err := unwrapped(ctx, sys, c)
	if err != nil {
		return key, fmt.Errorf("%s: %w; or set SIGNAL_MCP_KEY to the key itself", path, err)
	}
	return key, nil
}

// config returns the path of config.json.
func (o Options) config() (string, error) {
	if o.Config != "" {
		return o.Config, nil
	}
	folder, err := Folder(o.Getenv)
	return filepath.Join(folder, "config.json"), err
}

// unwrapped returns the key that c holds as encryptedKey.
func unwrapped(ctx context.Context, sys system, c config) (sqlcipher.Key, error) {
	if len(c.EncryptedKey) == 0 {
		return sqlcipher.Key{}, errors.New(`neither "key" nor "encryptedKey" is there; start Signal Desktop once`)
	}
	blob := make([]byte, hex.DecodedLen(len(c.EncryptedKey)))
	if _, err := hex.Decode(blob, c.EncryptedKey); err != nil {
		return sqlcipher.Key{}, errors.New(`"encryptedKey" is not hexadecimal`)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := sys.open(ctx, blob, c.Backend)
	if err != nil {
		return sqlcipher.Key{}, err
	}
	defer clear(text)
	return parse(text, `what "encryptedKey" holds`)
}

// parse reads the 64 hexadecimal digits of a key. It does so itself, since a
// string could not be wiped. What names them in the error.
func parse(text []byte, what string) (key sqlcipher.Key, err error) {
	if len(text) == hex.EncodedLen(len(key)) {
		if _, err = hex.Decode(key[:], text); err == nil {
			return key, nil
		}
	}
	key.Wipe()
	return key, fmt.Errorf("%s is not the 64 hexadecimal digits of a key", what)
}

// isKey reports whether text is the digits of a key.
func isKey(text []byte) bool {
	key, err := parse(text, "")
	key.Wipe()
	return err == nil
}
