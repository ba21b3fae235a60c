package explore

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/schema"
)

// parseResult parses a line of column names and one line per row, with bars between the fields. A name can be followed
// by a colon and its type, which is otherwise VARCHAR. An empty field is NULL, and two single quotes are an empty text.
func parseResult(lines ...string) query.Result {
	var columns []query.Column
	for column := range strings.SplitSeq(lines[0], "|") {
		name, typ, hasType := strings.Cut(column, ":")
		if !hasType {
			typ = "VARCHAR"
		}
		columns = append(columns, query.Column{Name: name, Type: typ, Numeric: strings.HasPrefix(typ, "DECIMAL") || typ == "BIGINT"})
	}
	r := query.Result{Columns: columns, Total: int64(len(lines) - 1)}
	for _, line := range lines[1:] {
		var values []query.Value
		for text := range strings.SplitSeq(line, "|") {
			values = append(values, query.Value{Text: strings.Trim(text, "'"), Null: text == ""})
		}
		r.Rows = append(r.Rows, query.Record{Columns: columns, Values: values})
	}
	return r
}

// textsOf returns the cells of each row, with their units, links and addresses.
func textsOf(rows []html.Row) []string {
	var all []string
	for _, row := range rows {
		var texts []string
		for _, c := range row.Cells {
			text := c.Text
			for _, detail := range []string{c.Unit, c.Link, c.Copy, c.Summary} {
				if detail != "" {
					text += " " + detail
				}
			}
			texts = append(texts, text)
		}
		all = append(all, strings.Join(texts, " | "))
	}
	return all
}

func compare(t *testing.T, subject string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", subject, diff)
	}
}

// TestTablesOfResults builds tables whose columns depend on each other.
func TestTablesOfResults(t *testing.T) {
	const id = "4f1d5f0e-9b3c-4a1e-8f55-0c2f9d1b7a10"
	for name, c := range map[string]struct {
		result       query.Result
		heads, rows  []string
		summed       []string
		total        int64 // of the result, if not all of its rows are given
		blank, notes string
	}{
		"the code of a status replaces a missing name": {result: parseResult("status_prefix|status_name", "on_hold|", "live|Published"),
			heads: []string{"Status"}, rows: []string{"On hold", "Published"}},
		"an amount has its currency": {result: parseResult("old_price:DECIMAL(18,6)|paid_total:DECIMAL(18,6)|currency", "1.5|2|USD", "|3|"),
			heads: []string{"Old price", "Paid total"}, rows: []string{"1.50 USD | 2.00 USD", "– | 3.00 (no currency)"}, summed: []string{"paid_total"}},
		"amounts of periods are not added": {result: parseResult("period|paid_total:DECIMAL(18,2)", "now|1", "before|2"),
			heads: []string{"Period", "Paid total"}, rows: []string{"now | 1.00", "before | 2.00"}},
		"ids without a name are last": {result: parseResult("order_item_id|name|is_late:BOOLEAN|late_at", id+"|x|true|soon"),
			heads: []string{"Name", "Late", "Late at", "Order item ID"}, rows: []string{"x | yes | soon |  " + id}},
		"a column without values is left out": {result: parseResult("outlet_name|outlet_id|city", "|O1|", "|O2|"),
			heads: []string{"Outlet"}, rows: []string{"O1 /explore/outlets/O1", "O2 /explore/outlets/O2"}, blank: "city"},
		"an empty name links to its record": {result: parseResult("outlet|outlet_id", "''|O1"),
			heads: []string{"Outlet"}, rows: []string{"Open /explore/outlets/O1"}},
		"only web addresses are shortened": {result: parseResult("website", "https://www.example.com/x", "ftp://example.com/x"),
			heads: []string{"Website"}, rows: []string{"example.com", "ftp://example.com/x"}},
		"the number of an order": {result: parseResult("reference_number|order_id|profile_id", "PO-1|R1|P1", "|R2|"),
			heads: []string{"Reference number", "Profile ID"},
			rows:  []string{"PO-1 /explore/orders/R1 | P1 /explore/profiles/P1", "R2 /explore/orders/R2 | –"}},
		"JSON is folded": {result: parseResult("extra:JSON", `{"a":1}`), heads: []string{"Extra"}, rows: []string{`{"a":1} JSON, 7 bytes`}},
		"a column without values is kept if there are more rows": {result: parseResult("name|city", "x|"), total: 2,
			heads: []string{"Name", "City"}, rows: []string{"x | –"}, notes: "The first 1 of 2 rows."},
	} {
		if c.total > 0 {
			c.result.Total = c.total
		}
		roles := rolesOf(c.result.Columns)
		table := buildTable("T", roles, c.result, links{})
		var heads, summed []string
		for _, h := range table.Heads {
			heads = append(heads, h.Label)
		}
		for _, r := range roles {
			if r.summed {
				summed = append(summed, r.Name)
			}
		}
		compare(t, name+": heads", c.heads, heads)
		compare(t, name+": rows", c.rows, textsOf(table.Rows))
		compare(t, name+": summed columns", c.summed, summed)
		if got := strings.Join(table.Blank, ", "); got != c.blank || table.More != c.notes {
			t.Errorf("%s: got the blank columns %q and the note %q, want %q and %q", name, got, table.More, c.blank, c.notes)
		}
	}
	months := parseResult("group_name|month:DATE|city", "2026-11||")
	roles := rolesOf(months.Columns)
	roles[0].label = roles[1].label // as with "by" month
	if got := buildTable("T", roles, months, links{}).Blank; !slices.Equal(got, []string{"city"}) {
		t.Errorf("the columns without values are %q, want only city: a shown column has the heading of the other", got)
	}
	writers := rolesOf(parseResult("group_id|group_name", "W1|Ann", "W2|").Columns)
	writers[1].kind, writers[1].idColumn = "writer", "group_id"
	compare(t, "writers", []string{"Ann /explore/articles?is.writer=Ann", "W2"},
		textsOf(buildTable("T", writers[1:], parseResult("group_id|group_name", "W1|Ann", "W2|"), links{}).Rows))
	if empty, null := (columnRole{}).optionLabel(emptyText), (columnRole{}).optionLabel(notStated); empty != "empty text" || null != "not stated" {
		t.Errorf("the options of an empty text and of NULL are %q and %q, want empty text and not stated", empty, null)
	}
	typed := buildWholeTable(parseResult("outlet|outlet_id|price:DECIMAL(18,2)|currency", "|O1|5|EUR"), links{})
	compare(t, "result of typed SQL", []string{"– | O1 /explore/outlets/O1 | 5.00 | EUR"}, textsOf(typed.Rows))
}

