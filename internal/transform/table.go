package transform

import (
	"math"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"
)

// maxText bounds the text of one column in one batch: Arrow's offsets have 32
// bits, and the hash of a last private text must still fit.
const maxText = math.MaxInt32 - hashedText

// table holds the rows of one table since the last Flush. At most one row is
// open: its columns that have a value are one longer than rows.
type table struct {
	*layoutOf
	cols []column
	rows int
	// seen marks the fields met in the open row.
	seen []uint64
	// marks are the row counts of the tables within, when the row was opened.
	marks []int
}

func newTable(l *layoutOf) *table {
	t := &table{layoutOf: l, seen: make([]uint64, (l.names+63)/64), marks: make([]int, len(l.within))}
	for i := range l.cols {
		t.cols = append(t.cols, newColumn(&l.cols[i]))
	}
	return t
}

// begin opens a row.
func (t *table) begin(all []*table) {
	clear(t.seen)
	for i, w := range t.within {
		t.marks[i] = all[w].rows
	}
	for _, c := range t.consts {
		t.cols[c.col].text(c.text)
	}
}

// undo drops the open row and all rows within it.
func (t *table) undo(all []*table) {
	t.cut(t.rows)
	for i, w := range t.within {
		all[w].cut(t.marks[i])
	}
}

func (t *table) cut(rows int) {
	for i := range t.cols {
		t.cols[i].cut(rows)
	}
	t.rows = rows
}

// set reports whether a column of the open row has a value.
func (t *table) set(col int) bool { return t.cols[col].n > t.rows }

// filled reports whether a column of the open row has a value that can
// identify or describe something: an empty text cannot.
func (t *table) filled(col int) bool {
	return t.set(col) && (t.cols[col].kind != text || len(t.cols[col].bytes(t.rows)) > 0)
}

// keyed reports whether the columns that rows within inherit are there.
func (t *table) keyed() bool {
	for _, col := range t.given {
		if !t.filled(col) {
			return false
		}
	}
	return true
}

// meet marks a field of the open row and reports whether it was met before.
func (t *table) meet(f *field) bool {
	word, bit := &t.seen[f.bit>>6], uint64(1)<<(f.bit&63)
	again := *word&bit != 0
	*word |= bit
	return again
}

// end closes the row: private values are concealed, columns without a value
// become NULL, and the system columns are appended. It fails when a column has
// outgrown a batch.
func (t *table) end(seq uint64, h *hasher) error {
	for _, i := range t.concealed {
		if t.set(i) && len(t.cols[i].data) <= maxText {
			t.cols[i].conceal(&t.layoutOf.cols[i])
		}
	}
	var sum uint64
	data := len(t.cols) - 2
	for i := range data {
		switch c := &t.cols[i]; {
		case c.n == t.rows:
			c.null()
		case len(c.data) > maxText:
			return ErrFull
		case c.tracked:
			sum += h.last(c)
		}
	}
	t.cols[data].uint(sum)
	t.cols[data+1].uint(seq)
	t.rows++
	return nil
}

// identity is the hash of the key of the i-th row.
func (t *table) identity(i int) uint64 {
	var id uint64
	for n, k := range t.keys {
		h := t.cols[k].word64(i)
		if n == 0 {
			id = h
			continue
		}
		id = stream.MixBits(id) + h
	}
	return id
}

// word64 is a value as 64 bits: itself where it fits, its hash where not.
func (c *column) word64(i int) uint64 {
	if c.kind <= document {
		return xxh3.Hash(c.bytes(i))
	}
	return c.word(i)
}

// take hands all rows over as a record batch.
func (t *table) take() Batch {
	arrays := make([]arrow.Array, len(t.cols))
	for i := range t.cols {
		arrays[i] = t.cols[i].take(t.layoutOf.cols[i].arrow)
	}
	batch := array.NewRecordBatch(t.schema, arrays, int64(t.rows))
	for _, a := range arrays {
		a.Release()
	}
	t.rows = 0
	return Batch{Table: t.name, Record: batch}
}
