package desktop

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"aldis/internal/hub"
)

// A scope is which query a cursor belongs to: all but the number of messages
// may not change from page to page. What may be seen is part of it too.
type scope struct {
	Tool         string
	Conversation string
	Text         string
	Exact        bool
	Newer        bool
	Before       int64
	After        int64
	Grants       Grants
}

// start is the place that a page begins past; nil: the end of all. It fails
// with Invalid for a cursor that the query did not get.
func (r *Reader) start(s scope, w Window) (*place, error) {
	if w.Cursor == "" {
		return nil, nil
	}
	p, err := r.cursors.open(w.Cursor, r.bound(s, w))
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// cursor is what goes on past p.
func (r *Reader) cursor(s scope, w Window, p place) string { return r.cursors.seal(p, r.bound(s, w)) }

// bound is what a cursor is bound to, as bytes.
func (r *Reader) bound(s scope, w Window) []byte {
	s.Newer, s.Before, s.After, s.Grants = w.Newer, w.Before, w.After, r.grants
	b, _ := json.Marshal(s) // of strings and numbers, which always can be
	return b
}

// A sealer makes cursors of places, and places of cursors. A cursor is a tag,
// the HMAC-SHA256 (RFC 2104) of the place and of what it is bound to, and the
// place, enciphered with AES-CTR and the tag as its start: as SIV (RFC 5297)
// does, which needs no random numbers and has one cursor for one place.
type sealer struct {
	mac    []byte
	cipher cipher.Block
}

const (
	tagSize   = aes.BlockSize
	placeSize = 25
)

// newSealer derives a sealer's keys from that of the database, so that cursors
// outlive a restart with nothing kept on disk.
func newSealer(key []byte) (sealer, error) {
	keys, err := hkdf.Key(sha256.New, key, nil, "aldis history cursors", 64)
	if err != nil {
		return sealer{}, fmt.Errorf("derive the keys of cursors: %w", err)
	}
	block, err := aes.NewCipher(keys[32:])
	return sealer{keys[:32], block}, err
}

func (s sealer) seal(p place, bound []byte) string {
	plain := p.bytes()
	tag := s.tag(plain, bound)
	s.crypt(plain, tag)
	return base64.RawURLEncoding.EncodeToString(append(tag, plain...))
}

func (s sealer) open(cursor string, bound []byte) (place, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != tagSize+placeSize || strings.ContainsAny(cursor, "\r\n") { // which the decoder skips
		return place{}, errCursor
	}
	tag, plain := b[:tagSize], b[tagSize:]
	s.crypt(plain, tag)
	if !hmac.Equal(tag, s.tag(plain, bound)) {
		return place{}, errCursor
	}
	return parsePlace(plain), nil
}

var errCursor = hub.Errorf(hub.Invalid, "the cursor is not one that these arguments got: "+
	"pass nextCursor on as it is, with the same arguments (limit alone may change), or leave it out to begin anew")

func (s sealer) tag(plain, bound []byte) []byte {
	h := hmac.New(sha256.New, s.mac)
	h.Write(plain) // of one size, so that what follows begins at one place
	h.Write(bound)
	return h.Sum(nil)[:tagSize]
}

// crypt enciphers and deciphers in place.
func (s sealer) crypt(b, tag []byte) { cipher.NewCTR(s.cipher, tag).XORKeyStream(b, b) }

func (p place) bytes() []byte {
	b := make([]byte, 0, placeSize)
	known := byte(0)
	if p.received.Valid {
		known = 1
	}
	b = append(b, known)
	b = binary.BigEndian.AppendUint64(b, uint64(p.received.Int64))
	b = binary.BigEndian.AppendUint64(b, uint64(p.sent))
	return binary.BigEndian.AppendUint64(b, uint64(p.row))
}

func parsePlace(b []byte) (p place) {
	p.received.Valid = b[0] == 1
	p.received.Int64 = int64(binary.BigEndian.Uint64(b[1:]))
	p.sent = int64(binary.BigEndian.Uint64(b[9:]))
	p.row = int64(binary.BigEndian.Uint64(b[17:]))
	return p
}
