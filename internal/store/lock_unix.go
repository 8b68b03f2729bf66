//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"aldis/internal/hub"
)

// lockFile takes the lock on f, or fails with errTaken. It ends with f.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errTaken
	}
	return err
}

// syncDir makes a rename in the folder at path last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return hub.Errorf(hub.Unavailable, "flush the folder %s: %w", path, err)
	}
	return nil
}
