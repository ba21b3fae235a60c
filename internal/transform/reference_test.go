package transform_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/stream"
)

// reference is a second decoder, the reference decoder, with the rows and rejects of the decoded records. They
// must equal those of the Decoder. It uses maps, big.Rat and time, and is written for clarity, not for speed.
type reference struct {
	stream  stream.Stream
	defs    map[string]stream.Definition
	param   string
	rows    map[string][]row
	rejects []string // table, key and path
}

// decodeSlowly decodes a list of records or one record, without an envelope.
func decodeSlowly(t testing.TB, k testStream, body []byte, param string) *reference {
	t.Helper()
	r := &reference{stream: k.stream, defs: k.defs, param: param, rows: map[string][]row{}}
	v := parse(t, body)
	records, isList := v.([]any)
	if !isList {
		records = []any{v}
	}
	best := map[string]*reference{}
	for _, v := range records {
		record := &reference{stream: k.stream, defs: k.defs, param: param, rows: map[string][]row{}}
		key, ok := record.add(0, v, nil, nil, 0)
		r.rejects = append(r.rejects, record.rejects...)
		if !ok {
			r.reject(r.stream.Root().Name, key, "")
			continue
		}
		if best[key] == nil || record.countValues() >= best[key].countValues() {
			best[key] = record
		}
	}
	for _, record := range best {
		for table, rows := range record.rows {
			r.rows[table] = append(r.rows[table], rows...)
		}
	}
	return r
}

// countValues counts the values of a record, including the hash and seq of each row. Of several copies
// of a record, the copy with the most values is used.
func (r *reference) countValues() int {
	n := 0
	for _, rows := range r.rows {
		for _, row := range rows {
			const hashAndSeq = 2
			n += len(row) + hashAndSeq
		}
	}
	return n
}

func parse(t testing.TB, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("parse %q: %v", body, err)
	}
	return v
}

// canonicalText writes a value in a form that is equal for equal values.
func canonicalText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *reference) reject(table, key, path string) {
	r.rejects = append(r.rejects, table+" | "+key+" | "+path)
}

// add adds the rows of one record or item. up is the enclosing row, and upKey its key columns. add
// returns the key of the record or item, and false if the record or item is rejected.
func (r *reference) add(tableIndex int, v any, up row, upKey []string, itemNumber int) (key string, ok bool) {
	// own collects the rows and rejects of nested lists. They are lost if the record is rejected.
	own := &reference{stream: r.stream, defs: r.defs, rows: map[string][]row{}}
	t := r.stream.Tables[tableIndex]
	w := &objectReader{reference: own, table: t, def: r.defs[t.Name], row: row{}, extra: map[string]any{}, lists: map[int]any{}}
	maps.Copy(w.row, t.Const)
	for i, p := range t.Parents {
		if !w.mayBeInJSON(p) {
			w.row[p] = up[upKey[i]]
		}
	}
	if _, ok := w.def.Column("position"); ok && tableIndex > 0 {
		w.row["position"] = itoa(itemNumber)
	}
	switch v := v.(type) {
	case map[string]any:
		w.readObject(v, "", nil)
	case string, json.Number:
		inner, _ := jsonInText(v)
		if m, isObject := inner.(map[string]any); isObject {
			w.readObject(m, "", nil)
			break
		}
		if t.Value == "" {
			return w.key(), false
		}
		w.readScalar(t.Value, nil, t.Value, v)
	default:
		return w.key(), false
	}
	if p := r.stream.Param; tableIndex == 0 && p != "" {
		if w.row[p] == "" {
			w.row[p] = r.param
		}
		if w.row[p] != r.param {
			return w.key(), false
		}
	}
	for i, p := range t.Parents {
		if w.row[p] == "" {
			w.row[p] = up[upKey[i]]
		}
	}
	for _, name := range t.KeyFrom {
		if w.row[t.Key[0]] == "" {
			w.row[t.Key[0]] = up[name]
		}
	}
	if !w.finishRow() {
		return w.key(), false
	}
	for table, rows := range own.rows {
		r.rows[table] = append(r.rows[table], rows...)
	}
	r.rejects = append(r.rejects, own.rejects...)
	return w.key(), true
}

