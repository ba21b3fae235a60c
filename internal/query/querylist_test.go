package query_test

import (
	"bytes"
	"slices"
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
		{Name: "margins", Title: "Sales and margin", About: "By month.", Subject: "margins"},
		{Name: "refunds", Title: "Refunds by month", About: "No margin.", Subject: "orders"},
		{Name: "prices", Title: "Prices", About: "Costs.", Subject: "prices"},
	}
	for words, want := range map[string][]string{
		"":              {"margins", "refunds", "prices"},
		"MARGIN month":  {"margins", "refunds"},
		"orders month":  {"refunds"},
		"fund":          {"refunds"},
		"month nowhere": nil,
	} {
		if diff := cmp.Diff(want, namesOf(query.FilterByWords(all, strings.Fields(words)))); diff != "" {
			t.Errorf("queries with %q (-want +got):\n%s", words, diff)
		}
	}
}

func TestListShowsMarts(t *testing.T) {
	q := query.Query{Name: "a", Title: "A", Subject: "s", SQL: "-- FROM mart.comment\nFROM mart.sold_items JOIN mart.payables, mart.snapshot, mart.payables -- mart.tail"}
	if want := []string{"payables", "sold_items"}; !slices.Equal(q.Marts(), want) {
		t.Errorf("marts are %q, want %q", q.Marts(), want)
	}
	for format, want := range map[query.Format]string{
		query.Table: "  a  A [payables, sold_items]\n  b  B\n",
		query.CSV:   "s,a,A,,,,payables sold_items,\r\ns,b,B,,,,,\r\n",
		query.JSON:  "\"marts\": [\n      \"payables\",\n      \"sold_items\"\n    ]",
	} {
		var out bytes.Buffer
		if err := query.WriteList(&out, format, []query.Query{q, {Name: "b", Title: "B", Subject: "s"}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is %q, want it to contain %q", format, out.String(), want)
		}
	}
}
