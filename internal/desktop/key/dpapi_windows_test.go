package key

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

func TestDPAPIDecryptsWhatItHasEncrypted(t *testing.T) {
	text := []byte(aKey)
	in := windows.DataBlob{Size: uint32(len(text)), Data: &text[0]}
	var out windows.DataBlob
	if err := windows.CryptProtectData(&in, nil, nil, 0, nil, windows.CRYPTPROTECT_UI_FORBIDDEN, &out); err != nil {
		t.Fatal(err)
	}
	defer windows.LocalFree(windows.Handle(unsafe.Pointer(out.Data)))
	got, err := unprotect(unsafe.Slice(out.Data, out.Size))
	if err != nil || string(got) != aKey {
		t.Errorf("got %q, %v", got, err)
	}
	for name, blob := range map[string][]byte{"none": nil, "another": []byte("no such blob")} {
		if _, err := unprotect(blob); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
