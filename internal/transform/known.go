package transform

import (
	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"
)

// Known holds the records of a stream that are stored already, 16 bytes each: the
// hash of the key, and a print of the record with all rows inside it. It is
// filled first and then shared by decoders.
type Known struct {
	// ids and prints are one table with open addressing; id 0 is a free place.
	ids, prints []uint64
}

// NewKnown has space for a number of records.
func NewKnown(records int) *Known {
	places := 16
	for places < records+records/2 {
		places *= 2
	}
	return &Known{make([]uint64, places), make([]uint64, places)}
}

// Add enters stored rows of one table: the keys of the records that they belong to, and
// their fingerprints. It is fastest when rows of one record follow one another.
func (k *Known) Add(table string, keys *array.String, rowHashes *array.Uint64) {
	salt := xxh3.HashString(table)
	var last string
	at := -1
	for i, hash := range rowHashes.Uint64Values() {
		if key := keys.Value(i); at < 0 || key != last {
			id := max(xxh3.HashString(key), 1)
			last, at = key, k.findPlace(id)
			k.ids[at] = id
		}
		k.prints[at] += printOf(hash, salt)
	}
}

// findPlace returns the place of an id, the free one for it if it has none.
func (k *Known) findPlace(id uint64) int {
	mask := len(k.ids) - 1
	i := int(stream.MixBits(id)) & mask
	for k.ids[i] != id && k.ids[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// hasRecord reports whether a record is stored with exactly these rows.
func (k *Known) hasRecord(id, sum uint64) bool {
	at := k.findPlace(max(id, 1))
	return k.ids[at] != 0 && k.prints[at] == sum
}

// printOf is what one row adds to the print of its record. The fingerprint of a
// row is a sum over its values: without mixing, two rows of a record could swap
// a value unnoticed.
func printOf(rowHash, table uint64) uint64 { return stream.MixBits(rowHash ^ table) }

func rowPrint(t *table, row int) uint64 {
	return printOf(t.cols[len(t.cols)-2].word(row), t.salt)
}

// Flat reports whether every table of the stream is keyed by the record's own
// key, one text, so that [Known] can find the record of a stored row.
func (b *Binding) Flat() bool {
	root := b.tables[0]
	if len(root.keys) != 1 || root.cols[root.keys[0]].kind != text {
		return false
	}
	for _, t := range b.tables[1:] {
		if t.enclosing != 0 || len(t.parents) != 1 || t.name == root.name {
			return false
		}
	}
	return true
}

// Skip makes the decoder omit the rows of records that are known: it lists their keys
// in [stream.SameTable] instead. The binding must be flat, and no row held yet.
func (d *Decoder) Skip(known *Known) {
	d.records.knownRecords = known
	l := &layout{name: stream.SameTable, cols: []columnLayout{
		{name: "id", kind: text}, {name: stream.RowHash, kind: unsigned}, {name: stream.Seq, kind: unsigned},
	}}
	l.setSchema()
	d.rows.tables, d.records.rowsBefore = append(d.rows.tables, newTable(l)), append(d.records.rowsBefore, 0)
}

// skipIfKnown takes the record just closed out of the rows when it is known.
func (r *recordReader) skipIfKnown(root *table) {
	last := root.rows - 1
	if !r.knownRecords.hasRecord(root.keyHash(last), root.sumLast(rowPrint)) {
		return
	}
	same := r.rows.tables[len(r.rows.tables)-1]
	same.cols[0].copyFrom(&root.cols[root.keys[0]], last)
	same.cols[1].appendInt(0)
	same.cols[2].appendInt(int64(r.in.seq))
	same.rows++
	root.dropLast()
}
