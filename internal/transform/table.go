package transform

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/bojanz/currency"
	"github.com/zeebo/xxh3"

	"placementsync/internal/stream"
)

// maxText limits the texts of a column in a batch, in bytes: Arrow's offsets have 32 bits, and the
// hash of a private text must still fit.
const maxText = math.MaxInt32 - hashHexLen

// table contains the rows of a table since the last Flush. The row after the last complete row is
// the current row: a column that has a value for the current row contains rows+1 values.
type table struct {
	*layout
	cols []column
	rows int    // number of complete rows
	up   *table // of the enclosing rows, or nil for records
	// inner are the tables whose rows can be inside the current row. innerRowsBefore contains the
	// number of rows of each inner table when the current row began.
	inner           []*table
	innerRowsBefore []int
}

func newTable(l *layout) *table {
	t := &table{layout: l}
	for i := range l.cols {
		c := column{columnLayout: &l.cols[i]}
		if c.kind <= document {
			c.offsets = []int32{0}
		}
		t.cols = append(t.cols, c)
	}
	return t
}

func (t *table) beginRow() {
	for i, in := range t.inner {
		t.innerRowsBefore[i] = in.rows
	}
	for _, c := range t.consts {
		t.cols[c.col].appendText(c.text)
	}
}

func (t *table) undoRow() {
	t.truncate(t.rows)
	for i, in := range t.inner {
		in.truncate(t.innerRowsBefore[i])
	}
}

func (t *table) truncate(rows int) {
	for i := range t.cols {
		t.cols[i].truncate(rows)
	}
	t.rows = rows
}

func (t *table) hasValue(col int) bool { return t.cols[col].n > t.rows }

// isFilled reports whether a column of the current row has a value other than an empty text.
func (t *table) isFilled(col int) bool {
	return t.hasValue(col) && (t.cols[col].kind != text || len(t.cols[col].bytes(t.rows)) > 0)
}

// endRow completes the current row: it divides a price in minor units, hides private values, sets columns without a value
// to NULL and appends the system columns. It returns ErrFull if the texts of a column exceed maxText.
func (t *table) endRow(seq uint64, w *jsonWriter) error {
	t.divideMinorPrice()
	var sum uint64
	for i := range t.systemColumn() {
		c := &t.cols[i]
		if c.isPrivate() && t.hasValue(i) && len(c.data) <= maxText {
			c.hidePrivate()
		}
		switch {
		case c.n == t.rows:
			c.appendNull()
		case len(c.data) > maxText:
			return ErrFull
		case c.inFingerprint:
			sum += c.hashLast(w)
		}
	}
	t.cols[t.systemColumn()].appendInt(int64(sum))
	t.cols[t.systemColumn()+1].appendInt(int64(seq))
	t.rows++
	return nil
}

// systemColumn returns the index of the first system column. The system columns are the fingerprint and the seq, and
// are the last columns.
func (t *table) systemColumn() int { return len(t.cols) - 2 }

func (t *table) seq(row int) uint64 { return t.cols[t.systemColumn()+1].word(row) }

// millionths is the number of the smallest units of a money column in one unit.
const millionths = 1_000_000

// ReadMinorUnits makes decoders read unit_amount as an integer in the smallest unit of its currency: 575 is 5.75
// USD, 575 JPY and 0.575 KWD. It must be called before NewDecoder.
func (b *Binding) ReadMinorUnits() {
	for _, l := range b.tables {
		if price := l.columnIndex("unit_amount"); price >= 0 {
			l.cols[price].isMinorPrice = true
			l.minorPrice, l.priceCurrency = price, l.columnIndex("currency")
		}
	}
}

// divideMinorPrice divides the price of the current row by the number of its units in one unit of the currency.
// Prices are whole numbers of at least 10^-4 units, so the result is exact.
func (t *table) divideMinorPrice() {
	if t.minorPrice < 0 || !t.hasValue(t.minorPrice) {
		return
	}
	digits := uint8(2) // if the currency is unknown
	if t.priceCurrency >= 0 && t.hasValue(t.priceCurrency) {
		if known, ok := currency.GetDigits(string(t.cols[t.priceCurrency].bytes(t.rows))); ok {
			digits = known
		}
	}
	price := &t.cols[t.minorPrice]
	amount := int64(price.word(t.rows))
	for range digits {
		amount /= 10
	}
	price.truncate(t.rows)
	price.appendInt(amount)
}

