package transform

import "slices"

// copies chooses among records with the same key in one body: the record with the most values is
// staged. If several copies have the most values, the last of these is staged. The choice is known only
// after the whole body was read, but only the last row of a table can be removed. So a body with copies,
// which is rare, is read a second time to count the values of the copies, and a third time to keep the
// chosen copies.
type copies struct {
	// best is the choice by key hash. Nil means that there are no copies.
	best map[uint64]copyChoice
	// counting means that the body is read to count values only.
	counting bool
}

// copyChoice is the number of a record in the body and the number of values in the record.
type copyChoice struct {
	recordNumber int
	values       uint64
}

func (c *copies) findCopies(ids []uint64) bool {
	c.best = nil
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] != ids[i-1] {
			continue
		}
		if c.best == nil {
			c.best = map[uint64]copyChoice{}
		}
		c.best[ids[i]] = copyChoice{}
	}
	return c.best != nil
}

func (d *Decoder) resolveCopies(body []byte, o Origin) error {
	if !d.records.copies.findCopies(d.records.page.IDs) {
		return nil
	}
	defer func() { d.records.copies.best = nil }()
	d.records.copies.counting = true
	err := d.readAgain(body, o)
	d.records.copies.counting = false
	if err != nil {
		return err
	}
	return d.readAgain(body, o)
}

func (d *Decoder) readAgain(body []byte, o Origin) error {
	d.records.undoBody()
	d.beginBody(body, o)
	return d.body.readBody()
}

// countOrDropCopy counts the values of the last record or, once all copies are counted, removes it if
// another copy was chosen. It reports whether it removed the record. since marks the beginning of
// the record's findings.
func (r *recordReader) countOrDropCopy(since findingsMark, raw []byte) bool {
	root, last := r.root, r.root.rows-1
	id := root.keyHash(last)
	best, copied := r.copies.best[id]
	if !copied {
		return false
	}
	if r.copies.counting {
		values := root.countValues(last)
		for i, in := range root.inner {
			for row := root.innerRowsBefore[i]; row < in.rows; row++ {
				values += in.countValues(row)
			}
		}
		if values >= best.values {
			r.copies.best[id] = copyChoice{r.in.recordNumber, values}
		}
		return false
	}
	if best.recordNumber == r.in.recordNumber {
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

func (t *table) countValues(row int) uint64 {
	n := uint64(0)
	for i := range t.cols {
		if !t.cols[i].isNull(row) {
			n++
		}
	}
	return n
}
