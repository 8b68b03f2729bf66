package sqlcipher

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Where the header of an SQLite database has what; section 1.3 of its file
// format.
const (
	writeVersionAt = 18 // 1: rollback journal, 2: WAL; the read version is next
	changesAt      = 24
	pagesAt        = 28
	validForAt     = 92
)

// A Snapshot is one committed state of a database, as the plain file that
// SQLite would have written, of a database in rollback mode: SQLite opens such
// a file without a look at any other. It may be read by several goroutines.
//
// What was read from it counts only if [Snapshot.Valid] says so afterwards.
type Snapshot struct {
	db      *DB
	main    *os.File
	log     *os.File // nil: there is no -wal
	wal     *wal
	pages   uint32
	first   [pageSize]byte // the first page, plain
	mark    mark
	indexed bool // the mark vouches for the wal; else times alone tell of writes
}

// read opens the files and reads what says how they belong together.
func (s *Snapshot) read(m mark) (err error) {
	if s.main, err = s.db.openMain(); err != nil {
		return err
	}
	salt, err := readSalt(s.main)
	switch {
	case err != nil:
		return err
	case salt != s.db.salt:
		return ErrReplaced
	}
	s.pages = uint32(m.main.size / pageSize)
	if err := s.readWAL(m); err != nil {
		return err
	}
	return s.readFirst(m)
}

func (s *Snapshot) readWAL(m mark) (err error) {
	if !m.header.valid() {
		return nil
	}
	if s.log, err = s.db.openLog("-wal"); s.log == nil {
		return err
	}
	w := s.db.wal.Load()
	if w == nil || !m.vouches(w) || m.committed() > w.last {
		if w, err = readWAL(s.log, m.header, w); err != nil {
			return err
		}
	}
	s.wal = w
	if s.wal.last > 0 {
		s.pages = s.wal.pages
	}
	return nil
}

// readFirst decrypts the first page, which tells whether the key fits, and
// turns it into that of a database that nobody writes to.
func (s *Snapshot) readFirst(m mark) error {
	if s.pages == 0 {
		return ErrTruncated
	}
	p := s.first[:]
	switch err := s.page(p, 1); {
	case errors.Is(err, ErrDamaged):
		return ErrKey
	case err != nil:
		return err
	case p[writeVersionAt] != 2:
		return ErrJournal
	case s.wal.last == 0 && int64(binary.BigEndian.Uint32(p[pagesAt:]))*pageSize > m.main.size:
		return ErrTruncated
	}
	p[writeVersionAt], p[writeVersionAt+1] = 1, 1
	binary.BigEndian.PutUint32(p[pagesAt:], s.pages)
	copy(p[validForAt:validForAt+4], p[changesAt:])
	return nil
}

// Size returns the size of the plain database in bytes.
func (s *Snapshot) Size() int64 { return int64(s.pages) * pageSize }

// PageSize returns the size of a page in bytes, the reserve included.
func (s *Snapshot) PageSize() int { return pageSize }

// ReadAt reads from the plain database; see [io.ReaderAt]. Whole pages are
// decrypted straight into p. It fails as Page does.
func (s *Snapshot) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("read a database from %d on: %w", off, os.ErrInvalid)
	}
	for n < len(p) {
		if off >= s.Size() {
			return n, io.EOF
		}
		read, err := s.readPage(p[n:], uint32(off/pageSize)+1, int(off%pageSize))
		if err != nil {
			return n, err
		}
		n, off = n+read, off+int64(read)
	}
	return n, nil
}

// readPage reads a page from a byte of it on, as much as goes into p.
func (s *Snapshot) readPage(p []byte, number uint32, from int) (int, error) {
	switch {
	case number == 1:
		return copy(p, s.first[from:]), nil
	case from == 0 && len(p) >= pageSize:
		return pageSize, s.page(p, number)
	}
	w := s.db.codec.worker()
	defer s.db.codec.put(w)
	if err := s.load(w, w.plain[:], number); err != nil {
		return 0, err
	}
	return copy(p, w.plain[from:]), nil
}

// Page decrypts a page, the first of which is 1, into dst, which must have room
// for it. It fails with [ErrDamaged], with [ErrTruncated], or as reading does.
func (s *Snapshot) Page(dst []byte, number uint32) error {
	switch {
	case len(dst) < pageSize:
		return io.ErrShortBuffer
	case number == 0 || number > s.pages:
		return fmt.Errorf("page %d of a database of %d: %w", number, s.pages, os.ErrInvalid)
	case number == 1:
		copy(dst, s.first[:])
		return nil
	}
	return s.page(dst, number)
}

func (s *Snapshot) page(dst []byte, number uint32) error {
	w := s.db.codec.worker()
	defer s.db.codec.put(w)
	return s.load(w, dst[:pageSize], number)
}

// load decrypts a page as it is in the WAL or else in the main file.
func (s *Snapshot) load(w *worker, dst []byte, number uint32) error {
	f, at := s.main, int64(number-1)*pageSize
	if frame, ok := s.wal.frames[number]; ok {
		f, at = s.log, offset(frame)
	}
	switch _, err := f.ReadAt(w.raw[:], at); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("page %d: %w", number, ErrTruncated)
	case err != nil:
		return err
	case !w.decrypt(dst, number):
		return fmt.Errorf("page %d: %w", number, ErrDamaged)
	}
	return nil
}

// Valid reports whether all that was read until now is of one committed state.
// Where it is not, nothing of it may be used, and errors of reading mean
// nothing: take a new snapshot. It stays false once it is. Commits do not make
// a snapshot invalid, but their way into the main file does.
func (s *Snapshot) Valid() (bool, error) {
	m, err := s.db.mark()
	if errors.Is(err, errPassing) {
		return false, nil
	}
	return err == nil && s.holds(&m), err
}

// Current reports whether the snapshot is valid and nothing has been committed
// since it was taken.
func (s *Snapshot) Current() bool {
	m, err := s.db.mark()
	return err == nil && s.holds(&m) && (!s.indexed || m.committed() == s.wal.last)
}

// holds reports whether a mark is one of the state that was read.
func (s *Snapshot) holds(m *mark) bool {
	if s.indexed {
		return m.vouches(s.wal)
	}
	return *m == s.mark
}

// Close closes the files. Nothing may be read after it.
func (s *Snapshot) Close() error {
	var errs []error
	for _, f := range []*os.File{s.main, s.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
