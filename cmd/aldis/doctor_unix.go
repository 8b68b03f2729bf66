//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// refused reports whether err says that nobody listens.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// permissions are those of a file, as chmod takes them.
func permissions(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }

// usable fails if nothing can be made in a folder.
func usable(folder string) error { return unix.Access(folder, unix.W_OK|unix.X_OK) }

// owner returns whose a file is, unless it is ours, or we are root, who may use
// all.
func owner(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Getuid() || os.Getuid() == 0 {
		return ""
	}
	id := strconv.FormatUint(uint64(stat.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}

// free returns how many bytes are left on the disk of a folder; 0: not known.
func free(folder string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return 0
	}
	return uint64(s.Bavail) * uint64(s.Bsize)
}
