package desktop

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// What is read here is SQLite's file format 3, https://www.sqlite.org/fileformat.html:
// sections 1.3 (the header), 1.6 (b-tree pages and overflow chains) and 2.1
// (records). Numbers are big-endian.
const (
	interiorPage = 0x05
	leafPage     = 0x0d

	interiorCells = 12 // where the places of an interior page's cells begin
	leafCells     = 8

	maxHeight   = 20  // of a tree; SQLite's own bound
	leastUsable = 480 // bytes of a page; SQLite's own bound
	lockByte    = 1 << 30
)

// A tree reads the b-tree of a table. What it reads may be damaged in any way:
// that makes errors, and neither a panic nor a walk without an end.
type tree struct {
	pages
	usable int    // bytes of a page that are not kept for the cipher
	count  uint32 // pages of the file
}

func newTree(p pages) (*tree, error) {
	first := make([]byte, p.PageSize())
	if err := p.Page(first, 1); err != nil {
		return nil, err
	}
	t := &tree{pages: p, usable: p.PageSize() - int(first[20]), count: uint32(p.Size() / int64(p.PageSize()))}
	if t.usable < leastUsable {
		return nil, damaged(1, "keeps too many bytes of each page")
	}
	if encoding := binary.BigEndian.Uint32(first[56:]); encoding != 1 {
		return nil, damaged(1, "says that texts are not UTF-8")
	}
	return t, nil
}

func damaged(page uint32, how string) error {
	return fmt.Errorf("read a table of Signal's database: page %d %s", page, how)
}

// get reads a page that may be one of a table: the first belongs to the schema,
// and the one that SQLite locks bytes of belongs to nobody.
func (t *tree) get(dst []byte, n uint32) error {
	if n < 2 || n > t.count || n == uint32(lockByte/t.PageSize())+1 {
		return damaged(n, "is no page of a table")
	}
	return t.Page(dst, n)
}

// cells returns how many cells a page has whose places begin at an offset.
func (t *tree) cells(page []byte, from int) (count int, ok bool) {
	count = int(binary.BigEndian.Uint16(page[3:]))
	return count, from+2*count <= t.usable
}

// A part is a page of a tree, and which rows are wanted of those below it, in
// order; nil: all.
type part struct {
	page uint32
	rows []int64
}

// has reports whether a row is wanted.
func (p part) has(rowid int64) bool {
	if p.rows == nil {
		return true
	}
	_, ok := slices.BinarySearch(p.rows, rowid)
	return ok
}

// walk hands over the leaves of a tree that have wanted rows.
func (t *tree) walk(ctx context.Context, root part, leaves chan<- part) error {
	w := &walker{tree: t, page: make([]byte, t.PageSize()), left: t.count, leaves: leaves}
	height, err := w.height(root.page)
	if err != nil {
		return err
	}
	return w.descend(ctx, root, height)
}

// A walker goes through the interior pages of a tree. All leaves of a b-tree are
// equally deep, so that it need not read them to know them.
type walker struct {
	*tree
	page   []byte // the one that is read
	left   uint32 // pages that may still come: a tree without an end has more than the file
	leaves chan<- part
}

// height returns how many interior pages are above each leaf.
func (w *walker) height(n uint32) (int, error) {
	for height := range maxHeight {
		if err := w.get(w.page, n); err != nil {
			return 0, err
		}
		if w.page[0] == leafPage {
			return height, nil
		}
		children, err := w.children(n)
		if err != nil {
			return 0, err
		}
		n = children[0].page
	}
	return 0, damaged(n, "is too deep in its tree")
}

func (w *walker) descend(ctx context.Context, p part, height int) error {
	if w.left == 0 {
		return damaged(p.page, "is in its tree more than once")
	}
	w.left--
	if height == 0 {
		select {
		case w.leaves <- p:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := w.get(w.page, p.page); err != nil {
		return err
	}
	children, err := w.children(p.page)
	for i := 0; i < len(children) && err == nil; i++ {
		below := part{children[i].page, p.rows}
		if p.rows != nil {
			below.rows, p.rows = split(p.rows, children[i].last)
			if len(below.rows) == 0 {
				continue
			}
		}
		err = w.descend(ctx, below, height-1)
	}
	return err
}

// split returns the rows up to last, and those past it.
func split(rows []int64, last int64) (upTo, past []int64) {
	i, found := slices.BinarySearch(rows, last)
	if found {
		i++
	}
	return rows[:i], rows[i:]
}

// A child is a page below an interior one, and the last row that may be on it.
type child struct {
	page uint32
	last int64
}

// children returns the pages below the interior one that is read; at least one.
func (w *walker) children(n uint32) ([]child, error) {
	if w.page[0] != interiorPage {
		return nil, damaged(n, "is no interior page of a table")
	}
	count, ok := w.cells(w.page, interiorCells)
	if !ok {
		return nil, damaged(n, "has too many cells")
	}
	children := make([]child, 0, count+1)
	for i := range count {
		at := int(binary.BigEndian.Uint16(w.page[interiorCells+2*i:]))
		if at+4 > w.usable {
			return nil, damaged(n, "has a cell past its end")
		}
		last, width := varint(w.page[at+4 : w.usable])
		if width == 0 {
			return nil, damaged(n, "has a cell past its end")
		}
		children = append(children, child{binary.BigEndian.Uint32(w.page[at:]), int64(last)})
	}
	return append(children, child{binary.BigEndian.Uint32(w.page[8:]), math.MaxInt64}), nil // the right-most has a place of its own
}
