package schema_test

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// definitions reads every file that the pattern matches, by table name.
func definitions(t *testing.T, pattern string) map[string]stream.Definition {
	t.Helper()
	files, err := fs.Glob(schema.FS, pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %q (%v)", pattern, err)
	}
	byName := map[string]stream.Definition{}
	for _, file := range files {
		sql, err := fs.ReadFile(schema.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := stream.ParseDefinition(file, string(sql))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(path.Base(file), ".sql"); d.Name != want {
			t.Errorf("%s defines table %q, not %q", file, d.Name, want)
		}
		byName[d.Name] = d
	}
	return byName
}

func TestEveryTableOfTheStreamsHasOneFile(t *testing.T) {
	var want []string
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		want = append(want, table.Name)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(definitions(t, "*.sql")))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("tables of the streams (-) and schema files (+) differ:\n%s", diff)
	}
}

func TestColumnsThatStreamsNameExist(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, s := range stream.AllWithEvents() {
		for _, table := range s.Tables {
			named := slices.Concat(table.Key, table.Parents, slices.Collect(maps.Keys(table.Const)))
			if table.Value != "" {
				named = append(named, table.Value)
			}
			for _, column := range named {
				requireColumn(t, defs, s.Name, table.Name, column)
			}
		}
		for _, ref := range s.Parents {
			requireColumn(t, defs, s.Name, ref.Table, ref.Column)
		}
		if s.Param != "" {
			requireColumn(t, defs, s.Name, s.Root().Name, s.Param)
		}
	}
}

func requireColumn(t *testing.T, defs map[string]stream.Definition, by, table, column string) {
	t.Helper()
	if _, ok := defs[table].Column(column); !ok {
		t.Errorf("stream %s names %s.%s, which the schema has not", by, table, column)
	}
}

func TestOnlyKeyColumnsAreNotNull(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		var notNull []string
		for _, c := range defs[table.Name].Columns {
			if c.NotNull {
				notNull = append(notNull, c.Name)
			}
		}
		if diff := gocmp.Diff(slices.Sorted(slices.Values(table.Key)), slices.Sorted(slices.Values(notNull))); diff != "" {
			t.Errorf("%s: key (-) and NOT NULL columns (+) differ:\n%s", table.Name, diff)
		}
	}
}

func TestRecordTablesEndWithExtra(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		d := defs[table.Name]
		last := d.Columns[len(d.Columns)-1]
		if holds := last.Name == "extra" && last.Type == stream.JSON; holds == table.Link {
			t.Errorf("%s ends with %s %s; all but link tables end with extra JSON", table.Name, last.Name, last.Type)
		}
	}
}

func TestMetaTablesParse(t *testing.T) {
	want := []string{"checks", "deletions", "details", "drift", "rejects", "requests", "runs", "streams", "tables", "webhook_events"}
	got := slices.Sorted(maps.Keys(definitions(t, "meta/*.sql")))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("tables of meta (-want +got):\n%s", diff)
	}
}

// TestReferencesLeadToKeys walks every relation: its target is in the same schema, has the
// same type, and is a column of that table's key.
func TestReferencesLeadToKeys(t *testing.T) {
	keys := map[string][]string{}
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		keys[table.Name] = table.Key
	}
	main, meta := definitions(t, "*.sql"), definitions(t, "meta/*.sql")
	for name, def := range meta {
		keys["meta."+name] = def.Key
	}
	relations := 0
	walk := func(prefix string, defs map[string]stream.Definition) {
		for name, def := range defs {
			for _, c := range def.Columns {
				to := c.References
				if to == (stream.Reference{}) {
					continue
				}
				relations++
				target, ok := defs[to.Table].Column(to.Column)
				switch {
				case !ok:
					t.Errorf("%s%s.%s references %s%s.%s, which does not exist", prefix, name, c.Name, prefix, to.Table, to.Column)
				case target.Type != c.Type:
					t.Errorf("%s%s.%s is %s and references %s.%s, which is %s", prefix, name, c.Name, c.Type, to.Table, to.Column, target.Type)
				case !slices.Contains(keys[prefix+to.Table], to.Column) && to != (stream.Reference{Table: "order_line_items", Column: "id"}): // no key before payment
					t.Errorf("%s%s.%s references %s.%s, which is not in its key %v", prefix, name, c.Name, to.Table, to.Column, keys[prefix+to.Table])
				}
			}
		}
	}
	walk("", main)
	walk("meta.", meta)
	if relations == 0 {
		t.Error("the schema declares no relation")
	}
}

// TestChildTablesReferenceTheirRecords holds that the column by which a child table names its
// record is declared as a reference.
func TestChildTablesReferenceTheirRecords(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, s := range stream.AllWithEvents() {
		for _, table := range s.Tables[1:] {
			if c, _ := defs[table.Name].Column(table.Parents[0]); c.References == (stream.Reference{}) {
				t.Errorf("stream %s: %s.%s references no table", s.Name, table.Name, c.Name)
			}
		}
	}
}

var update = flag.Bool("update", false, "add new field ids to the record of all that were ever given")

// TestFieldIDsAreForever compares the field ids with the record of all that were ever
// given: engines that read published files know columns by nothing else. The record only
// grows, so the id of a column that is gone is never given again.
func TestFieldIDsAreForever(t *testing.T) {
	const file = "testdata/field_ids.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded, given, lines := map[string]string{}, map[string]string{}, strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines {
		table, rest, _ := strings.Cut(line, " ")
		field, column, ok := strings.Cut(rest, " ")
		id := table + " " + field
		if !ok || recorded[id] != "" {
			t.Errorf("%s: line %q is no record of a field, or the second of this one", file, line)
		}
		recorded[id], given[table+" "+column] = column, field
	}
	add := func(table string, columns []stream.Column) {
		for _, c := range columns {
			id, column := fmt.Sprintf("%s %d", table, c.FieldID), c.Name+" "+string(c.Type)
			switch was, old := recorded[id], given[table+" "+column]; {
			case was == "" && old != "":
				t.Errorf("field %s is %s, which was field %s: a column keeps its id", id, column, old)
			case was == "" && *update:
				lines = append(lines, id+" "+column)
			case was == "":
				t.Errorf("field %s (%s) is not recorded: go test ./schema -update", id, column)
			case was != column:
				t.Errorf("field %s is %s, and was given to %s: a column that is new or has another type needs an id of its own", id, column, was)
			}
		}
	}
	for table, def := range definitions(t, "*.sql") {
		add(table, def.Columns)
	}
	for table, def := range definitions(t, "meta/*.sql") {
		add("meta."+table, def.Columns)
	}
	add("*", slices.Concat(stream.SystemColumns(), stream.ClosedColumns()))
	if *update {
		slices.SortFunc(lines, compareIDs)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compareIDs orders the lines of the record by table and number.
func compareIDs(a, b string) int {
	var x, y struct {
		table string
		id    int
	}
	_, _ = fmt.Sscan(a, &x.table, &x.id)
	_, _ = fmt.Sscan(b, &y.table, &y.id)
	return cmp.Or(strings.Compare(x.table, y.table), x.id-y.id)
}
