package schema_test

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for _, table := range stream.Tables(stream.Known()) {
		want = append(want, table.Name)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(definitions(t, "*.sql")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables of the streams (-) and schema files (+) differ:\n%s", diff)
	}
}

func TestColumnsThatStreamsNameExist(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, s := range stream.Known() {
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
	for _, table := range stream.Tables(stream.Known()) {
		var notNull []string
		for _, c := range defs[table.Name].Columns {
			if c.NotNull {
				notNull = append(notNull, c.Name)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(table.Key)), slices.Sorted(slices.Values(notNull))); diff != "" {
			t.Errorf("%s: key (-) and NOT NULL columns (+) differ:\n%s", table.Name, diff)
		}
	}
}

func TestRecordTablesEndWithExtra(t *testing.T) {
	defs := definitions(t, "*.sql")
	for _, table := range stream.Tables(stream.Known()) {
		d := defs[table.Name]
		last := d.Columns[len(d.Columns)-1]
		if holds := last.Name == "extra" && last.Type == stream.JSON; holds == table.Link {
			t.Errorf("%s ends with %s %s; all but link tables end with extra JSON", table.Name, last.Name, last.Type)
		}
	}
}

func TestMetaTablesParse(t *testing.T) {
	want := []string{"deletions", "details", "drift", "rejects", "requests", "runs", "streams", "tables", "webhook_events"}
	got := slices.Sorted(maps.Keys(definitions(t, "meta/*.sql")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables of meta (-want +got):\n%s", diff)
	}
}
