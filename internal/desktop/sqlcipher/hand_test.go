package sqlcipher

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What follows writes databases by the documents, with nothing of the package's
// own code, so that the tests need no SQLCipher.

var (
	handKey  = Key([]byte("an AES key is thirty-two bytes !"))
	handSalt = []byte("sixteen of salt!")
)

// seal encrypts a plain page.
func seal(number uint32, plain []byte) []byte {
	return sealWith(fmt.Appendf(nil, "iv of page%06d", number), number, plain)
}

func sealWith(iv []byte, number uint32, plain []byte) []byte {
	salt := bytes.Clone(handSalt)
	for i := range salt {
		salt[i] ^= 0x3a
	}
	macKey, err := pbkdf2.Key(sha512.New, string(handKey[:]), salt, 2, 32)
	if err != nil {
		panic(err)
	}
	block, err := aes.NewCipher(handKey[:])
	if err != nil {
		panic(err)
	}
	page, from := make([]byte, 4096), 0
	if number == 1 {
		from = copy(page, handSalt)
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(page[from:4016], plain[from:4016])
	copy(page[4016:], iv)
	mac := hmac.New(sha512.New, macKey)
	mac.Write(page[from:4032])
	mac.Write(binary.LittleEndian.AppendUint32(nil, number))
	copy(page[4032:], mac.Sum(nil))
	return page
}

// plain is a page as SQLite has it, of a database in WAL mode: all its words say
// which page it is, and which version of it.
func plain(number, version, pages uint32) []byte {
	page := bytes.Repeat(fmt.Appendf(nil, "%08d%08d", number, version), 4096/16)
	if number == 1 {
		copy(page, "SQLite format 3\x00\x10\x00\x02\x02\x50")
		binary.BigEndian.PutUint32(page[24:], version)
		binary.BigEndian.PutUint32(page[28:], pages)
		binary.BigEndian.PutUint32(page[92:], version)
	}
	clear(page[4016:])
	return page
}

// A handFrame is a frame of a WAL.
type handFrame struct{ page, version, commit uint32 }

// A handWAL is a WAL by the documents.
type handWAL struct {
	order  binary.ByteOrder
	salts  string // 8 bytes
	frames []handFrame
}

func (h handWAL) bytes() []byte {
	var s0, s1 uint32
	sum := func(b []byte) {
		for i := 0; i < len(b); i += 8 {
			s0 += h.order.Uint32(b[i:]) + s1
			s1 += h.order.Uint32(b[i+4:]) + s0
		}
	}
	put := binary.BigEndian.AppendUint32
	magic := uint32(0x377f0682)
	if h.order == binary.BigEndian {
		magic |= 1
	}
	b := append(put(put(put(put(nil, magic), 3007000), 4096), 7), h.salts...)
	sum(b)
	b = put(put(b, s0), s1)
	for _, f := range h.frames {
		head := put(put(nil, f.page), f.commit)
		page := seal(f.page, plain(f.page, f.version, f.commit))
		sum(head)
		sum(page)
		b = append(put(put(append(append(b, head...), h.salts...), s0), s1), page...)
	}
	return b
}

// handIndex is what a -shm file begins with.
func handIndex(salts string, committed, attempted uint32) []byte {
	b := make([]byte, 32<<10)
	binary.NativeEndian.PutUint32(b[16:], committed)
	copy(b[32:], salts)
	copy(b[48:96], b[:48])
	binary.NativeEndian.PutUint32(b[128:], attempted)
	return b
}

// A handDB is the files of a database in a folder.
type handDB struct {
	t    testing.TB
	path string
}

// newHandDB writes a main file of pages in version 1.
func newHandDB(t testing.TB, pages uint32) handDB {
	t.Helper()
	h := handDB{t: t, path: filepath.Join(t.TempDir(), "db.sqlite")}
	h.write("", handMain(pages))
	return h
}

func handMain(pages uint32) (b []byte) {
	for n := range pages {
		b = append(b, seal(n+1, plain(n+1, 1, pages))...)
	}
	return b
}

// write writes a file whole, and makes its times and the folder's old.
func (h handDB) write(suffix string, b []byte) {
	h.t.Helper()
	if err := os.WriteFile(h.path+suffix, b, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.age(h.path + suffix)
}

func (h handDB) age(path string) {
	old := time.Now().Add(-time.Hour)
	for _, p := range []string{path, filepath.Dir(h.path)} {
		if err := os.Chtimes(p, old, old); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h handDB) open() *DB {
	h.t.Helper()
	db, err := Open(h.path, handKey)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (h handDB) snapshot() *Snapshot {
	h.t.Helper()
	return snapshot(h.t, h.open())
}

func snapshot(t testing.TB, db *DB) *Snapshot {
	t.Helper()
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// versions reads of which version each page is.
func versions(t testing.TB, s *Snapshot) (all []uint32) {
	t.Helper()
	page := make([]byte, s.PageSize())
	for n := uint32(1); int64(n)*int64(s.PageSize()) <= s.Size(); n++ {
		if err := s.Page(page, n); err != nil {
			t.Fatal(err)
		}
		var number, version uint32
		if _, err := fmt.Sscanf(string(page[112:128]), "%08d%08d", &number, &version); err != nil || number != n {
			t.Fatalf("page %d reads %q", n, page[112:128])
		}
		all = append(all, version)
	}
	return all
}
