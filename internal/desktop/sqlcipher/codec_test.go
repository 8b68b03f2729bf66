package sqlcipher

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestDeriveMACKey(t *testing.T) {
	salt := bytes.Clone(handSalt)
	for i := range salt {
		salt[i] ^= 0x3a
	}
	want, err := pbkdf2.Key(sha512.New, string(handKey[:]), salt, 2, 32)
	if err != nil {
		t.Fatal(err)
	}
	if got := deriveMACKey(&handKey, handSalt); !bytes.Equal(got, want) {
		t.Errorf("the key is %x, want %x", got, want)
	}
}

func TestParseKey(t *testing.T) {
	digits := strings.Repeat("0123456789abcDEF", 4)
	for _, c := range []struct {
		name, in string
		ok       bool
	}{
		{"64 digits", digits, true},
		{"one less", digits[1:], false},
		{"with a salt", digits + digits[:32], false},
		{"as SQLCipher quotes it", "x'" + digits[3:] + "'", false},
		{"another letter", digits[1:] + "g", false},
		{"nothing", "", false},
	} {
		key, err := ParseKey(c.in)
		if ok := err == nil; ok != c.ok {
			t.Errorf("%s: the error is %v", c.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "0123") || strings.Contains(err.Error(), "g'")) {
			t.Errorf("%s: the error shows the key: %v", c.name, err)
		}
		if err != nil && key != (Key{}) {
			t.Errorf("%s: there is a key beside the error", c.name)
		}
	}
}

func TestKeyIsNotShown(t *testing.T) {
	all := struct{ Key Key }{handKey}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		fmt.Fprintf(&out, verb+verb+verb, handKey, &handKey, all)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "k", handKey, "all", all)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "k", handKey, "all", all)
	if err := json.NewEncoder(&out).Encode(all); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{"thirty", fmt.Sprintf("%x", handKey[:4]), fmt.Sprintf("%d, %d", handKey[0], handKey[1]), fmt.Sprintf("%d %d", handKey[0], handKey[1])} {
		if strings.Contains(strings.ToLower(out.String()), shown) {
			t.Errorf("%q is shown", shown)
		}
	}
	key := handKey
	if key.Wipe(); key != (Key{}) {
		t.Error("the key is still there")
	}
}

// What is not authentic is not decrypted, whatever it is.
func FuzzPage(f *testing.F) {
	f.Add(seal(1, plain(1, 1, 3)), uint32(1), 100, uint8(0))
	f.Add(seal(2, plain(2, 1, 3)), uint32(2), 4000, uint8(1))
	f.Add(make([]byte, 4096), uint32(3), 0, uint8(0))
	c := newCodec(&handKey, handSalt)
	f.Fuzz(func(t *testing.T, raw []byte, number uint32, at int, flip uint8) {
		w := c.worker()
		defer c.put(w)
		clear(w.raw[:])
		copy(w.raw[:], raw)
		if at >= 0 && at < pageSize {
			w.raw[at] ^= flip
		}
		before, dst := w.raw, make([]byte, pageSize)
		if !w.decrypt(dst, number) || unwritten(before[:]) {
			return
		}
		sealed := sealWith(before[4016:4032], number, dst)
		if number == 1 {
			copy(sealed, before[:16])
		}
		if !bytes.Equal(sealed, before[:]) {
			t.Error("it took a page that SQLCipher would not write")
		}
	})
}

// FuzzSnapshot reads whatever is in the three files.
func FuzzSnapshot(f *testing.F) {
	log := handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 2}}}.bytes()
	f.Add(handMain(2), log, handIndex("saltsOne", 1, 0)[:136])
	f.Add(handMain(3), log, []byte(nil))
	f.Add(handMain(1), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, main, wal, shm []byte) {
		h := newHandDB(t, 1)
		db := h.open()
		h.write("", main)
		h.write("-wal", wal)
		h.write("-shm", shm)
		s, err := db.snapshot()
		if err != nil {
			return
		}
		defer s.Close()
		page := make([]byte, s.PageSize())
		for n := range uint32(8) {
			_ = s.Page(page, n+1)
		}
		_, _ = s.ReadAt(page, s.Size()-100)
		_, _ = s.Valid()
	})
}
