package install

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keep puts a copy of a file beside it, with the date in its name and for its
// owner alone, in place of the copy that was made before.
func keep(path string, text []byte, mode os.FileMode, now time.Time) (string, error) {
	const end = ".bak"
	start := filepath.Base(path) + ".aldis-"
	name := start + now.UTC().Format("20060102T150405Z") + end
	dir := filepath.Dir(path)
	if err := replace(filepath.Join(dir, name), text, mode); err != nil {
		return "", err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if f.Name() != name && strings.HasPrefix(f.Name(), start) && strings.HasSuffix(f.Name(), end) {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return "", err
			}
		}
	}
	return filepath.Join(dir, name), nil
}

// replace puts a file in place whole, on the disk before it has its name.
func replace(path string, text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is none once it has its name
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = keepOwner(f, path)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
