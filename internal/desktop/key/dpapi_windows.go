package key

import (
	"bytes"
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

// unprotect has DPAPI decrypt a blob for the current user, without a dialog.
func unprotect(blob []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("there is nothing to decrypt")
	}
	in := windows.DataBlob{Size: uint32(len(blob)), Data: &blob[0]}
	var out windows.DataBlob
	if err := windows.CryptUnprotectData(&in, nil, nil, 0, nil, windows.CRYPTPROTECT_UI_FORBIDDEN, &out); err != nil {
		return nil, err
	}
	defer windows.LocalFree(windows.Handle(unsafe.Pointer(out.Data)))
	text := unsafe.Slice(out.Data, out.Size)
	defer clear(text)
	return bytes.Clone(text), nil
}
