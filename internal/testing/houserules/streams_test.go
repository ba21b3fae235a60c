package houserules_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// streamSources contains the four places that define or test a stream: the literals, the schema
// files, the routes of the demo service and the test cases of the decoder.
type streamSources struct {
	streams []stream.Stream
	schema  fs.FS    // <table>.sql
	routes  []string // of the demo service
	cases   fs.FS    // <stream>/<case>.json and <stream>/<case>.want
	code    fs.FS    // the project, for line numbers in internal/stream and internal/sim
}

const (
	literalsFile = "internal/stream/all.go"
	routesFile   = "internal/sim/routes.go"
)

// lineWith finds the first line with a text in the files that match a pattern. If there is no such
// line, it returns line 1 of the file fallback.
func lineWith(files fs.FS, pattern, text, fallback string) (file string, line int) {
	paths, _ := fs.Glob(files, pattern)
	for _, file := range paths {
		content, _ := fs.ReadFile(files, file)
		if before, _, ok := strings.Cut(string(content), text); ok {
			return file, 1 + strings.Count(before, "\n")
		}
	}
	return fallback, 1
}

// findLiteral returns the file and line of a stream's literal.
func (p streamSources) findLiteral(s stream.Stream) (file string, line int) {
	text := fmt.Sprintf("Name: %q, Path: ", s.Name)
	if s.Path == "" {
		text = fmt.Sprintf("Name: %q, Topics: ", s.Name)
	}
	return lineWith(p.code, "internal/stream/*.go", text, literalsFile)
}

// findFaults finds missing and wrong definitions of streams.
func (p streamSources) findFaults() []finding {
	var findings []finding
	for _, s := range p.streams {
		findings = append(findings, p.checkLiteral(s)...)
		for _, t := range s.Tables {
			findings = append(findings, p.checkTable(s, t)...)
		}
		if !s.IsEvents() && !slices.Contains(p.routes, s.Path) {
			file, line := lineWith(p.code, routesFile, ") routes() []route {", routesFile)
			findings = append(findings, finding{file, line, fmt.Sprintf("no route serves %s of stream %q", s.Path, s.Name),
				"add a route with its scopes to the list that routes returns"})
		}
		if !p.hasCase(s.Name) {
			findings = append(findings, finding{path.Join("internal/transform/testdata", s.Name, s.Name+".json"), 1, fmt.Sprintf("stream %q has no case", s.Name),
				"add a response in this file, and write its rows into the .want file: go test ./internal/transform -run TestBodies -update"})
		}
	}
	return findings
}

// checkLiteral checks the fields of a stream's literal.
func (p streamSources) checkLiteral(s stream.Stream) []finding {
	var findings []finding
	file, line := p.findLiteral(s)
	rejectIf := func(isWrong bool, remedy, format string, args ...any) {
		if isWrong {
			findings = append(findings, finding{file, line, fmt.Sprintf("stream %q ", s.Name) + fmt.Sprintf(format, args...), remedy})
		}
	}
	namesakes := 0
	for _, o := range p.streams {
		if o.Name == s.Name {
			namesakes++
		}
	}
	_, isKnown := stream.Find(p.streams, s.Completes)
	rejectIf(s.Name == "" || strings.HasPrefix(s.Path, "/") == s.IsEvents() || s.Spec == "", "correct these fields", "must have a name, a spec, and either a path or topics")
	rejectIf(len(s.Tables) == 0, "add the table of its records", "has no table")
	rejectIf(namesakes > 1, "rename one", "is defined twice")
	rejectIf(s.IsDetail() && (s.Param == "" || !strings.Contains(s.Path, "{")), "set Param, and the place of the id in the path", "has parents, but no parameter")
	rejectIf(s.Completes != "" && !isKnown, "name the stream whose rows it completes", "completes %q, which does not exist", s.Completes)
	for _, ref := range s.IDColumns {
		_, hasColumn := p.columns(ref.Table)[ref.Column]
		rejectIf(!hasColumn, "name a column of a table that a stream fills", "takes its ids from the missing column %s.%s", ref.Table, ref.Column)
	}
	return findings
}

