package sqlcipher

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	whole := handMain(4)
	change := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(whole)) }
	rollback := plain(1, 1, 4)
	rollback[18], rollback[19] = 1, 1
	for _, c := range []struct {
		name string
		file []byte
		want error
	}{
		{"empty", nil, ErrEmpty},
		{"a few bytes", whole[:10], ErrTruncated},
		{"half a page", whole[:2000], ErrTruncated},
		{"the last page is missing", whole[:3*4096], ErrTruncated},
		{"the last page is cut", whole[:len(whole)-1], ErrTruncated},
		{"not encrypted", plain(1, 1, 1), ErrPlain},
		{"another salt", change(func(b []byte) []byte { b[0] ^= 1; return b }), ErrKey},
		{"another first page", change(func(b []byte) []byte { b[100] ^= 1; return b }), ErrKey},
		{"not in WAL mode", append(seal(1, rollback), whole[4096:]...), ErrJournal},
		{"something else", bytes.Repeat([]byte("no database "), 1000), ErrKey},
		{"whole", whole, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHandDB(t, 1)
			h.write("", c.file)
			db, err := Open(h.path, handKey)
			if !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if db != nil {
				_ = db.Close()
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	h := newHandDB(t, 2)
	wrong := handKey
	wrong[31] ^= 1
	for _, c := range []struct {
		name, path string
		key        Key
		want       error
	}{
		{"a wrong key", h.path, wrong, ErrKey},
		{"a file that is not there", h.path + "x", handKey, fs.ErrNotExist},
		{"a folder that is not there", filepath.Join(h.path+"x", "db.sqlite"), handKey, fs.ErrNotExist},
		{"a folder", filepath.Dir(h.path), handKey, fs.ErrInvalid},
	} {
		if _, err := Open(c.path, c.key); !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v, want %v", c.name, err, c.want)
		}
	}
}

func TestPageSaysWhatIsWrong(t *testing.T) {
	h := newHandDB(t, 5)
	b := handMain(5)
	b[2*4096+7] ^= 1
	clear(b[3*4096 : 4*4096])
	h.write("", b)
	s := h.snapshot()
	page := make([]byte, s.PageSize())
	if err := s.Page(page, 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("a page with a flipped bit gives %v", err)
	}
	if n, err := s.ReadAt(make([]byte, 3*4096), 4096); n != 4096 || !errors.Is(err, ErrDamaged) {
		t.Errorf("reading up to it gives %d bytes and %v", n, err)
	}
	if err := s.Page(page, 4); err != nil || !bytes.Equal(page, make([]byte, 4096)) {
		t.Errorf("a page that was never written is not zeros: %v", err)
	}
	for _, n := range []uint32{0, 6} {
		if err := s.Page(page, n); !errors.Is(err, os.ErrInvalid) {
			t.Errorf("page %d of 5 gives %v", n, err)
		}
	}
	if err := s.Page(page[1:], 2); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("a buffer that is too short gives %v", err)
	}
}

