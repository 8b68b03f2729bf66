package sqlcipher

import (
	"encoding/binary"
	"fmt"
	"testing"
)

func BenchmarkPage(b *testing.B) {
	const pages = 1000
	s := newHandDB(b, pages).snapshot()
	b.Run("one goroutine", func(b *testing.B) {
		b.SetBytes(pageSize)
		b.ReportAllocs()
		page := make([]byte, pageSize)
		for n := uint32(0); b.Loop(); n++ {
			if err := s.Page(page, 2+n%(pages-1)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all processors", func(b *testing.B) {
		b.SetBytes(pageSize)
		b.RunParallel(func(pb *testing.PB) {
			page := make([]byte, pageSize)
			for n := uint32(0); pb.Next(); n++ {
				if err := s.Page(page, 2+n%(pages-1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// A snapshot costs what has been committed since the last one.
func BenchmarkSnapshot(b *testing.B) {
	for _, frames := range []int{0, 1000, 25_000} {
		h := newHandDB(b, 1000)
		log := make([]handFrame, frames)
		for i := range log {
			log[i] = handFrame{page: uint32(1 + i%1000), version: 2, commit: 1000}
		}
		h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", log}.bytes())
		h.write("-shm", handIndex("saltsOne", uint32(frames), 0))
		db := h.open()
		take := func(b *testing.B) *Snapshot {
			s, err := db.Snapshot(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
		b.Run(fmt.Sprintf("first, %d frames", frames), func(b *testing.B) {
			for b.Loop() {
				db.wal.Store(nil)
				_ = take(b).Close()
			}
		})
		b.Run(fmt.Sprintf("again, %d frames", frames), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = take(b).Close()
			}
		})
	}
}

func BenchmarkValid(b *testing.B) {
	h := newHandDB(b, 10)
	h.write("-wal", handWAL{binary.LittleEndian, "saltsOne", []handFrame{{page: 2, version: 2, commit: 10}}}.bytes())
	h.write("-shm", handIndex("saltsOne", 1, 0))
	s := h.snapshot()
	b.Run("valid", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if valid, err := s.Valid(); !valid || err != nil {
				b.Fatal(valid, err)
			}
		}
	})
	b.Run("current", func(b *testing.B) {
		for b.Loop() {
			if !s.Current() {
				b.Fatal("it is not current")
			}
		}
	})
}
