package sqlcipher_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
	"modernc.org/sqlite/vfs"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hubtest/signaldesktop"
)

// An image is a file system with a snapshot as its only file, for SQLite.
type image struct{ *sqlcipher.Snapshot }

func (i image) Open(name string) (fs.File, error) {
	if name != "db" {
		return nil, fs.ErrNotExist
	}
	return imageFile{io.NewSectionReader(i, 0, i.Size())}, nil
}

type imageFile struct{ *io.SectionReader }

func (imageFile) Close() error                 { return nil }
func (f imageFile) Stat() (fs.FileInfo, error) { return imageInfo{size: f.Size()}, nil }

type imageInfo struct {
	fs.FileInfo
	size int64
}

func (i imageInfo) Size() int64 { return i.size }

// query calls f with an SQLite that reads the snapshot.
func query(s *sqlcipher.Snapshot, f func(*sql.DB) error) error {
	name, files, err := vfs.New(image{s})
	if err != nil {
		return err
	}
	defer files.Close()
	db, err := sql.Open("sqlite", "file:db?vfs="+name+"&_pragma=temp_store(memory)&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// read opens the database at path and returns what is in its tables, as
// [signaldesktop.Writer.Dump] does.
func read(path string) (tables map[string]string, err error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	s, err := db.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = query(s, func(db *sql.DB) (err error) {
		tables, err = signaldesktop.DumpOf(context.Background(), db)
		return errors.Join(err, intact(db, tables))
	})
	if valid, verr := s.Valid(); verr != nil || !valid {
		return nil, fmt.Errorf("valid is %v, %w", valid, verr)
	}
	return tables, err
}

func open(path string) (*sqlcipher.DB, error) {
	key, err := sqlcipher.ParseKey(signaldesktop.Key)
	if err != nil {
		return nil, err
	}
	return sqlcipher.Open(path, key)
}

// intact has SQLite check each ordinary table with its indexes; it does not know
// the tokenizer of the others.
func intact(db *sql.DB, tables map[string]string) (err error) {
	for table := range tables {
		var said string
		cerr := db.QueryRow(`PRAGMA integrity_check('` + table + `')`).Scan(&said)
		if cerr == nil && said != "ok" {
			cerr = errors.New(said)
		}
		if cerr != nil {
			err = errors.Join(err, fmt.Errorf("table %s: %w", table, cerr))
		}
	}
	return err
}

// A trace is what reading may not leave: what is in a folder, of which size, and
// when it was last written to.
func trace(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s %s", path, info.Mode(), info.ModTime().Format(time.RFC3339Nano))
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			fmt.Fprintf(&all, " %d %s", len(b), hex.EncodeToString(sum[:]))
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
