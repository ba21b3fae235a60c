package transform

import (
	"bytes"
	"slices"
	"strings"
)

// seqBits is the number of low bits in the column seq of staged rows. They contain the index of the record
// in the body, or the largest index that fits. The other bits are Origin.Seq.
const seqBits = 20

// input is a body and the position in it.
type input struct {
	scanner
	origin       Origin
	seq          uint64 // of the record
	recordNumber int    // in the body, from 1
	// path contains the names of the objects around the position, inside the current row. The lists of a row are
	// read after its other members, so a row begins with an empty path.
	path []string
	// privatePath is the dotted path of the private field that contains the position, or empty.
	privatePath string
	values      []value // of the current record
	seen        []bool  // for each field of the objects around the position, whether it has occurred
}

func (in *input) startRecord(earlierRecords int) {
	in.recordNumber = earlierRecords + 1
	const maxRecordInSeq = 1<<seqBits - 1
	number := min(earlierRecords, maxRecordInSeq) // all later records share the last number
	in.seq = in.origin.Seq<<seqBits | uint64(number)
}

// value is a value inside a record: a member of an object or an item of a list, or the record itself.
type value struct {
	field      *field // of a member, or nil if its name is unknown
	name       string // of a member
	start, end uint32 // positions in the body
	next       uint32 // index of the next value that is not inside this one
	form       form   // of a string
	turn       uint8  // of a member: when readObject reads it
	lastTurn   uint8  // the last turn of the members of an object
	overridden bool   // a later member has the same name
}

// The turns in which the members of an object are read. Of several values for a column, the first one read is used.
// So a scalar takes precedence over a value inside an object, and the column's own name over an alias.
const (
	scalarTurn = iota
	objectTurn // and lists
	aliasTurn
)

func (in *input) raw(i int) []byte { return in.buf[in.values[i].start:in.values[i].end] }

// index appends the value at the position to in.values, and after it the values inside it: the members of an
// object if node is set, and the items of a list if itemNode is set. So each value is scanned once, and the
// values can then be read in any order. f and name are the field and the name of a member. index returns the
// index of the value.
func (in *input) index(f *field, name string, node, itemNode *node) (int, error) {
	i := len(in.values)
	c := in.peek()
	start := in.pos
	in.values = slices.Grow(in.values, 1)[:i+1]
	v := &in.values[i] // setting the fields is faster than copying a value
	v.field, v.name, v.start, v.lastTurn, v.overridden = f, name, uint32(in.pos), scalarTurn, false
	var form form
	var err error
	turn := uint8(objectTurn)
	switch {
	case c == '{' && node != nil:
		err = in.indexMembers(i, node)
	case c == '[' && itemNode != nil:
		err = in.each(']', func(int) error {
			_, err := in.index(nil, "", itemNode, nil)
			return err
		})
	case c == '{' || c == '[':
		_, err = in.skip()
	default:
		_, form, err = in.scalar()
		if f == nil || !f.isObject || !isObjectText(in.buf[start:in.pos]) {
			turn = scalarTurn
		}
	}
	if f != nil && f.alias {
		turn = aliasTurn
	}
	v = &in.values[i]
	v.end, v.next, v.form, v.turn = uint32(in.pos), uint32(len(in.values)), form, turn
	return i, err
}

// indexMembers appends the members of the object at the position.
func (in *input) indexMembers(object int, n *node) error {
	seen := len(in.seen)
	in.seen = slices.Grow(in.seen, len(n.fields))[:seen+len(n.fields)]
	clear(in.seen[seen:])
	unknown, repeated := 0, false
	if err := in.open(); err != nil {
		return err
	}
	next := &n.first
	for isFirst := true; ; isFirst = false {
		more, err := in.next('}', isFirst)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		f := next.Load()
		name := "" // of an unknown field
		if f == nil || !in.skipPrefix(f.quoted) {
			quoted, form, err := in.name()
			if err != nil {
				return err
			}
			content := unquote(quoted, form)
			if f = n.fields[string(content)]; f != nil {
				next.Store(f)
			} else {
				name = string(content)
			}
		}
		var i int
		if f == nil {
			unknown++
			i, err = in.index(nil, name, nil, nil)
		} else {
			next = &f.next
			repeated = repeated || in.seen[seen+f.index]
			in.seen[seen+f.index] = true
			i, err = in.index(f, f.name, f.node(), f.rowNode)
		}
		in.values[object].lastTurn = max(in.values[object].lastTurn, in.values[i].turn)
		if err != nil {
			return err
		}
	}
	in.seen = in.seen[:seen]
	if repeated || unknown > 1 {
		in.markOverridden(object + 1)
	}
	return nil
}

// markOverridden marks the members from the first one on whose name occurs again.
func (in *input) markOverridden(first int) {
	latest := map[string]int{}
	for i := first; i < len(in.values); i = int(in.values[i].next) {
		name := in.values[i].name
		if earlier, found := latest[name]; found {
			in.values[earlier].overridden = true
		}
		latest[name] = i
	}
}

// readObject reads an object into the current row. Of members with the same name, the last one is used.
func (r *rowReader) readObject(t *table, object int) {
	end := int(r.in.values[object].next)
	for turn := range r.in.values[object].lastTurn + 1 {
		for i := object + 1; i < end; i = int(r.in.values[i].next) {
			if r.in.values[i].turn == turn {
				r.readMember(t, i)
			}
		}
	}
}

// countOverridden counts a member whose name occurs again in its object. It does not report a name in a private
// object, and ignores unknown fields of a link table.
func (r *rowReader) countOverridden(t *table, i int) {
	m := &r.in.values[i]
	if m.field == nil && t.link {
		return
	}
	if r.in.privatePath != "" {
		r.report.countPrivate(t, DuplicateField, []byte(r.in.privatePath))
		return
	}
	r.report.countDrift(t, DuplicateField, m.name, r.in.raw(i))
}

