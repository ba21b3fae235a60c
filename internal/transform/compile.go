package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"placementsync/internal/stream"
)

const extraColumn = "extra" // for unknown fields

// Bind compiles the binding of a stream, and makes its private columns private. See [Binding.Protect].
func Bind(s stream.Stream, definitions map[string]stream.Definition, p Privacy) (*Binding, error) {
	binding, err := Compile(s, definitions)
	if err != nil {
		return nil, err
	}
	return binding, binding.Protect(privacyOf(s, definitions[s.Root().Name], p))
}

// Compile binds the tables of a stream to their definitions by name. Its errors name the
// missing or unsuitable table or column.
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
	for _, i := range l.keys {
		if !slices.Contains(l.required, i) {
			l.required = append(l.required, i)
		}
	}
	for name, fixed := range t.Const {
		l.consts = append(l.consts, constant{l.namedColumn("Const", name), fixed})
	}
	l.value, l.extra, l.created = l.namedColumn("Value", t.Value), l.columnIndex(extraColumn), l.columnIndex("created_at")
	if l.extra >= 0 && l.cols[l.extra].kind != document {
		return fmt.Errorf("column %q must be JSON", extraColumn)
	}
	if l.created >= 0 && l.cols[l.created].kind != instant {
		l.created = -1
	}
	l.rowNode = l.nodeAt("")
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
			l.prefix, l.statusID = l.columnIndex("prefix"), l.columnIndex("id")
			if l.value < 0 {
				l.value = l.columnIndex("count")
			}
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
			n, parents := l.rowNode, strings.Split(name, ".")
			last := len(parents) - 1
			for _, parent := range parents[:last] {
				f := n.addField(parent)
				if f.group == nil {
					f.group = l.nodeAt(n.prefix + parent + "_")
				}
				n = f.group
			}
			f := n.addField(parents[last])
			if f.col >= 0 || f.items != nil {
				return fmt.Errorf("column %q cannot have the other name %q, which the table uses already", col.Name, name)
			}
			f.col, f.alias = i, true
			if l.cols[i].kind == text {
				f.group = l.nodeAt(col.Name + "_")
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
			tracked:   !col.Untracked && !slices.Contains(t.Parents, col.Name),
			canonical: k == document, enum: enums[col.Name], path: col.Path(), isID: col.Name == "id" || strings.HasSuffix(col.Name, "_id"),
			isDetailID: k == text && !slices.Contains(t.Key, col.Name) && stream.IsDetailID(t.Name, col.Name),
			freeForm:   slices.Contains(t.FreeForm, col.Name),
			isCurrency: k == text && col.Name == "currency",
			noText:     slices.Contains(t.NoText, col.Name),
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
		if f.group == nil {
			f.group = up.nodeAt(n.prefix + name + "_")
		}
		f.isObject = true
		n = f.group
	}
	list := n.addField(path[last])
	list.child, list.items = index, l.rowNode
	if l.name == up.name {
		// A table can contain rows of itself, one level deep. The list in the inner rows is always empty.
		l.rowNode.addField(path[last])
	}
	return nil
}
