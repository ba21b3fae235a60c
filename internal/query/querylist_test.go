package query_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

func namesOf(all []query.Query) (names []string) {
	for _, q := range all {
		names = append(names, q.Name)
	}
	return names
}

func TestFilterByWords(t *testing.T) {
	all := []query.Query{
		{Name: "margins", Title: "Sales and margin", About: "By month.", Subject: "margins", Also: "profit, earnings, cries, ties"},
		{Name: "refunds_by_month", Title: "Refunds", About: "No margin.", Subject: "orders"},
		{Name: "prices", Title: "Prices", Grain: "one row per country", About: "Costs of a class.", Subject: "prices"},
	}
	for words, want := range map[string][]string{
		"":                   {"margins", "refunds_by_month", "prices"},
		"MARGIN":             {"margins"}, // the name and the title come before the description
		"margin month":       {"margins", "refunds_by_month"},
		"orders month":       {"refunds_by_month"},
		"profit month":       {"margins"},
		"fund":               nil,
		"refund":             {"refunds_by_month"},
		"what is our profit": {"margins"},
		"the earning":        {"margins"},
		"this profit":        {"margins"}, // stop words are not changed to the singular
		"what does refund":   {"refunds_by_month"},
		"countries":          {"prices"},
		"cry":                {"margins"},
		"tie":                {"margins"},
		"clas":               nil,
		"month nowhere":      nil,
		"how":                {"margins", "refunds_by_month", "prices"},
	} {
		if diff := cmp.Diff(want, namesOf(query.FilterByWords(all, strings.Fields(words)))); diff != "" {
			t.Errorf("queries with %q (-want +got):\n%s", words, diff)
		}
	}
}

func TestExplainDescribesAQuery(t *testing.T) {
	for _, c := range []struct {
		q    query.Query
		want string
	}{
		{query.Query{Name: "short", Title: "A short query"}, "short\n  A short query\n"},
		{query.Query{
			Name: "long", File: "my/long.sql", Title: "A long query", Grain: "one row per order", About: strings.Repeat("four ", 20) + "end.\nAnother line.",
			SQL:    "FROM mart.payables JOIN mart.sold_items",
			Params: []query.Param{{Name: "most", Type: "COUNT", Default: "3", About: "rows"}, {Name: "day", Type: "DATE", Nullable: true, About: "a day"}},
		}, "long (own: my/long.sql)\n  A long query\n  one row per order\n  " + strings.TrimSpace(strings.Repeat("four ", 15)) + "\n  " + strings.Repeat("four ", 5) + "end.\n  Another line.\n" +
			"  mart: payables, sold_items\n  --param most COUNT (default 3): rows\n  --param day DATE or NULL (required): a day\n"},
		{query.Query{Name: "grain", Title: "Grain", Grain: "order", Replacement: "new"}, "grain\n  replaced by new\n  Grain\n  one row per order\n"},
	} {
		var out bytes.Buffer
		if err := query.Explain(&out, c.q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.q.Name, diff)
		}
	}
}

// TestListsOfQueries writes three queries in an order that the list changes. Only a has parameters, marts and a file.
func TestListsOfQueries(t *testing.T) {
	q := query.Query{Name: "a", File: "a.sql", Title: "A & B", Subject: "own", Grain: "one row", About: "Notes.", Also: "c", Params: []query.Param{
		{Name: "most", Type: "COUNT", Default: "3", About: "rows", Values: "SELECT 1"},
		{Name: "day", Type: "DATE", About: "a day"},
		{Name: "name", Type: "VARCHAR", Default: "NULL", About: "a name"},
	}, SQL: "-- FROM mart.comment\nFROM mart.sold_items JOIN mart.payables, mart.snapshot, mart.payables -- mart.tail"}
	all := []query.Query{{Name: "long", Title: "C", Subject: "text"}, q, {Name: "b", Title: "B", Subject: "own"}}
	for format, want := range map[query.Format]string{
		query.CSV: "subject,name,title,grain,about,params,marts,file\r\n" +
			"own,a,A & B,one row,Notes.,most day name,payables sold_items,a.sql\r\nown,b,B,,,,,\r\ntext,long,C,,,,,\r\n",
		query.Table: "own\n  a     A & B [payables, sold_items] (own: a.sql)\n  b     B\ntext\n  long  C\n\n",
		query.JSON: `[
  {
    "subject": "own",
    "name": "a",
    "title": "A & B",
    "grain": "one row",
    "about": "Notes.",
    "also": "c",
    "params": [
      {
        "name": "most",
        "type": "COUNT",
        "nullable": false,
        "default": "3",
        "about": "rows",
        "values": "SELECT 1"
      },
      {
        "name": "day",
        "type": "DATE",
        "nullable": false,
        "default": null,
        "about": "a day",
        "values": ""
      },
      {
        "name": "name",
        "type": "VARCHAR",
        "nullable": true,
        "default": "NULL",
        "about": "a name",
        "values": ""
      }
    ],
    "marts": [
      "payables",
      "sold_items"
    ],
    "file": "a.sql"
  },
`,
	} {
		var out bytes.Buffer
		if err := query.WriteList(&out, format, all); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if format != query.CSV { // the other formats are compared up to the end of want
			got = got[:min(len(got), len(want))]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	if err := query.WriteList(&bytes.Buffer{}, query.Excel, nil); !errors.As(err, new(*query.UsageError)) {
		t.Errorf("xlsx: got %v, want a usage error", err)
	}
}
