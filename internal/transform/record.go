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

// later is a list that was met before the key its rows inherit.
type later struct {
	child, pos, depth int
}

// record reads the value at the position as one record. Prefix is the text
// that names it in a map of status counts, else empty.
func (d *Decoder) record(prefix []byte) error {
	root := d.tables[0]
	d.number()
	start, depth, mark := d.scan.pos, d.scan.depth, d.found.mark()
	d.found.bear(d.stands())
	reason, err := d.row(root, nil, 0, prefix)
	if err == errAgain {
		d.found.undo(mark)
		d.scan.pos, d.scan.depth, d.careful = start, depth, true
		reason, err = d.row(root, nil, 0, prefix)
		d.careful = false
	}
	if err != nil {
		return err
	}
	d.page.Records++
	if reason != "" {
		d.page.Refused++
		d.found.undo(mark)
		d.reject(root, stream.Reject{Key: d.refused, Parent: d.parent(root), Reason: reason}, d.scan.buf[start:d.scan.pos])
		return nil
	}
	if d.copies.best != nil && d.passed(root, mark, d.scan.buf[start:d.scan.pos]) {
		return nil
	}
	d.note(root)
	if last := root.rows - 1; d.found.mark() != mark {
		d.found.carry(mark, root.identity(last), func() string { return validText([]byte(root.keyText(last))) })
	}
	if d.known != nil {
		d.skip(root)
	}
	return nil
}

// number gives the record about to be read its seq.
func (d *Decoder) number() {
	d.place = d.page.Records + 1
	d.seq = d.origin.Seq<<seqBits | uint64(min(d.page.Records, 1<<seqBits-1))
}

// stands is the place of the record that is read.
func (d *Decoder) stands() Place {
	return Place{d.origin.Param, d.origin.Page, d.place, d.seq}
}

