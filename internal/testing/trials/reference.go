package trials

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TextRow contains the values of a row as exact text, by column. A column with NULL is missing.
type TextRow map[string]string

// row is an expected row and the id of the record from which it comes.
type row struct {
	texts    TextRow
	recordID string
}

// Reference computes the expected rows of a warehouse from the responses of the service. It is slow
// and simple, and shares no code with the program.
type Reference struct {
	t       *testing.T
	service *sim.Service
	streams []stream.Stream
	Tables  []TableSpec
	Paths   map[string]bool // endpoints of the streams
	// Rewrite changes a record as the faults of the service do.
	Rewrite func(record any) any
	// RequestedIDs contains the values of path parameters: the ids in the records of this night and of all earlier nights.
	RequestedIDs map[RequestedID]bool
}

// RequestedID is a value of the path parameter of a table with these TableSpec.IDs.
type RequestedID struct{ IDs, ID string }

// NewReference returns a reference of the tables of streams.
func NewReference(t *testing.T, service *sim.Service, streams []stream.Stream) *Reference {
	t.Helper()
	r := &Reference{t: t, service: service, streams: streams, Rewrite: func(v any) any { return v }, Paths: map[string]bool{},
		RequestedIDs: map[RequestedID]bool{}}
	tableNames := map[string]bool{}
	for _, s := range streams {
		r.Paths[s.Path] = true
		for _, table := range s.Tables {
			tableNames[table.Name] = true
		}
	}
	for _, spec := range tables() {
		if tableNames[spec.Table] && r.Paths[spec.path] {
			r.Tables = append(r.Tables, spec)
		}
	}
	for name := range tableNames {
		if !slices.ContainsFunc(r.Tables, func(spec TableSpec) bool { return spec.Table == name }) {
			t.Errorf("tables() lacks the table %s: add it in internal/testing/trials/tables.go", name)
		}
	}
	return r
}

// UniqueTables returns the specification of each table once, even if several endpoints fill the table.
func (r *Reference) UniqueTables() []TableSpec {
	return slices.CompactFunc(slices.Clone(r.Tables), func(a, b TableSpec) bool { return a.Table == b.Table })
}

// ProvenTables returns the tables whose streams are all proven.
func (r *Reference) ProvenTables(proven map[string]bool) []TableSpec {
	return slices.DeleteFunc(r.UniqueTables(), func(spec TableSpec) bool {
		return slices.ContainsFunc(stream.FilledBy(r.streams, spec.Table), func(name string) bool { return !proven[name] })
	})
}

// CurrentRows returns the rows of every table according to the current responses of the service.
func (r *Reference) CurrentRows() map[string][]TextRow {
	derived := map[string][]row{}
	for _, spec := range r.Tables {
		fromOtherEndpoints := derived[spec.Table]
		rows, _ := r.derive(spec, spec.path, "", derived)
		if r.Paths[spec.detail] {
			derived[spec.Table] = rows // derive reads the ids of the details from these rows
			details, hasDetail := r.derive(spec, spec.detail, spec.query, derived)
			rows = mergeDetails(spec, rows, details, hasDetail)
		}
		derived[spec.Table] = append(fromOtherEndpoints, rows...)
	}
	current := map[string][]TextRow{}
	for table, rows := range derived {
		current[table] = make([]TextRow, len(rows))
		for i := range rows {
			current[table][i] = rows[i].texts
		}
	}
	return current
}

// derive returns the rows of a table from the responses of one endpoint, and the ids of the records
// in these responses. derived contains the rows that are already derived, by table.
func (r *Reference) derive(spec TableSpec, path, query string, derived map[string][]row) (rows []row, recordIDs map[string]bool) {
	recordIDs = map[string]bool{}
	nested := nestedPaths(spec)
	for _, param := range r.params(spec, path, derived) {
		for _, record := range r.records(spec, fillPath(path, param)+query) {
			recordIDs[item{value: record}.id()] = true
			for _, it := range items(spec, record, param) {
				rows = append(rows, row{it.row(spec, nested), it.id()})
			}
		}
	}
	return rows, recordIDs
}

// params returns the values for the parameter of a path: all ids in the records of this night and of
// earlier nights. For a path without a parameter it returns one empty value.
func (r *Reference) params(spec TableSpec, path string, derived map[string][]row) []string {
	switch {
	case !strings.Contains(path, "{"):
		return []string{""}
	case spec.IDs == "team":
		return []string{r.service.TeamID()}
	}
	for _, ref := range strings.Fields(spec.IDs) {
		table, column, _ := strings.Cut(ref, ".")
		for _, row := range derived[table] {
			if id := row.texts[column]; id != "" {
				r.RequestedIDs[RequestedID{spec.IDs, id}] = true
			}
		}
	}
	var params []string
	for requested := range r.RequestedIDs {
		if requested.IDs == spec.IDs {
			params = append(params, requested.ID)
		}
	}
	slices.Sort(params)
	return params
}

func fillPath(path, param string) string {
	before, fromName, hasParam := strings.Cut(path, "{")
	if !hasParam {
		return path
	}
	_, after, _ := strings.Cut(fromName, "}")
	return before + param + after
}

