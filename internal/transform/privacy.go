package transform

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Privacy names the columns, as table.column, whose values must not be staged.
type Privacy struct {
	// Drop leaves them NULL.
	Drop []string
	// Hash replaces them by a keyed hash: HMAC-SHA256 with Key, in hex. Equal
	// values stay equal, in every table and every night.
	Hash []string
	Key  []byte
}

// hashedText is the length of a hash in hex.
const hashedText = 2 * sha256.Size

// withheldText stands for raw text that may hold a private value.
const withheldText = `"(withheld: the record holds private columns)"`

// Protect applies the rules to the tables of this binding, and to records of the same
// kind that its records show: a rule about orders holds for an order in any
// stream. It is called before NewDecoder. Only columns that neither rows nor details
// are found by can be dropped, and only texts can be hashed. Raw texts are kept
// without their private parts; drift samples of records that have such are those of
// unknown fields only.
func (b *Binding) Protect(p Privacy) error {
	if len(p.Hash) > 0 && len(p.Key) == 0 {
		return errors.New("keep columns private: hashes without a key can be guessed: set one")
	}
	for _, l := range b.tables {
		for i := range l.cols {
			name := l.name + "." + l.cols[i].name
			var err error
			switch {
			case slices.Contains(p.Drop, name):
				err = l.dropColumn(i)
			case slices.Contains(p.Hash, name):
				err = l.hashColumn(i, p.Key)
			}
			if err != nil {
				return fmt.Errorf("keep %s private: %w", name, err)
			}
		}
	}
	for _, rule := range p.Drop {
		b.applyRule(rule, func(l *layout, col int) error { return l.dropColumn(col) })
	}
	for _, rule := range p.Hash {
		b.applyRule(rule, func(l *layout, col int) error {
			if err := l.hashColumn(col, p.Key); err == nil || l.identifiesRows(col) {
				return err
			}
			return l.dropColumn(col) // what cannot be hashed here
		})
	}
	b.nameSecrets()
	b.markPrivate()
	b.guessable = len(b.secrets.names) > 0 && len(p.Key) == 0
	return nil
}

// applyRule applies a rule to records of the same kind that are shown here.
func (b *Binding) applyRule(rule string, hide func(*layout, int) error) {
	table, column, _ := strings.Cut(rule, ".")
	if column == extraColumn || column == "position" {
		return
	}
	kind := stream.SameKind(table)
	for _, l := range b.tables {
		if slices.Contains(kind, l.name) {
			b.hideAt(l.place, column, hide)
		}
	}
	for _, shown := range b.shows {
		if slices.Contains(kind, shown.Table) && (shown.Columns == nil || slices.Contains(shown.Columns, column)) {
			b.hideAt(shown.At, column, hide)
		}
	}
}

// hideAt makes the value private that has a name at a place in the record, even if no
// column takes it. A value that records are found by stays visible.
func (b *Binding) hideAt(place, column string, hide func(*layout, int) error) {
	name := joinNames(place, column)
	for _, l := range b.tables {
		for i := range l.cols {
			if joinNames(l.place, l.cols[i].name) != name || l.cols[i].kind == unsigned {
				continue
			}
			if !l.cols[i].isPrivate() && hide(l, i) != nil {
				return
			}
		}
	}
	b.secrets.add(name)
}

// nameSecrets names the places of all private columns.
func (b *Binding) nameSecrets() {
	for _, l := range b.tables {
		for i := range l.cols {
			if !l.cols[i].isPrivate() {
				continue
			}
			name := l.cols[i].name
			b.secrets.add(joinNames(l.place, name))
			switch {
			case i == l.extra, i == l.value && l.place != "":
				b.secrets.add(joinNames(l.place))
			case l.isDerived(i):
				stem := name[:strings.Index(name, unionStem)]
				b.secrets.add(joinNames(l.place, stem+unionAllowed))
			}
			if l.enclosing >= 0 && b.tables[l.enclosing].name == l.name {
				// Rows like these can stand in them, however deep.
				b.secrets.add(joinNames(l.place, l.place))
			}
		}
	}
}

func (l *layout) dropColumn(col int) error {
	if l.identifiesRows(col) {
		return errors.New("records are found by it: keep it")
	}
	l.cols[col].dropped = true
	return nil
}

