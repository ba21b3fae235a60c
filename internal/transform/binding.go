package transform

import (
	"slices"
	"strings"
	"sync/atomic"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
)

// Binding assigns the fields of a stream's records to the columns of its tables. Decoders can share it.
type Binding struct {
	stream       stream.Stream
	tables       []*layout
	list         string // the name of the list in the response
	team         int    // index of Stream.TeamColumn in the first table, or -1
	requireOne   []int  // at least one of these columns must have a value in each record
	privatePaths privatePaths
	otherNames   map[string][]string // of the columns of all tables, by table.column
}

// layout describes one table of the binding. Columns are identified by index.
type layout struct {
	name    string
	schema  *arrow.Schema
	cols    []columnLayout
	rowNode *node            // the object of a row
	nodes   map[string]*node // all nodes, by prefix
	err     error            // the first error of namedColumn
	// localPath is the dotted path of the rows within the enclosing row. recordPath is their path
	// within the record.
	localPath, recordPath string
	// enclosing is the index of the table whose rows contain the rows of this table, or -1
	// for the table of the records.
	enclosing int
	// keys are the columns of the key. required are the columns that must not be NULL, including keys.
	keys, required []int
	// ownKeys and ownRequired are keys and required without the position and the columns that are
	// inherited from the enclosing row.
	ownKeys, ownRequired []int
	parents              []inherited
	// keySources are columns of the enclosing row that replace a missing key.
	keySources []int
	consts     []constant
	// Indexes of columns, or -1. value is for rows sent as scalars, prefix and statusID are for status counts.
	position, value, param, prefix, statusID, extra, created int
	// minorPrice is the column with a price in the smallest unit of its currency, or -1. See ReadMinorUnits.
	minorPrice, priceCurrency int
	link                      bool
	// private means that the JSON of a row, with the rows within it, may contain private values.
	private bool
}

type columnLayout struct {
	name      string
	kind      kind
	seed      uint64 // makes the hashes of equal values in different columns differ
	tracked   bool   // part of the row's fingerprint
	canonical bool   // JSON, which is hashed independently of its formatting
	enum      []string
	union     *union // of a column do_follow_links_allowed, otherwise nil
	derived   bool   // filled by a union instead of a field of its own
	path      string // of the field in the spec, or empty
	// isID marks columns with ids. An id in a key must be usable in a URL. isDetailID marks columns
	// with ids of details, except columns of the key.
	isID, isDetailID bool
	isCurrency       bool
	isMinorPrice     bool
	noText           bool   // JSON that is a list or an object, also within a text
	freeForm         bool   // accepts objects
	dropped          bool   // always NULL
	hashKey          []byte // for the hashes of private values; nil if they are not hashed
}

// isInObject reports whether the field of a column is inside the object of this name. Underscores may separate
// an object from its field.
func (c *columnLayout) isInObject(name string) bool {
	return len(c.path) > len(name) && c.path[len(name)] == '.' && strings.ReplaceAll(c.path[:len(name)], ".", "_") == name
}

func (c *columnLayout) isPrivate() bool { return c.dropped || c.hashKey != nil }

// inherited is a column and its source in the enclosing row. mayBeInJSON means that the JSON of the
// row may contain the column. That value takes precedence.
type inherited struct {
	col, from   int
	mayBeInJSON bool
}

type constant struct {
	col  int
	text string
}

// node is an object within a row: the record or item itself, or an object whose fields are
// columns with a common prefix.
type node struct {
	prefix string
	fields map[string]*field
	first  atomic.Pointer[field] // the first field of the latest object
}

// field is a known member of a node. The JSON type of the value decides how it is read.
type field struct {
	name  string
	index int   // in the node, from 0
	col   int   // for scalars, or -1
	group *node // for objects
	child int   // index of the table for the rows of a list or object
	items *node // a row of this table, or nil if the field has no table
	// alias marks another name of its column. The name in the spec takes precedence.
	alias bool
	// isObject means that the spec shows an object here.
	isObject bool
	quoted   string                // the name with quotes and a colon
	next     atomic.Pointer[field] // the field after this one in the latest object
}

// node returns the node of an object in the field, or nil.
func (f *field) node() *node {
	if f.items != nil {
		return f.items
	}
	return f.group
}

// nodeAt returns the object with a prefix, whose fields it derives from the column names. Each underscore may
// separate an object from its field; only a response shows which underscores do.
func (l *layout) nodeAt(prefix string) *node {
	if n, ok := l.nodes[prefix]; ok {
		return n
	}
	n := &node{prefix: prefix, fields: map[string]*field{}}
	l.nodes[prefix] = n
	for i, c := range l.cols {
		// The decoder computes row hashes, extra and derived columns. So a field named "extra" in a record is unknown.
		bindable := c.kind != unsigned && i != l.extra && !c.derived
		if rest, ok := strings.CutPrefix(c.name, prefix); ok && rest != "" && bindable {
			l.bindColumn(n, rest, i)
		}
	}
	// The field "name" of an object is assigned to the text column of the object: a disclaimer is a text or an
	// object with a name. A column for the name has precedence, and a key is never an object.
	textCol := l.columnIndex(strings.TrimSuffix(prefix, "_"))
	if textCol >= 0 && l.cols[textCol].kind == text && !slices.Contains(l.keys, textCol) && l.columnIndex(prefix+"name") < 0 {
		n.addField("name").col = textCol
	}
	return n
}

// bindColumn makes a column reachable from a node, as a field of the node and within all objects that
// the column's name allows. rest is the name without the prefix of the node.
func (l *layout) bindColumn(n *node, rest string, col int) {
	c := &l.cols[col]
	f := n.addField(rest)
	f.col = col
	// If the spec shows an object between the prefix and the field, the rest of the column's name is only an
	// alias of the field.
	f.alias = strings.ReplaceAll(c.path, ".", "_") == c.name && strings.Contains(c.path[len(n.prefix):], ".")
	if c.kind == text {
		f.group = l.nodeAt(n.prefix + rest + "_")
	}
	for i := 1; i < len(rest)-1; i++ {
		if rest[i] == '_' {
			inner := n.addField(rest[:i])
			inner.group = l.nodeAt(n.prefix + rest[:i+1])
			inner.isObject = inner.isObject || c.isInObject(n.prefix+rest[:i])
		}
	}
}

// addField adds a field, or returns the existing field of this name.
func (n *node) addField(name string) *field {
	if f, ok := n.fields[name]; ok {
		return f
	}
	f := &field{name: name, quoted: string(appendQuoted(nil, name)) + ":", index: len(n.fields), col: -1}
	n.fields[name] = f
	return f
}
