//go:build unix

package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// keepOwner gives the file that will replace path to the owner of path, or of
// its folder: root edits other people's files too.
func keepOwner(f *os.File, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
