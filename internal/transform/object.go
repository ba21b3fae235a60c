package transform

import (
	"bytes"
	"slices"
	"strings"
)

type rawMember struct {
	name       string
	field      *field // nil if the name is unknown
	pos        int    // of the value
	raw        []byte // JSON text of the value
	form       form   // of a string
	overridden bool   // a later member has the same name
}

// readObject reads the object at the position into the current row. Of members with the same name, the last
// one is used. Scalars are read first, so that outer values take precedence, then objects and lists, and then
// aliases, over which the column's own name takes precedence.
func (r *rowReader) readObject(t *table, n *node) error {
	earlierMembers := len(r.in.members)
	members, err := r.in.indexMembers(n)
	if err != nil {
		return err
	}
	end := r.in.pos
	r.in.depth++
	for order := range 3 {
		for i := range members {
			m := &members[i]
			if m.readingOrder() != order {
				continue
			}
			if m.overridden {
				r.countOverridden(t, m)
			} else if err := r.readMember(t, m); err != nil {
				return err
			}
		}
	}
	r.in.pos, r.in.members = end, r.in.members[:earlierMembers]
	r.in.depth--
	return nil
}

// countOverridden counts a member whose name occurs again. Like keepExtra, it does not report a name in a
// private object, and ignores unknown fields of a link table.
func (r *rowReader) countOverridden(t *table, m *rawMember) {
	switch {
	case m.field == nil && t.link:
	case r.in.privatePath != "":
		r.report.countPrivate(t, DuplicateField, []byte(r.in.privatePath))
	default:
		r.report.countDrift(t, DuplicateField, m.name, m.raw)
	}
}

func (m *rawMember) readingOrder() int {
	switch {
	case m.field != nil && m.field.alias:
		return 2
	case m.raw[0] == '{' || m.raw[0] == '[':
		return 1
	}
	return 0
}

// indexMembers skips the object at the position and returns its members. They are valid until input.members
// is truncated.
func (in *input) indexMembers(n *node) ([]rawMember, error) {
	earlier := len(in.members)
	in.latest = slices.Grow(in.latest[:0], len(n.fields))[:len(n.fields)]
	clear(in.latest)
	var latestUnknown map[string]int // for each unknown name, the number of its latest member
	if err := in.open(); err != nil {
		return nil, err
	}
	for number := 1; ; number++ {
		more, err := in.next('}', number == 1)
		if !more || err != nil {
			return in.members[earlier:], err
		}
		quoted, f, err := in.name()
		if err != nil {
			return nil, err
		}
		name := unquote(quoted, f)
		m := rawMember{field: n.fields[string(name)]}
		previous := 0
		if m.field != nil {
			m.name = m.field.name
			previous, in.latest[m.field.index] = in.latest[m.field.index], number
		} else {
			if latestUnknown == nil {
				latestUnknown = map[string]int{}
			}
			m.name = string(name)
			previous, latestUnknown[m.name] = latestUnknown[m.name], number
		}
		if previous > 0 {
			in.members[earlier+previous-1].overridden = true
		}
		c := in.peek()
		m.pos = in.pos
		if c == '{' || c == '[' {
			m.raw, err = in.skip()
		} else {
			m.raw, m.form, err = in.scalar()
		}
		if err != nil {
			return nil, err
		}
		in.members = append(in.members, m)
	}
}

func unquote(quoted []byte, f form) []byte {
	if f == plain {
		return quoted[1 : len(quoted)-1]
	}
	content, _ := appendUnquoted(nil, quoted, f)
	return content
}

func (r *rowReader) readMember(t *table, m *rawMember) error {
	f, c := m.field, m.raw[0]
	if f == nil {
		r.report.keepExtra(t, UnknownField, m.name, m.raw)
		return nil
	}
	r.knownMembers++
	switch {
	case f.col >= 0 && t.cols[f.col].dropped && (c != '{' || f.group == nil):
	case f.col >= 0 && t.cols[f.col].union != nil:
		r.values.readUnion(t, m)
	case c == 'n':
	case f.child >= 0:
		r.innerLists = append(r.innerLists, innerList{f.child, m.pos, r.in.depth, r.in.privatePath})
	case f.col >= 0 && t.cols[f.col].kind == document:
		r.values.readDocument(t, f, m.raw)
	case c == '{' && f.group != nil && (f.col < 0 || t.cols[f.col].freeForm):
		return r.readGroup(t, m)
	case c == '{' && f.group != nil:
		return r.readTextObject(t, m)
	case f.col >= 0 && c != '[' && c != '{':
		r.values.readValue(t, f.col, f.name, m.raw, m.form)
	case f.col >= 0:
		r.report.rejectValue(t, f.name, m.raw, "expected a single value, found a list or object")
	default:
		r.readMisfit(t, m)
	}
	return nil
}

// readTextObject reads an object in place of a scalar. The object is accepted if one of its fields
// has a column, for example the name, or if no value is lost, as in an empty object. Any other object
// is rejected.
func (r *rowReader) readTextObject(t *table, m *rawMember) error {
	mark, earlierExtras, earlierKnown := r.report.mark(), len(r.report.extras), r.knownMembers
	if err := r.readGroup(t, m); err != nil {
		return err
	}
	lost := t.link && !isEmpty(m.raw) || len(r.report.extras) != earlierExtras || r.report.mark() != mark
	if lost && r.knownMembers == earlierKnown {
		r.report.undoTo(mark)
		r.report.extras = r.report.extras[:earlierExtras]
		r.report.rejectValue(t, m.field.name, m.raw, "expected a single value, found an object")
	}
	return nil
}

// readGroup reads an object whose fields are columns with a common prefix. An object in
// place of a private text is private too.
func (r *rowReader) readGroup(t *table, m *rawMember) error {
	f, outer := m.field, r.in.privatePath
	if f.col >= 0 && t.cols[f.col].isPrivate() {
		r.in.privatePath = string(r.report.dottedPath(f.name))
	}
	r.in.path = append(r.in.path, f.name)
	r.in.pos = m.pos
	err := r.readObject(t, f.group)
	r.in.path, r.in.privatePath = r.in.path[:len(r.in.path)-1], outer
	return err
}

// readMisfit reads a value that does not fit its field, such as a scalar in place of an object. An empty
// value is ignored. A scalar is read as the name of the object, if the name has a column. Any other value
// is kept as an unknown field.
func (r *rowReader) readMisfit(t *table, m *rawMember) {
	f, c := m.field, m.raw[0]
	if isEmpty(m.raw) {
		return
	}
	if f.group != nil && c != '[' && c != '{' {
		if name := f.group.fields["name"]; name != nil && name.col >= 0 && t.cols[name.col].kind == text {
			r.values.readValue(t, name.col, f.name, m.raw, m.form)
			return
		}
	}
	prefix := "" // a field without a group is a list of rows like the enclosing row
	if f.group != nil {
		prefix = f.group.prefix
	}
	if slices.ContainsFunc(t.cols, func(c column) bool { return c.isPrivate() && strings.HasPrefix(c.name, prefix) }) {
		r.report.countPrivate(t, UnknownField, r.report.dottedPath(f.name))
		return
	}
	r.report.keepExtra(t, UnknownField, f.name, m.raw)
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
