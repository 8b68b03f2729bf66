package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aldis/internal/hub"
)

// applicationID marks a database as ours: "Alds".
const applicationID = 0x416c6473

// claim makes sure that the file at path is ours, or makes an empty one, and
// that nobody else can read it. It leaves a foreign file as it is. It reports
// whether the file has yet to be marked as ours, and whether it is empty.
func claim(ctx context.Context, path string) (mark, empty bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, false, hub.Errorf(hub.Unavailable, "open the record: %w", err)
	}
	defer f.Close()
	id, err := readID(f)
	if empty = errors.Is(err, io.EOF); !empty {
		if err != nil {
			return false, false, err
		}
		if mark, err = mayMark(ctx, path, id); err != nil {
			return false, false, err
		}
	}
	if err := f.Chmod(0o600); err != nil {
		return false, false, hub.Errorf(hub.Unavailable, "make the record private: %w", err)
	}
	return mark || empty, empty, nil
}

// Check fails as [Open] would if what lies at path is no record of ours. It
// changes nothing, and is happy with nothing at all.
func Check(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return hub.Errorf(hub.Unavailable, "open the record: %w", err)
	}
	defer f.Close()
	id, err := readID(f)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		_, err = mayMark(ctx, path, id)
	}
	return err
}

// readID reads whose database f is, or io.EOF where it is empty.
// https://www.sqlite.org/fileformat.html#the_database_header
func readID(f *os.File) (uint32, error) {
	var header [100]byte
	_, err := io.ReadFull(f, header[:])
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	if err != nil || string(header[:16]) != "SQLite format 3\x00" {
		return 0, notOurs(f.Name())
	}
	return binary.BigEndian.Uint32(header[68:]), nil
}

func notOurs(path string) error {
	return hub.Errorf(hub.Invalid, "%s is not a record of this program: name another file", path)
}

// mayMark reports whether the database at path is ours though it does not say
// so. It fails with Invalid if it is not.
func mayMark(ctx context.Context, path string, id uint32) (bool, error) {
	if id == applicationID {
		return false, nil
	}
	if id != 0 {
		return false, notOurs(path)
	}
	db, err := peek(path)
	if err != nil {
		return false, err
	}
	defer db.Close()
	tables, err := all(ctx, db, column[string], "SELECT name FROM sqlite_master WHERE type = 'table'")
	switch has := func(name string) bool { return slices.Contains(tables, name) }; {
	case err != nil:
		return false, hub.Errorf(hub.Invalid, "%s cannot be read as a database: name another file: %w", path, err)
	case len(tables) == 0, has("goose_db_version") && has("counter"):
		return true, nil
	case has("messages") && isSalon(ctx, db):
		return false, hub.Errorf(hub.Invalid, "%s is a database of agent-salon: name another file for the record (--db, ALDIS_DB), and take over what is in this one with: aldis import salon %s", path, path)
	default:
		return false, notOurs(path)
	}
}

// peek opens a database of somebody else's for reading. SQLite leaves files
// beside one that has a write-ahead log, so without one it is told that nobody
// writes. That log is beside the file itself, wherever a link to it is.
func peek(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, hub.Errorf(hub.NotFound, "find the database: %w", err)
	}
	name := dsn(path, "query_only(1)") + "&mode=ro"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		name += "&immutable=1"
	}
	db, err := sql.Open("sqlite", name)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}
