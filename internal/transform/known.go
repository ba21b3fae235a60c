package transform

import (
	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"
)

// SameTable is the table of the records that a decoder found to be known: their
// key, and their seq behind an empty fingerprint.
const SameTable = "$same"

// Known holds the records of a stream that are stored already, 16 bytes each: the
// hash of the key, and a print of the record with all rows inside it. It is
// filled first and then shared by decoders.
type Known struct {
	// ids and prints are one table with open addressing; id 0 is a free place.
	ids, prints []uint64
}

// NewKnown makes room for a number of records.
func NewKnown(records int) *Known {
	places := 16
	for places < records+records/2 {
		places *= 2
	}
	return &Known{make([]uint64, places), make([]uint64, places)}
}

// Add tells of stored rows of one table: the keys of the records that they belong
// to, and their fingerprints. Rows of one record mostly stand beside one another.
func (k *Known) Add(table string, keys *array.String, rowHashes *array.Uint64) {
	salt := xxh3.HashString(table)
	var last string
	at := -1
	for i, hash := range rowHashes.Uint64Values() {
		if key := keys.Value(i); at < 0 || key != last {
			last, at = key, k.findPlace(xxh3.HashString(key))
		}
		k.prints[at] += printOf(hash, salt)
	}
}

// findPlace finds where an id is, and takes a place for one that is not there.
func (k *Known) findPlace(id uint64) int {
	id = max(id, 1)
	mask := len(k.ids) - 1
	for i := int(stream.MixBits(id)) & mask; ; i = (i + 1) & mask {
		switch k.ids[i] {
		case id:
			return i
		case 0:
			k.ids[i] = id
			return i
		}
	}
}

// hasRecord reports whether a record is stored just so.
func (k *Known) hasRecord(id, sum uint64) bool {
	id = max(id, 1)
	mask := len(k.ids) - 1
	for i := int(stream.MixBits(id)) & mask; k.ids[i] != 0; i = (i + 1) & mask {
		if k.ids[i] == id {
			return k.prints[i] == sum
		}
	}
	return false
}

// printOf is what one row adds to the print of its record. The fingerprint of a
// row is a sum over its values: without mixing, two rows of a record could swap
// a value and nobody would see it.
func printOf(rowHash, table uint64) uint64 { return stream.MixBits(rowHash ^ table) }

// Flat reports whether every table of the stream is keyed by the record's own
// key, one text, so that [Known] can tell whose a stored row is.
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

// Skip has the decoder leave out the rows of records that are known: it names
// them in [SameTable] instead. The binding must be flat, and no row held yet.
func (d *Decoder) Skip(known *Known) {
	d.records.knownRecords = known
	l := &layout{index: len(d.rows.tables), name: SameTable}
	fields := make([]arrow.Field, 0, 3)
	for _, c := range []columnLayout{{name: "id", kind: text}, {name: stream.RowHash, kind: unsigned}, {name: stream.Seq, kind: unsigned}} {
		c.arrow = c.kind.arrowType()
		l.cols = append(l.cols, c)
		fields = append(fields, arrow.Field{Name: c.name, Type: c.arrow, Nullable: c.kind != unsigned})
	}
	l.schema = arrow.NewSchema(fields, nil)
	d.rows.tables, d.records.rowsBefore = append(d.rows.tables, newTable(l)), append(d.records.rowsBefore, 0)
}

// skipIfKnown takes the record just closed out of the rows when it is known.
func (r *recordReader) skipIfKnown(root *table) {
	last := root.rows - 1
	if !r.knownRecords.hasRecord(root.keyHash(last), root.sumLast((*table).rowPrint)) {
		return
	}
	same := r.rows.tables[len(r.rows.tables)-1]
	same.cols[0].copyFrom(&root.cols[root.keys[0]], last)
	same.cols[1].appendInt(0)
	same.cols[2].appendInt(int64(r.in.seq))
	same.rows++
	root.dropLast()
}

func (t *table) rowPrint(row int) uint64 {
	return printOf(t.cols[len(t.cols)-2].word(row), t.salt)
}
