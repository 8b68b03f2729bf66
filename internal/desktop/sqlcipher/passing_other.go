//go:build !windows

package sqlcipher

// passing marks an error as errPassing where trying again can help, which is
// nowhere but on Windows.
func passing(err error) error { return err }
