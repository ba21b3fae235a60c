package transform

import "slices"

// copies settles which of several records with the same key in one body is staged:
// the one with more values, of equal ones the later. That is only known when the
// body has been read, and rows cannot be taken out of their midst; so the rare body
// that has copies is read again, to weigh them, and once more to keep the best.
type copies struct {
	// best is the choice by the hash of the key; nil: no copies.
	best map[uint64]weighed
	// weighing says that the body is read for the weights alone.
	weighing bool
	ids      []uint64
}

// weighed is the place of a record in the body and the number of its values.
type weighed struct{ place, values int }

// findCopies looks for keys that came twice.
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
	if !d.copies.findCopies(d.page.IDs) {
		return nil
	}
	defer func() { d.copies.best = nil }()
	for _, d.copies.weighing = range []bool{true, false} {
		d.undoBody()
		d.beginBody(body, o)
		if err := d.readBody(); err != nil {
			d.copies.weighing = false
			return err
		}
	}
	return nil
}

// dropCopy weighs the record just closed, or takes it back when another copy is
// better; since says where its findings begin.
func (d *Decoder) dropCopy(root *table, since findingsMark, raw []byte) bool {
	last := root.rows - 1
	id := root.keyHash(last)
	best, copied := d.copies.best[id]
	if !copied {
		return false
	}
	if d.copies.weighing {
		if values := d.countRecordValues(root); values >= best.values {
			d.copies.best[id] = weighed{d.place, values}
		}
		return false
	}
	if best.place == d.place {
		return false
	}
	raw = d.redactPath(root, "", raw)
	key := validText([]byte(root.keyText(last)))
	d.findings.count(root.name, Duplicate, []byte("$record"), raw)
	d.findings.addCarrier(since, id, func() string { return key })
	d.page.Copies++
	d.removeRecord(root)
	return true
}

// countRecordValues counts what the record just closed holds, with all rows inside it.
func (d *Decoder) countRecordValues(root *table) int {
	n := root.countValues(root.rows - 1)
	for i, w := range root.within {
		t := d.tables[w]
		for row := root.rowsWithin[i]; row < t.rows; row++ {
			n += t.countValues(row)
		}
	}
	return n
}

func (t *table) countValues(row int) int {
	n := 0
	for i := range t.cols {
		if !t.cols[i].isNull(row) {
			n++
		}
	}
	return n
}

// removeRecord takes the record just closed out of the rows.
func (d *Decoder) removeRecord(root *table) {
	root.truncate(root.rows - 1)
	for i, w := range root.within {
		d.tables[w].truncate(root.rowsWithin[i])
	}
}