func (l *layout) hashColumn(col int, key []byte) error {
	if l.cols[col].kind != text || l.cols[col].canonical {
		return errors.New("only texts can be hashed: drop it or keep it")
	}
	if l.identifiesRows(col) {
		return errors.New("records are found by it: keep it")
	}
	if strings.HasSuffix(l.cols[col].name, "_id") {
		return errors.New("tables are joined by it: drop it or keep it")
	}
	l.cols[col].hide = func(dst, value []byte) []byte {
		if len(value) == 0 {
			return dst
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(value)
		return hex.AppendEncode(dst, mac.Sum(nil))
	}
	return nil
}

// identifiesRows reports whether rows of this stream, or details of any other, are found
// by a column: without it their absence would look like a deletion.
func (l *layout) identifiesRows(col int) bool {
	if slices.Contains(l.required, col) || col == l.param {
		return true
	}
	if slices.ContainsFunc(l.parents, func(p inherited) bool { return p.col == col }) {
		return true
	}
	return stream.NamesDetails(l.name, l.cols[col].name)
}

// markPrivate marks the tables and fields whose raw text may hold a private value:
// tables with those within, fields with those inside their objects.
func (b *Binding) markPrivate() {
	for _, l := range b.tables {
		l.concealed = nil
		for i := range l.cols {
			if l.cols[i].isPrivate() {
				l.concealed = append(l.concealed, i)
			}
		}
		if l.private = l.private || b.secrets.hidesWithin(joinNames(l.place)) || b.secrets.hides(joinNames(l.place)); len(l.concealed) == 0 {
			continue
		}
		for up := l; ; up = b.tables[up.enclosing] {
			if up.private = true; up.enclosing < 0 {
				break
			}
		}
		for _, n := range l.root.collectNodes(map[string]*node{}) {
			for _, f := range n.fields {
				f.private = l.holdsPrivate(f)
				f.dropped = f.col >= 0 && l.cols[f.col].dropped
			}
		}
	}
}

// holdsPrivate reports whether the value of a field may have a private part. A field
// without any reading is the list of rows like the one that it stands in.
func (l *layout) holdsPrivate(f *field) bool {
	switch {
	case f.col >= 0:
		return l.cols[f.col].isPrivate()
	case f.group == nil:
		return f.child < 0
	}
	for _, n := range f.group.collectNodes(map[string]*node{}) {
		for _, inner := range n.fields {
			if inner.col >= 0 && l.cols[inner.col].isPrivate() {
				return true
			}
		}
	}
	return false
}

// hidePrivate drops or hashes the last value.
func (c *column) hidePrivate(col *columnLayout) {
	last := c.n - 1
	if col.dropped {
		c.truncate(last)
		return
	}
	value := bytes.Clone(c.bytes(last))
	c.truncate(last)
	c.data = col.hide(c.data, value)
	c.endText()
}

// withheldValue stands for a private value in a raw text.
const withheldValue = `"(withheld)"`

// secrets are the places in the records of a stream whose values are private: the
// names that lead there, joined by underscores, as a column is called that takes
// the value. A body may put the border between an object and its field anywhere.
type secrets struct {
	names []string
	scan  scanner
	out   []byte
}

func (s *secrets) add(name string) {
	if i, found := slices.BinarySearch(s.names, name); !found {
		s.names = slices.Insert(s.names, i, name)
	}
}

// hides reports whether the value of that name is private.
func (s *secrets) hides(name string) bool {
	_, found := slices.BinarySearch(s.names, name)
	return found
}

// hidesWithin reports whether a part of the value of that name can be private.
func (s *secrets) hidesWithin(name string) bool {
	if name == "" {
		return len(s.names) > 0
	}
	i, _ := slices.BinarySearch(s.names, name+"_")
	return i < len(s.names) && strings.HasPrefix(s.names[i], name+"_")
}

// redact returns a raw text without its private parts; the rest is as it was sent. A text
// without private parts is returned itself.
func (s *secrets) redact(name string, raw []byte) []byte {
	switch {
	case s.hides(name):
		return []byte(withheldValue)
	case !s.hidesWithin(name):
		return raw
	}
	s.scan, s.out = scanner{buf: raw}, nil
	if s.writeValue(name) != nil {
		return []byte(withheldValue) // a text that cannot be read may hold anything
	}
	return s.out
}

// writeValue writes the value at the position.
func (s *secrets) writeValue(name string) error {
	c := s.scan.peek()
	start := s.scan.pos
	switch {
	case s.hides(name):
		s.out = append(s.out, withheldValue...)
		_, err := s.scan.skip()
		return err
	case s.hidesWithin(name) && (c == '{' || c == '['):
		return s.writeContainer(name, c)
	}
	raw, err := s.scan.skip()
	if c != 'n' && s.hidesWithin(name) {
		// A value where an object with private parts stands may be one of them.
		s.out = append(s.out, withheldValue...)
		return err
	}
	s.out = append(s.out, s.scan.buf[start:start+len(raw)]...)
	return err
}

// writeContainer writes an object or list member by member.
func (s *secrets) writeContainer(name string, open byte) error {
	from := s.scan.pos
	err := s.scan.open()
	for first := true; err == nil; first = false {
		var more bool
		if more, err = s.scan.next(open+2, first); !more || err != nil {
			break
		}
		inner := name
		if open == '{' {
			quoted, f, bad := s.scan.name()
			if bad != nil {
				return bad
			}
			plain, _ := appendText(nil, quoted, f)
			inner = joinNames(name, string(plain))
		}
		s.scan.peek()
		s.out = append(s.out, s.scan.buf[from:s.scan.pos]...)
		err = s.writeValue(inner)
		from = s.scan.pos
	}
	s.out = append(s.out, s.scan.buf[from:s.scan.pos]...)
	return err
}

// joinNames puts names in the form of a column's name.
func joinNames(names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	return strings.ReplaceAll(strings.Join(names, "_"), ".", "_")
}
