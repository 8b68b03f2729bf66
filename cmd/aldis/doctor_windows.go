package main

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// refused reports whether err says that nobody listens.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// permissions are in lists here, which nothing reads.
func permissions(fs.FileInfo) fs.FileMode { return 0 }

// usable is for the first write to say.
func usable(string) error { return nil }

// owner is not looked at.
func owner(fs.FileInfo) string { return "" }

// free returns how many bytes are left on the disk of a folder; 0: not known.
func free(folder string) (bytes uint64) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil || windows.GetDiskFreeSpaceEx(path, &bytes, nil, nil) != nil {
		return 0
	}
	return bytes
}