func (t *table) keyHash(i int) uint64 {
	var id uint64
	for n, k := range t.keys {
		h := xxh3.Hash(t.cols[k].bytes(i))
		if n == 0 {
			id = h
			continue
		}
		id = stream.MixBits(id) + h
	}
	return id
}

func (t *table) createdAt(i int) (micros int64, ok bool) {
	if t.created < 0 || t.cols[t.created].isNull(i) {
		return 0, false
	}
	return int64(t.cols[t.created].word(i)), true
}

func (t *table) toBatch() Batch {
	arrays := make([]arrow.Array, len(t.cols))
	for i := range t.cols {
		arrays[i] = t.cols[i].toArrow(t.schema.Field(i).Type)
	}
	batch := array.NewRecordBatch(t.schema, arrays, int64(t.rows))
	for _, a := range arrays {
		a.Release()
	}
	t.rows = 0
	return Batch{Table: t.name, Rows: batch}
}

type kind uint8

const (
	text kind = iota
	document
	boolean
	integer32
	integer64
	money
	instant
	unsigned
)

var (
	kinds = map[stream.Type]kind{
		stream.Text: text, stream.JSON: document, stream.Bool: boolean, stream.Int32: integer32,
		stream.Int64: integer64, stream.Money: money, stream.Instant: instant,
	}
	arrowTypes = [...]arrow.DataType{
		text: arrow.BinaryTypes.String, document: arrow.BinaryTypes.String, boolean: arrow.FixedWidthTypes.Boolean,
		integer32: arrow.PrimitiveTypes.Int32, integer64: arrow.PrimitiveTypes.Int64,
		money:   &arrow.Decimal128Type{Precision: moneyDigits, Scale: moneyPlaces},
		instant: arrow.FixedWidthTypes.Timestamp_us, unsigned: arrow.PrimitiveTypes.Uint64,
	}
	// widths are in bytes, and 0 for texts, JSON and booleans.
	widths = [...]int{integer32: 4, integer64: 8, money: 16, instant: 8, unsigned: 8}
)

// column is a buffer in Arrow's memory format. Unlike Arrow's own builders it can remove its last
// values, so that a malformed body leaves no rows.
type column struct {
	*columnLayout
	n int // number of values, including NULLs
	// valid has a bit for each value, which is 0 for NULL. Nil means that no value is NULL.
	valid   []byte
	data    []byte
	offsets []int32
}

func appendBit(b []byte, n int, set bool) []byte {
	if n&7 == 0 {
		b = append(b, 0)
	}
	if set {
		b[n>>3] |= 1 << (n & 7)
	}
	return b
}

func bitAt(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 == 1 }

func (c *column) markValid() {
	if c.valid != nil {
		c.valid = appendBit(c.valid, c.n, true)
	}
	c.n++
}

func (c *column) isNull(i int) bool { return c.valid != nil && !bitAt(c.valid, i) }

// endText completes a text value whose bytes were appended to data.
func (c *column) endText() {
	c.offsets = append(c.offsets, int32(len(c.data)))
	c.markValid()
}

// dropEmptyBeforeLast removes the second last value, which is an empty text.
func (c *column) dropEmptyBeforeLast() {
	c.offsets[c.n-1] = c.offsets[c.n]
	c.offsets = c.offsets[:c.n]
	c.n--
	if c.valid != nil {
		c.valid = cutBits(c.valid, c.n)
	}
}

func (c *column) appendText(s string) {
	c.data = append(c.data, s...)
	c.endText()
}

func (c *column) appendBool(v bool) {
	c.data = appendBit(c.data, c.n, v)
	c.markValid()
}

func (c *column) appendInt(v int64) {
	switch c.kind {
	case integer32:
		c.data = binary.NativeEndian.AppendUint32(c.data, uint32(v))
	case money:
		c.data = binary.NativeEndian.AppendUint64(c.data, uint64(v))
		c.data = binary.NativeEndian.AppendUint64(c.data, uint64(v>>63))
	default:
		c.data = binary.NativeEndian.AppendUint64(c.data, uint64(v))
	}
	c.markValid()
}

