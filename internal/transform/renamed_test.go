package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
	"placementsync/schema"
)

func TestSimilarNames(t *testing.T) {
	for column, fields := range map[string]map[string]bool{
		"drive_link":      {"shared_drive": true, "google_drive_link": true, "DriveLink": true, "links.drive": true, "drivelink": true, "drive_lnk": true, "color": false, "link_id": false},
		"live_url":        {"site_url": false, "url": false, "liveUrl": true, "live": true},
		"brief_doc_url":   {"brief_google_doc": true, "doc_url": true, "brief": false},
		"team_id":         {"team_name": false, "team.id": true, "id": false},
		"website_url":     {"web_site_url": true, "name": false},
		"writing_samples": {"writingSamples": true, "samples": true, "overview": false},
	} {
		for field, want := range fields {
			if got := similarityOf(column, field) > 0; got != want {
				t.Errorf("the column %s and the field %s are similar: %t, want %t", column, field, got, want)
			}
		}
	}
}

// TestRenamedFields compares the unknown fields of a page with the columns that have no value. Each column gets the most
// similar field. Each field of a table belongs to at most one column.
func TestRenamedFields(t *testing.T) {
	t.Parallel()
	memory := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer memory.AssertSize(t, 0) // all batches are released
	batch := func(table string, rows int) Batch {
		var fields []arrow.Field
		for _, name := range []string{"drive_link", "live_link", "color", "secret_link", "extra"} {
			fields = append(fields, arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true})
		}
		records := make([]string, rows)
		for i := range records {
			records[i] = "{}"
		}
		records[0] = `{"color":"red"}` // all other columns have no value
		b, _, err := array.RecordFromJSON(memory, arrow.NewSchema(fields, nil), strings.NewReader("["+strings.Join(records, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		return Batch{Table: table, Rows: b}
	}
	unknown := func(table, path string, count int64) Drift {
		return Drift{Drift: stream.Drift{Table: table, Path: path, Kind: UnknownField}, Count: count}
	}
	for name, c := range map[string]struct {
		batches []Batch
		drift   []Drift
		want    string
	}{
		"a similar field":                {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "shared_drive", 3)}, "profiles.drive_link=shared_drive"},
		"a field in half of the records": {[]Batch{batch("profiles", 6)}, []Drift{unknown("profiles", "shared_drive", 3)}, ""},
		"too few rows":                   {[]Batch{batch("profiles", 4)}, []Drift{unknown("profiles", "shared_drive", 4)}, ""},
		"a field of another table":       {[]Batch{batch("profiles", 5)}, []Drift{unknown("orders", "shared_drive", 5)}, ""},
		"extra without values":           {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "extra_info", 5)}, ""},
		"a column with values":           {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "the_color", 5)}, ""},
		"a private column":               {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "secret", 5)}, ""},
		"another kind of drift": {[]Batch{batch("profiles", 5)},
			[]Drift{{Drift: stream.Drift{Table: "profiles", Path: "shared_drive", Kind: "converted"}, Count: 5}}, ""},
		"two fields for one column": {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "drive", 5), unknown("profiles", "driveLink", 5)},
			"profiles.drive_link=driveLink"},
		"one field for two columns": {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "link", 5)}, "profiles.drive_link=link"},
		"the same field of two tables": {[]Batch{batch("profiles", 5), batch("outlets", 5)},
			[]Drift{unknown("profiles", "driveLink", 5), unknown("outlets", "driveLink", 5)}, "outlets.drive_link=driveLink profiles.drive_link=driveLink"},
		"two fields for two columns": {[]Batch{batch("profiles", 5)}, []Drift{unknown("profiles", "driveLink", 5), unknown("profiles", "link_live", 5)},
			"profiles.drive_link=driveLink profiles.live_link=link_live"},
	} {
		records := int(c.batches[0].Rows.NumRows())
		var got []string
		for _, f := range RenamedFields(records, c.drift, c.batches, []string{"profiles.secret_link"}) {
			got = append(got, f.Column+"="+f.Field)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %q, want %q", name, text, c.want)
		}
	}
}

// TestListInText reads lists in texts. Scopes of a token are sent in this form.
func TestListInText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"[\"a\",\"b\"]"`: `["a","b"]`,
		`"{a,b}"`:         `["a","b"]`,
		`"{\"a b\",c}"`:   `["a b","c"]`,
		`"[1:2]={a,b}"`:   `["a","b"]`,
		`" [] "`:          `[]`,
		`"{ A b , \"say \\\"hi\\\" \\\\ x\" , NULL , \"NULL\", \\{c\\} , \\NULL }"`:         `["A b","say \"hi\" \\ x",null,"NULL","{c}","NULL"]`,
		`"` + strings.Repeat("{", maxDepth) + "a" + strings.Repeat("}", maxDepth) + `"`:     strings.Repeat("[", maxDepth) + `"a"` + strings.Repeat("]", maxDepth),
		`"` + strings.Repeat("{", maxDepth+1) + "a" + strings.Repeat("}", maxDepth+1) + `"`: "", // a deeper list could exhaust the stack
		`"[\"a\"] b"`: "", `"{a} b"`: "", `"{a{b}"`: "", `"{a\"b}"`: "", `"{A,,B}"`: "", `"{A,\"B}"`: "", // the rest of the text would be lost
		`["a"]`: "", `"{}"`: "", `"a"`: "", `""`: "", "": "", "null": "", `"{a"`: "", `"{\"a\":1}"`: "", `"{a\\"`: "", `"{\"a\\"`: "",
	} {
		list, ok := ListInText([]byte(raw))
		if ok != (want != "") {
			t.Errorf("%s: a list was found: %t, want %t", raw, ok, want != "")
		}
		if ok && string(list) != want {
			t.Errorf("%s: got %s, want %s", raw, list, want)
		}
	}
}

// TestPrivateColumnsOfABinding checks that a private column is private in the tables with the same kind of record, and
// that Bind applies the rules.
func TestPrivateColumnsOfABinding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stream string
		rules  Privacy
		want   string
	}{
		{"orders", Privacy{}, "[]"},
		{"orders", Privacy{Drop: []string{"orders.guest_email"}}, "[orders.guest_email]"},
		{"orders", Privacy{Hash: []string{"orders.guest_email"}, Key: []byte("k")}, "[orders.guest_email]"},
		{"campaign_articles", Privacy{Drop: []string{"articles.live_url"}}, "[campaign_articles.live_url]"},
		{"campaign_articles", Privacy{Drop: []string{"articles.extra"}}, "[]"}, // extra contains other fields in each table
		{"tags", Privacy{Drop: []string{"articles.live_url"}}, "[]"},
	} {
		s, _ := stream.Find(stream.AllWithEvents(), c.stream)
		definitions, _ := schema.Definitions()
		b, err := Bind(s, definitions, c.rules)
		if err != nil {
			t.Errorf("%s: %v", c.stream, err)
			continue
		}
		if got := fmt.Sprint(b.PrivateColumns()); got != c.want {
			t.Errorf("%s with %+v: the private columns are %s, want %s", c.stream, c.rules, got, c.want)
		}
	}
}
