package transform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Privacy lists the private columns, as table.column. Their values are never staged.
type Privacy struct {
	// Drop are the columns that are NULL in every row.
	Drop []string
	// Hash are the columns whose values are replaced by a keyed hash: HMAC-SHA256 with Key,
	// in hex. Equal values have equal hashes in all tables and nights.
	Hash []string
	Key  []byte
}

const hashHexLen = 2 * sha256.Size

// withheldValue replaces a private value in a raw text, and withheldSample a drift sample that may contain one.
const (
	withheldValue  = `"(withheld)"`
	withheldSample = `"(withheld: the record holds private columns)"`
)

// privacyOf returns the private columns of a stream. root is its first table. For a stream of events, they are
// derived from the private columns of its table and of the tables with records of the same kind.
func privacyOf(s stream.Stream, root stream.Definition, configured Privacy) Privacy {
	if !s.IsEvents() {
		return configured
	}
	drop := privateEventColumns(s, root, configured.Drop)
	privacy := Privacy{Key: configured.Key}
	for _, column := range privateEventColumns(s, root, configured.Hash) {
		switch c, _ := root.Column(column); {
		case slices.Contains(drop, column):
		case c.Type == stream.Text:
			privacy.Hash = append(privacy.Hash, root.Name+"."+column)
		default: // only text columns can be hashed
			drop = append(drop, column)
		}
	}
	for _, column := range drop {
		privacy.Drop = append(privacy.Drop, root.Name+"."+column)
	}
	return privacy
}

