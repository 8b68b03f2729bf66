package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aldis/internal/hub"
)

// A Dir is the state folder, held by this process alone.
type Dir struct {
	path string
	lock *os.File
}

// A Holder is who holds a state folder, for people who wonder: what locks
// others out is the lock on the file that it is written in.
type Holder struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Address string    `json:"address,omitempty"` // where it listens
}

// errTaken says that another process has a lock.
var errTaken = errors.New("the lock is taken")

// OpenDir makes the folder at path, readable by nobody else, and locks it for
// self, until Close or the end of the process. It fails with Conflict, and
// names the holder, if there is one.
func OpenDir(path string, self Holder) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, hub.Errorf(hub.Unavailable, "make the state folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, hub.Errorf(hub.Unavailable, "lock the state folder: %w", err)
	}
	d := &Dir{path: path, lock: lock}
	if err := d.take(self); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	sweep(filepath.Join(path, "*"))
	return d, nil
}

// take locks the folder and writes down who holds it.
func (d *Dir) take(self Holder) error {
	switch err := lockFile(d.lock); {
	case errors.Is(err, errTaken):
		return hub.Errorf(hub.Conflict, "the state folder %s is in use by %s: stop that one, or choose another folder", d.path, d.holder())
	case err != nil:
		return hub.Errorf(hub.Unavailable, "lock the state folder %s: %w", d.path, err)
	}
	line, err := json.Marshal(self)
	if err == nil {
		err = d.lock.Truncate(0)
	}
	if err == nil {
		_, err = d.lock.WriteAt(append(line, '\n'), 0)
	}
	if err != nil {
		return hub.Errorf(hub.Unavailable, "write the lock of the state folder %s: %w", d.path, err)
	}
	return nil
}

// holder describes the process that has the lock, as far as it has told.
func (d *Dir) holder() string {
	var h Holder
	if err := json.NewDecoder(d.lock).Decode(&h); err != nil {
		return "another process"
	}
	text := fmt.Sprintf("process %d since %s", h.PID, h.Since.Format(time.DateTime))
	if h.Address != "" {
		text += " (" + h.Address + ")"
	}
	return text
}

// Path returns the path of the file name in the folder.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// WriteFile replaces the file name in the folder by data, so that a reader,
// even after a crash, finds the old file or the new one. Only the owner can
// read it.
func (d *Dir) WriteFile(name string, data []byte) error {
	return writeFile(d.Path(name), data, nil)
}

// ReplaceFile is WriteFile for a file that people change too: it fails with
// Conflict, and changes nothing, if the file no longer holds old; nil: if there
// is one.
func (d *Dir) ReplaceFile(name string, old, data []byte) error {
	path := d.Path(name)
	return writeFile(path, data, func() error {
		now, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			now, err = nil, nil
		}
		if err == nil && (!bytes.Equal(now, old) || (now == nil) != (old == nil)) {
			err = hub.Errorf(hub.Conflict, "%s has been changed meanwhile", path)
		}
		return err
	})
}

// Close gives the folder free.
func (d *Dir) Close() error { return d.lock.Close() }

// writeFile replaces the file at path by data, whole or not at all. May, if not
// nil, is asked once data is on the disk: its error is returned.
func writeFile(path string, data []byte, may func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return hub.Errorf(hub.Unavailable, "write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && may != nil {
		if err := may(); err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return hub.Errorf(hub.Unavailable, "write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return syncDir(filepath.Dir(path))
}

// sweep removes what writeFile left behind when the process was killed in it.
func sweep(path string) {
	left, _ := filepath.Glob(path + ".*.tmp")
	for _, name := range left {
		_ = os.Remove(name) // it is only litter
	}
}
