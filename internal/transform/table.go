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
	*layout
	cols []column
	rows int
	// seenFields marks the fields met in the open row.
	seenFields []uint64
	// rowsWithin are the row counts of the tables within, when the row was opened.
	rowsWithin []int
}

func newTable(l *layout) *table {
	t := &table{layout: l, seenFields: make([]uint64, (l.names+63)/64), rowsWithin: make([]int, len(l.within))}
	for i := range l.cols {
		t.cols = append(t.cols, newColumn(&l.cols[i]))
	}
	return t
}

// openRow opens a row.
func (t *table) openRow(all []*table) {
	clear(t.seenFields)
	for i, w := range t.within {
		t.rowsWithin[i] = all[w].rows
	}
	for _, c := range t.consts {
		t.cols[c.col].appendText(c.text)
	}
}

// undoRow drops the open row and all rows within it.
func (t *table) undoRow(all []*table) {
	t.truncate(t.rows)
	for i, w := range t.within {
		all[w].truncate(t.rowsWithin[i])
	}
}

func (t *table) truncate(rows int) {
	for i := range t.cols {
		t.cols[i].truncate(rows)
	}
	t.rows = rows
}

// hasValue reports whether a column of the open row has a value.
func (t *table) hasValue(col int) bool { return t.cols[col].n > t.rows }

// isFilled reports whether a column of the open row has a value that can
// identify or describe something: an empty text cannot.
func (t *table) isFilled(col int) bool {
	return t.hasValue(col) && (t.cols[col].kind != text || len(t.cols[col].bytes(t.rows)) > 0)
}

// hasParentKey reports whether the columns that rows within inherit are there.
func (t *table) hasParentKey() bool {
	for _, col := range t.inheritedKeys {
		if !t.isFilled(col) {
			return false
		}
	}
	return true
}

// markSeen marks a field of the open row and reports whether it was met before.
func (t *table) markSeen(f *field) bool {
	word, bit := &t.seenFields[f.bit>>6], uint64(1)<<(f.bit&63)
	again := *word&bit != 0
	*word |= bit
	return again
}

// closeRow closes the row: private values are concealed, columns without a value
// become NULL, and the system columns are appended. It fails when a column has
// outgrown a batch.
func (t *table) closeRow(seq uint64, h *hasher) error {
	for _, i := range t.concealed {
		if t.hasValue(i) && len(t.cols[i].data) <= maxText {
			t.cols[i].hidePrivate(&t.layout.cols[i])
		}
	}
	var sum uint64
	data := len(t.cols) - 2
	for i := range data {
		switch c := &t.cols[i]; {
		case c.n == t.rows:
			c.appendNull()
		case len(c.data) > maxText:
			return ErrFull
		case c.tracked:
			sum += h.hashLast(c)
		}
	}
	t.cols[data].appendUint(sum)
	t.cols[data+1].appendUint(seq)
	t.rows++
	return nil
}

// keyHash is the hash of the key of the i-th row.
func (t *table) keyHash(i int) uint64 {
	var id uint64
	for n, k := range t.keys {
		h := t.cols[k].hash64(i)
		if n == 0 {
			id = h
			continue
		}
		id = stream.MixBits(id) + h
	}
	return id
}

// hash64 is a value as 64 bits: itself where it fits, its hash where not.
func (c *column) hash64(i int) uint64 {
	if c.kind <= document {
		return xxh3.Hash(c.bytes(i))
	}
	return c.word(i)
}

// toBatch hands all rows over as a record batch.
func (t *table) toBatch() Batch {
	arrays := make([]arrow.Array, len(t.cols))
	for i := range t.cols {
		arrays[i] = t.cols[i].toArrow(t.layout.cols[i].arrow)
	}
	batch := array.NewRecordBatch(t.schema, arrays, int64(t.rows))
	for _, a := range arrays {
		a.Release()
	}
	t.rows = 0
	return Batch{Table: t.name, Record: batch}
}
