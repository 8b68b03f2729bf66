package sqlcipher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"sync"
)

// The layout of a WAL.
const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	frameSize       = frameHeaderSize + pageSize

	walMagic   = 0x377f0682 // the lowest bit: the checksums read big-endian words
	walVersion = 3007000

	chunk = 64 * frameSize // how much is read at a time
)

// A walHeader is the first 32 bytes of a WAL; zeros stand for none. Its salts
// make it another one in every generation.
type walHeader [walHeaderSize]byte

func (h *walHeader) salts() []byte { return h[16:24] }

// valid reports whether SQLite would look at the frames behind the header.
func (h *walHeader) valid() bool {
	field := func(at int) uint32 { return binary.BigEndian.Uint32(h[at:]) }
	return field(0)&^1 == walMagic && field(4) == walVersion && field(8) == pageSize &&
		h.order().sum(checksum{}, h[:24]) == h.sum()
}

func (h *walHeader) sum() checksum { return readChecksum(h[24:]) }

func (h *walHeader) order() order { return order(h[3]&1 != 0) }

// A wal is what the committed frames of one generation are: nothing that is
// reachable from it changes.
type wal struct {
	header walHeader
	last   uint32            // the number of the last frame that is committed; 0: none is
	pages  uint32            // the size of the database after it, in pages
	sum    checksum          // up to it
	frames map[uint32]uint32 // page → the last frame up to last that has it
}

// readWAL returns the committed frames behind a valid header. It goes on from
// what was read earlier, if that is of the same generation.
func readWAL(r io.ReaderAt, header walHeader, earlier *wal) (*wal, error) {
	w := earlier
	if w == nil || w.header != header {
		w = &wal{header: header, sum: header.sum()}
	}
	s := scan{wal: *w, order: header.order(), at: w.last, running: w.sum}
	if err := s.read(r); err != nil {
		return nil, err
	}
	return &s.wal, nil
}

// offset is where the content of a frame begins.
func offset(frame uint32) int64 {
	return walHeaderSize + int64(frame-1)*frameSize + frameHeaderSize
}

// A scan reads frames and keeps those that a commit follows.
type scan struct {
	wal     wal
	order   order
	at      uint32   // the last frame that was read
	running checksum // up to it
	pending []uint32 // the pages of the frames behind the last commit
	owned   bool     // wal.frames is the scan's own
}

// read goes on to the first frame that is not of this generation, or torn.
func (s *scan) read(r io.ReaderAt) error {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for {
		n, err := r.ReadAt(buf[:], offset(s.at+1)-frameHeaderSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for b := buf[:n]; len(b) >= frameSize; b = b[frameSize:] {
			if !s.frame(b[:frameSize]) {
				return nil
			}
		}
		if n < chunk {
			return nil
		}
	}
}

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// frame takes one frame. It reports false if it is none that was written after
// the one before it.
func (s *scan) frame(b []byte) bool {
	page, commit := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if page == 0 || !bytes.Equal(b[8:16], s.wal.header.salts()) {
		return false
	}
	sum := s.order.sum(s.order.sum(s.running, b[:8]), b[frameHeaderSize:])
	if sum != readChecksum(b[16:]) {
		return false
	}
	s.at++
	s.running = sum
	s.pending = append(s.pending, page)
	if commit != 0 {
		s.commit(commit)
	}
	return true
}

// commit makes all frames that were read part of the database.
func (s *scan) commit(pages uint32) {
	if !s.owned {
		s.wal.frames, s.owned = maps.Clone(s.wal.frames), true
		if s.wal.frames == nil {
			s.wal.frames = map[uint32]uint32{}
		}
	}
	for i, page := range s.pending {
		s.wal.frames[page] = s.wal.last + 1 + uint32(i)
	}
	s.pending = s.pending[:0]
	s.wal.last, s.wal.pages, s.wal.sum = s.at, pages, s.running
}

// A checksum is that of the WAL: two sums, each of which the other goes into.
type checksum [2]uint32

func readChecksum(b []byte) checksum {
	return checksum{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// An order is how the checksum reads words: as the machine that began the WAL
// has them.
type order bool

const bigEndian order = true

// sum goes on from c over b, whose length is a multiple of 8.
func (o order) sum(c checksum, b []byte) checksum {
	if o == bigEndian {
		for ; len(b) >= 8; b = b[8:] {
			c[0] += binary.BigEndian.Uint32(b) + c[1]
			c[1] += binary.BigEndian.Uint32(b[4:]) + c[0]
		}
		return c
	}
	for ; len(b) >= 8; b = b[8:] {
		c[0] += binary.LittleEndian.Uint32(b) + c[1]
		c[1] += binary.LittleEndian.Uint32(b[4:]) + c[0]
	}
	return c
}
