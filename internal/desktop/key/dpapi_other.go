//go:build !windows

package key

import "errors"

// unprotect is DPAPI's, which Windows alone has.
func unprotect([]byte) ([]byte, error) {
	return nil, errors.ErrUnsupported
}