// checkTable checks that the schema file of a table exists and has the columns that the literal of
// the stream names.
func (p streamSources) checkTable(s stream.Stream, t stream.Table) []finding {
	file := "schema/" + t.Name + ".sql"
	columns := p.columns(t.Name)
	if columns == nil {
		return []finding{{file, 1, fmt.Sprintf("table %q of stream %q has no readable file", t.Name, s.Name), "write CREATE TABLE, and a COMMENT for the table and each column"}}
	}
	literalFile, literalLine := p.findLiteral(s)
	needed := slices.Concat(t.Key, t.Parents, slices.Sorted(maps.Keys(t.Const)))
	if t.Value != "" {
		needed = append(needed, t.Value)
	}
	if t.Name == s.Root().Name && s.Param != "" {
		needed = append(needed, s.Param)
	}
	var findings []finding
	slices.Sort(needed)
	for _, name := range slices.Compact(needed) {
		if _, ok := columns[name]; !ok {
			_, line := lineWith(p.schema, t.Name+".sql", ");\n", file)
			findings = append(findings, finding{file, line, fmt.Sprintf("column %q, which stream %q needs, is missing", name, s.Name),
				fmt.Sprintf("add it, or correct the literal at %s:%d", literalFile, literalLine)})
		}
	}
	if len(t.Key) == 0 {
		findings = append(findings, finding{literalFile, literalLine, fmt.Sprintf("table %q of stream %q has no key", t.Name, s.Name), "name the columns that identify a row"})
	}
	return findings
}

// columns returns the columns of a table by name, or nil if its schema file cannot be read.
func (p streamSources) columns(table string) map[string]stream.Column {
	sql, err := fs.ReadFile(p.schema, table+".sql")
	if err != nil {
		return nil
	}
	def, err := stream.ParseDefinition(table+".sql", string(sql))
	if err != nil || def.Name != table {
		return nil
	}
	columns := map[string]stream.Column{}
	for _, c := range def.Columns {
		columns[c.Name] = c
	}
	return columns
}

func (p streamSources) hasCase(name string) bool {
	bodies, err := fs.Glob(p.cases, path.Join(name, "*.json"))
	return err == nil && slices.ContainsFunc(bodies, func(body string) bool {
		_, err := fs.Stat(p.cases, strings.TrimSuffix(body, ".json")+".want")
		return err == nil
	})
}

// TestStreamsAreComplete checks that each stream has a valid literal, schema files, a route of the
// demo service and a test case of the decoder.
func TestStreamsAreComplete(t *testing.T) {
	project := streamSources{
		streams: stream.AllWithEvents(), schema: schema.FS, routes: sim.New(sim.Options{}).Routes(),
		cases: os.DirFS(filepath.Join("..", "..", "transform", "testdata")), code: os.DirFS(filepath.Join("..", "..", "..")),
	}
	for _, f := range project.findFaults() {
		t.Error(f)
	}
}

