package transform

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// readObject reads the object at the position into the open row.
func (d *Decoder) readObject(t *table, n *node) error {
	if d.careful {
		return d.readCarefully(t, n)
	}
	s, last := &d.scan, n.id
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		if first || !s.skipComma() {
			if more, err := s.next('}', first); !more || err != nil {
				return err
			}
		}
		if f := d.after[last]; f != nil && s.matchName(f) {
			last = f.id
			if err := d.readMember(t, f); err != nil {
				return err
			}
			continue
		}
		name, form, err := s.name()
		if err != nil {
			return err
		}
		name = d.plainName(name, form)
		if f := n.fields[string(name)]; f != nil {
			d.after[last] = f
			last = f.id
			err = d.readMember(t, f)
		} else {
			err = d.readUnknown(t, name)
		}
		if err != nil {
			return err
		}
	}
}

// skipComma steps over a comma that a name follows at once, as bodies are mostly
// written.
func (s *scanner) skipComma() bool {
	if i := s.pos + 1; i < len(s.buf) && s.buf[i-1] == ',' && s.buf[i] == '"' {
		s.pos = i
		return true
	}
	return false
}

// matchName steps over a name and its colon if they are written as expected. With
// eight to sixteen bytes, as most have, they are compared as two words.
func (s *scanner) matchName(f *field) bool {
	end := s.pos + len(f.quoted)
	if end > len(s.buf) {
		return false
	}
	b := s.buf[s.pos:end]
	if n := len(b); n < 8 || n > 16 {
		if string(b) != f.quoted {
			return false
		}
	} else if binary.LittleEndian.Uint64(b) != f.head || binary.LittleEndian.Uint64(b[n-8:]) != f.tail {
		return false
	}
	s.pos = end
	return true
}

// plainName is a name without quotes and escapes.
func (d *Decoder) plainName(quoted []byte, f form) []byte {
	if f == plain {
		return quoted[1 : len(quoted)-1]
	}
	name, _ := appendText(nil, quoted, f)
	return name
}

// readCarefully reads an object whose members cannot be taken as they come: a name
// is there twice, or two members differ about one column. The last of equal
// names counts; scalars come first, so that the outer value wins and the key
// is known; an alias gives way to the column's own name, flat or nested; lists
// come last.
func (d *Decoder) readCarefully(t *table, n *node) error {
	all, err := d.indexMembers(n)
	if err != nil {
		return err
	}
	end, depth := d.scan.pos, d.scan.depth
	slices.SortStableFunc(all, func(a, b entry) int { return a.turn - b.turn })
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		if e.dropped {
			d.countDrift(t, DuplicateField, string(e.name), e.raw)
			continue
		}
		if e.field != nil {
			err = d.readMember(t, e.field)
		} else {
			err = d.readUnknown(t, e.name)
		}
		if err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = end, depth
	return nil
}

// entry is one member of an object that is read carefully.
type entry struct {
	name    []byte
	field   *field
	pos     int
	raw     []byte
	turn    int
	dropped bool
}

func (d *Decoder) indexMembers(n *node) ([]entry, error) {
	var all []entry
	seen := map[string]int{}
	err := d.scan.open()
	for first := true; err == nil; first = false {
		var more bool
		if more, err = d.scan.next('}', first); !more || err != nil {
			return all, err
		}
		name, f, bad := d.scan.name()
		if bad != nil {
			return nil, bad
		}
		e := entry{name: bytes.Clone(d.plainName(name, f)), pos: d.scan.pos}
		e.field = n.fields[string(e.name)]
		if e.raw, err = d.scan.skip(); err != nil {
			return nil, err
		}
		e.turn = turnOf(e)
		if i, again := seen[string(e.name)]; again {
			all[i].dropped = true
		}
		seen[string(e.name)] = len(all)
		all = append(all, e)
	}
	return nil, err
}

func turnOf(e entry) int {
	switch {
	case e.field != nil && e.field.child >= 0:
		return 3
	case e.field != nil && e.field.alias:
		return 2
	case e.raw[0] == '{' || e.raw[0] == '[':
		return 1
	}
	return 0
}