// key returns the key of the row, or "" if the key is incomplete.
func (w *objectReader) key() string {
	var key []string
	for _, k := range w.table.Key {
		if w.row[k] == "" {
			return ""
		}
		key = append(key, w.row[k])
	}
	return strings.Join(key, "/")
}

// finishRow checks the key of the row, adds the pending rejects, and adds the row and the rows of
// nested lists. It reports whether the key is valid.
func (w *objectReader) finishRow() bool {
	for _, k := range w.table.Key {
		isID := k == "id" || strings.HasSuffix(k, "_id")
		if w.row[k] == "" || isID && isDots(w.row[k]) {
			return false
		}
	}
	key := w.key()
	for _, path := range w.pendingRejects {
		w.reject(w.table.Name, key, path)
	}
	for _, tableIndex := range slices.Sorted(maps.Keys(w.lists)) {
		w.readItems(tableIndex, w.lists[tableIndex], key)
	}
	if len(w.extra) > 0 {
		w.row["extra"] = canonicalText(w.extra)
	}
	w.rows[w.table.Name] = append(w.rows[w.table.Name], w.row)
	return true
}

// readItems adds the rows of a list. key is the key of the row that contains the list.
func (w *objectReader) readItems(tableIndex int, v any, key string) {
	if inner, ok := listInText(v); ok {
		v = inner
	}
	list, isList := v.([]any)
	m, isObject := v.(map[string]any)
	isEmptyObject := isObject && len(m) == 0
	if v == "" || isEmptyObject {
		return
	}
	child := w.stream.Tables[tableIndex]
	if !isList && !isObject && child.Value == "" {
		pathInRow := strings.TrimPrefix(strings.TrimPrefix(child.At, w.table.At), ".")
		w.reject(w.table.Name, key, pathInRow)
		return
	}
	if !isList {
		list = []any{v}
	}
	for i, item := range list {
		if item == nil {
			continue
		}
		if itemKey, ok := w.add(tableIndex, item, w.row, w.table.Key, i+1); !ok {
			w.reject(child.Name, itemKey, "")
		}
	}
}

// objectReader reads the object of one row.
type objectReader struct {
	*reference
	table          stream.Table
	def            stream.Definition
	row            row
	extra          map[string]any
	lists          map[int]any
	pendingRejects []string // JSON paths rejected before the key is known
}

// readObject reads the members of an object in four steps, so that the order of the members does not matter.
func (w *objectReader) readObject(m map[string]any, prefix string, path []string) {
	for step := range 4 {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if w.stepOf(prefix, name, m[name]) == step {
				w.readMember(prefix, append(slices.Clone(path), name), m[name])
			}
		}
	}
}

// hasColumns reports whether at least one member of an object has a column or contains columns.
func (w *objectReader) hasColumns(prefix string, path []string, m map[string]any) bool {
	for name := range m {
		column, _ := w.columnFor(prefix, name)
		if column != "" || w.isKnownObject(prefix+name, append(slices.Clone(path), name)) {
			return true
		}
	}
	return false
}

func isDots(s string) bool { return s == "." || s == ".." }

// isDetailID reports whether a column outside the key contains ids of details.
func (w *objectReader) isDetailID(column string) bool {
	return stream.IsDetailID(w.table.Name, column) && !slices.Contains(w.table.Key, column)
}

// mayBeInJSON reports whether a record may contain this column, which refers to its parent.
func (w *objectReader) mayBeInJSON(column string) bool {
	c, _ := w.def.Column(column)
	return c.Path() != "" && !slices.Contains(w.table.Key, column)
}

