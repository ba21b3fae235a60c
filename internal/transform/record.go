package transform

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"placementsync/internal/stream"
)

// errAgain asks for the record to be read again, carefully.
var errAgain = errors.New("read the record again")

// delayedList is a list that was met before the key its rows inherit.
type delayedList struct {
	child, pos, depth int
}

// readRecord reads the value at the position as one record. Prefix is the text
// that names it in a map of status counts, else empty.
func (d *Decoder) readRecord(prefix []byte) error {
	root := d.tables[0]
	d.numberRecord()
	start, depth, mark := d.scan.pos, d.scan.depth, d.findings.mark()
	d.findings.startCarrier(d.stands())
	reason, err := d.readRow(root, nil, 0, prefix)
	if err == errAgain {
		d.findings.undoTo(mark)
		d.scan.pos, d.scan.depth, d.careful = start, depth, true
		reason, err = d.readRow(root, nil, 0, prefix)
		d.careful = false
	}
	if err != nil {
		return err
	}
	d.page.Records++
	if reason != "" {
		d.page.Refused++
		d.findings.undoTo(mark)
		d.addReject(root, stream.Reject{Key: d.refused, Parent: d.parentKey(root), Reason: reason}, d.scan.buf[start:d.scan.pos])
		return nil
	}
	if d.copies.best != nil && d.dropCopy(root, mark, d.scan.buf[start:d.scan.pos]) {
		return nil
	}
	d.addToPage(root)
	if last := root.rows - 1; d.findings.mark() != mark {
		d.findings.addCarrier(mark, root.keyHash(last), func() string { return validText([]byte(root.keyText(last))) })
	}
	if d.knownRecords != nil {
		d.skipIfKnown(root)
	}
	return nil
}

// numberRecord gives the record about to be read its seq.
func (d *Decoder) numberRecord() {
	d.place = d.page.Records + 1
	d.seq = d.origin.Seq<<seqBits | uint64(min(d.page.Records, 1<<seqBits-1))
}

// stands is the place of the record that is read.
func (d *Decoder) stands() Place {
	return Place{d.origin.Param, d.origin.Page, d.place, d.seq}
}

// addToPage takes what the walk needs from the row just closed.
func (d *Decoder) addToPage(root *table) {
	last := root.rows - 1
	d.page.IDs = append(d.page.IDs, root.keyHash(last))
	first := len(d.page.IDs) == 1
	d.page.Last = time.Time{}
	if root.created < 0 || root.cols[root.created].isNull(last) {
		d.page.Falling = false
		return
	}
	at := int64(root.cols[root.created].word(last))
	d.page.Last = time.UnixMicro(at).UTC()
	switch {
	case first:
		d.page.First = d.page.Last
	case at > d.created:
		d.page.Falling = false
	case at < d.created:
		d.page.Falls++
	}
	d.created = at
}

// readRow reads the value at the position as one row of a table: the record's own
// when up is nil, else the item at a place of a list in up's open row. A reason
// says why there is no row; the value has been read in any case.
func (d *Decoder) readRow(t, up *table, place int, prefix []byte) (reason string, err error) {
	path, base, strays, lists := len(d.path), d.base, d.extras.mark(), len(d.delayed)
	found := len(d.findings.rejects)
	d.base = path
	t.openRow(d.tables)
	t.fillFromParent(up, place)
	switch c := d.scan.peek(); {
	case c == '{':
		err = d.readObject(t, t.root)
	case t.value < 0 || c == '[' || c == 't' || c == 'f' || c == 'n':
		reason = "want an object"
		_, err = d.scan.skip()
	default:
		err = d.readValue(t, t.value, t.layout.cols[t.value].name)
	}
	if err == nil && reason == "" {
		if reason, err = d.completeRow(t, prefix, lists, strays); err == nil && reason == "" && len(d.findings.rejects) > found {
			d.signRejects(t, found)
		}
	}
	if err != nil || reason != "" {
		d.refused = d.readableKey(t)
		t.undoRow(d.tables)
	}
	d.path, d.base, d.delayed = d.path[:path], base, d.delayed[:lists]
	d.extras.truncate(strays)
	return reason, err
}

// fillFromParent fills the columns that an item has from where it stands.
func (t *table) fillFromParent(up *table, place int) {
	if up == nil {
		return
	}
	for _, p := range t.parents {
		if p.named {
			continue
		}
		t.cols[p.col].copyFrom(&up.cols[p.from], up.rows)
	}
	if t.position >= 0 {
		t.cols[t.position].appendInt(int64(place))
	}
}

