package desktop

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// pages are the decrypted pages of a database at one moment. Several goroutines
// may read them at once.
type pages interface {
	Page(dst []byte, n uint32) error
	PageSize() int
	Size() int64 // bytes
}

// A textFunc is given a row whose text is wanted. The text is valid until it returns, and several
// goroutines call it at once.
type textFunc func(rowid int64, text []byte) error

// scanText reads one column of rows of a table, in no order, with a goroutine for
// each processor, and returns when the last has ended. rows are in order; nil:
// all. It passes by values that are no text, and by texts that holds does not
// want, which must not want a part of what it does not. It stops at the first
// error.
//
// A query reads the rows one after the other, and most of its time goes into
// decrypting their pages, which nothing keeps from being done side by side.
func scanText(ctx context.Context, p pages, root uint32, column int, rows []int64, holds func(text []byte) bool, fn textFunc) error {
	t, err := newTree(p)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	leaves := make(chan part, 64)
	group.Go(func() error {
		defer close(leaves)
		return t.walk(ctx, part{root, rows}, leaves)
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			l := t.newLeaf(column, holds)
			for p := range leaves {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := l.read(p, fn); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
