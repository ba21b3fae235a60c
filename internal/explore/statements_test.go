package explore

import (
	"slices"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"

	"os"
)

// TestStatementsOfRecords runs the statements of the record pages on testdata/statements.sql and compares some columns.
// Times are shortened to their day, and zeros at the end of amounts are left out.
func TestStatementsOfRecords(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	rows, err := os.ReadFile("testdata/statements.sql")
	harness.Must(t, err)
	db, err := query.Open(t.Context(), fixture.NewEmptyCatalog(t).Fill(t, string(rows)), query.Options{MemoryLimit: "256MB", Threads: 1})
	harness.Must(t, err)
	defer db.Close()
	run := func(name string, statement sqltext.SQL, columns string, want []string) {
		t.Helper()
		result, err := db.Collect(t.Context(), query.Text(string(statement)), nil, 100)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		var got []string
		for _, r := range result.Rows {
			var texts []string
			for column := range strings.SplitSeq(columns, " ") {
				v := r.Get(column)
				text := v.Or("-")
				if at := instantOf(v); !at.IsZero() {
					text = at.Format("01-02")
				} else if whole, fraction, ok := strings.Cut(text, "."); ok && strings.Trim(fraction, "0") == "" {
					text = whole
				}
				texts = append(texts, text)
			}
			got = append(got, strings.Join(texts, "|"))
		}
		compare(t, name, want, got)
	}
	for _, c := range []struct {
		kind, statement, id, columns string
		want                         []string
	}{
		{"listing", "head", "L", "title outlet_id", []string{"New|O1"}},
		{"listing", "prices", "L", "tier nth amount valid_from valid_to", []string{"pro|1|70|11-01|11-02", "pro|1|70|11-02|11-03",
			"std|1|4|11-01|11-02", "std|1|5|11-02|11-03", "std|1|5|11-03|-", "std|2|8|11-01|11-02", "std|2|8|11-02|11-03", "std|2|8|11-03|-"}},
		{"listing", "prices", "K", "currency amount", []string{"EUR|3"}},
		{"listing", "tags", "L", "tag", []string{"news"}},
		{"listing", "tags", "K", "tag", []string{"kept"}},
		{"listing", "links", "L", "url", []string{"https://a.example"}},
		{"listing", "links", "K", "url", []string{"https://c.example"}},
		{"listing", "channels", "L", "channel_type", []string{"website", "newsletter"}},
		{"listing", "orders", "L", "order profile ordered", []string{"R3|-|10-05", "R4|-|10-03", "PO-1|Acme|10-01"}},
		{"listing", "items", "L", "order paid", []string{"R3|10-06", "PO-1|10-02"}},
		{"listing", "beside", "L", "listing lowest_price", []string{"Beside|7"}},
		{"outlet", "head", "OX", "title", []string{"Second"}},
		{"outlet", "channels", "O1", "channel_type do_follow_links", []string{"a|unlimited", "b|5", "c|allowed", "d|none"}},
		{"outlet", "listings", "O1", "listing lowest_price highest_price currency", []string{"Beside|7|9|USD", "New|5|8|USD", "Only there|3|3|EUR"}},
		{"outlet", "gone", "O2", "listing vanished", []string{"Old|11-02"}},
		{"outlet", "gone", "O1", "listing", nil},
		{"outlet", "owed", "O1", "kind order amount", []string{"commission|PO-1|10", "commission|R3|5", "commission|R5|7"}},
		{"outlet", "list", "", "outlet outlet_id sold_items last_paid", []string{"One|O1|3|10-09", "-|OX|0|-"}},
		{"order", "head", "R10", "title", []string{"Order PO-10"}},
		{"order", "lines", "R10", "product includes deleted", []string{"Zed|a; b|-", "Zed|c|10-03"}},
		{"order", "items", "R10", "product promise", []string{"J1|-", "J2|kept", "J3|published late", "J4|ended", "J5|past its promise", "J6|past its promise", "J7|due", "J8|-"}},
		{"order", "owed", "R10", "kind product amount settled", []string{"commission|J3|4|false", "reseller|J2|2|false", "commission|J2|3|true"}},
		{"order", "articles", "R10", "article product", []string{"Second|J2", "Third|J3", "Fourth|J4", "Fifth|J5"}},
		{"order", "waiting", "R10", "product", []string{"J6", "J7"}},
		{"order", "list", "", "order items deleted", []string{"R3|1|false", "R2|1|true", "PO-1|1|false", "PO-10|1|false", "R6|0|false"}},
		{"campaign", "head", "C", "title items_without_price", []string{"Autumn|-"}},
		{"campaign", "head", "C8", "title profile", []string{"Campaign C8|Acme"}},
		{"campaign", "counts", "C", "status articles", []string{"Many|3", "Few|1"}},
		{"campaign", "list", "", "campaign", []string{"Autumn"}},
		{"article", "head", "A2", "title", []string{"Second"}},
		{"article", "statuses", "A2", "status entered days_in_it present", []string{"Ordered|-|-|false", "Writing|10-03|1.5|false", "published|10-04|29.6|true"}},
		{"article", "announced", "A2", "status", []string{"ordered", "writing", "published"}},
		{"article", "comments", "A2", "text edited reply", []string{"unchanged|-|false", "first reply|-|true", "second reply|-|true", "edited|10-03|false"}},
		{"article", "archived", "A2", "topic text", []string{"comment.updated|edited", "comment.archived|archived"}},
		{"article", "files", "A2", "file", []string{"Name of the file", "Of a copy"}},
		{"article", "items", "A2", "product", []string{"J2"}},
		{"article", "items", "A3", "product", []string{"J3"}},
		{"article", "addons", "A2", "kind name", []string{"add-on|D1", "add-on|Named"}},
		{"profile", "orders", "P1", "order items", []string{"PO-1|1", "R6|0"}},
		{"profile", "campaigns", "P1", "campaign", []string{"Autumn", "C8"}},
		{"profile", "list", "", "profile orders campaigns", []string{"Acme|2|2"}},
	} {
		kinds := recordKinds()
		kind := kinds[slices.IndexFunc(kinds, func(k recordKind) bool { return k.name == c.kind })]
		values := sqltext.Values{"id": c.id}
		if c.id == "" {
			values = nil
		}
		run(strings.TrimSpace(c.kind+" "+c.statement+" "+c.id), kind.sql.Render(c.statement, values), c.columns, c.want)
	}
	run("facts", recordSQL.Render("facts", nil), "run_id outcome", []string{"r3|partial"})
	run("vanished", recordSQL.Render("vanished", sqltext.Values{"table": "orders", "id": "R1"}), "evidence", []string{"last"})
	run("rejects", recordSQL.Render("rejects", sqltext.Values{"id": "R1", "tables": []string{"orders"}}), "read_at column", []string{"11-02|total", "11-02|name", "11-01|total"})
	run("snapshots", recordSQL.Render("snapshots", sqltext.Values{"database": sqltext.Name("catalog"), "most": 5}), "run_id", []string{"r3", "r2", "r1"})
	run("names", recordSQL.Render("names_of_records", sqltext.Values{"table": sqltext.Name("product_listings"), "column": sqltext.Name("name"), "ids": []string{"L"}}), "name", []string{"New"})
	run("versions", recordSQL.Render("versions", sqltext.Values{"table": sqltext.Name("product_listings"), "key": sqltext.Name("id"),
		"columns": sqltext.Names([]string{"name"}), "most": 2, "id": "L"}), "name", []string{"Old", "New"})
	run("currency", catalogSQL.Render("most_frequent_currency", nil), "currency", []string{"USD"})
	run("outlets", catalogSQL.Render("outlets", sqltext.Values{"conditions": noCondition, "most": 5}), "id name", []string{"OX|OX", "O1|One"})
}