// Where the plain database differs from what SQLite wrote, it says that it is
// in rollback mode and how long it is.
func TestReadAt(t *testing.T) {
	h := newHandDB(t, 3)
	h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 3}}}.bytes())
	s := h.snapshot()
	first := plain(1, 1, 3)
	first[18], first[19] = 1, 1
	want := slices.Concat(first, plain(2, 2, 3), plain(3, 1, 3))
	if err := iotest.TestReader(io.NewSectionReader(s, 0, s.Size()), want); err != nil {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for from := range 50 {
				got := make([]byte, len(want)-from*200)
				if n, err := s.ReadAt(got, int64(from*200)); n != len(got) || err != nil || !bytes.Equal(got, want[from*200:]) {
					t.Errorf("reading from %d on gives %d bytes, and %v", from*200, n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSnapshotAgainstTheIndex(t *testing.T) {
	const salts, next = "saltsOne", "saltsTwo"
	one := []handFrame{{page: 2, version: 2}, {page: 3, version: 2, commit: 3}}
	two := append(slices.Clone(one), handFrame{page: 2, version: 3, commit: 3})
	three := []handFrame{{page: 3, version: 4, commit: 3}}
	log := func(salts string, frames []handFrame) []byte {
		return handWAL{binary.LittleEndian, salts, frames}.bytes()
	}
	copied := slices.Concat(handMain(1), seal(2, plain(2, 3, 3)), seal(3, plain(3, 2, 3)))
	for _, c := range []struct {
		name           string
		change         func(h handDB)
		valid, current bool
	}{
		{"nothing happens", func(handDB) {}, true, true},
		{"frames without a commit", func(h handDB) { h.write("-wal", append(log(salts, one), make([]byte, 4120)...)) }, true, true},
		{"a commit", func(h handDB) { h.write("-wal", log(salts, two)); h.write("-shm", handIndex(salts, 3, 0)) }, true, false},
		{"a checkpoint of what it has", func(h handDB) { h.write("-shm", handIndex(salts, 2, 2)); h.write("", handMain(3)) }, true, true},
		{"a commit and a checkpoint of it", func(h handDB) {
			h.write("-wal", log(salts, two))
			h.write("-shm", handIndex(salts, 3, 3))
			h.write("", copied)
		}, false, false},
		{"a new generation is announced", func(h handDB) { h.write("-shm", handIndex(next, 0, 0)) }, false, false},
		{"a new generation", func(h handDB) { h.write("-wal", log(next, three)); h.write("-shm", handIndex(next, 1, 0)) }, false, false},
		{"a WAL cut to nothing", func(h handDB) { h.write("-wal", nil) }, false, false},
		{"a commit taken back", func(h handDB) { h.write("-shm", handIndex(salts, 1, 0)) }, false, false},
		{"the index is begun again", func(h handDB) { h.write("-shm", make([]byte, 3)) }, false, false},
		{"half an index", func(h handDB) {
			b := handIndex(salts, 3, 0)
			b[48+16]--
			h.write("-shm", b)
		}, false, false},
		{"the last writer ends", func(h handDB) {
			for _, suffix := range []string{"-shm", "-wal"} {
				if err := os.Remove(h.path + suffix); err != nil {
					h.t.Fatal(err)
				}
			}
		}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHandDB(t, 3)
			h.write("-wal", log(salts, one))
			h.write("-shm", handIndex(salts, 2, 0))
			s := h.snapshot()
			c.change(h)
			if valid, err := s.Valid(); valid != c.valid || err != nil {
				t.Errorf("valid is %v, %v; want %v", valid, err, c.valid)
			}
			if current := s.Current(); current != c.current {
				t.Errorf("current is %v, want %v", current, c.current)
			}
			if c.valid {
				if got := versions(t, s); !slices.Equal(got, []uint32{1, 2, 2}) {
					t.Errorf("the versions of the pages are %v", got)
				}
			}
		})
	}
}

func TestSnapshotWithoutAnIndex(t *testing.T) {
	touch := func(suffix string) func(h handDB) {
		return func(h handDB) {
			if err := os.Chtimes(h.path+suffix, time.Time{}, time.Now()); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(h handDB)
		valid  bool
	}{
		{"nothing happens", func(handDB) {}, true},
		{"the main file is written", touch(""), false},
		{"the WAL is written", touch("-wal"), false},
		{"the main file grows", func(h handDB) { h.write("", handMain(4)) }, false},
		{"a file comes and goes", func(h handDB) { touch("")(handDB{h.t, filepath.Dir(h.path)}) }, false},
		{"a writer begins", func(h handDB) { h.write("-shm", handIndex("saltsOne", 1, 0)) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHandDB(t, 3)
			h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 3}}}.bytes())
			s := h.snapshot()
			c.change(h)
			if valid, err := s.Valid(); valid != c.valid || err != nil {
				t.Errorf("valid is %v, %v; want %v", valid, err, c.valid)
			}
			if current := s.Current(); current != c.valid {
				t.Errorf("current is %v", current)
			}
		})
	}
}

