package auth

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// adminFile lies in the state folder. Whoever can read it is the admin.
const adminFile = "admin.token"

// NewToken returns a token of 32 random bytes, in hex: nothing in it means
// something on a command line or in an address.
func NewToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails; crypto/rand says so
	return hex.EncodeToString(b)
}

// AdminToken returns the admin's token from the state folder dir, which must
// exist. The first call makes it. Each call takes from others than the file's
// owner the right to read it.
func AdminToken(dir string) (string, error) {
	path := filepath.Join(dir, adminFile)
	token, err := ReadAdminToken(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeToken(path)
	}
	if err != nil {
		return "", err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return "", fmt.Errorf("keep the admin's token to its owner: %w", err)
	}
	return token, nil
}

// ReadAdminToken returns the token that [AdminToken] has made in dir.
func ReadAdminToken(dir string) (string, error) {
	path := filepath.Join(dir, adminFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the admin's token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("read the admin's token: %s is empty; remove it, and the next start of the hub makes a new one", path)
	}
	return token, nil
}

// makeToken puts the file in place whole, so that a start that is cut short
// leaves none rather than half a token.
func makeToken(path string) (token string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), adminFile+"-*") // 0600
	if err != nil {
		return "", fmt.Errorf("make the admin's token: %w", err)
	}
	token = NewToken()
	_, err = f.WriteString(token + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("make the admin's token: %w", err)
	}
	return token, nil
}