// privateEventColumns returns the private columns of the table of an event stream. configured contains private
// columns as table.column. They also apply to tables with records of the same kind. If the table
// of the event stream lacks such a column, its column extra is private, because it may contain the value. If
// the plain text or the rich text of a comment is private, both are private.
func privateEventColumns(s stream.Stream, def stream.Definition, configured []string) []string {
	var columns []string
	for _, private := range configured {
		table, column, _ := strings.Cut(private, ".")
		if table != def.Name && !slices.Contains(stream.SameKind(s.SameKindAs), table) {
			continue
		}
		if _, ok := def.Column(column); !ok {
			column = "extra"
		}
		columns = append(columns, column)
		if column == "content" || column == "content_text" {
			columns = append(columns, "content", "content_text")
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// Protect makes the columns private in the tables of this binding, and in nested records of the same
// kind: a private column of orders is private in the orders of any stream. Protect must be called
// before NewDecoder. Columns that identify rows or details cannot be private. Columns with texts
// other than ids can be hashed. Rejects contain raw JSON without its private parts. In tables with private
// columns only unknown fields have drift samples.
func (b *Binding) Protect(p Privacy) error {
	if len(p.Hash) > 0 && len(p.Key) == 0 {
		return errors.New("apply privacy.hash: there is no key, and hashes without a key can be guessed: set the environment variable PLACEMENTSYNC_HASH_KEY")
	}
	for _, l := range b.tables {
		for i := range l.cols {
			name := l.name + "." + l.cols[i].name
			var err error
			switch {
			case slices.Contains(p.Drop, name):
				err = l.hideColumn(i, nil)
			case slices.Contains(p.Hash, name):
				err = l.hideColumn(i, p.Key)
			}
			if err != nil {
				return fmt.Errorf("apply privacy.drop and privacy.hash to %s: %w", name, err)
			}
		}
	}
	for _, name := range p.Drop {
		b.protectNested(name, nil)
	}
	for _, name := range p.Hash {
		b.protectNested(name, p.Key)
	}
	b.collectPrivatePaths()
	for _, l := range b.tables {
		name := joinNames(l.recordPath)
		l.private = b.privatePaths.hides(name) || b.privatePaths.hidesWithin(name)
	}
	return nil
}

// PrivateColumns returns the private columns of the tables of this binding, as table.column.
func (b *Binding) PrivateColumns() (names []string) {
	for _, l := range b.tables {
		for i := range l.cols {
			if l.cols[i].isPrivate() {
				names = append(names, l.name+"."+l.cols[i].name)
			}
		}
	}
	return names
}

// protectNested hides a private column, named table.column, in nested records of the same kind.
func (b *Binding) protectNested(name string, key []byte) {
	table, column, _ := strings.Cut(name, ".")
	if column == extraColumn || column == "position" {
		return
	}
	sameKind := stream.SameKind(table)
	for _, l := range b.tables {
		if slices.Contains(sameKind, l.name) {
			b.hideAt(l.recordPath, column, b.otherNames[name], key)
		}
	}
	for _, part := range b.stream.ForeignParts {
		if slices.Contains(sameKind, part.Table) && (part.Columns == nil || slices.Contains(part.Columns, column)) {
			b.hideAt(part.At, column, b.otherNames[name], key)
		}
	}
}

// hideAt makes the value of a column at a path in the record private, under all of its names, even if the
// value has no column in the tables of this binding. A value that cannot be hashed is dropped. A value that
// identifies records stays visible.
func (b *Binding) hideAt(path, column string, otherNames []string, key []byte) {
	name := joinNames(path, column)
	for _, l := range b.tables {
		for i := range l.cols {
			if joinNames(l.recordPath, l.cols[i].name) != name || l.cols[i].kind == unsigned || l.cols[i].isPrivate() {
				continue
			}
			if l.hideColumn(i, key) != nil && l.hideColumn(i, nil) != nil {
				return
			}
		}
	}
	for _, name := range append([]string{column}, otherNames...) {
		b.privatePaths.add(joinNames(path, name))
	}
}

func (b *Binding) collectPrivatePaths() {
	for _, l := range b.tables {
		for i := range l.cols {
			if !l.cols[i].isPrivate() {
				continue
			}
			name := l.cols[i].name
			b.privatePaths.add(joinNames(l.recordPath, name))
			for _, other := range b.otherNames[l.name+"."+name] {
				b.privatePaths.add(joinNames(l.recordPath, other))
			}
			switch {
			case i == l.extra, i == l.value && l.recordPath != "": // the item of a list is the value itself
				b.privatePaths.add(joinNames(l.recordPath))
			case l.cols[i].derived:
				prefix := name[:strings.Index(name, unionStem)]
				b.privatePaths.add(joinNames(l.recordPath, prefix+unionAllowed))
			}
			if l.enclosing >= 0 && b.tables[l.enclosing].name == l.name {
				// Rows of this table can contain rows of this table.
				b.privatePaths.add(joinNames(l.recordPath, l.recordPath))
			}
		}
	}
}

// hideColumn drops a column, or hashes its values if there is a key.
func (l *layout) hideColumn(col int, key []byte) error {
	c := &l.cols[col]
	switch {
	case key != nil && (c.kind != text || c.canonical):
		return errors.New("only texts can be hashed: move it to privacy.drop, or remove it from privacy.hash")
	case l.identifiesRows(col):
		return errors.New("it identifies records: remove it from privacy.drop and privacy.hash")
	case key != nil && strings.HasSuffix(c.name, "_id"):
		return errors.New("tables are joined on it: move it to privacy.drop, or remove it from privacy.hash")
	}
	c.dropped, c.hashKey = key == nil, key
	return nil
}

// identifiesRows reports whether a column identifies rows of this stream or details of
// another stream. Without it, rows would seem to be deleted.
func (l *layout) identifiesRows(col int) bool {
	if slices.Contains(l.required, col) || col == l.param {
		return true
	}
	if slices.ContainsFunc(l.parents, func(p inherited) bool { return p.col == col }) {
		return true
	}
	return stream.IsDetailID(l.name, l.cols[col].name)
}

func (c *column) hidePrivate() {
	last := c.n - 1
	if c.dropped {
		c.truncate(last)
	} else if value := c.bytes(last); len(value) > 0 {
		mac := hmac.New(sha256.New, c.hashKey)
		mac.Write(value)
		c.truncate(last)
		c.data = hex.AppendEncode(c.data, mac.Sum(nil))
		c.endText()
	}
}

// privatePaths are the sorted paths of the private values in the records of a stream: the names on the
// path, joined by underscores like the name of a column. Any underscore may separate an
// object from its field.
type privatePaths []string

func (p *privatePaths) add(name string) {
	if i, found := slices.BinarySearch(*p, name); !found {
		*p = slices.Insert(*p, i, name)
	}
}

func (p privatePaths) hides(name string) bool {
	_, found := slices.BinarySearch(p, name)
	return found
}

// hidesWithin reports whether the value with this name may have private parts.
func (p privatePaths) hidesWithin(name string) bool {
	if name == "" {
		return len(p) > 0
	}
	i, _ := slices.BinarySearch(p, name+"_")
	return i < len(p) && strings.HasPrefix(p[i], name+"_")
}

// redact returns a raw text without its private parts. A text without private parts is not copied.
func (p privatePaths) redact(name string, raw []byte) []byte {
	if !p.hides(name) && !p.hidesWithin(name) {
		return raw
	}
	redacted, err := p.appendRedacted(nil, &scanner{buf: raw}, name)
	if err != nil {
		return []byte(withheldValue) // unreadable text may contain private values
	}
	return redacted
}

func (p privatePaths) appendRedacted(dst []byte, in *scanner, name string) ([]byte, error) {
	c := in.peek()
	isContainer := c == '{' || c == '['
	switch {
	case p.hides(name), p.hidesWithin(name) && !isContainer && c != 'n':
		// A scalar in place of an object with private parts may be private.
		_, err := in.skip()
		return append(dst, withheldValue...), err
	case !isContainer || !p.hidesWithin(name):
		raw, err := in.skip()
		return append(dst, raw...), err
	}
	from := in.pos
	err := in.each(c+2, func(int) (err error) {
		inner := name
		if c == '{' {
			quoted, f, err := in.name()
			if err != nil {
				return err
			}
			inner = joinNames(name, string(unquote(quoted, f)))
		}
		in.peek()
		dst, err = p.appendRedacted(append(dst, in.buf[from:in.pos]...), in, inner)
		from = in.pos
		return err
	})
	return append(dst, in.buf[from:in.pos]...), err
}

// joinNames joins names and dotted paths with underscores, as in the name of a column.
func joinNames(names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	return strings.ReplaceAll(strings.Join(names, "_"), ".", "_")
}
