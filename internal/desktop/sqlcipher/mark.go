package sqlcipher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// The layout of the -shm file: two copies of the header of the WAL index, then
// what checkpoints and readers tell each other.
const (
	indexSize     = 48
	indexFrames   = 16  // in the index: mxFrame, the last frame that is committed
	indexSalts    = 32  // in the index: the generation of the WAL that it is about
	attemptedAt   = 128 // nBackfillAttempted
	attemptedSize = 4
)

// settle is how old a time of a file must be before it tells writes apart: two
// within one tick of the clock that the file system uses leave the same time.
const settle = 20 * time.Millisecond

// errPassing says that something is halfway through a change.
var errPassing = errors.New("the files are changing")

// A mark is the state of the files as far as it tells of writes. Two that are
// equal are of one state, if the times in them had settled.
type mark struct {
	main, wal stamp
	folder    int64 // when a file in it was made or removed, Unix nanoseconds
	header    walHeader
	index     [indexSize]byte // zeros: there is none
	attempted uint32          // the last frame that a checkpoint has set out to copy into the main file
}

// A stamp is the size of a file in bytes, and when it was written to, in Unix
// nanoseconds. The zero value is that of no file.
type stamp struct{ size, written int64 }

func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), written: info.ModTime().UnixNano()}
}

// mark reads the mark.
func (db *DB) mark() (m mark, err error) {
	if err := db.markIndex(&m); err != nil {
		return m, err
	}
	if err := db.markWAL(&m); err != nil {
		return m, err
	}
	main, err := db.root.Stat(db.name)
	if err != nil {
		return m, passing(err)
	}
	folder, err := db.folder()
	if err != nil {
		return m, passing(err)
	}
	m.main, m.folder = stampOf(main), folder.ModTime().UnixNano()
	return m, nil
}

// folder returns what the system says of the folder. It fails with ErrReplaced
// if its name is that of another by now, where the database goes on.
func (db *DB) folder() (fs.FileInfo, error) {
	info, err := db.root.Stat(".")
	if err != nil {
		return nil, err
	}
	now, err := os.Stat(db.root.Name())
	if err == nil && !os.SameFile(info, now) {
		err = ErrReplaced
	}
	return info, err
}

// markIndex reads attempted, the index, and attempted again, which must be the
// same. A writer that begins a generation sets the index, then attempted to 0:
// an index of our generation vouches for what was read before it. A writer that
// recovers the WAL of one that died sets the index, then attempted to the last
// frame: it vouches for what is read after it.
//
// They are read apart because between them are the bytes that SQLite locks,
// which nobody may read on Windows.
func (db *DB) markIndex(m *mark) error {
	f, err := db.openLog("-shm")
	if f == nil {
		return err
	}
	defer f.Close()
	var attempted [2][attemptedSize]byte
	var index [2][indexSize]byte
	for _, part := range []struct {
		b  []byte
		at int64
	}{{attempted[0][:], attemptedAt}, {index[0][:], 0}, {index[1][:], indexSize}, {attempted[1][:], attemptedAt}} {
		if _, err := f.ReadAt(part.b, part.at); errors.Is(err, io.EOF) {
			return nil // just made
		} else if err != nil {
			return passing(err)
		}
	}
	if index[0] != index[1] || attempted[0] != attempted[1] {
		return errPassing
	}
	m.index, m.attempted = index[0], binary.NativeEndian.Uint32(attempted[0][:])
	return nil
}

func (db *DB) markWAL(m *mark) error {
	f, err := db.openLog("-wal")
	if f == nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadAt(m.header[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return passing(err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m.wal = stampOf(info)
	return nil
}

// openLog opens a file that need not be there: it is nil then.
func (db *DB) openLog(suffix string) (*os.File, error) {
	f, err := db.root.Open(db.name + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, passing(err)
}

// committed is the last frame of which the index says so.
func (m *mark) committed() uint32 { return binary.NativeEndian.Uint32(m.index[indexFrames:]) }

// vouches reports whether the index proves, alone, that the committed frames of
// w and the pages of the main file that they leave are one committed state.
func (m *mark) vouches(w *wal) bool {
	return m.about(w) && m.attempted <= w.last && w.last <= m.committed()
}

// denies reports whether the index proves that they are not: a checkpoint has
// copied frames that are not in w, because they are damaged, or the header
// before all of them is.
func (m *mark) denies(w *wal) bool {
	damaged := m.wal.size > 0 && !m.header.valid()
	return (damaged || m.about(w)) && m.attempted > w.last
}

// about reports whether the index is about the generation of w.
func (m *mark) about(w *wal) bool {
	return m.header == w.header && w.header.valid() &&
		bytes.Equal(m.index[indexSalts:indexSalts+8], w.header.salts())
}

// settled reports whether a write after now would leave another time than those
// in the mark. Times of the future are as good as those of the past.
func (m *mark) settled(now time.Time) bool {
	for _, t := range []int64{m.main.written, m.wal.written, m.folder} {
		if age := now.Sub(time.Unix(0, t)); -settle < age && age < settle {
			return false
		}
	}
	return true
}
