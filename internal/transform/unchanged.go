package transform

import "placementsync/internal/stream"

// Stored contains the records of a list in the last snapshot. It may be used from many goroutines.
type Stored interface {
	// Find returns the number of a record, or -1 if it is not stored. sum is the sum of stream.RowSum over
	// the rows of a copy of the record, without their positions. isUnchanged reports whether they equal the
	// stored rows. previous is the result of the last Find, or -1. The search begins after it, because lists
	// are mostly in the order of the last night.
	Find(key []byte, sum uint64, previous int) (record int, isUnchanged bool)
	// AddCopies is called once for each decoded body.
	AddCopies(copies []stream.RecordCopy)
}

// SkipUnchanged makes the decoder omit the rows of unchanged records. The records of the stream must have one
// text as key, and all other tables of the stream must be child tables of the records.
func (d *Decoder) SkipUnchanged(stored Stored) { d.records.stored = stored }

// dropUnchanged removes the rows of the last record if they equal the stored rows. The order of the items of a
// list does not matter.
func (r *recordReader) dropUnchanged() {
	root, last := r.root, r.root.rows-1
	sum := stream.RowSum(0, root.itemHash(last))
	for i, child := range root.inner {
		for row := root.innerRowsBefore[i]; row < child.rows; row++ {
			sum += stream.RowSum(i+1, child.itemHash(row))
		}
	}
	previous := -1
	if len(r.copies) > 0 {
		previous = r.copies[len(r.copies)-1].Record
	}
	record, isUnchanged := r.stored.Find(root.cols[root.keys[0]].bytes(last), sum, previous)
	if record < 0 {
		return
	}
	if r.stagedSeqs != nil { // this body has several copies of a record, of which one is staged
		isUnchanged = false
	}
	r.copies = append(r.copies, stream.RecordCopy{Record: record, Seq: r.in.seq, IsUnchanged: isUnchanged})
	if isUnchanged {
		root.rows--
		root.undoRow()
	}
}

// itemHash returns the fingerprint of a row without its position.
func (t *table) itemHash(row int) uint64 {
	hash := t.cols[len(t.cols)-2].word(row) // the last two columns are the fingerprint and the seq
	if t.position >= 0 {
		hash -= stream.PositionHash(int64(t.cols[t.position].word(row)))
	}
	return hash
}
