package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/schema"
)

func testStreams() []stream.Stream {
	return []stream.Stream{{Name: "things", Tables: []stream.Table{
		{Name: "things", Key: []string{"id"}},
		{Name: "parts", At: "parts", Key: []string{"thing_id", "position"}, Parents: []string{"thing_id"}},
	}}}
}

// testDefinitions defines the tables of testStreams. The table things has a column of every type. The table
// parts lacks the column named extra.
func testDefinitions() map[string]stream.Definition {
	return map[string]stream.Definition{
		"things": parseDefinition("things", "id label flag:BOOLEAN small:INTEGER big:BIGINT price:DECIMAL(18,6) at:TIMESTAMPTZ "+
			"doc:JSON seen:BIGINT:untracked token_type owner owner_id extra:JSON"),
		"parts": parseDefinition("parts", "thing_id position:BIGINT name"),
	}
}

// parseDefinition parses columns in a short form: name, name:TYPE or name:TYPE:untracked.
func parseDefinition(table, columns string) stream.Definition {
	d := stream.Definition{Name: table}
	for _, word := range strings.Fields(columns) {
		name, typ, _ := strings.Cut(word, ":")
		typ, mark, _ := strings.Cut(typ, ":")
		if typ == "" {
			typ = string(stream.Text)
		}
		d.Columns = append(d.Columns, stream.Column{Name: name, Type: stream.Type(typ), Untracked: mark != ""})
	}
	return d
}

func streamNamed(t testing.TB, name string) stream.Stream {
	t.Helper()
	s, ok := stream.Find(append(testStreams(), stream.AllWithEvents()...), name)
	if !ok {
		t.Fatalf("no stream %q", name)
	}
	return s
}

// definitions returns testDefinitions and the parsed schema files of a stream's tables and foreign parts.
func definitions(t testing.TB, s stream.Stream) map[string]stream.Definition {
	t.Helper()
	defs := testDefinitions()
	var tables []string
	for _, table := range s.Tables {
		tables = append(tables, stream.SameKind(table.Name)...)
	}
	for _, part := range s.ForeignParts {
		tables = append(tables, part.Table)
	}
	for _, table := range tables {
		if _, ok := defs[table]; ok {
			continue
		}
		sql, err := schema.FS.ReadFile(table + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if defs[table], err = stream.ParseDefinition(table, string(sql)); err != nil {
			t.Fatal(err)
		}
	}
	return defs
}

func compile(t testing.TB, s stream.Stream) *transform.Binding {
	t.Helper()
	b, err := transform.Compile(s, definitions(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decoderOf returns a new decoder. name is the name of a stream in package stream or in testStreams.
func decoderOf(t testing.TB, name string) *transform.Decoder {
	t.Helper()
	return compile(t, streamNamed(t, name)).NewDecoder()
}

// thingBody returns a body with one record of things.
func thingBody(members string) string { return fmt.Sprintf(`{"id":"t",%s}`, members) }
