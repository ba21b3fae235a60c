package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"placementsync/internal/stream"
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
	// keys are the columns of the key. required are the columns that must not be NULL, as all keys are.
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
	name string
	kind kind
	seed uint64 // makes the hashes of equal values in different columns differ
	// inFingerprint is false for the key of the parent.
	inFingerprint bool
	canonical     bool // JSON, which is hashed independently of its formatting
	enum          []string
	union         *union // of a column do_follow_links_allowed, otherwise nil
	derived       bool   // filled by a union instead of a field of its own
	path          string // of the field in the spec, or empty
	// isID marks columns with ids. An id in a key must be usable in a URL. isDetailID marks columns
	// with ids of details, except columns of the key.
	isID, isDetailID bool
	isCurrency       bool
	isMinorPrice     bool
	unwrapText       bool   // a list or object inside a text is stored as the list or object
	freeForm         bool   // accepts objects
	dropped          bool   // always NULL
	hashKey          []byte // for the hashes of private values; nil if they are not hashed
}

// isInObject reports whether the field of a column is inside the object of this name. Underscores may separate
// an object from its field.
func (c *columnLayout) isInObject(name string) bool {
	end := len(name)
	if len(c.path) <= end || c.path[end] != '.' {
		return false
	}
	object := c.path[:end]
	return strings.ReplaceAll(object, ".", "_") == name
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
//
// Objects usually list their fields in the same order. node.first and field.next remember the order of the
// latest object, as a guess that is checked.
type node struct {
	prefix string
	fields map[string]*field
	first  atomic.Pointer[field] // the first field of the latest object
}

// field is a known member of a node. The JSON type of the value decides how it is read.
type field struct {
	name  string
	index int // in the node, from 0
	col   int // for scalars, or -1
	// objectNode is the node of an object whose fields are columns of this row, or nil.
	objectNode *node
	// table is the index of the table for the rows of a list or object, and rowNode the node of its rows.
	// rowNode is nil if the field has no table.
	table   int
	rowNode *node
	// alias marks another name of its column. The name in the spec takes precedence.
	alias bool
	// isObject means that the spec shows an object here.
	isObject bool
	quoted   string                // the name with quotes and a colon
	next     atomic.Pointer[field] // the field after this one in the latest object
}

// node returns the node of an object in the field, or nil.
func (f *field) node() *node {
	if f.rowNode != nil {
		return f.rowNode
	}
	return f.objectNode
}

// buildNode returns the object with a prefix, whose fields it derives from the column names. Each underscore may
// separate an object from its field; only a response shows which underscores do. For example, the column a_b_c
// can be filled from the field a_b_c, from b_c in the object a, from c in the object a_b, and from c in the
// object b in the object a.
func (l *layout) buildNode(prefix string) *node {
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
	// object with a name.
	textCol := l.columnIndex(strings.TrimSuffix(prefix, "_"))
	if textCol < 0 || l.cols[textCol].kind != text {
		return n
	}
	if l.columnIndex(prefix+"name") >= 0 {
		return n // the name has a column of its own
	}
	if slices.Contains(l.keys, textCol) {
		return n // a key is never an object
	}
	n.addField("name").col = textCol
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
	if strings.ReplaceAll(c.path, ".", "_") == c.name {
		pathInNode := c.path[len(n.prefix):]
		f.alias = strings.Contains(pathInNode, ".")
	}
	if c.kind == text {
		f.objectNode = l.buildNode(n.prefix + rest + "_")
	}
	for i := 1; i < len(rest)-1; i++ {
		if rest[i] == '_' {
			object := rest[:i]
			inner := n.addField(object)
			inner.objectNode = l.buildNode(n.prefix + object + "_")
			if c.isInObject(n.prefix + object) {
				inner.isObject = true
			}
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

const extraColumn = "extra" // for unknown fields

// Bind is [Compile] and then [Binding.Protect], with the private columns that p selects.
func Bind(s stream.Stream, definitions map[string]stream.Definition, p Privacy) (*Binding, error) {
	binding, err := Compile(s, definitions)
	if err != nil {
		return nil, err
	}
	return binding, binding.Protect(privacyOf(s, definitions[s.Root().Name], p))
}

// Compile assigns the fields of a stream's records to the columns of its tables. defs are the definitions
// by table. An error names the missing or unsuitable table or column.
func Compile(s stream.Stream, defs map[string]stream.Definition) (*Binding, error) {
	b := &Binding{stream: s, list: cmp.Or(s.List, "records"), otherNames: map[string][]string{}}
	for table, d := range defs {
		for _, col := range d.Columns {
			if len(col.OtherNames) > 0 {
				b.otherNames[table+"."+col.Name] = col.OtherNames
			}
		}
	}
	for _, t := range s.Tables {
		d, ok := defs[t.Name]
		if !ok {
			return nil, fmt.Errorf("compile stream %q: no definition of table %q", s.Name, t.Name)
		}
		if err := b.compileTable(t, d); err != nil {
			return nil, fmt.Errorf("compile stream %q, table %q: %w", s.Name, t.Name, err)
		}
	}
	if len(b.tables) == 0 {
		return nil, fmt.Errorf("compile stream %q: it has no tables", s.Name)
	}
	for _, l := range b.tables {
		if err := l.bindOtherNames(defs[l.name]); err != nil {
			return nil, fmt.Errorf("compile stream %q, table %q: %w", s.Name, l.name, err)
		}
	}
	return b, nil
}

func (b *Binding) compileTable(t stream.Table, d stream.Definition) error {
	l := &layout{name: t.Name, recordPath: t.At, enclosing: -1, link: t.Link, nodes: map[string]*node{},
		position: -1, param: -1, prefix: -1, statusID: -1, minorPrice: -1, priceCurrency: -1}
	if err := l.addColumns(t, d); err != nil {
		return err
	}
	l.findUnions()
	l.keys = l.namedColumns("Key", t.Key)
	for name, fixed := range t.Const {
		l.consts = append(l.consts, constant{l.namedColumn("Const", name), fixed})
	}
	l.value = l.namedColumn("Value", t.Value)
	l.extra = l.columnIndex(extraColumn)
	l.created = l.columnIndex("created_at")
	if l.extra >= 0 && l.cols[l.extra].kind != document {
		return fmt.Errorf("column %q must be JSON", extraColumn)
	}
	l.rowNode = l.buildNode("")
	if idColumn := l.namedColumn("ID", t.ID); idColumn >= 0 {
		id := l.rowNode.addField("id")
		id.col, id.alias = idColumn, true
	}
	b.tables = append(b.tables, l)
	if len(b.tables) > 1 {
		if err := b.nestTable(l, t); err != nil {
			return err
		}
	} else {
		b.team = l.namedColumn("TeamColumn", b.stream.TeamColumn)
		l.param, b.requireOne = l.namedColumn("Param", b.stream.Param), l.namedColumns("RequireOne", b.stream.RequireOne)
		if b.stream.Envelope == stream.StatusCounts {
			l.prefix, l.statusID, l.value = l.columnIndex("prefix"), l.columnIndex("id"), l.columnIndex("count")
		}
	}
	l.ownKeys, l.ownRequired = l.ownColumns(l.keys), l.ownColumns(l.required)
	return l.err
}

// bindOtherNames makes columns reachable under their other names, as aliases.
func (l *layout) bindOtherNames(d stream.Definition) error {
	for i, col := range d.Columns {
		if len(col.OtherNames) > 0 && (i == l.extra || i == l.position || l.cols[i].derived) {
			return fmt.Errorf("column %q cannot have another name, because the program computes it", col.Name)
		}
		for _, name := range col.OtherNames {
			n := l.rowNode
			path := strings.Split(name, ".")
			last := len(path) - 1
			for _, parent := range path[:last] {
				f := n.addField(parent)
				if f.objectNode == nil {
					f.objectNode = l.buildNode(n.prefix + parent + "_")
				}
				n = f.objectNode
			}
			f := n.addField(path[last])
			if f.col >= 0 || f.rowNode != nil {
				return fmt.Errorf("column %q cannot have the other name %q, which the table uses already", col.Name, name)
			}
			f.col, f.alias = i, true
			if l.cols[i].kind == text {
				f.objectNode = l.buildNode(col.Name + "_")
			}
		}
	}
	return nil
}

func (l *layout) ownColumns(cols []int) []int {
	return slices.DeleteFunc(slices.Clone(cols), func(col int) bool {
		return col == l.position || slices.ContainsFunc(l.parents, func(p inherited) bool { return p.col == col })
	})
}

func (l *layout) addColumns(t stream.Table, d stream.Definition) error {
	enums := stream.Enums()
	for _, col := range d.Columns {
		k, ok := kinds[col.Type]
		if !ok {
			return fmt.Errorf("column %q has type %s, which the decoder does not support", col.Name, col.Type)
		}
		l.cols = append(l.cols, columnLayout{
			name: col.Name, kind: k, seed: xxh3.HashString(kindClasses[k:k+1] + ":" + col.Name),
			inFingerprint: !slices.Contains(t.Parents, col.Name),
			canonical:     k == document, enum: enums[col.Name], path: col.Path(), isID: col.Name == "id" || strings.HasSuffix(col.Name, "_id"),
			isDetailID: k == text && !slices.Contains(t.Key, col.Name) && stream.IsDetailID(t.Name, col.Name),
			freeForm:   slices.Contains(t.FreeForm, col.Name),
			isCurrency: k == text && col.Name == "currency",
			unwrapText: slices.Contains(t.UnwrapText, col.Name),
		})
		if col.NotNull {
			l.required = append(l.required, len(l.cols)-1)
		}
	}
	for _, name := range []string{stream.RowHash, stream.Seq} {
		if l.columnIndex(name) >= 0 {
			return fmt.Errorf("column %q is reserved for the decoder", name)
		}
		l.cols = append(l.cols, columnLayout{name: name, kind: unsigned})
	}
	fields := make([]arrow.Field, len(l.cols))
	for i, col := range l.cols {
		fields[i] = arrow.Field{Name: col.name, Type: arrowTypes[col.kind], Nullable: col.kind != unsigned}
	}
	l.schema = arrow.NewSchema(fields, nil)
	return nil
}

// kindClasses has a letter for each kind but unsigned, in the order of the constants. Both widths of integers
// have the same letter, so that widening a column does not change fingerprints.
const kindClasses = "tjbiimz"

func (l *layout) columnIndex(name string) int {
	return slices.IndexFunc(l.cols, func(c columnLayout) bool { return c.name == name })
}

// namedColumn returns the index of a column that a field of the stream literal names, or -1 if the field is
// empty. A missing column sets l.err.
func (l *layout) namedColumn(literalField, name string) int {
	i := l.columnIndex(name)
	if i < 0 && name != "" && l.err == nil {
		l.err = fmt.Errorf("%s names the column %q, which %q lacks", literalField, name, l.name)
	}
	return i
}

func (l *layout) namedColumns(literalField string, names []string) []int {
	var columns []int
	for _, name := range names {
		columns = append(columns, l.namedColumn(literalField, name))
	}
	return columns
}

// nestTable connects a table with the table of the enclosing rows. It pairs the parent columns with the key of
// the enclosing row, in order.
func (b *Binding) nestTable(l *layout, t stream.Table) error {
	index := len(b.tables) - 1
	l.enclosing = b.stream.EnclosingTable(t)
	if l.enclosing > index {
		return fmt.Errorf("define it after %q, which encloses it", b.stream.Tables[l.enclosing].Name)
	}
	up := b.tables[l.enclosing]
	l.position = l.columnIndex("position")
	if len(t.Parents) != len(up.keys) {
		return fmt.Errorf("it names %d parent columns, but %q has a key of %d columns", len(t.Parents), up.name, len(up.keys))
	}
	parents := l.namedColumns("Parents", t.Parents)
	l.keySources = up.namedColumns("KeyFrom", t.KeyFrom)
	if err := cmp.Or(l.err, up.err); err != nil {
		return err
	}
	for i, col := range parents {
		from := up.keys[i]
		if l.cols[col].kind != up.cols[from].kind {
			return fmt.Errorf("column %q has another type than %q of %q", l.cols[col].name, up.cols[from].name, up.name)
		}
		l.parents = append(l.parents, inherited{col: col, from: from, mayBeInJSON: l.cols[col].path != "" && !slices.Contains(l.keys, col)})
	}
	l.localPath = t.At
	if up.recordPath != "" {
		l.localPath = strings.TrimPrefix(t.At, up.recordPath+".")
	}
	path := strings.Split(l.localPath, ".")
	last := len(path) - 1
	n := up.rowNode
	for _, name := range path[:last] {
		f := n.addField(name)
		if f.objectNode == nil {
			f.objectNode = up.buildNode(n.prefix + name + "_")
		}
		f.isObject = true
		n = f.objectNode
	}
	list := n.addField(path[last])
	list.table = index
	list.rowNode = l.rowNode
	if l.name == up.name {
		// A table can contain rows of itself, one level deep. The list in the inner rows is always empty.
		l.rowNode.addField(path[last])
	}
	return nil
}