func (c *column) appendNull() {
	switch c.kind {
	case text, document:
		c.offsets = append(c.offsets, int32(len(c.data)))
	case boolean:
		c.data = appendBit(c.data, c.n, false)
	default:
		var zero [16]byte
		c.data = append(c.data, zero[:widths[c.kind]]...)
	}
	if c.valid == nil {
		c.valid = cutBits(bytes.Repeat([]byte{0xff}, c.n>>3+1), c.n)
	}
	c.valid = appendBit(c.valid, c.n, false)
	c.n++
}

func (c *column) truncate(n int) {
	if c.n <= n {
		return
	}
	c.n = n
	if c.valid != nil {
		c.valid = cutBits(c.valid, n)
	}
	switch c.kind {
	case text, document:
		c.offsets = c.offsets[:n+1]
		c.data = c.data[:c.offsets[n]]
	case boolean:
		c.data = cutBits(c.data, n)
	default:
		c.data = c.data[:n*widths[c.kind]]
	}
}

func cutBits(b []byte, n int) []byte {
	b = b[:(n+7)>>3]
	if n&7 != 0 {
		b[n>>3] &= 1<<(n&7) - 1
	}
	return b
}

// bytes returns value i of any kind except boolean.
func (c *column) bytes(i int) []byte {
	if c.kind <= document {
		return c.data[c.offsets[i]:c.offsets[i+1]]
	}
	w := widths[c.kind]
	return c.data[i*w : (i+1)*w]
}

// word returns value i of a kind that fits into 64 bits.
func (c *column) word(i int) uint64 {
	switch c.kind {
	case boolean:
		if bitAt(c.data, i) {
			return 1
		}
		return 0
	case integer32:
		return uint64(int32(binary.NativeEndian.Uint32(c.data[i*4:])))
	}
	return binary.NativeEndian.Uint64(c.data[i*widths[c.kind]:])
}

func (c *column) equal(i, j int) bool {
	if c.kind == boolean {
		return bitAt(c.data, i) == bitAt(c.data, j)
	}
	return bytes.Equal(c.bytes(i), c.bytes(j))
}

// copyFrom appends value i of a column of the same kind: a text or an integer.
func (c *column) copyFrom(source *column, i int) {
	c.data = append(c.data, source.bytes(i)...)
	if c.kind <= document {
		c.endText()
	} else {
		c.markValid()
	}
}

// toArrow moves the values into an Arrow array. The column is then empty. Its new buffers have
// space for an eighth more, so that the next batch rarely grows them.
func (c *column) toArrow(t arrow.DataType) arrow.Array {
	nulls := 0
	bufs := []*memory.Buffer{nil}
	if c.valid != nil {
		nulls = c.n
		for _, b := range c.valid {
			nulls -= bits.OnesCount8(b)
		}
	}
	if nulls > 0 {
		bufs[0] = memory.NewBufferBytes(c.valid)
	}
	if c.kind <= document {
		bufs = append(bufs, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets)))
	}
	data := array.NewData(t, c.n, append(bufs, memory.NewBufferBytes(c.data)), nil, nulls, 0)
	defer data.Release()
	c.n, c.valid, c.data = 0, nil, make([]byte, 0, len(c.data)+len(c.data)/8)
	if c.kind <= document {
		c.offsets = append(make([]int32, 0, len(c.offsets)+len(c.offsets)/8), 0)
	}
	return array.MakeFromData(data)
}

// hashLast returns the hash of the last value of a column. The fingerprint of a row is the sum of the hashes of
// its values, so it does not depend on the order of columns or on NULL columns: new columns do not
// change the fingerprints of existing rows. Fingerprints are stored, so the computation must never change.
func (c *column) hashLast(w *jsonWriter) uint64 {
	var v uint64
	switch i := c.n - 1; {
	case c.canonical:
		w.hashBuf, _ = w.appendJSON(w.hashBuf[:0], c.bytes(i), canonicalForm)
		v = xxh3.Hash(w.hashBuf)
	case c.kind == text:
		v = xxh3.Hash(c.data[c.offsets[i]:])
	default:
		v = c.word(i)
	}
	return stream.MixBits(v ^ c.seed)
}