func TestIncompleteStreamsAreFound(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	complete := func() streamSources {
		return streamSources{
			streams: []stream.Stream{{
				Name: "pets", Path: "/pets", Spec: "2", Tables: []stream.Table{{Name: "pets", Key: []string{"id"}}},
			}},
			schema: fstest.MapFS{"pets.sql": file("CREATE TABLE pets (\n    id VARCHAR NOT NULL -- field 1\n);\n" +
				"COMMENT ON TABLE pets IS 'Pets.';\nCOMMENT ON COLUMN pets.id IS 'Id.';\n")},
			routes: []string{"/pets"},
			cases:  fstest.MapFS{"pets/record.json": file("{}"), "pets/record.want": file("")},
			code: fstest.MapFS{
				literalsFile: file("package stream\n\nvar all = []Stream{\n\t{Name: \"pets\", Path: \"/pets\"},\n}\n"),
				routesFile:   file("package sim\n\nfunc (w *world) routes() []route {\n"),
			},
		}
	}
	cases := []struct {
		name  string
		spoil func(*streamSources)
		want  string // prefix of the only finding, or "" for none
	}{
		{"complete", func(*streamSources) {}, ""},
		{"no schema file", func(p *streamSources) { p.schema = fstest.MapFS{} }, `schema/pets.sql:1: table "pets" of stream "pets" has no readable file`},
		{"a key column that is not in the schema file", func(p *streamSources) { p.streams[0].Tables[0].Key = []string{"name"} }, `schema/pets.sql:3: column "name", which stream "pets" needs, is missing`},
		{"a value column that is not in the schema file", func(p *streamSources) { p.streams[0].Tables[0].Value = "name" }, `schema/pets.sql:3: column "name"`},
		{"a parent column that is not in the schema file", func(p *streamSources) { p.streams[0].Tables[0].Parents = []string{"owner_id"} }, `schema/pets.sql:3: column "owner_id"`},
		{"a constant column that is not in the schema file", func(p *streamSources) { p.streams[0].Tables[0].Const = map[string]string{"kind": "cat"} }, `schema/pets.sql:3: column "kind"`},
		{"no key", func(p *streamSources) { p.streams[0].Tables[0].Key = nil }, `internal/stream/all.go:4: table "pets" of stream "pets" has no key`},
		{"no route", func(p *streamSources) { p.routes = nil }, `internal/sim/routes.go:3: no route serves /pets of stream "pets"`},
		{"no test case", func(p *streamSources) { p.cases = fstest.MapFS{} }, `internal/transform/testdata/pets/pets.json:1: stream "pets" has no case`},
		{"a body without a .want file", func(p *streamSources) { p.cases = fstest.MapFS{"pets/a.json": file("{}")} }, `internal/transform/testdata/pets/pets.json:1: stream "pets" has no case`},
		{"no section of the spec", func(p *streamSources) { p.streams[0].Spec = "" }, `internal/stream/all.go:4: stream "pets" must have a name, a spec, and either a path or topics`},
		{"events without a route", func(p *streamSources) {
			p.streams[0].Path, p.streams[0].Topics, p.routes = "", []string{"pet.born"}, nil
		}, ""},
		{"events with a path", func(p *streamSources) { p.streams[0].Topics = []string{"pet.born"} }, `internal/stream/all.go:4: stream "pets" must have a name, a spec, and either a path or topics`},
		{"a completed stream that does not exist", func(p *streamSources) { p.streams[0].Completes = "dogs" }, `internal/stream/all.go:4: stream "pets" completes "dogs"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := complete()
			c.spoil(&p)
			findings := p.findFaults()
			switch {
			case c.want == "" && len(findings) > 0:
				t.Errorf("got %v, want no finding", findings)
			case c.want != "" && (len(findings) != 1 || !strings.HasPrefix(findings[0].String(), c.want)):
				t.Errorf("got %v, want one finding that begins with %s", findings, c.want)
			}
		})
	}
}

// TestTablesWithDetailColumnsAreRight checks TablesWithDetailColumns of the detail streams that complete the
// records of a list. TablesWithDetailColumns must name exactly the tables with a column for which no
// record of the list has a value. The column extra counts as such a column.
func TestTablesWithDetailColumnsAreRight(t *testing.T) {
	t.Parallel()
	service := sim.New(sim.Options{HiddenDetail: true})
	project := streamSources{schema: schema.FS}
	compared := 0
	for _, s := range stream.All() {
		list, _ := stream.Find(stream.All(), s.Completes)
		var records []any
		for _, raw := range service.Records(list.Path) {
			var record any
			if err := json.Unmarshal(raw, &record); err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		for _, table := range s.Tables {
			var hidden []string
			for _, name := range slices.Sorted(maps.Keys(project.columns(table.Name))) {
				c := project.columns(table.Name)[name]
				if slices.Contains(table.Key, name) || slices.Contains(table.Parents, name) || s.Completes == "" {
					continue
				}
				compared++
				if c.Path() == "" || !isShown(records, strings.TrimPrefix(table.At+"."+c.Path(), ".")) {
					hidden = append(hidden, name)
				}
			}
			if isNamed := slices.Contains(s.TablesWithDetailColumns, table.Name); isNamed != (len(hidden) > 0) {
				t.Errorf("stream %s: TablesWithDetailColumns contains table %s: got %t, want %t; columns that the list %q does not contain: %q", s.Name, table.Name, isNamed, !isNamed, s.Completes, hidden)
			}
			if s.Completes == "orders" && table.Name == "orders" && !slices.Equal(hidden, []string{"email", "extra", "name"}) {
				t.Errorf("columns of orders that the list does not contain: got %q, want email, extra and name", hidden)
			}
		}
	}
	if compared < 60 {
		t.Errorf("compared %d columns, want at least 60", compared)
	}
}

// isShown reports whether any of the JSON values contains a value other than null or "" at a dotted
// path. The path leads through objects, and through all items of lists.
func isShown(values []any, path string) bool {
	if path == "" {
		return slices.ContainsFunc(values, func(v any) bool { return v != nil && v != "" })
	}
	name, rest, _ := strings.Cut(path, ".")
	var inner []any
	for _, v := range values {
		object, _ := v.(map[string]any)
		if items, ok := object[name].([]any); ok {
			inner = append(inner, items...)
		} else if value, ok := object[name]; ok {
			inner = append(inner, value)
		}
	}
	return isShown(inner, rest)
}
