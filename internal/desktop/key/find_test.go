package key

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aldis/internal/desktop/sqlcipher"
)

// A key, a secret of a keyring, and what safeStorage makes of the key, in
// hexadecimal. Node made these; OpenSSL agrees on the first:
//
//	k = crypto.pbkdf2Sync(secret, 'saltysalt', 1, 16, 'sha1') // macOS: 1003
//	e = crypto.createCipheriv('aes-128-cbc', k, Buffer.alloc(16, 32))
//	'v11' + e.update(key) + e.final()
//	e = crypto.createCipheriv('aes-256-gcm', Buffer.from([0, 1, … 31]), 'nonce of 12b')
//	'v10' + 'nonce of 12b' + e.update(key) + e.final() + e.getAuthTag()
//
//	openssl enc -aes-128-cbc -K fd621fe5a2b402539dfa147ca9272778 -iv 2020…20
const (
	aKey    = "8f1d5e3a90c4b27760a1fe34d85b92cc07e6f3195d2a4b8c6e0f71a3b5c9d248"
	aSecret = "bm90IGEgcmVhbCBzZWNyZXQ="

	underPeanuts = "763130916ac0b3ad62d3a586fe36ad0ea19b529ccb07c7d59c6b9e50009bac0af346a795b57917b5b7c45e3b9fc1c8de63cc75a6bd8a6abba273f818c6fed2bff5265935e1be4fd522d32bb2cb38ad4407b3b6"
	underNothing = "7631308a5d2aa34f8d0c5ca8f798d019c67c0da9dc5ff84aecd5148b94c143ff6e7d480777cf611737bc2ccc041aec39ec674b5a2e4cbbf17e54d25d59ed5f2d22510ad4825ef1afd9f70194c809d8ee1af680"
	underSecret  = "76313191913e4fec957cf3e1422d31294c9b83c2a698dab65df9c0c2950a3fff3f176e05a7a3da16b4eb3d0a0efe9c8a5dbb110c2d4e3dd3a398b06aec31c6f070decf280326e3da89969402a5d64ab4110474"
	underEmpty11 = "763131" + "8a5d2aa34f8d0c5ca8f798d019c67c0da9dc5ff84aecd5148b94c143ff6e7d480777cf611737bc2ccc041aec39ec674b5a2e4cbbf17e54d25d59ed5f2d22510ad4825ef1afd9f70194c809d8ee1af680"
	onMac        = "763130e0b9a96a8767bd5b0198335b320d5b5f3993879cf8bf4b5953cc8b5cc34b9a3c9669c075f48beed899688cbf988b291683a471e844640051b701f7a24206304aaa71e1b97a93ee4435a4683f32f39cc6"
	onWindows    = "7631306e6f6e6365206f66203132622fd9ece452f405fdd03bf65037326dbbf0ec4790f402705eb7fd3d119e1b85d934dc80542769a35bcd9cea30d9e01ca1975e565c11ccb545d2b0742b8709be4265cb458e4705604b6bc2cff1c9c836d2"
	notAKey      = "7631309aab9f746523278b87544254031fa1cc" // "not a key", under peanuts

	rawDPAPI   = "01000000d08c9ddf0115d1118c7a00c04fc297eb"                                       // as such blobs begin
	localState = `{"os_crypt":{"audit_enabled":true,"encrypted_key":"RFBBUEl3cmFwcGVkIGtleQ=="}}` // DPAPI, "wrapped key"
)

// dpapi is a DPAPI that knows two blobs.
func dpapi(blob []byte) ([]byte, error) {
	switch {
	case hex.EncodeToString(blob) == rawDPAPI:
		return []byte(aKey), nil
	case string(blob) == "wrapped key":
		key := make([]byte, 32)
		for i := range key {
			key[i] = byte(i)
		}
		return key, nil
	}
	return nil, errors.New("the data is invalid")
}

// profile writes a folder of Signal's and returns the path of its config.json.
func profile(t testing.TB, config, localState string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"config.json": config, "Local State": localState} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "config.json")
}

func noEnv(string) string { return "" }

func wrapped(hex string) string { return fmt.Sprintf(`{"encryptedKey":%q}`, hex) }

