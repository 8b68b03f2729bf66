//go:build !race

// With the race detector a pool forgets some of what it is given.

package sqlcipher

import "testing"

func TestReadingAllocatesNothing(t *testing.T) {
	s := newHandDB(t, 3).snapshot()
	page := make([]byte, s.PageSize())
	if got := testing.AllocsPerRun(100, func() {
		_, _ = s.ReadAt(page, 2*4096)
		_, _ = s.ReadAt(page[:16], 4096+24)
		_ = s.Page(page, 2)
	}); got >= 1 { // the pool may have been emptied once
		t.Errorf("three reads allocate %v times", got)
	}
}
