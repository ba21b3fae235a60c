package transform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestColumnsHaveOtherNames reads every column that the schema gives another name: under the other name
// alone, and under both names in either order.
func TestColumnsHaveOtherNames(t *testing.T) {
	tested := 0
	for _, s := range stream.AllWithEvents() {
		defs := definitions()
		for i, table := range s.Tables {
			for _, c := range defs[table.Name].Columns {
				if len(c.OtherNames) > 0 && i > 0 {
					t.Fatalf("extend this test: %s is inside of the records of %s", table.Name, s.Name)
				}
				for _, other := range c.OtherNames {
					tested++
					ownField, otherField := fmt.Sprintf(`%q:"a"`, c.Path()), fmt.Sprintf(`%q:"b"`, other)
					extra := fmt.Sprintf(`{%q:"b"}`, other)
					for members, want := range map[string][2]string{ // the values of the column and of extra
						otherField:                                          {"b", ""},
						ownField + "," + otherField:                         {"a", extra},
						otherField + "," + ownField:                         {"a", extra},
						otherField + `,"new":1`:                             {"b", `{"new":1}`},
						fmt.Sprintf(`%q:"a"`, other) + "," + ownField:       {"a", ""},
						fmt.Sprintf(`%q:null`, c.Path()) + "," + otherField: {"b", ""},
						fmt.Sprintf(`%q:""`, c.Path()) + "," + otherField:   {"b", ""},
						fmt.Sprintf(`%q:{"name":"b"}`, other):               {"b", ""},
					} {
						row := readOne(t, compile(t, s), s, members)
						if got := [2]string{row[c.Name], row["extra"]}; got != want {
							t.Errorf("%s of %s in %s: column and extra are %q, want %q", c.Name, s.Name, members, got, want)
						}
					}
				}
			}
		}
	}
	if tested < 6 {
		t.Errorf("the schema has other names for %d columns of streams, want at least 6", tested)
	}
}

// readOne decodes one record with an id and returns its row.
func readOne(t *testing.T, b *transform.Binding, s stream.Stream, members string) row {
	t.Helper()
	body := `{"id":"t",` + members + `}`
	if s.Envelope != stream.Object {
		body = "[" + body + "]"
	}
	d := b.NewDecoder()
	param := ""
	if s.Envelope == stream.Object {
		param = "t"
	}
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1, Param: param}); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	rows := rowsOf(t, d.Flush())[s.Root().Name]
	if len(rows) != 1 {
		t.Fatalf("%s gave %d rows: %v", body, len(rows), d.Findings().Rejects)
	}
	return rows[0]
}

// TestConfiguredNames checks names that the schema does not have, also inside of objects.
func TestConfiguredNames(t *testing.T) {
	s := streamNamed(t, "articles")
	for name, c := range map[string]struct{ column, other, members, value, extra string }{
		"a field":           {"live_url", "url", `"url":"u","more":1`, "u", `{"more":1}`},
		"a known object":    {"writer_first_name", "writer.given", `"writer":{"given":"Ann","age":3}`, "Ann", `{"writer":{"age":3}}`},
		"an unknown object": {"live_url", "links.live", `"links":{"live":"u","more":1}`, "u", `{"links":{"more":1}}`},
		"another shape":     {"live_url", "links.live", `"links":"none"`, "", `{"links":"none"}`},
		"a time":            {"updated_at", "modified", `"modified":"2026-01-01T00:00:00Z"`, "2026-01-01T00:00:00Z", ""},
		"the schema's name": {"brief_doc_url", "brief", `"brief_google_doc_url":"g"`, "g", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := transform.Compile(s, stream.WithOtherNames(definitions(), map[string]string{"articles." + c.column: c.other}))
			if err != nil {
				t.Fatal(err)
			}
			row := readOne(t, b, s, c.members+`,"name":"n"`)
			if row[c.column] != c.value || row["extra"] != c.extra {
				t.Errorf("%s gave %v, want %s = %q and extra = %q", c.members, slices.Sorted(maps.Values(row)), c.column, c.value, c.extra)
			}
		})
	}
	for _, other := range []string{"name", "files", "brief_google_doc_url", "writer.id"} {
		_, err := transform.Compile(s, stream.WithOtherNames(definitions(), map[string]string{"articles.live_url": other}))
		if err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("another name %q of articles.live_url gave the error %v, want one that names it", other, err)
		}
	}
	orders := streamNamed(t, "orders")
	b, err := transform.Compile(orders, stream.WithOtherNames(definitions(), map[string]string{"orders.metadata": "meta"}))
	if err != nil {
		t.Fatal(err)
	}
	row := readOne(t, b, orders, `"meta":{"a":1},"metadata":{"a":2}`)
	if row["metadata"] != `{"a":2}` || row["extra"] != `{"meta":{"a":1}}` {
		t.Errorf("two JSON values of one column gave %v, want the second one in extra", row)
	}
	outlets := streamNamed(t, "outlets")
	for _, column := range []string{"outlets.extra", "outlet_tags.position", "outlet_channels.do_follow_links_limit"} {
		_, err := transform.Compile(outlets, stream.WithOtherNames(definitions(), map[string]string{column: "x"}))
		if err == nil || !strings.Contains(err.Error(), "computes") {
			t.Errorf("another name of %s gave the error %v, want one that says that it is computed", column, err)
		}
	}
}