func TestFindTakesTheKeyFromWhereSignalHasIt(t *testing.T) {
	other := strings.Repeat("0A", 32)
	for _, tt := range []struct {
		name, os, explicit, config string
		want                       string
	}{
		{"the explicit key, without a look at the files", "linux", aKey, `broken`, aKey},
		{"the explicit key in capitals", "linux", strings.ToUpper(aKey), `{"key":"` + other + `"}`, aKey},
		{"the plain key", "linux", "", `{"window":{},"key":"` + aKey + `","safeStorageBackend":"basic_text"}`, aKey},
		{"the plain key before the wrapped", "linux", "", `{"encryptedKey":"` + underPeanuts + `","key":"` + other + `"}`, other},
		{"the wrapped key where the plain is empty", "linux", "", `{"key":"","encryptedKey":"` + underPeanuts + `"}`, aKey},
		{"the wrapped key where the plain is null", "linux", "", `{"key":null,"encryptedKey":"` + underPeanuts + `"}`, aKey},
		{"Linux without a keyring", "linux", "", wrapped(underPeanuts), aKey},
		{"Linux, the empty password", "linux", "", wrapped(underNothing), aKey},
		{"Windows", "windows", "", wrapped(onWindows), aKey},
		{"Windows, DPAPI alone", "windows", "", wrapped(rawDPAPI), aKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Explicit: tt.explicit, Config: profile(t, tt.config, localState)}
			got, err := o.find(t.Context(), system{os: tt.os, getenv: noEnv, unprotect: dpapi})
			if err != nil {
				t.Fatal(err)
			}
			if hex.EncodeToString(got[:]) != strings.ToLower(tt.want) {
				t.Errorf("got %x, want %s", got, tt.want)
			}
		})
	}
}

func TestFindLooksInTheFolderOfSignal(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string {
		return map[string]string{"HOME": home, "APPDATA": filepath.Join(home, "AppData")}[name]
	}
	if _, err := Find(t.Context(), Options{Getenv: env}); err == nil || !strings.Contains(err.Error(), home) {
		t.Errorf("got %v, want an error that says where it looked", err)
	}
	folder := places(runtime.GOOS, env)[0]
	database(t, folder)
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(`{"key":"`+aKey+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Find(t.Context(), Options{Getenv: env})
	if err != nil || hex.EncodeToString(got[:]) != aKey {
		t.Errorf("got %x, %v", got, err)
	}
}

func TestErrorsSayWhatToDoAndHoldNoSecret(t *testing.T) {
	cut := func(s string, by int) string { return s[:len(s)-by] }
	for _, tt := range []struct {
		name, os, explicit, config, local string
		want                              []string
	}{
		{"an explicit key that is too short", "linux", cut(aKey, 1), "", "", []string{"key that is set", "64"}},
		{"an explicit key of other letters", "linux", "x" + aKey[1:], "", "", []string{"key that is set", "64"}},
		{"a config that is not JSON", "linux", "", `{"key":"` + aKey, "", []string{"config.json", "JSON"}},
		{"a key that is a number", "linux", "", `{"key":73952841730}`, "", []string{"config.json", "JSON"}},
		{"a key that is a list", "linux", "", `{"key":["` + aKey + `"]}`, "", []string{"config.json", "JSON"}},
		{"a plain key that is too long", "linux", "", `{"key":"` + aKey + `00"}`, "", []string{"config.json", `"key"`, "64"}},
		{"no key at all", "linux", "", `{"window":{"width":800}}`, "", []string{"config.json", "encryptedKey", "start Signal"}},
		{"a wrapped key that is not hexadecimal", "linux", "", wrapped("g" + underPeanuts), "", []string{"encryptedKey", "hexadecimal"}},
		{"no version", "linux", "", wrapped(underPeanuts[6:]), "", []string{"version", "SIGNAL_MCP_KEY"}},
		{"nothing but a version", "linux", "", wrapped("763130"), "", []string{"cut off", "SIGNAL_MCP_KEY"}},
		{"the portal's version", "linux", "", wrapped("763132" + underSecret[6:]), "", []string{"v12", "not understood yet", "SIGNAL_MCP_KEY"}},
		{"half a block", "linux", "", wrapped(cut(underPeanuts, 2)), "", []string{"cut off"}},
		{"a block less", "linux", "", wrapped(cut(underPeanuts, 32)), "", []string{"secret"}},
		{"another password", "linux", "", wrapped("763130" + underSecret[6:]), "", []string{"secret"}},
		{"what is no key", "linux", "", wrapped(notAKey), "", []string{"secret"}},
		{"a keyring without a session", "linux", "", wrapped(underSecret), "", []string{"D-Bus", "DBUS_SESSION_BUS_ADDRESS"}},
		{"no Local State", "windows", "", wrapped(onWindows), "", []string{"Local State", "JSON"}},
		{"Local State of another shape", "windows", "", wrapped(onWindows), `{"os_crypt":["` + aKey + `"]}`, []string{"Local State", "JSON"}},
		{"Local State without base64", "windows", "", wrapped(onWindows), `{"os_crypt":{"encrypted_key":"` + aKey + `!"}}`, []string{"Local State", "base64"}},
		{"Local State without DPAPI", "windows", "", wrapped(onWindows), `{"os_crypt":{"encrypted_key":"` + aKey + `"}}`, []string{"Local State", "DPAPI"}},
		{"DPAPI of another user", "windows", "", wrapped(onWindows), `{"os_crypt":{"encrypted_key":"RFBBUElvdGhlcg=="}}`, []string{"DPAPI", "user"}},
		{"DPAPI of another user, alone", "windows", "", wrapped("00" + rawDPAPI), localState, []string{"DPAPI", "user"}},
		{"a changed byte", "windows", "", wrapped(cut(onWindows, 2) + "d3"), localState, []string{"Local State", "profile"}},
		{"no whole nonce", "windows", "", wrapped(onWindows[:20]), localState, []string{"cut off"}},
		{"a Linux profile on Windows", "windows", "", wrapped(underSecret), localState, []string{"v11", "windows"}},
		{"a Windows profile on a Mac", "darwin", "", wrapped(rawDPAPI), localState, []string{"version"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Explicit: tt.explicit, Config: profile(t, tt.config, tt.local)}
			got, err := o.find(t.Context(), system{os: tt.os, getenv: noEnv, unprotect: dpapi})
			refuses(t, got, err, tt.want...)
		})
	}
}