// note takes what the walk needs from the row just closed.
func (d *Decoder) note(root *table) {
	last := root.rows - 1
	d.page.IDs = append(d.page.IDs, root.identity(last))
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

// row reads the value at the position as one row of a table: the record's own
// when up is nil, else the item at a place of a list in up's open row. A reason
// says why there is no row; the value has been read in any case.
func (d *Decoder) row(t, up *table, place int, prefix []byte) (reason string, err error) {
	path, base, strays, lists := len(d.path), d.base, d.strays.mark(), len(d.later)
	found := len(d.found.rejects)
	d.base = path
	t.begin(d.tables)
	t.give(up, place)
	switch c := d.scan.peek(); {
	case c == '{':
		err = d.object(t, t.root)
	case t.value < 0 || c == '[' || c == 't' || c == 'f' || c == 'n':
		reason = "want an object"
		_, err = d.scan.skip()
	default:
		err = d.value(t, t.value, t.layoutOf.cols[t.value].name)
	}
	if err == nil && reason == "" {
		if reason, err = d.close(t, prefix, lists, strays); err == nil && reason == "" && len(d.found.rejects) > found {
			d.sign(t, found)
		}
	}
	if err != nil || reason != "" {
		d.refused = d.readableKey(t)
		t.undo(d.tables)
	}
	d.path, d.base, d.later = d.path[:path], base, d.later[:lists]
	d.strays.cut(strays)
	return reason, err
}

// give fills the columns that an item has from where it stands.
func (t *table) give(up *table, place int) {
	if up == nil {
		return
	}
	for _, p := range t.parents {
		if p.named {
			continue
		}
		t.cols[p.col].inherit(&up.cols[p.from], up.rows)
	}
	if t.position >= 0 {
		t.cols[t.position].int(int64(place))
	}
}

// close completes the open row: what the record left empty, the lists that had
// to wait for the key, extra and the system columns.
func (d *Decoder) close(t *table, prefix []byte, lists int, strays level) (reason string, err error) {
	if t.enclosing < 0 {
		if reason, err = d.claim(t); err != nil || reason != "" {
			return reason, err
		}
	}
	if t.prefix >= 0 {
		t.identify(prefix)
	}
	d.join(t)
	if len(t.named) > 0 && !t.filled(t.keys[0]) {
		if err = d.nameByParent(t); err != nil {
			return "", err
		}
	}
	if reason = t.unkeyed(); reason != "" {
		return reason, nil
	}
	if len(d.later) > lists {
		err = d.delayed(t, d.later[lists:])
	}
	if err == nil && len(d.strays.all) > strays.all {
		err = d.gather(t, strays)
	}
	if err != nil {
		return "", err
	}
	for _, r := range t.ownRequired {
		if !t.set(r) {
			return fmt.Sprintf("no %q, which is required", t.layoutOf.cols[r].name), nil
		}
	}
	return "", t.end(d.seq, &d.hash)
}

// claim compares what the open record says of the path parameter with what was
// asked for. The only record of an answer names it itself: what does not is an
// answer that is none. Any other takes it from the question.
func (d *Decoder) claim(t *table) (reason string, err error) {
	if len(d.binding.oneOf) > 0 && !slices.ContainsFunc(d.binding.oneOf, t.set) {
		return "", fmt.Errorf("%w: an object without any field that tells it from an error", ErrMalformed)
	}
	if t.param < 0 {
		return "", nil
	}
	name := t.layoutOf.cols[t.param].name
	if !t.filled(t.param) {
		if d.binding.object {
			return "", fmt.Errorf("%w: an object without a %q of its own", ErrMalformed, name)
		}
		t.fallback(t.param, d.origin.Param)
		return "", nil
	}
	own := t.cols[t.param].bytes(t.rows)
	if d.origin.Param == "" || string(own) == d.origin.Param {
		return "", nil
	}
	return fmt.Sprintf("names %s %q where %q was asked for", name, own, d.origin.Param), nil
}

// join fills the parent's key where the open row does not name it; where it names
// another one, that stands, and is drift.
func (d *Decoder) join(t *table) {
	for _, p := range t.parents {
		if !p.named {
			continue
		}
		up := d.tables[t.enclosing]
		given := up.cols[p.from].bytes(up.rows)
		switch c := &t.cols[p.col]; {
		case !t.filled(p.col):
			t.fallback(p.col, string(given))
		case !bytes.Equal(c.bytes(t.rows), given):
			d.count(t, Conflict, t.layoutOf.cols[p.col].name, quoteName(nil, string(c.bytes(t.rows))))
		}
	}
}

// nameByParent fills the key of an item that has none by what its parent says. That
// is only known for sure when all that the parent says has been read.
func (d *Decoder) nameByParent(t *table) error {
	if !d.careful {
		return errAgain
	}
	up := d.tables[t.enclosing]
	for _, col := range t.named {
		if up.filled(col) && !up.layoutOf.cols[col].private() {
			t.fallback(t.keys[0], string(up.cols[col].bytes(up.rows)))
		}
	}
	return nil
}

// unkeyed says why a row cannot be identified.
func (t *table) unkeyed() string {
	for _, k := range t.ownKeys {
		c := &t.layoutOf.cols[k]
		switch {
		case !t.filled(k):
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

// delayed reads the lists of the open row that had to wait for its key.
func (d *Decoder) delayed(t *table, lists []later) error {
	pos, depth := d.scan.pos, d.scan.depth
	for _, l := range lists {
		d.scan.pos, d.scan.depth = l.pos, l.depth
		if err := d.items(t, d.tables[l.child]); err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = pos, depth
	return nil
}

// identify completes an entry of status counts. The name that a map gives it is
// its prefix, and the prefix, which is stable (spec 3), its id where it has none.
func (t *table) identify(name []byte) {
	t.fallback(t.prefix, string(name))
	if t.status >= 0 && t.filled(t.prefix) {
		t.fallback(t.status, string(t.cols[t.prefix].bytes(t.rows)))
	}
}

// fallback fills a text column of the open row that is empty.
func (t *table) fallback(col int, s string) {
	if t.filled(col) || s == "" {
		return
	}
	c := &t.cols[col]
	c.cut(t.rows)
	c.text(s)
}

// sign names the closed row in the rejects that its values caused.
func (d *Decoder) sign(t *table, from int) {
	for i := from; i < len(d.found.rejects); i++ {
		if r := &d.found.rejects[i]; r.keyFollows {
			r.Key, r.Parent, r.keyFollows = validText([]byte(t.keyText(t.rows-1))), validText([]byte(d.parent(t))), false
		}
	}
}

// parent is the key of the row around that of a table, or what its list was asked
// for by.
func (d *Decoder) parent(t *table) string {
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
		if !t.filled(k) {
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

// list reads a field whose items are rows of a child table.
func (d *Decoder) list(t *table, f *field) error {
	if t.keyed() {
		return d.items(t, d.tables[f.child])
	}
	d.later = append(d.later, later{f.child, d.scan.pos, d.scan.depth})
	_, err := d.scan.skip()
	return err
}

// items reads a list; an object or a scalar in its stead is its only item, and
// an empty text or object is no item.
func (d *Decoder) items(up, t *table) error {
	if d.scan.peek() != '[' {
		if d.scan.empty() {
			_, err := d.scan.skip()
			return err
		}
		if c := d.scan.peek(); c != '{' && t.value < 0 {
			raw, err := d.scan.skip()
			d.rejectPending(up, t.at, t.wanted(), raw)
			return err
		}
		return d.item(up, t, 1)
	}
	if err := d.scan.open(); err != nil {
		return err
	}
	for place := 1; ; place++ {
		more, err := d.scan.next(']', place == 1)
		if !more || err != nil {
			return err
		}
		if err := d.item(up, t, place); err != nil {
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

func (d *Decoder) item(up, t *table, place int) error {
	if d.scan.peek() == 'n' {
		return d.scan.literal("null")
	}
	start, mark := d.scan.pos, d.found.mark()
	reason, err := d.row(t, up, place, nil)
	if err != nil || reason == "" {
		return err
	}
	d.found.undo(mark)
	if len(t.ownKeys) > 0 {
		d.page.Refused++
	}
	d.reject(t, stream.Reject{Key: d.refused, Parent: up.keyText(up.rows), Reason: reason}, d.scan.buf[start:d.scan.pos])
	return nil
}
