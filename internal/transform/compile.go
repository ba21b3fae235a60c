package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

// extraColumn is the column for unknown fields.
const extraColumn = "extra"

// Compile binds the tables of a stream to their definitions by name. Its errors name the
// missing or unsuitable table or column.
func Compile(s stream.Stream, defs map[string]stream.Definition) (*Binding, error) {
	b := &Binding{stream: s, list: cmp.Or(s.List, "records")}
	for i, t := range s.Tables {
		d, ok := defs[t.Name]
		if !ok {
			return nil, fmt.Errorf("compile stream %q: no definition of table %q", s.Name, t.Name)
		}
		if err := b.compileTable(i, t, d); err != nil {
			return nil, fmt.Errorf("compile stream %q, table %q: %w", s.Name, t.Name, err)
		}
	}
	if len(b.tables) == 0 {
		return nil, fmt.Errorf("compile stream %q: it has no tables", s.Name)
	}
	return b, nil
}

func (b *Binding) compileTable(i int, t stream.Table, d stream.Definition) error {
	l := &layout{index: i, name: t.Name, recordPath: t.At, enclosing: -1, link: t.Link}
	if err := l.addColumns(t, d); err != nil {
		return err
	}
	if err := l.findNamedColumns(t); err != nil {
		return err
	}
	b.tables = append(b.tables, l)
	tree := treeBuilder{layout: l, nodes: map[string]*node{}}
	l.root = tree.nodeAt("")
	if err := tree.aliasID(t.ID); err != nil {
		return err
	}
	var err error
	if i == 0 {
		err = b.findRootColumns(l)
	} else {
		err = b.nestTable(l, t, d)
	}
	l.ownKeys, l.ownRequired = l.ownColumns(l.keys), l.ownColumns(l.required)
	return err
}

// ownColumns returns the columns without the position and the columns inherited from the enclosing row.
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
			tracked:   !col.Untracked && !slices.Contains(t.Parents, col.Name),
			canonical: k == document, enum: enums[col.Name], path: col.Path(), isID: col.Name == "id" || strings.HasSuffix(col.Name, "_id"),
			isDetailID: k == text && !slices.Contains(t.Key, col.Name) && stream.IsDetailID(t.Name, col.Name),
			freeForm:   slices.Contains(t.FreeForm, col.Name),
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
	l.setSchema()
	return nil
}

func (l *layout) setSchema() {
	fields := make([]arrow.Field, len(l.cols))
	for i, col := range l.cols {
		fields[i] = arrow.Field{Name: col.name, Type: arrowTypes[col.kind], Nullable: col.kind != unsigned}
	}
	l.schema = arrow.NewSchema(fields, nil)
}

// kindClasses has a letter for each kind, in the order of their constants. Both widths of integers have the
// same letter, so that widening a column does not change fingerprints.
const kindClasses = "tjbiimz"

func (l *layout) columnIndex(name string) int {
	return slices.IndexFunc(l.cols, func(c columnLayout) bool { return c.name == name })
}

// findColumn returns the index of a column that a field of the stream literal names.
func (l *layout) findColumn(name, literalField string) (int, error) {
	if i := l.columnIndex(name); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("%s names the column %q, which %q lacks", literalField, name, l.name)
}

func (l *layout) findNamedColumns(t stream.Table) error {
	var err error
	for _, name := range t.Key {
		i, err := l.findColumn(name, "Key")
		if err != nil {
			return err
		}
		l.keys = append(l.keys, i)
		if !slices.Contains(l.required, i) {
			l.required = append(l.required, i)
		}
	}
	for name, fixed := range t.Const {
		i, err := l.findColumn(name, "Const")
		if err != nil {
			return err
		}
		l.consts = append(l.consts, constant{i, fixed})
	}
	l.value = -1
	if t.Value != "" {
		if l.value, err = l.findColumn(t.Value, "Value"); err != nil {
			return err
		}
	}
	l.position, l.param, l.prefix, l.statusID = -1, -1, -1, -1
	l.extra, l.created = l.columnIndex(extraColumn), l.columnIndex("created_at")
	if l.extra >= 0 && l.cols[l.extra].kind != document {
		return fmt.Errorf("column %q must be JSON", extraColumn)
	}
	return nil
}

