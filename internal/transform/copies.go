package transform

import "slices"

// Of several records with the same key in one body, the record with the most values is staged. If several of
// them have the most values, the last of these is staged. The choice is known only after the whole body was read,
// but only the last row of a table can be removed. So a body with copies, which is rare, is read again.

func (d *Decoder) resolveCopies(body []byte, o Origin) error {
	r := &d.records
	ids := slices.Clone(r.page.IDs)
	if slices.Sort(ids); len(slices.Compact(ids)) == len(r.page.IDs) {
		return nil
	}
	r.stagedSeqs = map[uint64]uint64{}
	defer func() { r.stagedSeqs = nil }()
	if r.stored != nil { // the choice needs the rows of unchanged records too
		if err := d.readAgain(body, o); err != nil {
			return err
		}
	}
	r.chooseCopies()
	return d.readAgain(body, o)
}

func (d *Decoder) readAgain(body []byte, o Origin) error {
	d.records.undoBody()
	d.beginBody(body, o)
	return d.body.readBody()
}

// chooseCopies fills stagedSeqs from the rows of the body. All rows of a record have the same seq.
func (r *recordReader) chooseCopies() {
	values := map[uint64]int{} // number of values by seq
	for i, t := range r.rows.tables {
		for row := r.rowsBeforeBody[i]; row < t.rows; row++ {
			for n := range t.cols {
				if !t.cols[n].isNull(row) {
					values[t.seq(row)]++
				}
			}
		}
	}
	for row := r.rowsBeforeBody[0]; row < r.root.rows; row++ {
		id, seq := r.root.keyHash(row), r.root.seq(row)
		if best, found := r.stagedSeqs[id]; !found || values[seq] >= values[best] {
			r.stagedSeqs[id] = seq
		}
	}
}

// dropCopy removes the last record if another copy of it is staged. It reports whether it removed the record.
// The parameter since is the mark before the record's findings.
func (r *recordReader) dropCopy(since findingsMark, raw []byte) bool {
	root, last := r.root, r.root.rows-1
	if staged, chosen := r.stagedSeqs[root.keyHash(last)]; !chosen || staged == r.in.seq {
		return false
	}
	raw = r.report.redactRaw(root, "", raw)
	r.report.count(root.name, Duplicate, []byte("$record"), raw)
	r.report.assignDrift(since, root)
	r.page.Copies++
	root.rows--
	root.undoRow()
	return true
}

func (t *table) seq(row int) uint64 { return t.cols[len(t.cols)-1].word(row) }