// TestRolesOfColumns checks which columns have a selection, a currency and a total.
func TestRolesOfColumns(t *testing.T) {
	// The values of includes are lists. The sums of prices, of other figures of a group and of limits have no meaning.
	const mixed = "includes|pricing_tier|name|country|state|currency|grade|outcome|is_late:BOOLEAN|orders:BIGINT|" +
		"price:DECIMAL(18,2)|sale_total:DECIMAL(18,2)|p50_total:DECIMAL(18,2)|total_per_item:DECIMAL(18,2)|" +
		"highest_total:DECIMAL(18,2)|last_paid:DECIMAL(18,2)|budget_left:DECIMAL(18,2)|value:DECIMAL(18,2)|" +
		"delivery_days:DECIMAL(18,2)|items:DECIMAL(18,2)|margin:DECIMAL(18,2)"
	var selections, sums, amounts []string
	for _, r := range rolesOf(parseResult(mixed).Columns) {
		if r.hasSelection() {
			selections = append(selections, r.Name)
		}
		if r.summed {
			sums = append(sums, r.Name)
		}
		if r.unitColumn == "currency" {
			amounts = append(amounts, r.Name)
		}
	}
	compare(t, "columns with a selection", "pricing_tier country state currency grade outcome is_late",
		strings.Join(selections, " "))
	compare(t, "columns with a total", "sale_total margin", strings.Join(sums, " "))
	compare(t, "columns with a currency",
		"price sale_total p50_total total_per_item highest_total last_paid budget_left value margin",
		strings.Join(amounts, " "))
}

// TestDiagramOfRelations draws tables of which one references itself, one a table of another subject, and one nothing.
func TestDiagramOfRelations(t *testing.T) {
	var tables schema.Tables
	for _, name := range []string{"orders", "order_items", "order_notes", "outlets"} {
		tables = append(tables, schema.Table{Schema: "main", Table: name})
	}
	got := drawDiagram(schema.Diagram{Subject: "orders", Tables: tables, Relations: []schema.Relation{
		{From: "orders", Column: "parent_id", To: "orders", ToColumn: "id"},
		{From: "order_items", Column: "order_id", To: "orders", ToColumn: "id"},
		{From: "order_items", Column: "outlet_id", To: "outlets", ToColumn: "id"},
	}})
	compare(t, "diagram", &relationDiagram{Width: 540, Height: 90, BoxWidth: 224, BoxHeight: 26,
		Boxes: []diagramBox{{Name: "orders", X: 14, Y: 14}, {Name: "order_items", X: 302, Y: 14},
			{Name: "outlets", X: 14, Y: 50, IsOtherSubject: true}},
		Lines: []diagramLine{{"M238 21 C252 21 252 33 238 33", "orders.parent_id references orders.id"},
			{"M302 27 C270 27 270 27 238 27", "order_items.order_id references orders.id"},
			{"M302 27 C270 27 270 63 238 63", "order_items.outlet_id references outlets.id"}},
	}, got)
}