// records returns the current records of a path. It returns nil if the service returns 404.
func (r *Reference) records(spec TableSpec, path string) []any {
	body, ok := r.service.Object(path)
	if !ok { // a list, or a 404, for which Records returns nil
		var all []any
		for _, raw := range r.service.Records(path) {
			all = append(all, r.Rewrite(Decode(string(raw))))
		}
		return all
	}
	object := r.Rewrite(Decode(string(body)))
	switch spec.list {
	case "", ".":
		return []any{object}
	case "*":
		return statusCounts(object)
	}
	list, _ := object.(map[string]any)[spec.list].([]any)
	return list
}

// statusCounts returns the objects with a count and a prefix, at any depth.
func statusCounts(v any) []any {
	var all []any
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			all = append(all, statusCounts(element)...)
		}
	case map[string]any:
		if v["count"] != nil && v["prefix"] != nil {
			return []any{v}
		}
		for _, element := range v {
			all = append(all, statusCounts(element)...)
		}
	}
	return all
}

// nestedPaths returns the paths in an item whose values are replies or rows of other tables.
func nestedPaths(spec TableSpec) []string {
	paths := []string{spec.replies}
	for _, other := range tables() {
		if other.path != spec.path || other.Table == spec.Table {
			continue
		}
		if rest, ok := strings.CutPrefix(other.At, spec.At); ok {
			paths = append(paths, strings.TrimPrefix(rest, "."))
		}
	}
	return paths
}

// mergeDetails combines the rows from details with the rows from their list. A record without a
// detail has the rows from the list. A record with a detail has the rows from the detail. In the row
// of the record itself, empty columns are filled from the list; in rows of nested items they are not.
func mergeDetails(spec TableSpec, list, details []row, hasDetail map[string]bool) []row {
	byRecord := map[string]row{}
	for _, d := range details {
		byRecord[d.recordID] = d
	}
	for _, l := range list {
		switch {
		case !hasDetail[l.recordID]:
			details = append(details, l)
		case spec.At == "":
			mergeListRow(byRecord[l.recordID].texts, l.texts)
		}
	}
	return details
}

// mergeListRow fills the empty columns of a detail from the row in the list. It merges the JSON
// objects in the column "extra".
func mergeListRow(detail, list TextRow) {
	for column, text := range list {
		switch {
		case detail[column] == "":
			detail[column] = text
		case column == "extra":
			detail[column] = Canonical(mergeJSON(Decode(text), Decode(detail[column])))
		}
	}
}

// mergeJSON adds to detail the members of list that detail lacks. null counts as missing.
func mergeJSON(list, detail any) any {
	listObject, listOK := list.(map[string]any)
	detailObject, detailOK := detail.(map[string]any)
	if !listOK || !detailOK {
		if detail == nil {
			return list
		}
		return detail
	}
	for name, v := range listObject {
		detailObject[name] = mergeJSON(v, detailObject[name])
	}
	return detailObject
}

// item is the JSON value of one row and its context.
type item struct {
	value     any
	ancestors []map[string]any // the enclosing objects, beginning with the record
	positions []int            // the positions in the enclosing lists, beginning with 1
	param     string           // the parameter of the request
}

// items returns the items at the path spec.At in a record. If spec.replies is set, it also returns the
// replies of these items.
func items(spec TableSpec, record any, param string) []item {
	all := []item{{value: record, param: param}}
	if spec.At != "" {
		for _, name := range strings.Split(spec.At, ".") {
			var next []item
			for _, it := range all {
				next = append(next, it.children(name)...)
			}
			all = next
		}
	}
	if spec.replies != "" {
		for _, it := range slices.Clone(all) {
			all = append(all, it.children(spec.replies)...)
		}
	}
	return all
}

// children returns the items of the list with this name. If the name belongs to an object, it returns the object.
func (it item) children(name string) []item {
	object, _ := it.value.(map[string]any)
	ancestors := append(slices.Clone(it.ancestors), object)
	switch v := object[name].(type) {
	case map[string]any:
		return []item{{v, ancestors, it.positions, it.param}}
	case []any:
		var all []item
		for i, element := range v {
			all = append(all, item{element, ancestors, append(slices.Clone(it.positions), i+1), it.param})
		}
		return all
	}
	return nil
}

func (it item) record() map[string]any {
	if len(it.ancestors) > 0 {
		return it.ancestors[0]
	}
	object, _ := it.value.(map[string]any)
	return object
}

func (it item) id() string {
	id, _ := it.record()["id"].(string)
	return id
}

// resolve returns the value of a source. See type TableSpec for the syntax of sources.
func (it item) resolve(source string) any {
	switch source[0] {
	case '/':
		return Dig(it.record(), source[1:])
	case '^':
		if len(it.ancestors) == 0 {
			return nil
		}
		return Dig(it.ancestors[len(it.ancestors)-1], source[1:])
	case '#':
		return json.Number(strconv.Itoa(it.positions[source[1]-'1']))
	case '?':
		return it.param
	case '\'':
		return strings.Trim(source, "'")
	}
	return Dig(it.value, source)
}

// Dig returns the member of a decoded JSON value at a path with dots, or nil.
func Dig(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
