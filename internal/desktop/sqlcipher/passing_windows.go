package sqlcipher

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// What Windows says of a file that somebody holds: open in a way that shuts
// others out, or locked in the bytes that are read.
const (
	errSharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	errLock    = syscall.Errno(33) // ERROR_LOCK_VIOLATION
)

// passing marks an error as errPassing where trying again can help. A file that
// has been removed denies access until the last handle of it is closed.
func passing(err error) error {
	if errors.Is(err, errSharing) || errors.Is(err, errLock) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", errPassing, err)
	}
	return err
}
