package transform

import (
	"encoding/binary"
	"slices"
	"strings"
)

// nodes builds the tree of objects of one table from its column names: every
// underscore may be the border between an object and its field, since only a
// body shows which ones are.
type nodes struct {
	binding *Binding
	layout  *layout
	made    map[string]*node
}

// nodeAt returns the node whose fields are the columns that start with a prefix.
func (b *nodes) nodeAt(prefix string) *node {
	if n, ok := b.made[prefix]; ok {
		return n
	}
	n := &node{id: b.newID(nil), prefix: prefix, fields: map[string]*field{}}
	b.made[prefix] = n
	for i, c := range b.layout.cols {
		if rest, ok := strings.CutPrefix(c.name, prefix); ok && rest != "" && b.isBindable(i) {
			b.bindColumn(n, rest, i)
		}
	}
	b.bindName(n)
	return n
}

// bindColumn makes a column reachable from a node, as a field of its own and inside
// every object that its name allows.
func (b *nodes) bindColumn(n *node, rest string, col int) {
	f := b.fieldNamed(n, rest)
	f.union = b.layout.unionAt(col)
	b.setColumn(f, col)
	f.alias = b.layout.cols[col].isNested(len(n.prefix))
	if b.layout.cols[col].kind == text {
		f.group = b.nodeAt(n.prefix + rest + "_")
	}
	for i := 1; i < len(rest)-1; i++ {
		if rest[i] == '_' {
			b.fieldNamed(n, rest[:i]).group = b.nodeAt(n.prefix + rest[:i+1])
		}
	}
}

// isNested reports whether the spec lists a column's field inside an object that
// begins behind a prefix, so that one which is there as it is called is another.
func (c *columnLayout) isNested(prefix int) bool {
	return strings.ReplaceAll(c.path, ".", "_") == c.name && strings.Contains(c.path[prefix:], ".")
}

// setColumn lets a field fill a column.
func (b *nodes) setColumn(f *field, col int) {
	f.col, f.text = col, b.layout.cols[col].kind == text && f.union == nil
}

// bindName lets the name inside an object stand for the object, where a text
// column has the object's name and none has the name's: a disclaimer is a text
// or an object with a name. A name is no key.
func (b *nodes) bindName(n *node) {
	l := b.layout
	owner := l.columnIndex(strings.TrimSuffix(n.prefix, "_"))
	if n.prefix == "" || owner < 0 || l.cols[owner].kind != text || slices.Contains(l.keys, owner) {
		return
	}
	if l.columnIndex(n.prefix+"name") < 0 {
		b.setColumn(b.fieldNamed(n, "name"), owner)
	}
}

// aliasID lets the item's id fill a column of another name.
func (b *nodes) aliasID(column string) error {
	if column == "" {
		return nil
	}
	col, err := b.layout.findColumn(column, "id")
	if err == nil {
		f := b.fieldNamed(b.layout.root, "id")
		f.alias = true
		b.setColumn(f, col)
	}
	return err
}

// fieldNamed returns the field of that name, new if need be.
func (b *nodes) fieldNamed(n *node, name string) *field {
	if f, ok := n.fields[name]; ok {
		return f
	}
	f := &field{name: name, quoted: `"` + name + `":`, bit: b.layout.names, col: -1, child: -1}
	f.id = b.newID(f)
	if q := []byte(f.quoted); len(q) >= 8 {
		f.head, f.tail = binary.LittleEndian.Uint64(q), binary.LittleEndian.Uint64(q[len(q)-8:])
	}
	b.layout.names++
	n.fields[name] = f
	return f
}

func (b *nodes) newID(f *field) int {
	b.binding.fields = append(b.binding.fields, f)
	return len(b.binding.fields) - 1
}

// isBindable columns take a field of their name; the others are the decoder's:
// a record's own "extra" is an unknown field like any other.
func (b *nodes) isBindable(col int) bool {
	l := b.layout
	return l.cols[col].kind != unsigned && col != l.extra && !l.isDerived(col)
}

// collectNodes collects the nodes of a tree by prefix.
func (n *node) collectNodes(into map[string]*node) map[string]*node {
	into[n.prefix] = n
	for _, f := range n.fields {
		if f.group != nil && into[f.group.prefix] == nil {
			f.group.collectNodes(into)
		}
	}
	return into
}