func TestTotalsOfEachCurrency(t *testing.T) {
	sold := parseResult("name|paid_total:DECIMAL(18,2)|currency", "a|1|USD", "b|2|")
	sums := &table{roles: rolesOf(sold.Columns)}
	view := &tableView{Table: buildTable("T", sums.roles, sold, links{})}
	sums.addTotals(view, []currencySums{{"", []*string{new("2")}}, {"USD", []*string{new("1")}}})
	compare(t, "totals", []string{"Total | 2.00 (no currency)", "Total | 1.00 USD"}, textsOf(view.Foot))
	if view.TotalsNote != "" {
		t.Errorf("totals in one currency each have the note %q", view.TotalsNote)
	}
}

// catalogOf returns the state and the view of a catalog address.
func catalogOf(t *testing.T, address string) (*catalogState, *catalogView) {
	t.Helper()
	params, err := url.ParseQuery(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := readCatalogState(params)
	if err != nil {
		t.Fatal(err)
	}
	return &s, &catalogView{visit: &visit{Request: &http.Request{}, params: params}, State: &s}
}

func TestHeadersOfTheCatalog(t *testing.T) {
	for address, want := range map[string]map[string]string{
		"": {"name": "?sort=name", "ranking": "?sort=-ranking", "price": "?sort=price", "tier": "",
			"authority": "?sort=authority descending",
			"created":   "?sort=-created", "outlet": "?sort=outlet"},
		"sort=name&page=3":          {"name": "?sort=-name ascending", "authority": "?sort=-authority"},
		"currency=USD&currency=EUR": {"price": "", "days": "?currency=USD&currency=EUR&sort=days"},
	} {
		_, view := catalogOf(t, address)
		got := map[string]string{}
		for key := range want {
			column, _ := findColumn(key)
			h := view.head(column)
			got[key] = strings.TrimSpace(h.Link + " " + h.Sorted)
		}
		compare(t, "headers of "+address, want, got)
	}
	var numeric []string
	for _, c := range catalogColumns() {
		if _, view := catalogOf(t, ""); view.head(c).Numeric {
			numeric = append(numeric, c.key)
		}
	}
	compare(t, "columns that are aligned to the right", []string{"price", "authority", "ranking", "days"}, numeric)
}

// TestFormOfTheCatalog compares the check boxes of columns and the fields of the ranges.
func TestFormOfTheCatalog(t *testing.T) {
	for address, want := range map[string]string{
		"":                  "price, tier, outlet, authority, dofollow, days, country, channel, placement, website",
		"col=city&col=name": "city",
	} {
		_, view := catalogOf(t, address)
		view.addForm(counts{})
		var chosen []string
		for _, c := range view.Columns {
			if c.Chosen {
				chosen = append(chosen, c.Value)
			}
		}
		compare(t, "chosen columns of "+address, want, strings.Join(chosen, ", "))
		if n := len(view.Columns); n != len(catalogColumns())-1 {
			t.Errorf("the form has %d columns, want all but the first", n)
		}
	}
	_, view := catalogOf(t, "price_max=9&authority_min=40&days_min=2&days_max=5")
	view.addForm(counts{})
	compare(t, "ranges", []rangeView{
		{Label: "Price", MinKey: "price_min", MaxKey: "price_max", Max: "9"},
		{Label: "Domain authority", MinKey: "authority_min", MaxKey: "authority_max", Min: "40"},
		{Label: "Domain ranking", MinKey: "ranking_min", MaxKey: "ranking_max"},
		{Label: "Maximum delivery days", MinKey: "days_min", MaxKey: "days_max", Min: "2", Max: "5"},
	}, view.Ranges)
}

func TestChipsOfTheCatalog(t *testing.T) {
	_, view := catalogOf(t,
		"q=news&country=(empty)&currency=USD&price_min=+5&price_max=9&sort=-price&tier=black_friday"+
			"&page=2&dofollow=true&state=")
	want := map[string]string{
		"Search: news": "?country=%28empty%29&currency=USD&dofollow=true&price_max=9&price_min=+5&sort=-price" +
			"&tier=black_friday",
		"Country: empty text": "?currency=USD&dofollow=true&price_max=9&price_min=+5&q=news&sort=-price" +
			"&tier=black_friday",
		"Do-follow: yes": "?country=%28empty%29&currency=USD&price_max=9&price_min=+5&q=news&sort=-price&tier=black_friday",
		"Pricing tier: Black friday": "?country=%28empty%29&currency=USD&dofollow=true&price_max=9&price_min=+5&q=news" +
			"&sort=-price",
		// Without a currency, prices cannot be compared.
		"Currency: USD": "?country=%28empty%29&dofollow=true&q=news&tier=black_friday",
		"Price from 5 to 9": "?country=%28empty%29&currency=USD&dofollow=true&q=news&sort=-price" +
			"&tier=black_friday",
	}
	got := map[string]string{}
	for _, c := range view.chips() {
		got[c.Text] = c.Link
	}
	compare(t, "chips", want, got)
}

func TestTooManyChoicesAreRefused(t *testing.T) {
	tags := url.Values{}
	for i := range maxChoices + 1 {
		tags.Add("tag", fmt.Sprint(i))
	}
	if _, err := readCatalogState(tags); err == nil || !strings.Contains(err.Error(), "more than 200 choices") {
		t.Errorf("%d tags: got %v, want an error", len(tags["tag"]), err)
	}
}

func TestCellsOfTheCatalog(t *testing.T) {
	columns := "id|name|min_delivery_days:BIGINT|max_delivery_days:BIGINT|website_url|created_at:TIMESTAMPTZ"
	for want, row := range map[string]string{
		"Post /explore/listings/a | – | – | 2–5 | example.com | 2026-11-01 02:00": "a|Post|2|5|https://www.example.com/x|2026-11-01T02:00:00Z",
		"a /explore/listings/a | – | – | 3 | – | –":                               "a||3|3||",
		"a /explore/listings/a | – | – | 2–– | ftp://x | –":                       "a||2||ftp://x|",
	} {
		cells := cellsOf(t, "col=name&col=price&col=tier&col=days&col=website&col=created", parseResult(columns, row))
		compare(t, "cells", []string{want}, textsOf([]html.Row{{Cells: cells}}))
	}
	const twoCurrencies = `[{"currency":"EUR","price":9,"tier":"pro"},{"currency":"USD","price":8,"tier":"pro"}]`
	for address, want := range map[string]string{"col=tier": "x /explore/listings/a | Pro", "col=tier&col=price": "x /explore/listings/a | 9.00 EUR\n8.00 USD | Pro\nPro"} {
		cells := cellsOf(t, address, parseResult("id|name|prices", "a|x|"+twoCurrencies))
		compare(t, "cells of two currencies", []string{want}, textsOf([]html.Row{{Cells: cells}}))
	}
}

// cellsOf returns the cells of the first row of a page.
func cellsOf(t *testing.T, address string, page query.Result) []html.Cell {
	t.Helper()
	_, view := catalogOf(t, address)
	if err := view.addTable(page, 1); err != nil {
		t.Fatal(err)
	}
	return view.Table.Rows[0].Cells
}

// TestCellsOfAListing compares the cells of all columns of the catalog.
func TestCellsOfAListing(t *testing.T) {
	page := parseResult("id|name|outlet_id|outlet_name|domain_authority:BIGINT|domain_ranking:BIGINT|is_do_follow:BOOLEAN|"+
		"disclaimer|min_delivery_days:BIGINT|max_delivery_days:BIGINT|country|state|city|channel_type|placement_type|"+
		"website_url|tags|created_at:TIMESTAMPTZ|prices",
		"a|Post|o1|Morning News|1234|5678|true|SPONSORED_POST|2|5|Spain|Ohio|Rome|LINKEDIN|article|https://www.example.com/x|a, b|"+
			`2026-11-01T02:00:00Z|[{"currency":"EUR","price":90.125,"tier":"pro"},{"currency":null,"price":7,"tier":""}]`)
	var all []string
	for _, c := range catalogColumns() {
		all = append(all, "col="+c.key)
	}
	compare(t, "cells", []html.Cell{
		{Text: "Post", Class: "s", Link: "/explore/listings/a"},
		{Text: "90.13 EUR\n7.00 (no currency)", Class: "n lines", Exact: "90.125 EUR\n7 (no currency)"},
		{Text: "Pro\nnot stated", Class: "lines"},
		{Text: "Morning News", Class: "s", Link: "/explore/outlets/o1"},
		{Text: "1,234", Class: "n"}, {Text: "5,678", Class: "n"}, {Text: "yes"}, {Text: "SPONSORED_POST", Class: "s"},
		{Text: "2–5", Class: "n"}, {Text: "Spain", Class: "s"}, {Text: "Ohio", Class: "s"}, {Text: "Rome", Class: "s"},
		{Text: "LinkedIn", Class: "s", Exact: "LINKEDIN"}, {Text: "Article", Class: "s", Exact: "article"},
		{Text: "example.com", Class: "host", Exact: "https://www.example.com/x", Address: "https://www.example.com/x"},
		{Text: "a, b", Class: "s"}, {Text: "2026-11-01 02:00", Class: "t", Exact: "2026-11-01T02:00:00Z"},
	}, cellsOf(t, strings.Join(all, "&"), page))
}

// TestCellsOfResults compares the cells of columns of all types.
func TestCellsOfResults(t *testing.T) {
	long := strings.Repeat("a", maxCellText+1)
	for column, values := range map[string]map[string]html.Cell{
		"is_late:BOOLEAN": {"true": {Text: "yes"}, "": {Text: "–", Class: "none"}},
		"paid_at:TIMESTAMPTZ": {"2026-11-01T02:00:00Z": {Text: "2026-11-01 02:00", Class: "t",
			Exact: "2026-11-01T02:00:00Z"}},
		"month:DATE":                  {"2026-11-01": {Text: "2026-11", Class: "t", Exact: "2026-11-01"}},
		"day:DATE":                    {"2026-11-01": {Text: "2026-11-01", Class: "t"}},
		"orders:BIGINT":               {"1234": {Text: "1,234", Class: "n"}, "": {Text: "–", Class: "n none"}},
		"total:DECIMAL(18,6)":         {"1.255": {Text: "1.26", Class: "n", Exact: "1.255"}},
		"share_percent:DECIMAL(18,6)": {"1.255": {Text: "1.255", Class: "n"}},
		"status": {"on_hold": {Text: "On hold", Class: "s", Exact: "on_hold"}, "Paid": {Text: "Paid",
			Class: "s"}},
		"pricing_tier": {"true": {Text: "yes", Class: "s", Exact: "true"}},
		"promise": {"kept": html.TagCell("kept"), "past its promise": {Text: "past its promise",
			Tag: "bad"}},
		"name": {"on_hold": {Text: "on_hold", Class: "s"}, "R-1": {Text: "R-1", Class: "code"},
			"A text of twenty-four bytes"[:24]: {Text: "A text of twenty-four by", Class: "s"},
			"A text of twenty-five bytes"[:25]: {Text: "A text of twenty-five byt", Class: "w"},
			long:                               {Text: long[1:] + "…", Class: "w"}},
		"live_url":      {"https://a.example/x": {Text: "https://a.example/x", Class: "s", Address: "https://a.example/x"}},
		"email_address": {"https://a.example/x": {Text: "https://a.example/x", Class: "s", Address: "https://a.example/x"}},
		"checkout_link": {"https://a.example/x": {Text: "https://a.example/x", Class: "s", Address: "https://a.example/x"}},
		"website": {"https://a.example/x": {Text: "a.example", Class: "host", Exact: "https://a.example/x",
			Address: "https://a.example/x"}},
	} {
		role := rolesOf(parseResult(column).Columns)[0]
		for text, want := range values {
			compare(t, column+" "+text, want, role.buildCell(query.Value{Text: text, Null: text == ""}))
		}
	}
}

func TestFacetsShowTheChosenValuesFirst(t *testing.T) {
	s, _ := catalogOf(t, "tag=rare&tag=t3&tag=t3")
	c := counts{Facets: map[string][]count{}}
	for i := range maxValues {
		c.Facets["tag"] = append(c.Facets["tag"], count{choice{Text: "t" + string(rune('0'+i%10)) + strings.Repeat("x", i/10)}, int64(200 - i)})
	}
	f := facet{key: "tag", label: "Tag"}
	view := s.viewFacet(f, c)
	var first []string
	for _, v := range view.Values {
		first = append(first, v.Label)
	}
	compare(t, "first values", []string{"t3", "rare", "t0", "t1", "t2", "t4", "t5", "t6"}, first)
	if len(view.More) != maxValues+1-len(first) || !view.Cut || !view.Values[1].Chosen || view.Values[1].N != 0 {
		t.Errorf("got %d more values, rarer ones left out: %t, the value without a count %+v, want all others, and a chosen value with the count 0",
			len(view.More), view.Cut, view.Values[1])
	}
	c.Facets["tag"] = c.Facets["tag"][:maxValues-1]
	if s.viewFacet(f, c).Cut {
		t.Errorf("the facet has %d values, want no note on rarer ones", maxValues-1)
	}
}

// TestPricesHaveACurrencyEach builds the charts of two currencies, with a gap, an unknown amount and two prices of a tier.
func TestPricesHaveACurrencyEach(t *testing.T) {
	const begin = "tier|currency|nth|amount|valid_from|valid_to"
	records := parseResult(begin,
		"pro|EUR|1|90|2026-11-01T02:00:00Z|2026-11-02T02:00:00Z", "pro|EUR|1|95|2026-11-03T02:00:00Z|", "pro|EUR|2||2026-11-01T02:00:00Z|", "||1|7|2026-11-01T02:00:00Z|2026-11-02T02:00:00Z").Rows
	views := buildPrices(records, at(4))
	type drawn struct {
		Currency, More string
		Names          []string
		Series         []html.Series
	}
	var got []drawn
	for _, v := range views {
		d := drawn{Currency: v.Currency, More: v.More}
		for _, row := range v.Rows {
			d.Names = append(d.Names,
				strings.TrimSpace(row.Tier+": "+row.Now.Value.Text+" "+row.Now.Value.Unit+" "+row.Now.Till))
		}
		d.Series = v.Chart.Variants[0].Series
		got = append(got, d)
	}
	compare(t, "prices", []drawn{
		{"EUR", "", []string{"Pro: 95.00 EUR", "Pro #2: –"}, []html.Series{
			{Name: "Pro", Values: []any{90.0, 90.0, nil, 95.0, 95.0}, Times: []time.Time{at(1), at(2), at(2), at(3), at(4)},
				Texts: []string{"90.00 EUR from 2026-11-01 02:00", "", "", "95.00 EUR from 2026-11-03 02:00", ""}},
			{Name: "Pro #2", Colour: 1, Values: []any{nil, nil}, Times: []time.Time{at(1), at(4)},
				Texts: []string{" EUR from 2026-11-01 02:00", ""}},
		}},
		{"(no currency)", "", []string{"(no tier): 7.00 (no currency) 2026-11-02 02:00"}, []html.Series{
			{Name: "(no tier)", Values: []any{7.0, 7.0, nil}, Times: []time.Time{at(1), at(2), at(2)},
				Texts: []string{"7.00 (no currency) from 2026-11-01 02:00", "", ""}},
		}},
	}, got)
	if views := buildPrices(parseResult(begin, "pro|EUR|1|90|2026-11-04T02:00:00Z|").Rows, at(4)); views[0].Chart != nil {
		t.Error("a price that began with the snapshot has a chart, want none")
	}
	lines := []string{begin}
	for i := range html.MaxSeries + 1 {
		lines = append(lines, "t"+string(rune('0'+i))+"|EUR|1|5|2026-11-01T02:00:00Z|")
	}
	v := buildPrices(parseResult(lines...).Rows, at(4))[0]
	if n := len(v.Chart.Variants[0].Series); n != html.MaxSeries || v.More != "The chart shows the first 8 of 9 prices." || len(v.Rows) != 9 {
		t.Errorf("got %d series, %d rows and the note %q, want 8, 9 and a note", n, len(v.Rows), v.More)
	}
}

func TestPeriodsShowCurrentValuesFirst(t *testing.T) {
	result := parseResult("tag|valid_from|valid_to", "a|2026-11-01T02:00:00Z|2026-11-02T02:00:00Z", "b|2026-11-01T02:00:00Z|")
	var got []string
	for _, p := range buildPeriods(result) {
		got = append(got, p.Value.Text)
	}
	compare(t, "periods", []string{"b", "a"}, got)
}

// TestPartsOfJSON splits versions of a field in which an object is NULL, and in which it is another value.
func TestPartsOfJSON(t *testing.T) {
	for name, c := range map[string]struct{ versions, want []string }{
		"a member of all versions": {[]string{`{"a":1}`, "", `{"a":null,"b":[]}`}, []string{"F: a", "F: b"}},
		"no object in a version":   {[]string{`{"a":1}`, `"x"`}, []string{"F"}},
	} {
		var versions []json.RawMessage
		for _, text := range c.versions {
			versions = append(versions, json.RawMessage(text))
		}
		var labels []string
		for _, p := range partsOfJSON("F", versions) {
			labels = append(labels, p.label)
		}
		compare(t, name, c.want, labels)
	}
	for text, want := range map[string]query.Value{
		`null`: {Null: true}, ``: {Null: true}, `true`: {Text: "yes"}, `false`: {Text: "no"},
		`[1.50, "a", null]`: {Text: "1.50, a, unknown"}, `[[1]]`: {Text: "1 item"}, `{"a":1}`: {Text: "1 member"},
	} {
		compare(t, "value of "+text, want, describeJSON([]byte(text)))
	}
}

// TestChartsOfResults draws the charts of results, or gives the reason why a result has no chart.
func TestChartsOfResults(t *testing.T) {
	var groups, names []string
	for i := range html.MaxSeries + 1 {
		groups = append(groups, fmt.Sprintf("2026-11-0%d|g%d|1", i+1, i))
		names = append(names, fmt.Sprintf("n%d|%d", i, i-1))
	}
	months := []string{"2026-01-01|1", "2026-03-01|2"}
	weeks := []string{"2026-10-26|1", "2026-11-02|2"}
	for name, c := range map[string]struct {
		columns string
		rows    []string
		chart   query.Chart
		total   int64
		at      string // of the snapshot
		zone    string
		want    string
	}{
		"one currency": {"month:DATE|paid_total:DECIMAL(18,2)|currency", []string{"2026-01-01|1|USD", "2026-02-01|2|USD"}, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"paid_total"}},
			0, "", "", "USD: [2026-01 2026-02] = [1 2]"},
		"a series for each currency": {"month:DATE|paid_total:DECIMAL(18,2)|currency", []string{"2026-01-01|1|USD", "2026-02-01|2|EUR"},
			query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"paid_total"}, By: []string{"currency"}}, 0, "", "", ": [2026-01 2026-02] USD= [1 <nil>] EUR= [<nil> 2]"},
		"several currencies": {"month:DATE|paid_total:DECIMAL(18,2)|currency", []string{"2026-01-01|1|USD", "2026-02-01|2|EUR"}, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"paid_total"}},
			0, "", "", "No chart: the result has several currencies. Choose one."},
		"two columns": {"month:DATE|started:BIGINT|published:BIGINT", []string{"2026-01-01|1|2", "2026-03-01|3|4"}, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"started", "published"}},
			0, "", "", ": [2026-01 2026-02 2026-03] Started= [1 <nil> 3] Published= [2 <nil> 4]"},
		"rows of the same month are added up, and a row without a month is left out": {"month:DATE|outlet|orders:BIGINT",
			[]string{"2026-08-01|a|10", "2026-08-01|b|5", "2026-10-01|a|0", "|a|99"},
			query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 0, "", "", ": [2026-08 2026-09 2026-10] = [15 <nil> 0]"},
		"only zeros": {"month:DATE|paid_total:DECIMAL(18,2)|currency", []string{"2026-01-01|0|USD", "2026-02-01|0|USD"},
			query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"paid_total"}}, 0, "", "", "No chart: paid total has no value other than 0."},
		"a column that the result lacks": {"month:DATE", []string{"2026-08-01"}, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 0, "", "",
			`No chart: the result has no column "orders".`},
		"too many groups": {"day:DATE|name|orders:BIGINT", groups, query.Chart{Kind: query.ChartLines, X: "day", Y: []string{"orders"}, By: []string{"name"}},
			0, "", "", "No chart: the result has more than 8 groups. Filter it."},
		"more rows than were read": {"month:DATE|orders:BIGINT", months, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 3, "", "", "No chart: the result has too many rows. Filter it."},
		"one date":                 {"month:DATE|orders:BIGINT", months[:1], query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 0, "", "", "No chart: the result has fewer than 2 or more than 400 dates."},
		"negative values": {"name|orders:BIGINT", names, query.Chart{Kind: query.ChartBars, X: "name", Y: []string{"orders"}}, 0, "", "",
			"No bars in the table: orders has negative values."},
		"bars of names": {"name|orders:BIGINT", []string{"a|1", "b|4", "c|", "d|0"},
			query.Chart{Kind: query.ChartBars, X: "name", Y: []string{"orders"}}, 0, "", "", " 25.00% 100.00%  0.00%"},
		"lines of names": {"name|orders:BIGINT", names[1:], query.Chart{Kind: query.ChartLines, X: "name", Y: []string{"orders"}}, 0, "", "", "No chart: name is neither a date nor a month."},
		"steps to the snapshot": {"changed_at:TIMESTAMPTZ|price:BIGINT|tier",
			[]string{"2026-11-01T02:00:00Z|1|pro", "2026-11-03T02:00:00Z|2|pro", "2026-11-01T02:00:00Z|5|old", "2026-11-02T02:00:00Z||old",
				"2026-11-03T02:00:00Z||pro"}, // the end of an earlier value at the time at which the next one begins
			query.Chart{Kind: query.ChartSteps, X: "changed_at", Y: []string{"price"}, By: []string{"tier"}}, 0, "2026-11-04T02:00:00Z", "",
			": [] Pro= [1 2 2] Old= [5 5 <nil>]"},
		"bars by time": {"at:TIMESTAMPTZ|orders:BIGINT", []string{"2026-11-01T02:00:00Z|1", "2026-11-01T14:00:00Z|2"},
			query.Chart{Kind: query.ChartBars, X: "at", Y: []string{"orders"}}, 0, "", "", ": [2026-11-01 02:00 2026-11-01 14:00] = [1 2]"},
		"the week of the snapshot": {"week:DATE|orders:BIGINT", weeks, query.Chart{Kind: query.ChartLines, X: "week", Y: []string{"orders"}}, 0, "2026-11-08T23:00:00Z", "", ": [2026-10-26 2026-11-02 so far] = [1 2]"},
		"an earlier week":          {"week:DATE|orders:BIGINT", weeks, query.Chart{Kind: query.ChartLines, X: "week", Y: []string{"orders"}}, 0, "2026-11-09T00:00:00Z", "", ": [2026-10-26 2026-11-02] = [1 2]"},
		"the next month on the clock of the query": {"month:DATE|orders:BIGINT", months, query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 0, "2026-02-28T23:30:00Z", "Europe/Berlin",
			": [2026-01 2026-02 2026-03 so far] = [1 <nil> 2]"},
		"the next month on the clock of the schedule": {"month:DATE|orders:BIGINT", months,
			query.Chart{Kind: query.ChartBars, X: "month", Y: []string{"orders"}}, 0, "2026-02-28T23:30:00Z",
			query.ScheduleTimezone, ": [2026-01 2026-02 2026-03 so far] = [1 <nil> 2]"},
	} {
		result := parseResult(append([]string{c.columns}, c.rows...)...)
		if c.total > 0 {
			result.Total = c.total
		}
		snapshot := &openSnapshot{At: at(30).AddDate(1, 0, 0)}
		if c.at != "" {
			snapshot.At, _ = time.Parse(time.RFC3339, c.at)
		}
		settings := query.Settings{query.ScheduleTimezone: "Europe/Berlin"}
		q := &question{visit: &visit{params: url.Values{}, snapshot: snapshot, explorer: &Explorer{cfg: Config{Settings: settings}}},
			values: map[string]string{"timezone": c.zone}}
		if c.zone == "" {
			q.values["timezone"] = "UTC"
		}
		q.view.Query.Chart = &c.chart
		q.view.Table = &tableView{Table: buildTable("T", rolesOf(result.Columns), result, links{})}
		q.addChart(result, result.Rows)
		got := q.view.NoChartReason
		if got == "" && q.view.Chart == nil {
			for _, row := range q.view.Table.Rows {
				got += " " + row.Cells[1].Bar
			}
		}
		if q.view.Chart != nil {
			v := q.view.Chart.Variants[0]
			got += fmt.Sprintf("%s: %v", q.view.Chart.Unit, v.Categories)
			for i, s := range v.Series {
				got += fmt.Sprintf(" %s= %v", s.Name, s.Values)
				if s.Colour != i {
					t.Errorf("%s: the series %d has the color %d, want a color of its own", name, i, s.Colour)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestEndOfSteps draws steps up to the snapshot, and up to the day that the parameter "until" states. If the table is
// filtered, a change after the last row can be missing.
func TestEndOfSteps(t *testing.T) {
	result := parseResult("changed_at:TIMESTAMPTZ|price:BIGINT", "2026-11-01T02:00:00Z|1", "2026-11-03T02:00:00Z|2")
	untilDay := time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		until string
		chips []chip
		end   []time.Time
	}{
		"the snapshot":             {end: []time.Time{at(9)}},
		"a day":                    {until: "2026-11-05", end: []time.Time{untilDay}},
		"a day after the snapshot": {until: "2026-12-01", end: []time.Time{at(9)}},
		"a filtered table":         {chips: []chip{{}}},
	} {
		q := &question{visit: &visit{params: url.Values{}, snapshot: &openSnapshot{At: at(9)}, explorer: &Explorer{}},
			values: map[string]string{"until": c.until}}
		q.view.Query.Name = "prices"
		q.view.Query.Chart = &query.Chart{Kind: query.ChartSteps, X: "changed_at", Y: []string{"price"}}
		q.view.Table = &tableView{Table: buildTable("T", rolesOf(result.Columns), result, links{}), Chips: c.chips}
		q.addChart(result, result.Rows)
		want := html.Series{Values: []any{1.0, 2.0}, Texts: []string{"2026-11-01 02:00: 1", "2026-11-03 02:00: 2"},
			Links: []string{"?max.changed_at=2026-11-01&min.changed_at=2026-11-01#table",
				"?max.changed_at=2026-11-03&min.changed_at=2026-11-03#table"}, Times: append([]time.Time{at(1), at(3)}, c.end...)}
		for range c.end {
			want.Values, want.Texts, want.Links = append(want.Values, 2.0), append(want.Texts, ""), append(want.Links, "")
		}
		compare(t, "steps up to "+name, []html.Series{want}, q.view.Chart.Variants[0].Series)
	}
}
