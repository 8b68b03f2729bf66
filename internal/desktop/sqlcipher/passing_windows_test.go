package sqlcipher

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestPassing(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{fs.ErrNotExist, false},
		{&fs.PathError{Op: "open", Path: "db.sqlite-wal", Err: errSharing}, true},
		{&fs.PathError{Op: "read", Path: "db.sqlite-shm", Err: errLock}, true},
		{&fs.PathError{Op: "open", Path: "db.sqlite-wal", Err: fs.ErrPermission}, true},
	} {
		if got := errors.Is(passing(c.err), errPassing); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// Signal Desktop must be able to remove its files while they are read.
func TestFilesMayBeRemovedMeanwhile(t *testing.T) {
	h := newHandDB(t, 2)
	h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 2}}}.bytes())
	s := h.snapshot()
	if err := os.Remove(h.path + "-wal"); err != nil {
		t.Error(err)
	}
	if valid, err := s.Valid(); valid || err != nil {
		t.Errorf("valid is %v, %v", valid, err)
	}
}
