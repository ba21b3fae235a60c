package trials_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// cells is a row as exact text, by column. NULL is absent.
type cells map[string]string

// row is an expected row with the id of its record.
type row struct {
	cells  cells
	record string
}

// reference computes, slowly and simply, the rows of a warehouse from the responses of the
// service. It keeps the ids named in earlier nights.
type reference struct {
	t       *testing.T
	service *sim.Service
	tables  []expected
	paths   map[string]bool
	// rewrite is the change that faults of the service make to a record.
	rewrite func(record any) any
	asked   map[string]map[string]bool
}

func newReference(t *testing.T, service *sim.Service, streams []stream.Stream) *reference {
	t.Helper()
	r := &reference{t: t, service: service, rewrite: func(v any) any { return v }, paths: map[string]bool{}, asked: map[string]map[string]bool{}}
	wanted := map[string]bool{}
	for _, s := range streams {
		r.paths[s.Path] = true
		for _, table := range s.Tables {
			wanted[table.Name] = true
		}
	}
	for _, e := range tables() {
		if wanted[e.table] && r.paths[e.path] {
			r.tables = append(r.tables, e)
		}
	}
	for name := range wanted {
		if !slices.ContainsFunc(r.tables, func(e expected) bool { return e.table == name }) {
			t.Errorf("the source of the rows of table %s is undefined: add it to tables() in internal/testing/trials/tables_test.go", name)
		}
	}
	return r
}

// once returns the tables without duplicates, including those of several endpoints.
func (r *reference) once() []expected {
	return slices.CompactFunc(slices.Clone(r.tables), func(a, b expected) bool { return a.table == b.table })
}

// now returns the rows of every table according to the current responses of the service.
func (r *reference) now() map[string][]cells {
	found := map[string][]row{}
	for _, e := range r.tables {
		before := found[e.table]
		rows, _ := r.derive(e, e.path, "", found)
		if r.paths[e.detail] {
			found[e.table] = rows // the list names the ids of its own details
			details, answered := r.derive(e, e.detail, e.query, found)
			rows = unite(e, rows, details, answered)
		}
		found[e.table] = append(before, rows...)
	}
	all := map[string][]cells{}
	for table, rows := range found {
		all[table] = make([]cells, len(rows))
		for i := range rows {
			all[table][i] = rows[i].cells
		}
	}
	return all
}

// derive returns the rows of a table from the responses of one endpoint, and the ids that
// it answered.
func (r *reference) derive(e expected, path, query string, found map[string][]row) (rows []row, answered map[string]bool) {
	answered = map[string]bool{}
	inner := inner(e)
	for _, param := range r.params(e, path, found) {
		for _, record := range r.answers(e, fill(path, param)+query) {
			answered[item{value: record}.id()] = true
			for _, it := range items(e, record, param) {
				rows = append(rows, row{it.cells(e, inner), it.id()})
			}
		}
	}
	return rows, answered
}

// params returns the values of a path's parameter: all ids that records named in this or
// earlier nights, or "" for a path without a parameter.
func (r *reference) params(e expected, path string, found map[string][]row) []string {
	switch {
	case !strings.Contains(path, "{"):
		return []string{""}
	case e.ids == "team":
		return []string{r.service.TeamID()}
	}
	if r.asked[e.ids] == nil {
		r.asked[e.ids] = map[string]bool{}
	}
	for _, ref := range strings.Fields(e.ids) {
		table, column, _ := strings.Cut(ref, ".")
		for _, row := range found[table] {
			if id := row.cells[column]; id != "" {
				r.asked[e.ids][id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(r.asked[e.ids]))
}

func fill(path, param string) string {
	before, rest, found := strings.Cut(path, "{")
	if !found {
		return path
	}
	_, after, _ := strings.Cut(rest, "}")
	return before + param + after
}

// answers returns the current records of a path, or nil for a 404.
func (r *reference) answers(e expected, path string) []any {
	body, ok := r.service.Object(path)
	if !ok {
		var all []any
		for _, raw := range r.service.Records(path) {
			all = append(all, r.rewrite(decode(string(raw))))
		}
		return all
	}
	object := r.rewrite(decode(string(body)))
	switch e.list {
	case "", ".":
		return []any{object}
	case "*":
		return entries(object)
	}
	list, _ := object.(map[string]any)[e.list].([]any)
	return list
}

// entries returns the objects with a count, at any depth.
func entries(v any) []any {
	var all []any
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, entries(one)...)
		}
	case map[string]any:
		if v["count"] != nil && v["prefix"] != nil {
			return []any{v}
		}
		for _, one := range v {
			all = append(all, entries(one)...)
		}
	}
	return all
}

