package transform

import "slices"

// copies settles which of several records with the same key in one body is staged:
// the one with more values, of equal ones the later. That is only known when the
// body has been read, and single rows cannot be removed; so the rare body that has
// copies is read again, to count their values, and once more to keep the best.
type copies struct {
	// best is the choice by the hash of the key; nil: no copies.
	best map[uint64]weighed
	// weighing says that the body is read for the weights alone.
	weighing bool
	ids      []uint64
}

// weighed is the place of a record in the body and the number of its values.
type weighed struct {
	place  int
	values uint64
}

// findCopies looks for keys that two records have.
func (c *copies) findCopies(ids []uint64) bool {
	c.best = nil
	c.ids = append(c.ids[:0], ids...)
	slices.Sort(c.ids)
	for i := 1; i < len(c.ids); i++ {
		if c.ids[i] != c.ids[i-1] {
			continue
		}
		if c.best == nil {
			c.best = map[uint64]weighed{}
		}
		c.best[c.ids[i]] = weighed{}
	}
	return c.best != nil
}

// settleCopies reads the body again where it has records with the same key.
func (d *Decoder) settleCopies(body []byte, o Origin) error {
	if !d.records.copies.findCopies(d.records.page.IDs) {
		return nil
	}
	defer func() { d.records.copies.best = nil }()
	for _, d.records.copies.weighing = range []bool{true, false} {
		d.records.undoBody()
		d.beginBody(body, o)
		if err := d.answer.readBody(); err != nil {
			d.records.copies.weighing = false
			return err
		}
	}
	return nil
}

// dropCopy counts the values of the record just closed, or drops it if another copy has
// more; since says where its findings begin.
func (r *recordReader) dropCopy(root *table, since findingsMark, raw []byte) bool {
	last := root.rows - 1
	id := root.keyHash(last)
	best, copied := r.copies.best[id]
	if !copied {
		return false
	}
	if r.copies.weighing {
		if values := root.countLast(); values >= best.values {
			r.copies.best[id] = weighed{r.in.place, values}
		}
		return false
	}
	if best.place == r.in.place {
		return false
	}
	raw = r.report.redactPath(root, "", raw)
	key := validText([]byte(root.keyText(last)))
	r.report.count(root.name, Duplicate, []byte("$record"), raw)
	r.report.addCarrier(since, id, func() string { return key })
	r.page.Copies++
	root.dropLast()
	return true
}

// countLast counts the values of the row just closed and of all rows within it.
func (t *table) countLast() uint64 {
	n := t.countValues(t.rows - 1)
	for i, in := range t.inner {
		for row := t.rowsWithin[i]; row < in.rows; row++ {
			n += in.countValues(row)
		}
	}
	return n
}

// countValues counts the values of a row that are not NULL.
func (t *table) countValues(row int) uint64 {
	n := uint64(0)
	for i := range t.cols {
		if !t.cols[i].isNull(row) {
			n++
		}
	}
	return n
}
