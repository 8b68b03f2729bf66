package sqlcipher

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"
)

func TestPagesComeFromTheLastCommit(t *testing.T) {
	const salts, other = "saltsOne", "saltsTwo"
	frames := []handFrame{{page: 2, version: 2}, {page: 3, version: 2, commit: 4}, {page: 2, version: 3}, {page: 4, version: 3, commit: 4}}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	frame := func(n int) int { return 32 + (n-1)*4120 }
	for _, c := range []struct {
		name   string
		frames []handFrame
		change func([]byte) []byte
		want   []uint32
	}{
		{name: "no frames", want: []uint32{1, 1, 1, 1}},
		{name: "empty file", change: func([]byte) []byte { return nil }, want: []uint32{1, 1, 1, 1}},
		{name: "half a header", frames: frames, change: func(b []byte) []byte { return b[:20] }, want: []uint32{1, 1, 1, 1}},
		{name: "one commit", frames: frames[:2], want: []uint32{1, 2, 2, 1}},
		{name: "two commits", frames: frames, want: []uint32{1, 3, 2, 3}},
		{name: "a transaction without its commit", frames: frames[:3], want: []uint32{1, 2, 2, 1}},
		{name: "no commit at all", frames: frames[:1], want: []uint32{1, 1, 1, 1}},
		{name: "the last frame cut", frames: frames, change: func(b []byte) []byte { return b[:len(b)-1] }, want: []uint32{1, 2, 2, 1}},
		{name: "a byte of a page flipped", frames: frames, change: flip(frame(3) + 1000), want: []uint32{1, 2, 2, 1}},
		{name: "a byte of a number flipped", frames: frames, change: flip(frame(4) + 3), want: []uint32{1, 2, 2, 1}},
		{name: "a byte of a checksum flipped", frames: frames, change: flip(frame(1) + 16), want: []uint32{1, 1, 1, 1}},
		{name: "a byte of a salt flipped", frames: frames, change: flip(frame(3) + 8), want: []uint32{1, 2, 2, 1}},
		{name: "a byte of the header flipped", frames: frames, change: flip(12), want: []uint32{1, 1, 1, 1}},
		{name: "page 0", frames: []handFrame{{page: 0, version: 2, commit: 4}}, want: []uint32{1, 1, 1, 1}},
		{name: "a database that grows", frames: []handFrame{{page: 5, version: 2}, {page: 1, version: 2, commit: 5}}, want: []uint32{2, 1, 1, 1, 2}},
		{name: "a database that shrinks", frames: []handFrame{{page: 1, version: 2, commit: 2}}, want: []uint32{2, 1}},
		{
			name: "a generation over a longer one", frames: []handFrame{{page: 4, version: 9, commit: 4}},
			change: func(b []byte) []byte {
				return append(b, handWAL{binary.LittleEndian, other, frames}.bytes()[len(b):]...)
			},
			want: []uint32{1, 1, 1, 9},
		},
		{
			name: "more frames than are read at a time", frames: slices.Repeat(frames, 40),
			want: []uint32{1, 3, 2, 3},
		},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(c.name+", "+order.String(), func(t *testing.T) {
				h := newHandDB(t, 4)
				b := handWAL{order, salts, c.frames}.bytes()
				if c.change != nil {
					b = c.change(b)
				}
				h.write("-wal", b)
				if got := versions(t, h.snapshot()); !slices.Equal(got, c.want) {
					t.Errorf("the versions of the pages are %v, want %v", got, c.want)
				}
			})
		}
	}
}

// It does not matter how much of a WAL was there when it was first read.
func FuzzWAL(f *testing.F) {
	frames := []handFrame{{page: 2, version: 2}, {page: 3, version: 2, commit: 4}, {page: 2, version: 3}, {page: 4, version: 3, commit: 4}}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := handWAL{order, "saltsOne", frames}.bytes()
		f.Add(b, 3*4120, 5, uint8(0))
		f.Add(b, 32, 2*4120+40, uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut, at int, flip uint8) {
		if at >= 0 && at < len(b) {
			b[at] ^= flip
		}
		var header walHeader
		if copy(header[:], b) < len(header) || !header.valid() {
			return
		}
		whole, err := readWAL(bytes.NewReader(b), header, nil)
		if err != nil {
			t.Fatal(err)
		}
		if end := offset(whole.last+1) - frameHeaderSize; end > int64(len(b)) {
			t.Errorf("the commit ends at %d of %d", end, len(b))
		}
		for page, frame := range whole.frames {
			if page == 0 || frame == 0 || frame > whole.last {
				t.Errorf("page %d is in frame %d of %d", page, frame, whole.last)
			}
		}
		part, err := readWAL(bytes.NewReader(b[:min(max(cut, 0), len(b))]), header, nil)
		if err != nil {
			t.Fatal(err)
		}
		frozen := maps.Clone(part.frames)
		twice, err := readWAL(bytes.NewReader(b), header, part)
		if err != nil {
			t.Fatal(err)
		}
		if twice.last != whole.last || twice.pages != whole.pages || twice.sum != whole.sum || !maps.Equal(twice.frames, whole.frames) {
			t.Errorf("read at once %+v, in two parts %+v", whole, twice)
		}
		if !maps.Equal(part.frames, frozen) {
			t.Error("the earlier part has changed")
		}
	})
}
