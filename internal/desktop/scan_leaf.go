package desktop

import "encoding/binary"

// A leaf reads one column of the rows on leaf pages, one page after the other,
// with buffers of its own.
type leaf struct {
	*tree
	column int
	holds  func([]byte) bool
	page   []byte // the leaf
	next   []byte // a page of an overflow chain
	long   []byte // the record that one leads to
}

func (t *tree) newLeaf(column int, holds func([]byte) bool) *leaf {
	return &leaf{tree: t, column: column, holds: holds, page: make([]byte, t.PageSize()), next: make([]byte, t.PageSize())}
}

// read reads the wanted rows of a leaf.
func (l *leaf) read(p part, fn textFunc) error {
	n := p.page
	if err := l.get(l.page, n); err != nil {
		return err
	}
	if l.page[0] != leafPage {
		return damaged(n, "is no leaf of a table")
	}
	count, ok := l.cells(l.page, leafCells)
	if !ok {
		return damaged(n, "has too many cells")
	}
	if l.alone(count) && !l.holds(l.page[:l.usable]) {
		return nil // nor does any text, and most pages end here
	}
	for i := range count {
		if err := l.cell(p, l.at(i), fn); err != nil {
			return err
		}
	}
	return nil
}

// at is the page from a cell on.
func (l *leaf) at(cell int) []byte {
	at := int(binary.BigEndian.Uint16(l.page[leafCells+2*cell:]))
	return l.page[min(at, l.usable):l.usable]
}

// alone reports whether no record goes on in another page.
func (l *leaf) alone(count int) bool {
	for i := range count {
		if size, n := varint(l.at(i)); n == 0 || size > uint64(l.most()) {
			return false
		}
	}
	return true
}

// cell reads the row that b begins with, if it is wanted.
func (l *leaf) cell(p part, b []byte, fn textFunc) error {
	n := p.page
	size, width := varint(b)
	rowid, more := varint(b[width:])
	if width == 0 || more == 0 {
		return damaged(n, "has a cell past its end")
	}
	if !p.has(int64(rowid)) {
		return nil
	}
	record, err := l.record(n, b[width+more:], size)
	if err != nil {
		return err
	}
	text, isText, ok := textOf(record, l.column)
	if !ok {
		return damaged(n, "has a record that is none")
	}
	if !isText || !l.holds(text) {
		return nil
	}
	return fn(int64(rowid), text)
}

// record returns a record of a size that begins with b, and may go on in a chain
// of pages.
func (l *leaf) record(n uint32, b []byte, size uint64) ([]byte, error) {
	if size > uint64(l.Size()) {
		return nil, damaged(n, "has a record that is longer than the file")
	}
	total := int(size)
	local := l.local(total)
	if local == total && local <= len(b) {
		return b[:local], nil
	}
	if local+4 > len(b) {
		return nil, damaged(n, "has a cell past its end")
	}
	l.long = append(l.long[:0], b[:local]...)
	for next := b[local:]; len(l.long) < total; next = l.next {
		if err := l.get(l.next, binary.BigEndian.Uint32(next)); err != nil {
			return nil, err
		}
		part := l.next[4:l.usable]
		l.long = append(l.long, part[:min(len(part), total-len(l.long))]...)
	}
	return l.long, nil
}

// most is how many bytes a record has at most that is wholly on its leaf.
func (l *leaf) most() int { return l.usable - 35 }

// local returns how many bytes of a record are on its leaf.
func (l *leaf) local(size int) int {
	most := l.most()
	if size <= most {
		return size
	}
	least := (l.usable-12)*32/255 - 23
	if n := least + (size-least)%(l.usable-4); n <= most {
		return n
	}
	return least
}

// textOf returns a column of a record, and whether it is text: a record that is
// older than the column lacks it. It is not ok where the record is none.
func textOf(record []byte, column int) (text []byte, isText, ok bool) {
	size, n := varint(record)
	if n == 0 || size > uint64(len(record)) || size < uint64(n) {
		return nil, false, false
	}
	types, values := record[n:size], record[size:]
	for i := 0; len(types) > 0; i++ {
		kind, n := varint(types)
		length, known := width(kind)
		if n == 0 || !known || length > uint64(len(values)) {
			return nil, false, false
		}
		if i == column {
			return values[:length], kind >= 13 && kind%2 == 1, true
		}
		types, values = types[n:], values[length:]
	}
	return nil, false, true
}

// width returns how many bytes a value of a type has. Two types are none.
func width(kind uint64) (bytes uint64, known bool) {
	switch {
	case kind >= 12:
		return (kind - 12) / 2, true
	case kind >= 10:
		return 0, false
	default:
		return uint64([...]uint8{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[kind]), true
	}
}

// varint reads a number of one to nine bytes: seven bits in each, eight in the
// ninth. It returns how many bytes that were; 0: b ends before.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