func TestFindWantsAFile(t *testing.T) {
	for name, path := range map[string]string{
		"absent":   filepath.Join(t.TempDir(), "config.json"),
		"a folder": t.TempDir(),
	} {
		got, err := Find(t.Context(), Options{Config: path})
		t.Run(name, func(t *testing.T) { refuses(t, got, err, path) })
	}
}

// refuses checks an error of Find's: it has the words, no secret, and no key
// beside it.
func refuses(t *testing.T, got sqlcipher.Key, err error, words ...string) {
	t.Helper()
	if err == nil || got != (sqlcipher.Key{}) {
		t.Fatalf("got %x, %v; want no key but an error", got, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	for _, s := range []string{aKey[:8], aKey[8:16], aSecret, "73952841730", underPeanuts[6:14], underSecret[6:14], onWindows[6:14], "RFBBUE", "wrapped key"} {
		if strings.Contains(err.Error(), s) {
			t.Errorf("%q holds a secret, %q", err, s)
		}
	}
}

func TestDerivedKeysAreThoseOfChromium(t *testing.T) {
	for password, want := range map[string]string{
		"peanuts": "fd621fe5a2b402539dfa147ca9272778", // kV10Key of os_crypt_linux.cc
		"":        "d0d0ec9c7d77d43ac54187fa4818d17f", // kEmptyKey
	} {
		got, err := derive([]byte(password), linuxRounds)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%q: got %x, %v, want %s", password, got, err, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(wrapped(onWindows)), []byte(localState))
	f.Add([]byte(`{"key":"`+aKey+`"}`), []byte(`{}`))
	f.Add([]byte(`{"key":"\u0038","encryptedKey":null,"safeStorageBackend":"kwallet6"}`), []byte(`{"os_crypt":{"encrypted_key":""}}`))
	f.Fuzz(func(t *testing.T, text, local []byte) {
		var c config
		if unmarshal(text, &c) == nil {
			key, err := unwrapped(t.Context(), system{os: "windows", unprotect: dpapi, localState: os.DevNull}, c)
			if err != nil && key != (sqlcipher.Key{}) {
				t.Errorf("a key beside the error %q", err)
			}
			if key, err := parse(c.Key, ""); err == nil && !strings.EqualFold(hex.EncodeToString(key[:]), string(c.Key)) {
				t.Errorf("%q became another key", c.Key)
			}
		}
		if wrapped, err := localKey(local); err != nil && wrapped != nil {
			t.Errorf("%q beside the error %q", wrapped, err)
		}
	})
}

func FuzzUnwrap(f *testing.F) {
	for _, blob := range []string{underPeanuts, underNothing, underSecret, onMac, onWindows, rawDPAPI, notAKey} {
		b, _ := hex.DecodeString(blob)
		f.Add(b)
	}
	local := profile(f, "", localState)
	f.Fuzz(func(t *testing.T, blob []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing outside is asked
		for _, os := range []string{"linux", "windows", "darwin"} {
			sys := system{os: os, getenv: noEnv, unprotect: dpapi, localState: filepath.Join(filepath.Dir(local), "Local State")}
			text, err := sys.open(ctx, blob, "")
			if os == "linux" && err == nil && !isKey(text) {
				t.Errorf("%x became %q", blob, text)
			}
		}
	})
}