// readMember reads the value of a field that the node knows.
func (d *Decoder) readMember(t *table, f *field) error {
	if t.markSeen(f) && !d.careful {
		return errAgain
	}
	c := d.scan.peek()
	switch {
	case c == '"' && f.text && !f.dropped:
		return d.readText(t, f.col, f.name)
	case f.dropped && (c != '{' || f.group == nil):
		_, err := d.scan.skip()
		return err
	case f.union != nil:
		return d.readUnion(t, f)
	case c == 'n':
		return d.scan.literal("null")
	case f.child >= 0:
		return d.readChildren(t, f)
	case f.col >= 0 && t.cols[f.col].kind == document:
		return d.readDocument(t, f)
	case c == '{' && f.group != nil:
		return d.readGroup(t, f)
	case f.col >= 0 && c != '[' && c != '{':
		return d.readValue(t, f.col, f.name)
	case f.col >= 0:
		raw, err := d.scan.skip()
		d.refuseValue(t, f.name, raw, "want no list or object")
		return err
	}
	return d.readMisfit(t, f)
}

// readGroup reads an object whose fields are columns with a common prefix.
func (d *Decoder) readGroup(t *table, f *field) error {
	if f.col < 0 || t.layout.cols[f.col].unshown {
		return d.readGroupMembers(t, f)
	}
	return d.readTextObject(t, f)
}

// readTextObject reads an object where a text, or any one value, stands. It fits if it has a field that a
// column takes, as a name; any other is kept as what did not fit.
func (d *Decoder) readTextObject(t *table, f *field) error {
	start, mark, strays, seen := d.scan.pos, d.findings.mark(), d.extras.mark(), slices.Clone(t.seenFields)
	lost := t.link && !d.scan.atEmpty()
	if err := d.readGroupMembers(t, f); err != nil {
		return err
	}
	lost = lost || d.extras.mark() != strays || d.findings.mark() != mark
	if !lost || !slices.Equal(seen, t.seenFields) {
		return nil
	}
	d.findings.undoTo(mark)
	d.extras.truncate(strays)
	d.refuseValue(t, f.name, d.scan.buf[start:d.scan.pos], "want no object")
	return nil
}

// readGroupMembers reads those of an object with columns of a common prefix. One that
// stands where a private text could is as private as the text.
func (d *Decoder) readGroupMembers(t *table, f *field) error {
	around := d.secret
	if f.col >= 0 && t.layout.cols[f.col].isPrivate() {
		d.secret = string(d.dottedPath(f.name))
	}
	d.path = append(d.path, f.name)
	err := d.readObject(t, f.group)
	d.path, d.secret = d.path[:len(d.path)-1], around
	return err
}

// readMisfit reads a value that is no object where an object is known: nothing, the
// object's name, or something unknown.
func (d *Decoder) readMisfit(t *table, f *field) error {
	if d.scan.atEmpty() {
		_, err := d.scan.skip()
		return err
	}
	c := d.scan.peek()
	if f.group != nil && c != '[' && c != '{' {
		if name := f.group.fields["name"]; name != nil && name.col >= 0 && t.cols[name.col].kind == text {
			return d.readValue(t, name.col, f.name)
		}
	}
	if f.private {
		d.countPrivate(t, UnknownField, d.dottedPath(f.name))
		_, err := d.scan.skip()
		return err
	}
	return d.readUnknown(t, []byte(f.name))
}

// atEmpty reports whether an empty text, list or object is at the position.
func (s *scanner) atEmpty() bool {
	c := s.peek()
	if c != '"' && c != '[' && c != '{' {
		return false
	}
	rest := s.buf[s.pos+1:]
	if c == '"' {
		return len(rest) > 0 && rest[0] == '"'
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == c+2
}

// readUnknown reads a value that no column takes.
func (d *Decoder) readUnknown(t *table, name []byte) error {
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	d.keepExtra(t, UnknownField, string(name), raw)
	return nil
}

// quoteName writes a member name as JSON.
func quoteName(dst []byte, name string) []byte {
	dst, _ = jsontext.AppendQuote(dst, name)
	return dst
}