// stepOf returns the step in which readObject reads a member: 0 for a scalar, 1 for an object, 2 for an alias, and 3
// for a list. An alias is another name of a column, or a scalar a_b whose path in the spec is a.b.
func (w *objectReader) stepOf(prefix, name string, v any) int {
	_, isOther := w.otherName(prefix, name)
	switch v := v.(type) {
	case map[string]any:
		if isOther {
			return 2
		}
		return 1
	case []any:
		return 3
	case string:
		if w.isObject(prefix+name) && strings.HasPrefix(v, "{") && len(v) > 1 {
			return 1
		}
	}
	if isOther {
		return 2
	}
	c, _ := w.def.Column(prefix + name)
	path := c.Path()
	pathInObject := path[min(len(prefix), len(path)):]
	isFlattened := strings.ReplaceAll(path, ".", "_") == c.Name
	if isFlattened && strings.Contains(pathInObject, ".") {
		return 2
	}
	return 0
}

func (w *objectReader) readMember(prefix string, path []string, v any) {
	full := prefix + path[len(path)-1]
	column, typ := w.columnFor(prefix, path[len(path)-1])
	if _, ok := w.otherName(prefix, path[len(path)-1]); ok {
		full = column
	}
	if _, isText := v.(string); isText && w.isObject(full) && w.childTable(path) < 0 {
		inner, _ := jsonInText(v)
		if m, isObject := inner.(map[string]any); isObject {
			v = m
		} else if column == "" {
			if v != "" {
				w.pendingRejects = append(w.pendingRejects, strings.Join(path, "."))
			}
			return
		}
	}
	if slices.Contains(w.table.UnwrapText, column) {
		if inner, ok := listInText(v); ok {
			v = inner
		}
	}
	m, isObject := v.(map[string]any)
	_, isList := v.([]any)
	child := w.childTable(path)
	mayContainColumns := isObject && (typ == stream.Text || w.isKnownObject(full, path))
	mustContainColumns := column != "" && !slices.Contains(w.table.FreeForm, column)
	switch {
	case typ == stream.Bool && w.isUnion(column):
		w.readUnion(strings.TrimSuffix(column, "allowed"), v)
	case v == nil: // the column stays NULL
	case child >= 0:
		w.lists[child] = v
	case typ == stream.JSON:
		w.row[column] = canonicalText(v)
	case mayContainColumns && mustContainColumns && !w.hasColumns(full+"_", path, m):
		if len(m) > 0 {
			w.pendingRejects = append(w.pendingRejects, strings.Join(path, "."))
		}
	case mayContainColumns:
		w.readObject(m, full+"_", path)
	case column != "" && (isObject || isList):
		w.pendingRejects = append(w.pendingRejects, strings.Join(path, "."))
	case column != "":
		w.readScalar(column, path, path[len(path)-1], v)
	default:
		w.readUnknown(full, path, v)
	}
}

// columnFor returns the column for a scalar with this name.
func (w *objectReader) columnFor(prefix, name string) (string, stream.Type) {
	if c, ok := w.column(prefix + name); ok {
		return c.Name, c.Type
	}
	if c, ok := w.otherName(prefix, name); ok {
		return c.Name, c.Type
	}
	objectColumn, ok := w.column(strings.TrimSuffix(prefix, "_"))
	if name == "name" && ok && objectColumn.Type == stream.Text && !slices.Contains(w.table.Key, objectColumn.Name) {
		return objectColumn.Name, objectColumn.Type
	}
	return "", ""
}

// otherName returns the column that has a second name in the schema. Only fields of the row itself have one.
func (w *objectReader) otherName(prefix, name string) (stream.Column, bool) {
	for _, c := range w.def.Columns {
		if prefix == "" && slices.Contains(c.OtherNames, name) {
			return c, true
		}
	}
	return stream.Column{}, false
}

