package transform

import (
	"encoding/binary"
	"slices"
	"strings"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
)

// Binding is a stream bound to its table definitions: which field of a record
// goes to which column of which table. It is immutable; any number of decoders
// share it.
type Binding struct {
	name   string
	tables []*layout
	// fields are all fields of all nodes by id. Nodes have ids in the same
	// space, with nil here, so that "what followed last time" is one array.
	fields []*field
	list   string
	object bool
	raw    bool
	// oneOf are columns of the first table of which a record fills at least one.
	oneOf []int
	// shows is what the records show of other tables, and secrets what of all that is
	// private.
	shows   []stream.Shown
	secrets secrets
	// guessable says that a hash of a whole record would let somebody who has its rows
	// guess what is private in it.
	guessable bool
}

// Tables lists the staged tables, the record's own first, each once.
func (b *Binding) Tables() []Table {
	var all []Table
	for _, t := range b.tables {
		if !slices.ContainsFunc(all, func(o Table) bool { return o.Name == t.name }) {
			all = append(all, Table{Name: t.name, Schema: t.schema})
		}
	}
	return all
}

// layout is one table of the binding. Columns are known by their index.
type layout struct {
	index  int
	name   string
	schema *arrow.Schema
	cols   []columnLayout
	root   *node
	// at is the dotted path of the rows in the enclosing one, place that in the
	// record.
	at, place string
	// enclosing is the table whose open row this one's rows belong to; -1 for
	// the record's own table.
	enclosing int
	// within are the tables whose rows lie inside a row of this one.
	within []int
	// keys and required columns are never NULL in a row that is kept.
	keys, required []int
	// ownKeys and ownRequired are those of them that a row does not have from
	// where it stands.
	ownKeys, ownRequired []int
	// parents take the key of the enclosing row.
	parents []inherited
	// named are columns of the enclosing row that stand for an absent key.
	named []int
	// inheritedKeys are the columns that children inherit from an open row.
	inheritedKeys []int
	consts        []constant
	// Each of these is the index of a column, -1 when the table has none.
	position, value, param, prefix, status, extra, created int
	// names is the number of distinct fields, for the set of those seen.
	names int
	// link tables keep no field that has no column.
	link bool
	// concealed are the private columns.
	concealed []int
	// private tables, or tables within, have columns whose values must not show
	// up elsewhere.
	private bool
}

type columnLayout struct {
	name string
	kind kind
	// seed keeps equal values of different columns apart in the row's hash.
	seed    uint64
	tracked bool
	// canonical columns hold JSON text, hashed by meaning.
	canonical bool
	enum      []string
	// path is where the spec lists the field; empty: nowhere.
	path string
	// id columns hold ids that stand in paths; asked ones name those that details
	// are asked for by.
	id, asked bool
	// unshown columns may meet an object.
	unshown bool
	// dropped columns are NULL in every row.
	dropped bool
	// hide makes a private text of a value when its row is closed; nil: as it is.
	hide func(dst, value []byte) []byte
}

func (c *columnLayout) isPrivate() bool { return c.dropped || c.hide != nil }

// inherited pairs a column with one of the enclosing row. Where the record may name
// another parent, what it names stands.
type inherited struct {
	col, from int
	named     bool
}

type constant struct {
	col  int
	text string
}

// node is one object within a row: the record or item itself, or an object
// whose fields are columns with a common prefix.
type node struct {
	id     int
	prefix string
	fields map[string]*field
}

// field is one member that a node knows. It may have several readings; the
// JSON type of the value chooses.
type field struct {
	id   int
	name string
	// quoted is the usual text of the name in a body, with the colon.
	quoted string
	// head and tail are its first and last eight bytes, if it has as many.
	head, tail uint64
	// bit is the field's place in the set of fields seen in a row.
	bit int
	// col takes a scalar; -1: none.
	col int
	// text says that a quoted text goes to col, even if the field also takes an object.
	text bool
	// group takes an object.
	group *node
	// child is the table that takes a list or object; -1: none.
	child int
	union *union
	// alias is a second name for its column, which gives way to the one that the
	// spec lists.
	alias bool
	// private fields hold a value that must not be kept where no column takes it.
	private bool
	// dropped fields fill a column that is NULL in every row.
	dropped bool
}

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