func unquote(quoted []byte, f form) []byte {
	if f == plain {
		return quoted[1 : len(quoted)-1]
	}
	content, _ := appendUnquoted(nil, quoted, f)
	return content
}

func (r *rowReader) readMember(t *table, i int) {
	m, raw := &r.in.values[i], r.in.raw(i)
	if m.overridden {
		r.countOverridden(t, i)
		return
	}
	f, c := m.field, raw[0]
	if f == nil {
		r.report.keepExtra(t, UnknownField, m.name, raw)
		return
	}
	r.knownMembers++
	var col *column
	if f.col >= 0 {
		col = &t.cols[f.col]
	}
	hasMembers := c == '{' && f.objectNode != nil
	if col != nil && col.dropped && !hasMembers { // members may belong to other columns
		return
	}
	if col != nil && col.union != nil { // null is a value of a union
		r.values.readUnion(t, f, raw, m.form)
		return
	}
	if c == 'n' {
		return
	}
	switch {
	case f.rowNode != nil:
		r.innerLists = append(r.innerLists, innerList{r.tables[f.table], i, r.in.privatePath, r.in.buf})
	case col != nil && col.kind == document:
		r.values.readDocument(t, f, raw, m.form)
	case hasMembers && (col == nil || col.freeForm):
		r.readGroup(t, i)
	case hasMembers:
		r.readTextObject(t, i)
	case f.isObject && c == '"' && (col == nil || isObjectText(raw)):
		r.readObjectText(t, i)
	case col != nil && c != '[' && c != '{':
		r.values.readValue(t, f.col, f.name, raw, m.form)
	case col != nil:
		r.report.rejectValue(t, f.name, raw, "expected a single value, found a list or object")
	default:
		r.readMisfit(t, i)
	}
}

// readTextObject reads an object in place of a scalar. The object is accepted if one of its fields
// has a column, for example the name, or if no value is lost, as in an empty object. Any other object
// is rejected.
func (r *rowReader) readTextObject(t *table, i int) {
	mark, earlierExtras, earlierKnown := r.report.mark(), len(r.report.extras), r.knownMembers
	r.readGroup(t, i)
	lost := t.link && !isEmpty(r.in.raw(i)) || len(r.report.extras) != earlierExtras || r.report.mark() != mark
	if lost && r.knownMembers == earlierKnown {
		r.report.undoTo(mark)
		r.report.extras = r.report.extras[:earlierExtras]
		r.report.rejectValue(t, r.in.values[i].name, r.in.raw(i), "expected a single value, found an object")
	}
}

// readGroup reads an object whose fields are columns with a common prefix. An object in
// place of a private text is private too.
func (r *rowReader) readGroup(t *table, i int) {
	f, outer := r.in.values[i].field, r.in.privatePath
	if f.col >= 0 && t.cols[f.col].isPrivate() {
		r.in.privatePath = string(r.report.dottedPath(f.name))
	}
	r.in.path = append(r.in.path, f.name)
	r.readObject(t, i)
	r.in.path, r.in.privatePath = r.in.path[:len(r.in.path)-1], outer
}

// isObjectText reports whether a scalar is a text that begins like an object.
func isObjectText(raw []byte) bool { return len(raw) > len(`"{"`) && raw[0] == '"' && raw[1] == '{' }

// readObjectText reads a text in place of an object. If it is the JSON of an object, the object is read. An
// empty text is ignored, and a text of a column that also accepts objects is kept. Any other text is rejected.
func (r *rowReader) readObjectText(t *table, i int) {
	m, raw := r.in.values[i], r.in.raw(i)
	f := m.field
	content, ok := objectInText(raw, m.form)
	switch {
	case ok:
		r.report.countDrift(t, Converted, f.name, raw)
		r.in.insideText(content, f, f.objectNode, nil, func(object int) { r.readMember(t, object) })
	case f.col >= 0:
		r.values.readValue(t, f.col, f.name, raw, m.form)
	case !isEmpty(raw):
		r.report.rejectValue(t, f.name, raw, "expected an object")
	}
}

// readMisfit reads a value that does not fit its field, such as a number in place of an object. An empty
// value is ignored. A scalar is read as the name of the object, if the name has a column. Any other value
// is kept as an unknown field.
func (r *rowReader) readMisfit(t *table, i int) {
	f, raw := r.in.values[i].field, r.in.raw(i)
	if isEmpty(raw) {
		return
	}
	if isNotFinite(raw) {
		r.report.rejectValue(t, f.name, raw, "expected an object")
		return
	}
	if f.objectNode != nil && raw[0] != '[' {
		if name := f.objectNode.fields["name"]; name != nil && name.col >= 0 && t.cols[name.col].kind == text {
			r.values.readValue(t, name.col, f.name, raw, r.in.values[i].form)
			return
		}
	}
	prefix := "" // a field without an object node is a list of rows like the enclosing row
	if f.objectNode != nil {
		prefix = f.objectNode.prefix
	}
	// A value in place of an object can contain the private values of the object under any name.
	if slices.ContainsFunc(t.cols, func(c column) bool { return c.isPrivate() && strings.HasPrefix(c.name, prefix) }) {
		r.report.countPrivate(t, UnknownField, r.report.dottedPath(f.name))
		return
	}
	r.report.keepExtra(t, UnknownField, f.name, raw)
}

// isEmpty reports whether a value is an empty text, list or object.
func isEmpty(raw []byte) bool {
	switch raw[0] {
	case '"':
		return len(raw) == len(`""`)
	case '[', '{':
		return len(bytes.TrimLeft(raw[1:], " \t\r\n")) == 1
	}
	return false
}
