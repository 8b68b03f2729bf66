package desktop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vfs"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hub"
)

// fileName is what SQLite knows a snapshot by: the only file that there is.
const fileName = "history"

// What a connection is told: never to write, and to keep what it sorts in
// memory, where no temporary file could hold private text. 16 MiB of pages are
// kept, decrypted, for as long as the snapshot is.
const pragmas = "?mode=ro&immutable=1&_pragma=temp_store(memory)&_pragma=query_only(1)" +
	"&_pragma=trusted_schema(0)&_pragma=cache_size(-16384)"

// A session is a connection of SQLite to one snapshot. It is used by one
// goroutine at a time.
type session struct {
	snap   *sqlcipher.Snapshot
	file   *snapshotFS
	vfs    *vfs.FS
	db     *sql.DB // one connection
	schema *schema
	people people // that have been looked up on this snapshot
}

// openSession takes snap over, unless it fails. known is a schema that is the
// database's as long as SQLite's own count of changes to it is the same.
func openSession(ctx context.Context, snap *sqlcipher.Snapshot, known *schema) (*session, error) {
	s := &session{snap: snap, file: &snapshotFS{snap: snap}}
	name, mount, err := vfs.New(s.file)
	if err != nil {
		return nil, fmt.Errorf("give the snapshot to SQLite: %w", err)
	}
	s.vfs = mount
	conn, err := sqlite.NewConnector("file:" + fileName + pragmas + "&vfs=" + name)
	if err == nil {
		s.db = sql.OpenDB(conn)
		s.db.SetMaxOpenConns(1)
		s.schema, err = readSchema(ctx, s.db, known)
	}
	if err != nil {
		return nil, errors.Join(s.explain(ctx, err), s.unmount())
	}
	return s, nil
}

func (s *session) close() error { return errors.Join(s.unmount(), s.snap.Close()) }

// unmount ends the connection and takes the snapshot from SQLite, in whose
// table of file systems it would stay else.
func (s *session) unmount() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.vfs.Close())
}

// explain makes an error of SQLite one for callers. SQLite says of a page that
// could not be read no more than that.
func (s *session) explain(ctx context.Context, err error) error {
	if _, ours := errors.AsType[*hub.Error](err); ours || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("read Signal Desktop's database: %w", ctx.Err())
	}
	if cause := s.file.failed.Load(); cause != nil {
		err = *cause
	}
	return hub.Errorf(hub.Unavailable, "Signal Desktop's database cannot be read: %w", err)
}

// A snapshotFS is a snapshot as the file system that package vfs asks for.
type snapshotFS struct {
	snap   *sqlcipher.Snapshot
	failed atomic.Pointer[error] // the first failed read
}

// Open implements [fs.FS]. There are no journals and no logs.
func (f *snapshotFS) Open(name string) (fs.File, error) {
	if name != fileName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return snapshotFile{io.NewSectionReader(f, 0, f.snap.Size()), f.snap.Size()}, nil
}

// ReadAt implements [io.ReaderAt].
func (f *snapshotFS) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.snap.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// A snapshotFile is the one file of a snapshotFS, and what Stat says of it.
type snapshotFile struct {
	*io.SectionReader
	size int64
}

func (f snapshotFile) Stat() (fs.FileInfo, error) { return f, nil }
func (snapshotFile) Close() error                 { return nil }
func (snapshotFile) Name() string                 { return fileName }
func (f snapshotFile) Size() int64                { return f.size }
func (snapshotFile) Mode() fs.FileMode            { return 0o444 }
func (snapshotFile) ModTime() time.Time           { return time.Time{} }
func (snapshotFile) IsDir() bool                  { return false }
func (snapshotFile) Sys() any                     { return nil }