func (b *Binding) findRootColumns(l *layout) error {
	var err error
	if b.stream.Param != "" {
		if l.param, err = l.findColumn(b.stream.Param, "Param"); err != nil {
			return err
		}
	}
	for _, name := range b.stream.RequireOne {
		i, err := l.findColumn(name, "RequireOne")
		if err != nil {
			return err
		}
		b.requireOne = append(b.requireOne, i)
	}
	if b.stream.Envelope == stream.StatusCounts {
		l.prefix, l.statusID = l.columnIndex("prefix"), l.columnIndex("id")
		if l.value < 0 {
			l.value = l.columnIndex("count")
		}
	}
	if l.created >= 0 && l.cols[l.created].kind != instant {
		l.created = -1
	}
	return err
}

func (b *Binding) nestTable(l *layout, t stream.Table, d stream.Definition) error {
	l.enclosing = b.enclosingTable(l.index)
	if l.enclosing > l.index {
		return fmt.Errorf("define it after %q, which encloses it", b.stream.Tables[l.enclosing].Name)
	}
	up := b.tables[l.enclosing]
	l.position = l.columnIndex("position")
	if err := l.pairParents(t, d, up); err != nil {
		return err
	}
	for u := up; ; u = b.tables[u.enclosing] {
		if u.innerTables = append(u.innerTables, l.index); u.enclosing < 0 {
			break
		}
	}
	path := t.At
	if at := b.stream.Tables[l.enclosing].At; at != "" {
		path = strings.TrimPrefix(path, at+".")
	}
	l.localPath = path
	parts := strings.Split(path, ".")
	tree := treeBuilder{layout: up, nodes: up.root.collectNodes(map[string]*node{})}
	n := up.root
	for _, part := range parts[:len(parts)-1] {
		f := tree.fieldNamed(n, part)
		if f.group == nil {
			f.group = tree.nodeAt(n.prefix + part + "_")
		}
		n = f.group
	}
	last := parts[len(parts)-1]
	f := tree.fieldNamed(n, last)
	f.child = l.index
	if l.name == up.name {
		// A table can contain rows of itself, one level deep. The list in the inner rows is always empty.
		(&treeBuilder{layout: l}).fieldNamed(l.root, last)
	}
	return nil
}

// enclosingTable returns the index of the table whose At is the longest prefix of the At of table i.
func (b *Binding) enclosingTable(i int) int {
	best, at := 0, b.stream.Tables[i].At
	for j, o := range b.stream.Tables {
		if o.At != "" && strings.HasPrefix(at, o.At+".") && len(o.At) > len(b.stream.Tables[best].At) {
			best = j
		}
	}
	return best
}

// pairParents pairs the parent columns with the key of the enclosing row, in order, and finds the
// columns of KeyFrom.
func (l *layout) pairParents(t stream.Table, d stream.Definition, up *layout) error {
	if len(t.Parents) != len(up.keys) {
		return fmt.Errorf("it names %d parent columns, but %q has a key of %d columns", len(t.Parents), up.name, len(up.keys))
	}
	for i, name := range t.Parents {
		col, err := l.findColumn(name, "Parents")
		if err != nil {
			return err
		}
		from := up.keys[i]
		if l.cols[col].kind != up.cols[from].kind {
			return fmt.Errorf("column %q has another type than %q of %q", name, up.cols[from].name, up.name)
		}
		c, _ := d.Column(name)
		l.parents = append(l.parents, inherited{col: col, from: from, mayBeInJSON: c.Path() != "" && !slices.Contains(t.Key, name)})
	}
	for _, name := range t.KeyFrom {
		col, err := up.findColumn(name, "KeyFrom")
		if err != nil {
			return err
		}
		l.keySources = append(l.keySources, col)
	}
	return nil
}