func (w *objectReader) column(name string) (stream.Column, bool) {
	c, ok := w.def.Column(name)
	stem := name[:strings.LastIndex(name, "_")+1]
	isOfUnion := strings.HasSuffix(stem, "do_follow_links_") && w.isUnion(stem+"allowed")
	isComputed := isOfUnion && name != stem+"allowed"
	if name == "extra" || isComputed {
		return stream.Column{}, false
	}
	return c, ok
}

// isUnion reports whether a column is a do_follow_links_allowed that readUnion splits into several columns.
func (w *objectReader) isUnion(column string) bool {
	stem, ok := strings.CutSuffix(column, "do_follow_links_allowed")
	_, hasRaw := w.def.Column(stem + "do_follow_links_raw")
	return ok && hasRaw
}

// isKnownObject reports whether an object with this name contains fields with columns, or lists with a table.
func (w *objectReader) isKnownObject(full string, path []string) bool {
	for _, c := range w.def.Columns {
		if _, ok := w.column(c.Name); ok && strings.HasPrefix(c.Name, full+"_") && len(c.Name) > len(full)+1 {
			return true
		}
	}
	return slices.ContainsFunc(w.stream.Tables, func(t stream.Table) bool {
		return strings.HasPrefix(t.At, w.dottedPath(path)+".")
	})
}

// isObject reports whether the spec shows an object with this name. A column a_b with the path a.b has an object a.
func (w *objectReader) isObject(full string) bool {
	isWithin := func(path string) bool {
		return len(path) > len(full) && path[len(full)] == '.' && strings.ReplaceAll(path[:len(full)], ".", "_") == full
	}
	if slices.ContainsFunc(w.def.Columns, func(c stream.Column) bool { return isWithin(c.Path()) }) {
		return true
	}
	return slices.ContainsFunc(w.stream.Tables, func(t stream.Table) bool {
		inner, ok := strings.CutPrefix(t.At, w.table.At)
		return ok && isWithin(strings.TrimPrefix(inner, "."))
	})
}

func (w *objectReader) dottedPath(path []string) string {
	return strings.TrimPrefix(w.table.At+"."+strings.Join(path, "."), ".")
}

func (w *objectReader) childTable(path []string) int {
	return slices.IndexFunc(w.stream.Tables, func(t stream.Table) bool { return t.At != "" && t.At == w.dottedPath(path) })
}

// readUnknown reads a value whose name is not the name of a column.
func (w *objectReader) readUnknown(full string, path []string, v any) {
	list, isList := v.([]any)
	if w.isKnownObject(full, path) {
		if v == "" || isList && len(list) == 0 {
			return
		}
		if c, ok := w.column(full + "_name"); ok && c.Type == stream.Text && !isList {
			w.readScalar(c.Name, path, path[len(path)-1], v)
			return
		}
	}
	w.storeExtra(path, v)
}

// storeExtra stores a value in extra at its path.
func (w *objectReader) storeExtra(path []string, v any) {
	if _, ok := w.def.Column("extra"); !ok {
		w.pendingRejects = append(w.pendingRejects, strings.Join(path, "."))
		return
	}
	at := w.extra
	for _, p := range path[:len(path)-1] {
		if at[p] == nil {
			at[p] = map[string]any{}
		}
		at = at[p].(map[string]any)
	}
	at[path[len(path)-1]] = v
}

// readScalar reads a scalar into a column.
func (w *objectReader) readScalar(column string, path []string, name string, v any) {
	if path == nil {
		path = []string{name}
	}
	c, _ := w.def.Column(column)
	text, ok := convert(c.Type, v)
	if column == "currency" && currencyForm.MatchString(text) {
		text = strings.ToUpper(text)
	}
	old, set := w.row[column]
	switch {
	case !ok, (text == "" || isDots(text)) && w.isDetailID(column):
		w.pendingRejects = append(w.pendingRejects, strings.Join(path, "."))
	case text == "" && c.Type != stream.Text: // the column stays NULL
	case set && (text == "" || text == old): // the earlier value stays
	case set && old != "":
		w.storeExtra(path, v)
	default:
		w.row[column] = text
	}
}