// inner returns the paths in an item of e that belong to other tables.
func inner(e expected) []string {
	paths := []string{e.replies}
	for _, o := range tables() {
		if o.path != e.path || o.table == e.table {
			continue
		}
		if at, ok := strings.CutPrefix(o.at, e.at); ok {
			paths = append(paths, strings.TrimPrefix(at, "."))
		}
	}
	return paths
}

// unite combines details with the list that names them. Each column of a record's own row
// is taken from the detail unless it is empty there. Nested rows are taken from the detail
// if it answered.
func unite(e expected, list, details []row, answered map[string]bool) []row {
	byRecord := map[string]row{}
	for _, d := range details {
		byRecord[d.record] = d
	}
	for _, l := range list {
		switch {
		case !answered[l.record]:
			details = append(details, l)
		case e.at == "":
			lay(byRecord[l.record].cells, l.cells)
		}
	}
	return details
}

// lay fills empty columns of a detail, and adds the extra of the list.
func lay(detail, list cells) {
	for column, text := range list {
		switch {
		case detail[column] == "":
			detail[column] = text
		case column == "extra":
			detail[column] = canonical(merged(decode(text), decode(detail[column])))
		}
	}
}

func merged(list, detail any) any {
	l, ok := list.(map[string]any)
	d, also := detail.(map[string]any)
	if !ok || !also {
		if detail == nil {
			return list
		}
		return detail
	}
	for name, v := range l {
		d[name] = merged(v, d[name])
	}
	return d
}

// item is the JSON of one row, and its context.
type item struct {
	value  any
	around []map[string]any // the enclosing objects, the record first
	places []int
	param  string
}

// items returns the items at e.at in a record.
func items(e expected, record any, param string) []item {
	all := []item{{value: record, param: param}}
	if e.at != "" {
		for _, name := range strings.Split(e.at, ".") {
			var next []item
			for _, it := range all {
				next = append(next, it.within(name)...)
			}
			all = next
		}
	}
	if e.replies != "" {
		for _, it := range slices.Clone(all) {
			all = append(all, it.within(e.replies)...)
		}
	}
	return all
}

// within returns the items of the list, or the object, with this name.
func (it item) within(name string) []item {
	object, _ := it.value.(map[string]any)
	around := append(slices.Clone(it.around), object)
	switch v := object[name].(type) {
	case map[string]any:
		return []item{{v, around, it.places, it.param}}
	case []any:
		var all []item
		for i, one := range v {
			all = append(all, item{one, around, append(slices.Clone(it.places), i+1), it.param})
		}
		return all
	}
	return nil
}

func (it item) record() map[string]any {
	if len(it.around) > 0 {
		return it.around[0]
	}
	object, _ := it.value.(map[string]any)
	return object
}

func (it item) id() string {
	id, _ := it.record()["id"].(string)
	return id
}

// at returns the value of a source, as described at expected.
func (it item) at(source string) any {
	switch source[0] {
	case '/':
		return dig(it.record(), source[1:])
	case '^':
		if len(it.around) == 0 {
			return nil
		}
		return dig(it.around[len(it.around)-1], source[1:])
	case '#':
		return json.Number(strconv.Itoa(it.places[source[1]-'1']))
	case '?':
		return it.param
	case '\'':
		return strings.Trim(source, "'")
	}
	return dig(it.value, source)
}

func dig(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
