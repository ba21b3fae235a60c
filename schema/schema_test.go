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

// definitions returns the definitions in the files that match a pattern, by table name.
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
			t.Errorf("%s defines table %q, want %q", file, d.Name, want)
		}
		byName[d.Name] = d
	}
	return byName
}

func TestTablesOfStreamsHaveFiles(t *testing.T) {
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

// TestIDColumnsExist checks the columns with ids of details. The decoder checks the other columns of a stream.
func TestIDColumnsExist(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, s := range stream.AllWithEvents() {
		for _, ref := range s.IDColumns {
			if _, ok := defs[ref.Table].Column(ref.Column); !ok {
				t.Errorf("stream %s uses %s.%s, which is not in the schema", s.Name, ref.Table, ref.Column)
			}
		}
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

// TestRecordTablesEndWithExtra checks that link tables do not end with the column extra, and all other
// tables do.
func TestRecordTablesEndWithExtra(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		d := defs[table.Name]
		last := d.Columns[len(d.Columns)-1]
		if hasExtra := last.Name == "extra" && last.Type == stream.JSON; hasExtra == table.Link {
			t.Errorf("the last column of %s is %s %s: the column is extra JSON: got %t, want %t", table.Name, last.Name, last.Type, hasExtra, !table.Link)
		}
	}
}

func TestMetaHasExpectedTables(t *testing.T) {
	want := []string{"checks", "deletions", "details", "drift", "rejects", "requests", "runs", "statuses", "streams", "tables", "webhook_events"}
	got := slices.Sorted(maps.Keys(definitions(t, "meta/*.sql")))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("tables of meta (-want +got):\n%s", diff)
	}
}

// TestReferencesAreKeys checks that the target of each reference is in the same schema, has the same
// type and is part of the key of its table.
func TestReferencesAreKeys(t *testing.T) {
	keys := map[string][]string{}
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		keys[table.Name] = table.Key
	}
	main, meta := definitions(t, "*.sql"), definitions(t, "meta/*.sql")
	for name, def := range meta {
		keys["meta."+name] = def.Key
	}
	referenceCount := 0
	checkReferences := func(prefix string, defs map[string]stream.Definition) {
		for name, def := range defs {
			for _, c := range def.Columns {
				to := c.References
				if to == (stream.Reference{}) {
					continue
				}
				referenceCount++
				target, ok := defs[to.Table].Column(to.Column)
				isLineItem := to == (stream.Reference{Table: "order_line_items", Column: "id"}) // this id is NULL before payment
				switch {
				case !ok:
					t.Errorf("%s%s.%s references %s%s.%s, which does not exist", prefix, name, c.Name, prefix, to.Table, to.Column)
				case target.Type != c.Type:
					t.Errorf("%s%s.%s is %s and references %s.%s, which is %s", prefix, name, c.Name, c.Type, to.Table, to.Column, target.Type)
				case !isLineItem && !slices.Contains(keys[prefix+to.Table], to.Column):
					t.Errorf("%s%s.%s references %s.%s, which is not in its key %v", prefix, name, c.Name, to.Table, to.Column, keys[prefix+to.Table])
				}
			}
		}
	}
	checkReferences("", main)
	checkReferences("meta.", meta)
	if referenceCount == 0 {
		t.Error("the schema declares no references")
	}
}

// TestChildTablesReferenceTheirParents checks that the parent column of each child table is declared
// as a reference.
func TestChildTablesReferenceTheirParents(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, s := range stream.AllWithEvents() {
		for _, table := range s.Tables[1:] {
			if c, _ := defs[table.Name].Column(table.Parents[0]); c.References == (stream.Reference{}) {
				t.Errorf("stream %s: %s.%s references no table", s.Name, table.Name, c.Name)
			}
		}
	}
}

var update = flag.Bool("update", false, "add new field ids to testdata/field_ids.txt")

// TestFieldIDsAreStable compares the field ids with testdata/field_ids.txt, which lists all ids that
// were ever assigned. Query engines identify the columns of published files only by field ids, so the id
// of a removed column must never be assigned again.
func TestFieldIDsAreStable(t *testing.T) {
	const file = "testdata/field_ids.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	columnByID, fieldByColumn, lines := map[string]string{}, map[string]string{}, strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines {
		table, fieldAndColumn, _ := strings.Cut(line, " ")
		field, column, ok := strings.Cut(fieldAndColumn, " ")
		id := table + " " + field
		if !ok || columnByID[id] != "" {
			t.Errorf("%s: line %q is invalid or repeats an id", file, line)
		}
		columnByID[id], fieldByColumn[table+" "+column] = column, field
	}
	checkIDs := func(table string, columns []stream.Column) {
		for _, c := range columns {
			id, column := fmt.Sprintf("%s %d", table, c.FieldID), c.Name+" "+string(c.Type)
			switch recordedColumn, recordedField := columnByID[id], fieldByColumn[table+" "+column]; {
			case recordedColumn == "" && recordedField != "":
				t.Errorf("field %s is %s, which was field %s: a column must keep its id", id, column, recordedField)
			case recordedColumn == "" && *update:
				lines = append(lines, id+" "+column)
			case recordedColumn == "":
				t.Errorf("field %s (%s) is not recorded: run go test ./schema -update", id, column)
			case recordedColumn != column:
				t.Errorf("field %s is %s, but was assigned to %s: a column that is new or has another type needs a new id", id, column, recordedColumn)
			}
		}
	}
	for table, def := range definitions(t, "*.sql") {
		checkIDs(table, def.Columns)
	}
	for table, def := range definitions(t, "meta/*.sql") {
		checkIDs("meta."+table, def.Columns)
	}
	checkIDs("*", slices.Concat(stream.SystemColumns(), stream.ClosedColumns()))
	if *update {
		slices.SortFunc(lines, compareIDs)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compareIDs orders the lines of field_ids.txt by table and id.
func compareIDs(a, b string) int {
	var x, y struct {
		table string
		id    int
	}
	_, _ = fmt.Sscan(a, &x.table, &x.id)
	_, _ = fmt.Sscan(b, &y.table, &y.id)
	return cmp.Or(strings.Compare(x.table, y.table), x.id-y.id)
}
