package sqlcipher

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"sync"
)

// The layout of a page.
const (
	pageSize = 4096
	ivSize   = aes.BlockSize
	macSize  = sha512.Size
	saltSize = 16
	macAt    = pageSize - macSize
	ivAt     = macAt - ivSize // where the reserve begins
)

const (
	magic   = "SQLite format 3\x00" // what a plain database begins with
	macMask = 0x3a                  // makes the salt of the HMAC key out of the database's
)

// A codec decrypts pages of one database, in any number of goroutines.
type codec struct {
	workers sync.Pool // of *worker
}

// A worker is what decrypts one page at a time, kept so that a page costs no
// allocation.
type worker struct {
	aes    cipher.Block
	mac    hash.Hash
	number [4]byte
	sum    [macSize]byte
	raw    [pageSize]byte // the page as it is in the file
	plain  [pageSize]byte // room for one of which a part is wanted
}

func newCodec(key *Key, salt []byte) *codec {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // of the length of the key alone
	}
	macKey := deriveMACKey(key, salt)
	return &codec{workers: sync.Pool{New: func() any {
		return &worker{
			aes: block,
			mac: hmac.New(sha512.New, macKey),
		}
	}}}
}

// deriveMACKey is PBKDF2-HMAC-SHA512 with two rounds, of which 32 bytes are
// used. It is written out because crypto/pbkdf2 wants the key as a string, and
// strings cannot be wiped.
func deriveMACKey(key *Key, salt []byte) []byte {
	mac := hmac.New(sha512.New, key[:])
	for _, b := range salt {
		mac.Write([]byte{b ^ macMask})
	}
	mac.Write([]byte{0, 0, 0, 1}) // the number of the block
	sum := mac.Sum(nil)
	mac.Reset()
	mac.Write(sum)
	for i, b := range mac.Sum(nil) {
		sum[i] ^= b
	}
	return sum[:len(Key{})]
}

// worker takes a worker; put gives it back.
func (c *codec) worker() *worker { return c.workers.Get().(*worker) }
func (c *codec) put(w *worker)   { c.workers.Put(w) }

// decrypt writes the plain text of the page in w.raw into dst, of a page's
// length. It reports false, and writes nothing, if the page is not authentic.
func (w *worker) decrypt(dst []byte, page uint32) bool {
	if unwritten(w.raw[:]) {
		clear(dst)
		return true
	}
	from := 0
	if page == 1 {
		from = saltSize
	}
	if !w.authentic(from, page) {
		return false
	}
	w.unchain(dst, from)
	clear(dst[ivAt:])
	if page == 1 {
		copy(dst, magic)
	}
	return true
}

// unchain is CBC, as crypto/cipher has it, but with one XOR of the whole page,
// which takes half the time.
func (w *worker) unchain(dst []byte, from int) {
	for at := from; at < ivAt; at += aes.BlockSize {
		w.aes.Decrypt(dst[at:], w.raw[at:])
	}
	subtle.XORBytes(dst[from:], dst[from:from+ivSize], w.raw[ivAt:macAt])
	subtle.XORBytes(dst[from+ivSize:ivAt], dst[from+ivSize:ivAt], w.raw[from:])
}

// authentic checks the HMAC of the page in w.raw.
func (w *worker) authentic(from int, page uint32) bool {
	binary.LittleEndian.PutUint32(w.number[:], page)
	w.mac.Reset()
	w.mac.Write(w.raw[from:macAt])
	w.mac.Write(w.number[:])
	return hmac.Equal(w.mac.Sum(w.sum[:0]), w.raw[macAt:])
}

var zeros [pageSize]byte

// unwritten reports whether a page is a hole in the file, which SQLCipher too
// takes for a page of zeros.
func unwritten(page []byte) bool { return bytes.Equal(page, zeros[:]) }