// completeRow completes the open row: what the record left empty, the lists that had
// to wait for the key, extra and the system columns.
func (d *Decoder) completeRow(t *table, prefix []byte, lists int, strays extrasMark) (reason string, err error) {
	if t.enclosing < 0 {
		if reason, err = d.checkParam(t); err != nil || reason != "" {
			return reason, err
		}
	}
	if t.prefix >= 0 {
		t.fillStatusKey(prefix)
	}
	d.fillParents(t)
	if len(t.named) > 0 && !t.isFilled(t.keys[0]) {
		if err = d.keyByParent(t); err != nil {
			return "", err
		}
	}
	if reason = t.keyProblem(); reason != "" {
		return reason, nil
	}
	if len(d.delayed) > lists {
		err = d.readDelayed(t, d.delayed[lists:])
	}
	if err == nil && len(d.extras.all) > strays.all {
		err = d.writeExtra(t, strays)
	}
	if err != nil {
		return "", err
	}
	for _, r := range t.ownRequired {
		if !t.hasValue(r) {
			return fmt.Sprintf("no %q, which is required", t.layout.cols[r].name), nil
		}
	}
	return "", t.closeRow(d.seq, &d.hash)
}

// checkParam compares what the open record says of the path parameter with what was
// asked for. The only record of an answer names it itself: what does not is an
// answer that is none. Any other takes it from the question.
func (d *Decoder) checkParam(t *table) (reason string, err error) {
	if len(d.binding.oneOf) > 0 && !slices.ContainsFunc(d.binding.oneOf, t.hasValue) {
		return "", fmt.Errorf("%w: an object without any field that tells it from an error", ErrMalformed)
	}
	if t.param < 0 {
		return "", nil
	}
	name := t.layout.cols[t.param].name
	if !t.isFilled(t.param) {
		if d.binding.object {
			return "", fmt.Errorf("%w: an object without a %q of its own", ErrMalformed, name)
		}
		t.fillEmpty(t.param, d.origin.Param)
		return "", nil
	}
	own := t.cols[t.param].bytes(t.rows)
	if d.origin.Param == "" || string(own) == d.origin.Param {
		return "", nil
	}
	return fmt.Sprintf("names %s %q where %q was asked for", name, own, d.origin.Param), nil
}

// fillParents fills the parent's key where the open row does not name it; where it names
// another one, that stands, and is drift.
func (d *Decoder) fillParents(t *table) {
	for _, p := range t.parents {
		if !p.named {
			continue
		}
		up := d.tables[t.enclosing]
		given := up.cols[p.from].bytes(up.rows)
		switch c := &t.cols[p.col]; {
		case !t.isFilled(p.col):
			t.fillEmpty(p.col, string(given))
		case !bytes.Equal(c.bytes(t.rows), given):
			d.countDrift(t, Conflict, t.layout.cols[p.col].name, quoteName(nil, string(c.bytes(t.rows))))
		}
	}
}

// keyByParent fills the key of an item that has none by what its parent says. That
// is only known for sure when all that the parent says has been read.
func (d *Decoder) keyByParent(t *table) error {
	if !d.careful {
		return errAgain
	}
	up := d.tables[t.enclosing]
	for _, col := range t.named {
		if up.isFilled(col) && !up.layout.cols[col].isPrivate() {
			t.fillEmpty(t.keys[0], string(up.cols[col].bytes(up.rows)))
		}
	}
	return nil
}

// keyProblem says why a row cannot be identified.
func (t *table) keyProblem() string {
	for _, k := range t.ownKeys {
		c := &t.layout.cols[k]
		switch {
		case !t.isFilled(k):
			return fmt.Sprintf("no %q, which is the key", c.name)
		case c.id && !standsInPath(t.cols[k].bytes(t.rows)):
			return fmt.Sprintf("%s %q cannot stand in a path", c.name, t.cols[k].bytes(t.rows))
		}
	}
	return ""
}

// standsInPath reports whether an id can be asked for: an empty one and those
// that mean a folder vanish from a path.
func standsInPath(id []byte) bool {
	switch string(id) {
	case "", ".", "..":
		return false
	}
	return true
}

