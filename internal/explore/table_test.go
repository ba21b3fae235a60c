package explore_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
)

// ordersList is a query for the list of orders, written independently of the statements of the program.
const ordersList = `SELECT o.id AS order_id, p.name AS profile, o.status, o.created_at AS ordered, o.date_paid AS paid, o.total
	FROM main.orders AS o LEFT JOIN main.profiles AS p ON p.id = o.profile_id`

var orderLinkPattern = regexp.MustCompile(`<td[^>]*><a href="/explore/orders/([^"?]*)">`)

// orderIDs returns the ids of the orders on a page.
func orderIDs(body string) []string {
	ids := []string{}
	for _, m := range orderLinkPattern.FindAllStringSubmatch(body, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// testTablesAreSorted reads all pages of the orders, and sorts the orders by each column in both directions. Rows with
// equal values must be in the default order of the list.
func testTablesAreSorted(t *testing.T, s *site) {
	const defaultOrder = "ordered DESC NULLS LAST, order_id"
	sorted := func(orderBy string) []string {
		return column(s.sql(t, "SELECT order_id FROM ("+ordersList+") ORDER BY "+orderBy), 0)
	}
	var pages []string
	for _, page := range []string{"1", "2", "3"} {
		pages = append(pages, orderIDs(s.get(t, "/orders?page="+page, http.StatusOK))...)
	}
	if diff := cmp.Diff(sorted(defaultOrder), pages); diff != "" {
		t.Errorf("the rows of the pages are sorted differently (-SQL +pages):\n%s", diff)
	}
	for key, expression := range map[string]string{"order": "coalesce((SELECT reference_number FROM main.orders AS n WHERE n.id = order_id), order_id)",
		"profile": "profile", "status": "status", "ordered": "ordered", "paid": "paid", "total": "total"} {
		for sign, direction := range map[string]string{"": "", "-": " DESC"} {
			want := sorted(expression + direction + " NULLS LAST, " + defaultOrder)
			if diff := cmp.Diff(want[:100], orderIDs(s.get(t, "/orders?sort="+sign+key, http.StatusOK))); diff != "" {
				t.Errorf("%s%s: the rows of the page are sorted differently (-SQL +page):\n%s", sign, key, diff)
			}
			if diff := cmp.Diff(want, column(s.csv(t, "/orders.csv?sort="+sign+key), 1)); diff != "" {
				t.Errorf("%s%s: the rows of the CSV are sorted differently (-SQL +CSV):\n%s", sign, key, diff)
			}
		}
	}
}

// tableFilters maps parameters of the list of orders to equivalent SQL conditions on ordersList.
func tableFilters() map[string]string {
	return map[string]string{
		"":                      "true",
		"q=po-1":                "order_id IN (SELECT id FROM main.orders WHERE contains(lower(reference_number), 'po-1'))",
		"q=SOMEONE17%40":        "order_id = 'R17'",
		"q=acme+paid":           "profile = 'Acme' AND status = 'paid'",
		"q=it%27s+%22quoted%22": `profile = 'it''s "quoted" %'`,
		"q=%25":                 `profile = 'it''s "quoted" %'`,
		"q=nothing":             "false",
		"is.status=paid":        "status = 'paid'",
		"is.status=pending_payment&is.profile=Acme": "status = 'pending_payment' AND profile = 'Acme'",
		"is.status=(none)":                          "status IS NULL",
		"is.status=%27%29+OR+true+--":               "false",
		"is.profile=it%27s+%22quoted%22+%25":        `profile = 'it''s "quoted" %'`,
		"min.paid=2026-09-10":                       "paid >= TIMESTAMPTZ '2026-09-10 00:00:00+00'",
		"max.paid=2026-09-10":                       "paid < TIMESTAMPTZ '2026-09-11 00:00:00+00'",
		"min.paid=2026-09-10&max.paid=2026-09-10":   "paid >= TIMESTAMPTZ '2026-09-10 00:00:00+00' AND paid < TIMESTAMPTZ '2026-09-11 00:00:00+00'",
		"min.total=+100.05+":                        "total >= 100.05",
		"max.total=100.05&is.status=paid":           "total <= 100.05 AND status = 'paid'",
		"min.total=-1&max.total=0":                  "total BETWEEN -1 AND 0",
		"min.paid=&is.status=&q=":                   "true",
	}
}

// testTablesAreFiltered compares the rows, the count, the total and all downloads of filtered
// orders with independent SQL.
func testTablesAreFiltered(t *testing.T, s *site) {
	for address, where := range tableFilters() {
		t.Run(address, func(t *testing.T) {
			filteredOrders := "(SELECT * FROM (" + ordersList + ") WHERE " + where + ")"
			want := column(s.sql(t, "SELECT order_id FROM "+filteredOrders+" ORDER BY ordered DESC NULLS LAST, order_id"), 0)
			body := s.get(t, "/orders?"+address, http.StatusOK)
			if diff := cmp.Diff(want[:min(len(want), 100)], orderIDs(body)); diff != "" {
				t.Errorf("the page lists different rows (-SQL +page):\n%s", diff)
			}
			if strings.Contains(textOf(body), "The first 100 of ") {
				t.Error("the page repeats its number of rows below the table")
			}
			sum := column(s.sql(t, "SELECT coalesce(printf('%,.2f', round(sum(total), 2)), '') FROM "+filteredOrders), 0)[0]
			if len(want) > 1 && sum != "" {
				wantTexts(t, body, "Total "+sum, "The service states no currency for these amounts.")
			} else if strings.Contains(body, "<tfoot") {
				t.Error("the page has a total of fewer than two amounts")
			}
			if len(want) != 1 {
				wantTexts(t, body, fmt.Sprintf(" %d rows", len(want)))
			}
			if diff := cmp.Diff(want, column(s.csv(t, "/orders.csv?"+address), 1)); diff != "" {
				t.Errorf("the CSV has different rows (-SQL +CSV):\n%s", diff)
			}
		})
	}
	const address, where = "is.status=paid&min.total=100&sort=-total", "status = 'paid' AND total >= 100"
	want := s.sql(t, "SELECT order_id, total FROM ("+ordersList+") WHERE "+where+" ORDER BY total DESC, ordered DESC, order_id")[1:]
	file := filepath.Join(t.TempDir(), "orders.xlsx")
	harness.Must(t, os.WriteFile(file, []byte(s.get(t, "/orders.xlsx?"+address, http.StatusOK)), 0o600))
	book, err := excelize.OpenFile(file, excelize.Options{RawCellValue: true})
	harness.Must(t, err)
	defer book.Close()
	rows, err := book.GetRows(book.GetSheetName(0))
	harness.Must(t, err)
	id, total := slices.Index(rows[0], "order_id"), slices.Index(rows[0], "total")
	if len(rows)-1 != len(want) {
		t.Fatalf("the Excel file has %d rows, want %d", len(rows)-1, len(want))
	}
	for i, row := range rows[1:] {
		if exact := strings.TrimRight(strings.TrimRight(want[i][1], "0"), "."); row[id] != want[i][0] || row[total] != exact {
			t.Errorf("row %d of the Excel file has %s and %s, want %v", i+1, row[id], row[total], want[i])
		}
	}
	if head := s.csv(t, "/orders.csv")[0]; slices.Contains(head, "search_text") {
		t.Errorf("the CSV has the column with the text to search: %v", head)
	}
	if data := s.get(t, "/orders.parquet?"+address, http.StatusOK); !strings.HasPrefix(data, "PAR1") || !strings.HasSuffix(data, "PAR1") {
		t.Error("the Parquet file does not begin and end with PAR1")
	}
}

// testFilterChips follows the link of each chip, and checks the link that removes all
// filters.
func testFilterChips(t *testing.T, s *site) {
	filters := url.Values{"q": {"po"}, "is.status": {"pending_payment"}, "min.paid": {"2026-09-01"}, "max.total": {"300"}}
	body := s.get(t, "/orders?sort=-total&"+filters.Encode(), http.StatusOK)
	wantTexts(t, body, "Search: po", "Status: Pending payment", "Paid from 2026-09-01", "Total to 300")
	for _, want := range []string{`<option value="paid">Paid<`, `<option value="pending_payment" selected>`,
		`<option value="(none)">not stated<`, `<input type="hidden" name="sort" value="-total">`} {
		if !strings.Contains(body, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	if strings.Contains(body, `name="is.deleted"`) {
		t.Error("the form has a selection of deleted orders, although no order is deleted")
	}
	chips := regexp.MustCompile(`class="button chip" href="([^"]*)"`).FindAllStringSubmatch(body, -1)
	if len(chips) != len(filters) {
		t.Fatalf("the page has %d chips, want %d", len(chips), len(filters))
	}
	removed := map[string]bool{}
	for _, m := range chips {
		params, err := url.ParseQuery(strings.TrimPrefix(html.UnescapeString(m[1]), "?"))
		harness.Must(t, err)
		for key := range filters {
			if !params.Has(key) {
				removed[key] = true
			}
		}
		if len(params) != len(filters) || params.Get("sort") != "-total" {
			t.Errorf("the link of a chip has the parameters %v, want sort and all filters but one", params)
		}
		s.get(t, "/orders"+html.UnescapeString(m[1]), http.StatusOK)
	}
	if len(removed) != len(filters) {
		t.Errorf("the chips remove %v, want each filter once", removed)
	}
	wantLinks(t, body, "?sort=-total")
}

// testWrongTableAddresses checks that unknown columns and invalid values are errors and are never ignored.
func testWrongTableAddresses(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"sort=secret":                   `the table has no column "secret"`,
		"sort=search_text":              `the table has no column "search_text"`,
		"is.email=x":                    `the table has no column "email"`,
		"min.paid=yesterday":            `min.paid "yesterday" is not a date`,
		"max.total=1e9":                 `max.total "1e9" is not a number`,
		"min.status=a":                  "only dates and numbers have ranges",
		"page=0":                        `Page "0" is not a number`,
		"q=%00":                         `The parameter "q" is not a text`,
		"q=" + strings.Repeat("a+", 20): "more than 12 words",
	} {
		wantTexts(t, s.get(t, "/orders?"+address, http.StatusBadRequest), want)
		if !strings.HasPrefix(address, "page") {
			s.get(t, "/orders.csv?"+address, http.StatusBadRequest)
		}
	}
	beyond := s.get(t, "/orders?page=9&sort=total&max.total=1234", http.StatusOK)
	wantTexts(t, beyond, "227 rows: this page does not exist", "Total to 1,234")
	wantLinks(t, beyond, "?max.total=1234&amp;page=3&amp;sort=total")
	wantLinks(t, s.get(t, "/orders?page=2&sort=total", http.StatusOK), "?sort=-total", "?sort=-paid", "?page=3&amp;sort=total")
	if !strings.Contains(beyond, `<details class="ranges" open>`) {
		t.Error("the ranges are folded although one of them has a value")
	}
	if body := s.get(t, "/orders?is.status=nosuch", http.StatusOK); !strings.Contains(body, `<option value="nosuch" selected>`) {
		t.Error("the selection does not show the status of the address, which no order has")
	}
}

// testQuestionTables sorts and filters the result of a named query with prices in several currencies, and
// compares the rows with independent SQL.
func testQuestionTables(t *testing.T, s *site) {
	const filteredPrices = `(SELECT l.id, pricing_tier, currency, unit_amount AS price FROM main.product_listing_prices AS p JOIN main.product_listings AS l ON l.id = product_listing_id
		WHERE l.domain_authority > 0) WHERE price <= 20 AND pricing_tier = 'pro'`
	const address = "p.top=1000&is.pricing_tier=pro&max.price=20&sort=-price"
	rows := s.csv(t, "/questions/find_placements/csv?"+address)
	id, price, currency := slices.Index(rows[0], "listing_id"), slices.Index(rows[0], "price"), slices.Index(rows[0], "currency")
	count := map[string]int{}
	previous := map[string]string{} // price by currency
	currencies := column(rows, currency)
	if diff := cmp.Diff([]string{"EUR", ""}, slices.Compact(currencies)); diff != "" {
		t.Errorf("order of the currencies (-want +got):\n%s", diff)
	}
	for _, r := range rows[1:] {
		count[r[currency]]++
		if p := previous[r[currency]]; p != "" && len(p) == len(r[price]) && p < r[price] {
			t.Errorf("listing %s with the price %s %s follows the price %s, want descending prices", r[id], r[price], r[currency], p)
		}
		previous[r[currency]] = r[price]
	}
	for _, r := range s.sql(t, "SELECT coalesce(currency, ''), count(DISTINCT id) FROM "+filteredPrices+" GROUP BY ALL")[1:] {
		if fmt.Sprint(count[r[0]]) != r[1] {
			t.Errorf("the CSV has %d listings in %q, want %s", count[r[0]], r[0], r[1])
		}
	}
	body := s.get(t, "/questions/find_placements?"+address, http.StatusOK)
	wantTexts(t, body, "Pricing tier: Pro", "Price to 20", "Full feature")
	// The parameter tier of the query already chooses the tier, so the table has a selection only for a chosen tier.
	const selection = `name="is.pricing_tier"`
	if !strings.Contains(body, `title="Sorted within each currency."`) {
		t.Error("the header of the prices does not say that they are sorted within each currency")
	}
	// More names than a selection shows are suggestions of a text field.
	history := s.get(t, "/questions/price_history", http.StatusOK)
	_, known, _ := strings.Cut(history, `<datalist id="p.name-known">`)
	if !strings.Contains(known, `<option value="Listing 7"></option>`) {
		t.Errorf("the form does not suggest the names of listings:\n%s", history)
	}
	if !strings.Contains(body, selection) || strings.Contains(s.get(t, "/questions/find_placements?p.top=5", http.StatusOK), selection) {
		t.Error("want a selection of pricing tiers only if the address chooses one")
	}
}

// testOutletNames checks that a missing name of an outlet is taken from another table, on pages and in the
// download of the catalog.
func testOutletNames(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"/questions/find_placements?p.top=1000&q=Listing+35": "Outlet 5",
		"/questions/best_value?p.top=1000&q=Listing+35":      "Outlet 5",
		"/listings/L35":               "Outlet Outlet 5",
		"/orders/R0":                  "L35 Outlet 5",
		"/listings/LX":                "Outlet Only in orders",
		"/outlets/OX":                 "Only in orders",
		"/catalog?q=only+in+orders":   "Unnamed – – Only in orders",
		"/catalog?q=unnamed&col=name": "Unnamed",
	} {
		wantTexts(t, s.get(t, address, http.StatusOK), want)
	}
	wantTexts(t, s.get(t, "/catalog?q=only+in+orders", http.StatusOK), "1 listing, 1 to 1")
	rows := s.csv(t, "/catalog.csv?q=only+in+orders&col=outlet")
	if want := [][]string{{"id", "name", "outlet_id", "outlet_name"}, {"LX", "Unnamed", "OX", "Only in orders"}}; !cmp.Equal(want, rows) {
		t.Errorf("the CSV has %v, want %v", rows, want)
	}
	if diff := cmp.Diff(rows, s.sql(t, shownStatement(t, s.get(t, "/catalog?q=only+in+orders&col=outlet", http.StatusOK)))); diff != "" {
		t.Errorf("the statement of the page returns different rows (-CSV +SQL):\n%s", diff)
	}
}

// testSectionsAreTables sorts, filters and downloads a table of a record's page.
func testSectionsAreTables(t *testing.T, s *site) {
	wantLinks(t, s.get(t, "/profiles/P0", http.StatusOK), "/explore/profiles/P0/orders", "/explore/profiles/P0/orders?sort=-total", "/explore/profiles/P0/orders?sort=status")
	const address = "is.status=paid&min.total=100&sort=-total"
	want := column(s.sql(t, "SELECT order_id FROM ("+ordersList+") WHERE profile = 'Acme' AND status = 'paid' AND total >= 100 ORDER BY total DESC, ordered DESC, order_id"), 0)
	body := s.get(t, "/profiles/P0/orders?"+address, http.StatusOK)
	if diff := cmp.Diff(want, orderIDs(body)); diff != "" {
		t.Errorf("the page lists different rows (-SQL +page):\n%s", diff)
	}
	wantTexts(t, body, "Acme Orders", "Show The service sends no currency for orders. Search", "Status: Paid")
	wantLinks(t, body, "/explore/profiles/P0")
	if diff := cmp.Diff(want, column(s.csv(t, "/profiles/P0/orders/csv?"+address), 1)); diff != "" {
		t.Errorf("the CSV has different rows (-SQL +CSV):\n%s", diff)
	}
	wantTexts(t, s.get(t, "/profiles/none/orders", http.StatusNotFound), `This snapshot has no profile with the id "none"`)
	for _, section := range []string{"goals", "none"} {
		wantTexts(t, s.get(t, "/profiles/P0/"+section, http.StatusNotFound), fmt.Sprintf("The page of a profile has no table %q", section))
	}
	wantTexts(t, s.get(t, "/profiles/P0/orders/xls", http.StatusBadRequest), "Unknown format")
}
