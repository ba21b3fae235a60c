package transform

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/stream"
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
	// shows is what the records show beside what the tables take, and secrets what
	// of all that is private.
	shows   []stream.Shown
	secrets secrets
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
	// salt keeps equal rows of different tables apart in the print of a record.
	salt uint64
	// link tables keep no field that has no column.
	link bool
	// concealed are the private columns.
	concealed []int
	// private tables, or tables within, have columns whose values must not show
	// up elsewhere.
	private bool
}

type columnLayout struct {
	name  string
	kind  kind
	arrow arrow.DataType
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
	// dropped columns are NULL in every row, whatever filled them.
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
	// text says that a quoted text goes to col, whatever else the field takes.
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