// readDelayed reads the lists of the open row that had to wait for its key.
func (d *Decoder) readDelayed(t *table, lists []delayedList) error {
	pos, depth := d.scan.pos, d.scan.depth
	for _, l := range lists {
		d.scan.pos, d.scan.depth = l.pos, l.depth
		if err := d.readItems(t, d.tables[l.child]); err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = pos, depth
	return nil
}

// fillStatusKey completes an entry of status counts. The name that a map gives it is
// its prefix, and the prefix, which is stable (spec 3), its id where it has none.
func (t *table) fillStatusKey(name []byte) {
	t.fillEmpty(t.prefix, string(name))
	if t.status >= 0 && t.isFilled(t.prefix) {
		t.fillEmpty(t.status, string(t.cols[t.prefix].bytes(t.rows)))
	}
}

// fillEmpty fills a text column of the open row that is empty.
func (t *table) fillEmpty(col int, s string) {
	if t.isFilled(col) || s == "" {
		return
	}
	c := &t.cols[col]
	c.truncate(t.rows)
	c.appendText(s)
}

// signRejects names the closed row in the rejects that its values caused.
func (d *Decoder) signRejects(t *table, from int) {
	for i := from; i < len(d.findings.rejects); i++ {
		if r := &d.findings.rejects[i]; r.keyFollows {
			r.Key, r.Parent, r.keyFollows = validText([]byte(t.keyText(t.rows-1))), validText([]byte(d.parentKey(t))), false
		}
	}
}

// parentKey is the key of the row around that of a table, or what its list was asked
// for by.
func (d *Decoder) parentKey(t *table) string {
	if t.enclosing >= 0 {
		up := d.tables[t.enclosing]
		return up.keyText(up.rows)
	}
	if d.binding.object || t.param < 0 {
		return ""
	}
	return d.origin.Param
}

// readableKey is the key of the open row, as far as all of it is there. A single
// record is known by what was asked for, whatever it says.
func (d *Decoder) readableKey(t *table) string {
	if d.binding.object && t.param >= 0 {
		return d.origin.Param
	}
	for _, k := range t.keys {
		if !t.isFilled(k) {
			return ""
		}
	}
	return t.keyText(t.rows)
}

// keyText writes the key of a row for people.
func (t *table) keyText(row int) string {
	var s []byte
	for i, k := range t.keys {
		if i > 0 {
			s = append(s, '/')
		}
		if c := &t.cols[k]; c.kind <= document {
			s = append(s, c.bytes(row)...)
		} else {
			s = strconv.AppendInt(s, int64(c.word(row)), 10)
		}
	}
	return string(s)
}

// readChildren reads a field whose items are rows of a child table.
func (d *Decoder) readChildren(t *table, f *field) error {
	if t.hasParentKey() {
		return d.readItems(t, d.tables[f.child])
	}
	d.delayed = append(d.delayed, delayedList{f.child, d.scan.pos, d.scan.depth})
	_, err := d.scan.skip()
	return err
}

// readItems reads a list; an object or a scalar in its stead is its only item, and
// an empty text or object is no item.
func (d *Decoder) readItems(up, t *table) error {
	if d.scan.peek() != '[' {
		if d.scan.atEmpty() {
			_, err := d.scan.skip()
			return err
		}
		if c := d.scan.peek(); c != '{' && t.value < 0 {
			raw, err := d.scan.skip()
			d.addPendingReject(up, t.at, t.wanted(), raw)
			return err
		}
		return d.readItem(up, t, 1)
	}
	if err := d.scan.open(); err != nil {
		return err
	}
	for place := 1; ; place++ {
		more, err := d.scan.next(']', place == 1)
		if !more || err != nil {
			return err
		}
		if err := d.readItem(up, t, place); err != nil {
			return err
		}
	}
}

// wanted says what should stand in the place of the rows.
func (t *table) wanted() string {
	if t.position < 0 {
		return "want an object"
	}
	return "want a list of objects"
}

func (d *Decoder) readItem(up, t *table, place int) error {
	if d.scan.peek() == 'n' {
		return d.scan.literal("null")
	}
	start, mark := d.scan.pos, d.findings.mark()
	reason, err := d.readRow(t, up, place, nil)
	if err != nil || reason == "" {
		return err
	}
	d.findings.undoTo(mark)
	if len(t.ownKeys) > 0 {
		d.page.Refused++
	}
	d.addReject(t, stream.Reject{Key: d.refused, Parent: up.keyText(up.rows), Reason: reason}, d.scan.buf[start:d.scan.pos])
	return nil
}
