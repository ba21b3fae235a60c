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

// TestStatementsOfRecords runs the statements of the record pages on testdata/statements.sql and compares their rows.
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
		names := strings.Fields(columns)
		if columns == "*" {
			names = nil
			for _, c := range result.Columns {
				names = append(names, c.Name)
			}
		}
		var got []string
		for _, r := range result.Rows {
			var texts []string
			for _, column := range names {
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
	for _, c := range slices.Concat(statementsOfListings(), statementsOfOrders(), statementsOfCampaigns()) {
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

// recordStatement is a statement of the page of a record, with columns of its rows in their order. A star means all
// columns.
type recordStatement struct {
	kind, statement, id, columns string
	want                         []string
}

func statementsOfListings() []recordStatement {
	return []recordStatement{
		{"listing", "head", "L", "*", []string{
			"New|O1|-|https://l.example|Rome, Lazio, Italy|website|article|40|9|true|Ad|3 to 7 days",
		}},
		{"listing", "head", "M", "title promised_delivery", []string{"Beside|4 days"}},
		{"listing", "head", "N", "title promised_delivery", []string{"Elsewhere|from 2 days"}},
		{"listing", "head", "K", "title promised_delivery", []string{"Only there|up to 6 days"}},
		{"listing", "prices", "L", "tier nth amount valid_from valid_to", []string{
			"pro|1|70|11-01|11-02", "pro|1|70|11-02|11-03",
			"std|1|4|11-01|11-02", "std|1|5|11-02|11-03", "std|1|5|11-03|-",
			"std|2|8|11-01|11-02", "std|2|8|11-02|11-03", "std|2|8|11-03|-",
		}},
		{"listing", "prices", "K", "currency amount", []string{"EUR|3"}},
		{"listing", "tags", "L", "tag", []string{"news"}},
		{"listing", "tags", "K", "tag", []string{"kept"}},
		{"listing", "includes", "L", "*", []string{"newsletter, mention|11-01|-"}},
		{"listing", "links", "L", "url", []string{"https://a.example"}},
		{"listing", "links", "K", "url", []string{"https://c.example"}},
		{"listing", "channels", "L", "*", []string{
			"website|article|true|5|6|D|Text",
			"newsletter|-|-|-|-|-|-",
		}},
		{"listing", "orders", "L", "*", []string{
			"R3|R3|-|-|10-05|10-06|-|-|-",
			"R4|R4|-|-|10-03|-|-|-|-",
			"PO-1|R1|Acme|P1|10-01|10-02|paid|2|7",
		}},
		{"listing", "items", "L", "*", []string{
			"R3|R3|10-06|-|-|-|5|-|-|false",
			"PO-1|R1|10-02|60|80|19|10|pending|-|false",
		}},
		{"listing", "delivery", "Z", "*", []string{
			"Second|A2|Live|10-01|10-09|false|false|10-04|3.5|5|https://live.example",
			"Third|A3|-|10-01|-|false|false|10-10|9|5|-",
			"Fourth|A4|-|10-01|-|false|false|-|-|5|-",
			"Fifth|A5|-|10-01|-|true|false|-|-|5|-",
		}},
		{"listing", "beside", "L", "*", []string{"Beside|M|newsletter|mention|false|30|7|USD"}},
		{"outlet", "head", "OX", "title", []string{"Second"}},
		{"outlet", "head", "O1", "*", []string{"One|https://o.example|Rome, Lazio, Italy|true"}},
		{"outlet", "tags", "O1", "*", []string{"news|11-01|-"}},
		{"outlet", "channels", "O1", "*", []string{
			"a|p|@h|https://h.example|true|unlimited|5|6|D|Text|2",
			"b|-|-|-|-|5|-|-|-|-|1",
			"c|-|-|-|-|allowed|-|-|-|-|0",
			"d|-|-|-|-|none|-|-|-|-|0",
		}},
		{"outlet", "social", "O1", "*", []string{
			"a|@h|https://s1.example",
			"a|@h|https://s2.example",
			"b|-|https://s3.example",
		}},
		{"outlet", "listings", "O1", "*", []string{
			"Beside|M|newsletter|mention|false|30|4|7|9|USD",
			"New|L|website|article|true|40|7|5|8|USD",
			"Only there|K|-|-|-|-|6|3|3|EUR",
		}},
		{"outlet", "products", "O1", "*", []string{"Post|L|true|3|7|false|10-01|10-02"}},
		{"outlet", "gone", "O2", "*", []string{"Old|L|-|-|11-02"}},
		{"outlet", "gone", "O1", "listing", nil},
		{"outlet", "items", "O1", "*", []string{
			"R5|R5|10-09|-|M|-|-|7|-|false",
			"R3|R3|10-06|-|L|-|-|5|-|false",
			"PO-1|R1|10-02|Post|L|80|50|10|19|false",
			"PO-10|R10|10-01|J2|Z|10|-|3|-|false",
		}},
		{"outlet", "owed", "O1", "*", []string{
			"reseller|PO-10|R10|J2|10-01|2",
			"commission|PO-1|R1|Post|10-02|10",
			"commission|R3|R3|-|10-06|5",
			"commission|R5|R5|-|10-09|7",
		}},
		{"outlet", "list", "", "*", []string{
			"One|O1|Italy|Rome|https://o.example|true|40|2|4|10-09|One O1 https://o.example Italy Rome",
			"-|OX|-|-|-|-|-|1|0|-|OX",
		}},
	}
}

func statementsOfOrders() []recordStatement {
	return []recordStatement{
		{"order", "head", "R10", "title", []string{"Order PO-10"}},
		{"order", "head", "R1", "*", []string{
			"Order PO-1|Acme|P1|paid|10-01|10-02|100|https://pay.example",
		}},
		{"order", "head", "R5", "title paid", []string{"Order R5|10-09"}},
		{"order", "head", "R7", "title paid", []string{"Order R7|-"}},
		{"order", "lines", "R10", "*", []string{
			"Own name|Z|One|O1|2|7|true|a; b|-",
			"Zed|Z|-|-|-|-|-|c|10-03",
		}},
		{"order", "items", "R10", "product promise", []string{
			"J1|-", "J2|kept", "J3|published late", "J4|ended", "J5|past its promise", "J6|past its promise", "J7|due", "J8|-",
		}},
		{"order", "items", "R1", "*", []string{
			"Post|L|One|O1|1|80|80|60|50|1|-|10|19|10-09|past its promise|false|-|-",
		}},
		{"order", "owed", "R10", "*", []string{
			"commission|J3|Z|4|false|-|-",
			"reseller|J2|Z|2|false|-|-",
			"commission|J2|Z|3|true|10-05|-",
		}},
		{"order", "owed", "R1", "*", []string{
			"commission|Post|L|10|false|-|pending",
			"publisher|Post|L|50|true|-|-",
		}},
		{"order", "articles", "R10", "*", []string{
			"Second|A2|Autumn|C|J2|Z|Live|-|10-04|false|10-09|false|Ann Lee|https://live.example",
			"Third|A3|-|-|J3|Z|-|-|10-10|false|-|false|-|-",
			"Fourth|A4|-|-|J4|Z|-|-|-|false|-|false|-|-",
			"Fifth|A5|-|-|J5|Z|-|-|-|true|-|false|-|-",
		}},
		{"order", "waiting", "R10", "*", []string{
			"J6|Z|-|-|10-01|10-06",
			"J7|Z|-|-|11-02|11-07",
		}},
		{"order", "list", "", "*", []string{
			"R3|R3|-|-|-|false|10-05|10-06|-|1|R3",
			"R2|R2|Acme|P1|-|true|10-04|-|-|1|R2 Acme",
			"PO-1|R1|Acme|P1|paid|false|10-01|10-02|100|1|PO-1 EXT R1 Acme paid Lee lee@a.example",
			"PO-10|R10|-|-|-|false|10-01|-|-|1|PO-10 R10",
			"R6|R6|-|-|-|false|09-01|-|-|0|R6",
		}},
	}
}

func statementsOfCampaigns() []recordStatement {
	return []recordStatement{
		{"campaign", "head", "C", "*", []string{"Autumn|Acme|P1|active|REF|12-01|100|10|0|90|-|4"}},
		{"campaign", "head", "C8", "title profile", []string{"Campaign C8|Acme"}},
		{"campaign", "counts", "C", "status articles", []string{"Many|3", "Few|1"}},
		{"campaign", "articles", "C", "*", []string{
			"Second|A2|Live|-|10-04|false|10-09|false|Ann Lee|One|O1|https://live.example",
		}},
		{"campaign", "items", "C", "*", []string{"Post|L|One|O1|article|true|7|PO-1|R1"}},
		{"campaign", "list", "", "*", []string{
			"Autumn|C|Acme|P1|active|10-01|12-01|100|10|0|90|4|Autumn REF C Acme active",
		}},
		{"article", "head", "A2", "*", []string{
			"Second|Live|-|10-04|Autumn|C|Acme|P1|One|O1|Ann Lee|10-06|-|10-09|-|https://live.example|" +
				"https://draft.example|https://brief.example",
		}},
		{"article", "statuses", "A2", "status entered days_in_it present", []string{
			"Ordered|-|-|false", "Writing|10-03|1.5|false", "published|10-04|29.6|true",
		}},
		{"article", "announced", "A2", "*", []string{
			"ordered|-|-|10-01|-",
			"writing|-|10-04|10-06|-",
			"published|10-05|-|10-05|webhook",
		}},
		{"article", "comments", "A2", "*", []string{
			"Ann|10-01|-|false|unchanged",
			"-|10-04|-|true|first reply",
			"-|10-05|-|true|second reply",
			"-|10-02|10-03|false|edited",
		}},
		{"article", "archived", "A2", "*", []string{
			"comment.updated|-|-|10-03|edited",
			"comment.archived|Bob|11-01|11-02|archived",
		}},
		{"article", "files", "A2", "*", []string{
			"Name of the file|https://f.example|text/plain|5|10-01|10-02",
			"Of a copy|-|-|-|-|-",
		}},
		{"article", "items", "A2", "*", []string{"PO-10|R10|J2|Z|One|O1|10-01|10|3|-"}},
		{"article", "items", "A3", "product", []string{"J3"}},
		{"article", "addons", "A2", "*", []string{
			"add-on|D1",
			"add-on|Named",
			"included|newsletter, mention",
		}},
		{"article", "list", "", "*", []string{
			"Third|A3|-|-|10-10|false|-|false|-|-|-|-|-|-|-|-|Third A3",
			"Second|A2|Live|-|10-04|false|10-09|false|Autumn|C|Acme|P1|One|O1|Ann Lee|https://live.example|" +
				"Second A2 Live Autumn Acme One Ann Lee",
			"Fourth|A4|-|-|-|false|-|false|-|-|-|-|-|-|-|-|Fourth A4",
			"Fifth|A5|-|-|-|true|-|false|-|-|-|-|-|-|-|-|Fifth A5",
		}},
		{"profile", "head", "P1", "*", []string{
			"Acme|Acme Ltd|brand|Rome|https://p.example|https://d.example",
		}},
		{"profile", "goals", "P1", "*", []string{"SEO|11-01|-"}},
		{"profile", "orders", "P1", "*", []string{
			"PO-1|R1|paid|10-01|10-02|100|1",
			"R6|R6|-|09-01|-|-|0",
		}},
		{"profile", "campaigns", "P1", "*", []string{
			"Autumn|C|active|10-01|12-01|100|4",
			"C8|C8|-|-|-|-|-",
		}},
		{"profile", "items", "P1", "*", []string{"Post|L|One|O1|Autumn|C|article|true|7"}},
		{"profile", "articles", "P1", "*", []string{
			"Second|A2|Autumn|C|Live|-|10-04|false|10-09|false|https://live.example",
		}},
		{"profile", "list", "", "*", []string{
			"Acme|P1|brand|Rome|https://p.example|2|2|10-01|Acme Acme Ltd P1 Rome https://p.example",
		}},
	}
}
