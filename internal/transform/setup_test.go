package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/schema"
)

// sketches are streams of shapes that the catalogue may hold: a list of bare
// texts, status counts of no standard form, replies within comments, a path
// parameter in the key. Their tables stand below, one column a word.
func sketches() []stream.Stream {
	return []stream.Stream{
		{Name: "countries", Envelope: stream.Records, List: "countries", Tables: []stream.Table{
			{Name: "locations", Key: []string{"kind", "name"}, Value: "name", Const: map[string]string{"kind": "country"}},
		}},
		{Name: "status_counts", Envelope: stream.Raw, Param: "campaign_id", Tables: []stream.Table{
			{Name: "status_counts", Key: []string{"campaign_id", "prefix"}},
		}},
		{Name: "comments", Envelope: stream.Records, Param: "article_id", Tables: []stream.Table{
			{Name: "comments", Key: []string{"article_id", "id"}},
			{Name: "comments", At: "replies", Key: []string{"article_id", "id"}, Parents: []string{"article_id", "parent_id"}},
		}},
		{Name: "things", Tables: []stream.Table{
			{Name: "things", Key: []string{"id"}},
			{Name: "parts", At: "parts", Key: []string{"thing_id", "position"}, Parents: []string{"thing_id"}},
		}},
	}
}

func sketchedTables() map[string]stream.Definition {
	return map[string]stream.Definition{
		"locations":     define("locations", "kind name extra:JSON"),
		"status_counts": define("status_counts", "campaign_id prefix id name count:BIGINT extra:JSON"),
		"comments":      define("comments", "article_id id parent_id content author_name author_email extra:JSON"),
		"things": define("things", "id label flag:BOOLEAN small:INTEGER big:BIGINT price:DECIMAL(18,6) at:TIMESTAMPTZ "+
			"doc:JSON seen:BIGINT:untracked token_type owner owner_id extra:JSON"),
		"parts": define("parts", "thing_id position:BIGINT name"),
	}
}

// define writes a definition in short: name, name:TYPE or name:TYPE:untracked.
func define(table, columns string) stream.Definition {
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
	s, ok := stream.Find(append(sketches(), stream.All()...), name)
	if !ok {
		t.Fatalf("no stream %q", name)
	}
	return s
}

// definitions reads the schema files of a stream's tables.
func definitions(t testing.TB, s stream.Stream) map[string]stream.Definition {
	t.Helper()
	defs := sketchedTables()
	for _, table := range s.Tables {
		if _, ok := defs[table.Name]; ok {
			continue
		}
		sql, err := schema.FS.ReadFile(table.Name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if defs[table.Name], err = stream.ParseDefinition(table.Name, string(sql)); err != nil {
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

// decoderOf returns a new decoder of a stream of the catalogue or a sketch.
func decoderOf(t testing.TB, name string) *transform.Decoder {
	t.Helper()
	return compile(t, streamNamed(t, name)).NewDecoder()
}

// thing is a body of one record of things, with members written as given.
func thing(members string) string { return fmt.Sprintf(`{"id":"t",%s}`, members) }
