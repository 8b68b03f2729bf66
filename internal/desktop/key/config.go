package key

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// maxFile bounds config.json and Local State, in bytes. Both are a few
// kilobytes.
const maxFile = 4 << 20

// A config is what config.json says about the key.
type config struct {
	Key          secret `json:"key"`
	EncryptedKey secret `json:"encryptedKey"`

	// Backend is where Electron, on Linux, has put the secret: basic_text,
	// gnome_libsecret, kwallet, kwallet5 or kwallet6.
	Backend string `json:"safeStorageBackend"`
}

func (c *config) wipe() {
	clear(c.Key)
	clear(c.EncryptedKey)
}

// A secret is a JSON string as it stands between its quotes, kept as bytes
// that can be wiped. Those that Signal writes have no escapes.
type secret []byte

// UnmarshalJSON takes a string, or null for none.
func (s *secret) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' {
		return errors.New("not a string")
	}
	*s = bytes.Clone(b[1 : len(b)-1])
	return nil
}

func readConfig(path string) (c config, err error) {
	err = read(path, func(text []byte) error { return unmarshal(text, &c) })
	return c, err
}

// readLocalState returns the key that Windows' Local State holds, as DPAPI
// has wrapped it.
func readLocalState(path string) (wrapped []byte, err error) {
	err = read(path, func(text []byte) (err error) {
		wrapped, err = localKey(text)
		return err
	})
	return wrapped, err
}

func localKey(text []byte) ([]byte, error) {
	var state struct {
		Crypt struct {
			Key secret `json:"encrypted_key"`
		} `json:"os_crypt"`
	}
	if err := unmarshal(text, &state); err != nil {
		return nil, err
	}
	defer clear(state.Crypt.Key)
	wrapped, err := base64.StdEncoding.AppendDecode(nil, state.Crypt.Key)
	if err != nil {
		return nil, errors.New("os_crypt.encrypted_key is not base64")
	}
	wrapped, ok := bytes.CutPrefix(wrapped, []byte("DPAPI"))
	if !ok {
		return nil, errors.New("os_crypt.encrypted_key is not one of DPAPI")
	}
	return wrapped, nil
}

// unmarshal reads JSON that may hold a secret: its error does not quote it, as
// that of encoding/json would.
func unmarshal(text []byte, into any) error {
	if json.Unmarshal(text, into) != nil {
		return errors.New("this is not the JSON that Signal Desktop writes")
	}
	return nil
}

// read has a file of Signal's parsed, and wipes its text.
func read(path string, parse func(text []byte) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look for Signal Desktop's key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return fmt.Errorf("%s is not a file of at most %d bytes, so it is not Signal Desktop's", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("look for Signal Desktop's key: %w", err)
	}
	defer clear(text)
	if err := parse(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
