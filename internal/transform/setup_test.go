package transform_test

import (
	"fmt"
	"maps"
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
			"doc:JSON token_type owner owner_id extra:JSON"),
		"parts": parseDefinition("parts", "thing_id position:BIGINT name"),
	}
}

// parseDefinition parses columns in a short form: name or name:TYPE.
func parseDefinition(table, columns string) stream.Definition {
	d := stream.Definition{Name: table}
	for _, word := range strings.Fields(columns) {
		name, typ, _ := strings.Cut(word, ":")
		if typ == "" {
			typ = string(stream.Text)
		}
		d.Columns = append(d.Columns, stream.Column{Name: name, Type: stream.Type(typ)})
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

// definitions returns testDefinitions and the definitions of the schema.
func definitions() map[string]stream.Definition {
	defs, _ := schema.Definitions()
	maps.Copy(defs, testDefinitions())
	return defs
}

func compile(t testing.TB, s stream.Stream) *transform.Binding {
	t.Helper()
	b, err := transform.Compile(s, definitions())
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