// A commit that the index does not know of is in doubt: the writer died before
// it could say so, or may yet take it back.
func TestSnapshotAheadOfTheIndex(t *testing.T) {
	const salts = "saltsOne"
	one := []handFrame{{page: 2, version: 2, commit: 2}}
	two := append(slices.Clone(one), handFrame{page: 2, version: 3, commit: 2})
	h := newHandDB(t, 2)
	h.write("-wal", handWAL{binary.LittleEndian, salts, two}.bytes())
	h.write("-shm", handIndex(salts, 1, 0))
	db := h.open()
	s := snapshot(t, db)
	if got := versions(t, s); !slices.Equal(got, []uint32{1, 3}) || !s.Current() {
		t.Errorf("the versions of the pages are %v, current is %v", got, s.Current())
	}
	two[1].version = 4 // taken back, and another written in its place
	h.write("-wal", handWAL{binary.LittleEndian, salts, two}.bytes())
	h.write("-shm", handIndex(salts, 2, 0))
	if valid, err := s.Valid(); valid || err != nil {
		t.Errorf("valid is %v, %v", valid, err)
	}
	if got := versions(t, snapshot(t, db)); !slices.Equal(got, []uint32{1, 4}) {
		t.Errorf("the versions of the pages are %v in the end", got)
	}
}

// Files that have just been written may be written again within the same tick of
// the clock: a snapshot waits.
func TestSnapshotWaitsForTimesToSettle(t *testing.T) {
	h := newHandDB(t, 2)
	db := h.open()
	written := time.Now()
	if err := os.Chtimes(h.path, written, written); err != nil {
		t.Fatal(err)
	}
	snapshot(t, db)
	if passed := time.Since(written); passed < settle {
		t.Errorf("the snapshot was there after %v", passed)
	}
}

func TestSettled(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"long ago", time.Hour, true},
		{"just long enough", settle, true},
		{"now", 0, false},
		{"by a clock that is a little ahead", -settle / 2, false},
		{"by a clock that is wrong", -time.Hour, true},
	} {
		for i := range 3 {
			old, at := now.Add(-time.Hour).UnixNano(), now.Add(-c.age).UnixNano()
			times := []int64{old, old, old}
			times[i] = at
			m := mark{main: stamp{written: times[0]}, wal: stamp{written: times[1]}, folder: times[2]}
			if got := m.settled(now); got != c.want {
				t.Errorf("%s, time %d: settled is %v", c.name, i, got)
			}
		}
	}
}

func TestSnapshotGivesUp(t *testing.T) {
	h := newHandDB(t, 2)
	db := h.open()
	h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 2}}}.bytes())
	h.write("-shm", handIndex("saltsOne", 1, 2)) // a checkpoint past what is there
	if _, err := db.Snapshot(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("the error is %v, want %v", err, ErrBusy)
	}
	log := handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 2}}}.bytes()
	log[18] ^= 1 // none of its frames count, and a checkpoint may have copied some
	h.write("-wal", log)
	h.write("-shm", handIndex("saltsOne", 1, 1))
	if _, err := db.Snapshot(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("the error is %v when the header of the WAL is damaged, want %v", err, ErrBusy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v when the wait is called off", err)
	}
}

func TestSnapshotOfAnotherDatabase(t *testing.T) {
	h := newHandDB(t, 2)
	db := h.open()
	b := handMain(2)
	b[3] ^= 1
	h.write("", b)
	if _, err := db.Snapshot(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Errorf("the error is %v", err)
	}
}

// A snap moves its data to another folder with each update, and has a link lead
// there.
func TestSnapshotOfAFolderThatWasLeft(t *testing.T) {
	h := newHandDB(t, 2)
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(filepath.Dir(h.path), link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	h.path = filepath.Join(link, "db.sqlite")
	db := h.open()
	s := snapshot(t, db)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if s.Current() {
		t.Error("the old one is current")
	}
	if _, err := db.Snapshot(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Errorf("the error is %v, want %v", err, ErrReplaced)
	}
}
