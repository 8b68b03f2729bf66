package sqlcipher

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// A Key is the raw key of a database: the AES key itself, no pass phrase. It
// prints and marshals as a placeholder.
type Key [32]byte

// ParseKey reads a key from 64 hexadecimal digits, as Signal Desktop writes it.
// No error of it has a part of the key.
func ParseKey(s string) (Key, error) {
	if len(s) != hex.EncodedLen(len(Key{})) {
		return Key{}, fmt.Errorf("a database key has %d hexadecimal digits, this has %d characters", hex.EncodedLen(len(Key{})), len(s))
	}
	var k Key
	if _, err := hex.Decode(k[:], []byte(s)); err != nil {
		k.Wipe()
		return Key{}, errors.New("a database key has hexadecimal digits alone")
	}
	return k, nil
}

// Wipe overwrites the key. Copies of it are not affected.
func (k *Key) Wipe() { clear(k[:]) }

// Format keeps the key out of whatever is printed, whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[key]") }

// MarshalText keeps the key out of JSON and of logs.
func (Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }
