package key

import (
	"context"
	"errors"
	"fmt"
)

// A system is the one that has wrapped the key, and where it keeps its secret.
type system struct {
	os         string // as runtime.GOOS
	getenv     func(string) string
	localState string                       // Windows: path
	unprotect  func([]byte) ([]byte, error) // Windows: DPAPI
	security   string                       // macOS: path of the tool of the Keychain
}

// open returns what Electron's safeStorage has wrapped into blob. Backend is
// what config.json says of it.
func (s system) open(ctx context.Context, blob []byte, backend string) ([]byte, error) {
	version, sealed := cutVersion(blob)
	switch s.os + " " + version {
	case "windows ":
		return s.unwrap(blob)
	case "windows v10":
		return s.windows(sealed)
	case "darwin v10":
		return s.mac(ctx, sealed)
	case "linux v10":
		return basic(sealed)
	case "linux v11":
		return s.linux(ctx, sealed, backend)
	}
	if version == "" {
		return nil, errors.New(`"encryptedKey" is not one that Electron writes: it has no version`)
	}
	return nil, fmt.Errorf(`"encryptedKey" is of version %s, which is not understood yet on %s`, version, s.os)
}

// cutVersion splits off the version that Chromium writes before what it
// encrypts: v and two digits. Empty: there is none.
func cutVersion(blob []byte) (version string, rest []byte) {
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	if len(blob) < 3 || blob[0] != 'v' || !digit(blob[1]) || !digit(blob[2]) {
		return "", blob
	}
	return string(blob[:3]), blob[3:]
}

// basic opens what Linux without a keyring has wrapped. Chromium too tries the
// empty password where the first fails: https://crbug.com/40055416.
func basic(sealed []byte) ([]byte, error) {
	text, err := openCBC(sealed, linuxRounds, []byte("peanuts"), nil)
	if err != nil {
		return nil, fmt.Errorf("the built-in password of Chromium: %w", err)
	}
	return text, nil
}

func (s system) windows(sealed []byte) ([]byte, error) {
	wrapped, err := readLocalState(s.localState)
	if err != nil {
		return nil, err
	}
	key, err := s.unwrap(wrapped)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return openGCM(sealed, key)
}

// unwrap has Windows decrypt what it has encrypted for this user.
func (s system) unwrap(wrapped []byte) ([]byte, error) {
	text, err := s.unprotect(wrapped)
	if err != nil {
		return nil, fmt.Errorf("DPAPI: %w; run this as the Windows user that runs Signal Desktop, on the same machine", err)
	}
	return text, nil
}

func (s system) mac(ctx context.Context, sealed []byte) ([]byte, error) {
	password, err := keychain(ctx, s.security)
	if err != nil {
		return nil, fmt.Errorf("the Keychain: %w", err)
	}
	defer clear(password)
	text, err := openCBC(sealed, macRounds, password)
	if err != nil {
		return nil, fmt.Errorf("the Keychain: %w", err)
	}
	return text, nil
}
