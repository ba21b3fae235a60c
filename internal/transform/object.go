package transform

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object reads the object at the position into the open row.
func (d *Decoder) object(t *table, n *node) error {
	if d.careful {
		return d.settled(t, n)
	}
	s, last := &d.scan, n.id
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		if first || !s.another() {
			if more, err := s.next('}', first); !more || err != nil {
				return err
			}
		}
		if f := d.after[last]; f != nil && s.guess(f) {
			last = f.id
			if err := d.member(t, f); err != nil {
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
			err = d.member(t, f)
		} else {
			err = d.unknown(t, name)
		}
		if err != nil {
			return err
		}
	}
}

// another steps over a comma that a name follows at once, as bodies are mostly
// written.
func (s *scanner) another() bool {
	if i := s.pos + 1; i < len(s.buf) && s.buf[i-1] == ',' && s.buf[i] == '"' {
		s.pos = i
		return true
	}
	return false
}

// guess steps over a name and its colon if they are written as expected. With
// eight to sixteen bytes, as most have, they are compared as two words.
func (s *scanner) guess(f *field) bool {
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

// settled reads an object whose members cannot be taken as they come: a name
// is there twice, or two members differ about one column. The last of equal
// names counts; scalars come first, so that the outer value wins and the key
// is known; an alias gives way to the column's own name, flat or nested; lists
// come last.
func (d *Decoder) settled(t *table, n *node) error {
	all, err := d.index(n)
	if err != nil {
		return err
	}
	end, depth := d.scan.pos, d.scan.depth
	slices.SortStableFunc(all, func(a, b entry) int { return a.turn - b.turn })
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		if e.dropped {
			d.count(t, DuplicateField, string(e.name), e.raw)
			continue
		}
		if e.field != nil {
			err = d.member(t, e.field)
		} else {
			err = d.unknown(t, e.name)
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

func (d *Decoder) index(n *node) ([]entry, error) {
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
		e.turn = turn(e)
		if i, again := seen[string(e.name)]; again {
			all[i].dropped = true
		}
		seen[string(e.name)] = len(all)
		all = append(all, e)
	}
	return nil, err
}

func turn(e entry) int {
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

// member reads the value of a field that the node knows.
func (d *Decoder) member(t *table, f *field) error {
	if t.meet(f) && !d.careful {
		return errAgain
	}
	c := d.scan.peek()
	switch {
	case c == '"' && f.text && !f.dropped:
		return d.quoted(t, f.col, f.name)
	case f.dropped && (c != '{' || f.group == nil):
		_, err := d.scan.skip()
		return err
	case f.union != nil:
		return d.union(t, f)
	case c == 'n':
		return d.scan.literal("null")
	case f.child >= 0:
		return d.list(t, f)
	case f.col >= 0 && t.cols[f.col].kind == document:
		return d.document(t, f)
	case c == '{' && f.group != nil:
		return d.group(t, f)
	case f.col >= 0 && c != '[' && c != '{':
		return d.value(t, f.col, f.name)
	case f.col >= 0:
		raw, err := d.scan.skip()
		d.refuse(t, f.name, raw, "want no list or object")
		return err
	}
	return d.loose(t, f)
}

// group reads an object whose fields are columns with a common prefix.
func (d *Decoder) group(t *table, f *field) error {
	if f.col < 0 || t.layoutOf.cols[f.col].unshown {
		return d.members(t, f)
	}
	return d.textObject(t, f)
}

// textObject reads an object where a text, or any one value, stands. It fits if it has a field that a
// column takes, as a name; any other is kept as what did not fit.
func (d *Decoder) textObject(t *table, f *field) error {
	start, mark, strays, seen := d.scan.pos, d.found.mark(), d.strays.mark(), slices.Clone(t.seen)
	lost := t.link && !d.scan.empty()
	if err := d.members(t, f); err != nil {
		return err
	}
	lost = lost || d.strays.mark() != strays || d.found.mark() != mark
	if !lost || !slices.Equal(seen, t.seen) {
		return nil
	}
	d.found.undo(mark)
	d.strays.cut(strays)
	d.refuse(t, f.name, d.scan.buf[start:d.scan.pos], "want no object")
	return nil
}

// members reads those of an object with columns of a common prefix. One that
// stands where a private text could is as private as the text.
func (d *Decoder) members(t *table, f *field) error {
	around := d.secret
	if f.col >= 0 && t.layoutOf.cols[f.col].private() {
		d.secret = string(d.dotted(f.name))
	}
	d.path = append(d.path, f.name)
	err := d.object(t, f.group)
	d.path, d.secret = d.path[:len(d.path)-1], around
	return err
}

// loose reads a value that is no object where an object is known: nothing, the
// object's name, or something unknown.
func (d *Decoder) loose(t *table, f *field) error {
	if d.scan.empty() {
		_, err := d.scan.skip()
		return err
	}
	c := d.scan.peek()
	if f.group != nil && c != '[' && c != '{' {
		if name := f.group.fields["name"]; name != nil && name.col >= 0 && t.cols[name.col].kind == text {
			return d.value(t, name.col, f.name)
		}
	}
	if f.private {
		d.conceal(t, UnknownField, d.dotted(f.name))
		_, err := d.scan.skip()
		return err
	}
	return d.unknown(t, []byte(f.name))
}

// empty reports whether an empty text, list or object is at the position.
func (s *scanner) empty() bool {
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

// unknown reads a value that no column takes.
func (d *Decoder) unknown(t *table, name []byte) error {
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	d.keep(t, UnknownField, string(name), raw)
	return nil
}

// quoteName writes a member name as JSON.
func quoteName(dst []byte, name string) []byte {
	dst, _ = jsontext.AppendQuote(dst, name)
	return dst
}
