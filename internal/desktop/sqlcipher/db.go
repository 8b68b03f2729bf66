package sqlcipher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// How often a snapshot is tried, and how much longer the wait is after each.
const (
	tries = 12
	pause = 5 * time.Millisecond
)

// A DB is a database that others may be writing to. Its methods may be called
// by several goroutines.
type DB struct {
	root  *os.Root // of the folder
	name  string   // of the main file in it
	salt  [saltSize]byte
	codec *codec
	wal   atomic.Pointer[wal] // the last that an index has vouched for
}

// Open opens the database at path, or the one that a link there leads to, and
// tries the key on it. It keeps no copy of the key but for what AES and HMAC make
// of it, which lasts as long as the DB.
// The errors are those of this package, and those of the file system as
// [fs.ErrNotExist] and [fs.ErrPermission]. Close must be called.
func Open(path string, key Key) (*DB, error) {
	defer key.Wipe()
	db, err := open(path, &key)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	return db, nil
}

func open(path string, key *Key) (*DB, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	db := &DB{root: root, name: filepath.Base(path)}
	if err := db.unlock(key); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return db, nil
}

// target returns the file that path names. SQLite keeps the WAL beside that, not
// beside a link to it.
func target(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, err
	}
	return filepath.EvalSymlinks(path)
}

// unlock makes the codec and tries it on a first snapshot.
func (db *DB) unlock(key *Key) error {
	f, err := db.openMain()
	if err != nil {
		return err
	}
	defer f.Close()
	if db.salt, err = readSalt(f); err != nil {
		return err
	}
	db.codec = newCodec(key, db.salt[:])
	s, err := db.take(context.Background())
	if err != nil {
		return err
	}
	return s.Close()
}

// openMain opens the main file. Anything but a file is refused unopened: the
// opening of a pipe would wait for a writer.
func (db *DB) openMain() (*os.File, error) {
	info, err := db.root.Stat(db.name)
	if err != nil {
		return nil, passing(err)
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: db.name, Err: fs.ErrInvalid}
	}
	f, err := db.root.Open(db.name)
	return f, passing(err)
}

// readSalt reads what the first page begins with in the clear.
func readSalt(f *os.File) (salt [saltSize]byte, err error) {
	n, err := f.ReadAt(salt[:], 0)
	switch {
	case errors.Is(err, io.EOF) && n == 0:
		return salt, ErrEmpty
	case errors.Is(err, io.EOF):
		return salt, ErrTruncated
	case err == nil && string(salt[:]) == magic:
		return salt, ErrPlain
	}
	return salt, err
}

// Snapshot takes the last committed state. It waits for a moment in which the
// files agree, for up to a third of a second. It fails with [ErrBusy] if there is
// none, and with the context's error if that ends first. Close must be called.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := db.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the database %s: %w", filepath.Join(db.root.Name(), db.name), err)
	}
	return s, nil
}

func (db *DB) take(ctx context.Context) (s *Snapshot, err error) {
	for try := range tries {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Duration(try) * pause):
		}
		if s, err = db.snapshot(); !errors.Is(err, errPassing) {
			return s, err
		}
	}
	return nil, fmt.Errorf("%w (%w)", ErrBusy, err)
}

// snapshot tries once. What it has read counts, errors too, only if nothing
// was written meanwhile.
func (db *DB) snapshot() (*Snapshot, error) {
	before, err := db.mark()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &Snapshot{db: db, wal: &wal{}}
	failure := s.read(before)
	if s.mark, err = db.mark(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.indexed = s.mark.vouches(s.wal); s.indexed {
		db.wal.Store(s.wal)
	}
	unchanged := s.mark == before && before.settled(now) && !before.denies(s.wal)
	switch {
	case !s.indexed && !unchanged:
		failure = errPassing
	case failure == nil:
		return s, nil
	}
	return nil, errors.Join(failure, s.Close())
}

// Close releases the folder. Snapshots are to be closed before.
func (db *DB) Close() error { return db.root.Close() }
