package explore_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// testQuestionsAreListed checks that each named query is listed. TestExtremeValuesFailNoPage opens a page of each form.
func testQuestionsAreListed(t *testing.T, s *site) {
	body := s.get(t, "/questions", http.StatusOK)
	all := query.List()
	for _, q := range all {
		wantLinks(t, body, "/explore/questions/"+q.Name)
		wantTexts(t, body, q.Title)
	}
	found := s.get(t, "/questions?q=what+is+owed", http.StatusOK)
	wantTexts(t, found, "Open payables by item or creditor")
	if strings.Contains(textOf(found), "Price by segment") {
		t.Error("a search for owed finds the prices, want only questions with this word")
	}
	wantTexts(t, s.get(t, "/questions?q=wed", http.StatusOK), "No question has all of these words.") // part of "owed"
	s.get(t, "/questions/none", http.StatusNotFound)
	var subjects []string
	for _, m := range regexp.MustCompile(`<section class="card" aria-label="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		subjects = append(subjects, m[1])
	}
	if len(subjects) < 5 || !slices.IsSorted(subjects) || len(slices.Compact(slices.Clone(subjects))) < len(subjects) {
		t.Errorf("the subjects are %v, want each once in alphabetical order", subjects)
	}
	wantLinks(t, s.get(t, "/questions?q=owed&as_of=2026-11-02", http.StatusOK), "/explore/questions?as_of=2026-11-02",
		"/explore/questions/payables_open?as_of=2026-11-02")
	wantTexts(t, s.get(t, "/questions/price_by_segment", http.StatusOK),
		"Price by segment Prices of placements by segment. About the numbers Quartiles",
		"form a segment of their own. One row per country, channel type, placement type, pricing tier and currency.")
	if body := s.get(t, "/questions/margins", http.StatusOK); !strings.Contains(body, `value="UTC"`) || strings.Contains(body, `value="schedule.timezone"`) {
		t.Error("the form does not show the time zone of the schedule")
	}
	if body := s.get(t, "/questions/campaigns_at_risk", http.StatusOK); !strings.Contains(body, `value="completed,cancelled,canceled,archived"`) {
		t.Error("the form does not show the configured statuses of ended campaigns")
	}
	wantTexts(t, s.get(t, "/questions/price_history?p.name=guest", http.StatusOK),
		`name: "guest" stands for "Guest post".`)
	// The snapshot is of 3 November.
	wantLinks(t, s.get(t, "/questions/client_spend?p.by=month", http.StatusOK), "?p.by=month&amp;p.since=2026-10-28", "?p.by=month&amp;p.since=2026-11-01",
		"?p.by=month&amp;p.since=2026-10-01&amp;p.until=2026-11-01")
	if body := s.get(t, "/questions/client_spend?p.since=2026-10", http.StatusOK); !strings.Contains(body, `value="2026-10-01"`) {
		t.Error("the form does not show the first day of the given month")
	}
	for path, want := range map[string]string{
		"client_spend":                               `<input type="date" id="p.since" name="p.since" value="" placeholder="any"`,
		"client_spend?p.until=x":                     `<input id="p.until" name="p.until" value="x" placeholder="any"`,
		"client_spend?p.by=month&p.since=2026-11-01": `?p.by=month&amp;p.since=2026-11-01" aria-current="true">This month</a>`,
		"margins":             `<datalist id="p.timezone-known"><option value="UTC"></option></datalist>`,
		"campaigns_at_risk":   `<div class="field wide">`,
		"orders_open?p.top=3": `<details class="ranges" open>`,
		"orders_open":         `<details class="ranges"><summary>`,
		// Dates relative to the snapshot are dates, and a name that contains the given words replaces them.
		"price_changes":              `name="p.since" data-default="2026-10-27" value="2026-10-27"`,
		"price_history?p.name=guest": `<option value="Guest post" selected>`,
		"client_spend?p.by=month&p.since=2026-11-01&p.until=2026-11-05": `?p.by=month&amp;p.since=2026-11-01">This month</a>`,
	} {
		res, body, err := s.fetch(t.Context(), "/questions/"+path)
		harness.Must(t, err)
		if !strings.Contains(body, want) {
			t.Errorf("%s: the page (%s) lacks %s", path, res.Status, want)
		}
	}
	// The column "value" has the name and the values of the column that the parameter chooses.
	wantTexts(t, s.get(t, "/questions/premium?p.min_prices=1&p.currency=USD", http.StatusOK),
		"Pricing tier Do-follow Prices Median price Median of all prices Premium, %", "Pro yes 1")
	choices := s.get(t, "/questions/placements_for_budget", http.StatusOK)
	for _, want := range []string{`"price_per_point" selected>Price per point<`, `"true" selected>yes<`, `"false">no<`, `"pro">Pro<`} {
		if !strings.Contains(choices, "<option value="+want) {
			t.Errorf("the form lacks the option %s", want)
		}
	}
}

// testQuestionResult compares the CSV and the table of a named query with independent SQL.
func testQuestionResult(t *testing.T, s *site) {
	const address = "/questions/price_by_segment?p.currency=USD&p.min_listings=1"
	want := s.sql(t, `SELECT l.country, l.channel_type, l.placement_type, p.pricing_tier, p.currency, count(DISTINCT l.id), min(unit_amount)::DECIMAL(18,2)
		FROM product_listings l JOIN product_listing_prices p ON p.product_listing_id = l.id WHERE p.currency = 'USD' AND unit_amount IS NOT NULL GROUP BY ALL ORDER BY ALL`)
	got := s.csv(t, strings.Replace(address, "?", "/csv?", 1))
	for i := range got {
		got[i] = got[i][:7] // the columns that the SQL above computes
	}
	if diff := cmp.Diff(want[1:], got[1:]); diff != "" {
		t.Errorf("the CSV differs from the SQL (-want +got):\n%s", diff)
	}
	dearestFirst := column(s.csv(t, strings.Replace(address, "?", "/csv?sort=-min_price&", 1)), 6)
	if diff := cmp.Diff([]string{"300.25", "200.00", "100.00", "80.50"}, dearestFirst); diff != "" {
		t.Errorf("the lowest prices of the sorted CSV (-want +got):\n%s", diff)
	}
	body := s.get(t, address, http.StatusOK)
	if rows := strings.Count(body, "<tr>") - 1; rows != len(want)-1 {
		t.Errorf("the page has %d rows, want %d", rows, len(want)-1)
	}
	wantTexts(t, body, "4 rows", "United States Website Article Pro 1 80.50 USD 80.50 USD", "placementsync query price_by_segment --param currency=USD --param min_listings=1")
	if strings.Contains(textOf(body), "EUR") && strings.Contains(body, "<td>EUR") {
		t.Error("the page has prices in EUR, want only USD as in the parameter")
	}
	unknown := s.get(t, "/questions/price_by_segment?p.currency=USX", http.StatusOK)
	wantTexts(t, unknown, `the data has no value "USX"`)
	if !strings.Contains(unknown, `<option value="USX" selected>`) {
		t.Error("the selection does not show the given currency, which the data does not have")
	}
	for _, address := range []string{"/questions/find_placements?p.top=1", "/questions/find_placements?p.top=1&q=nosuch"} {
		body := s.get(t, address, http.StatusOK)
		wantTexts(t, body, "There may be more rows: the parameter top is 1 (maximum number of rows).")
		if !strings.Contains(body, `<details class="ranges" open>`) {
			t.Errorf("%s: the parameter top is folded, although it is not its default", address)
		}
	}
	if body := textOf(s.get(t, "/questions/find_placements", http.StatusOK)); !strings.Contains(body, "80.50 USD") || strings.Contains(body, "Total ") {
		t.Errorf("the page of placements adds the prices of listings to a total, or shows none:\n%s", body)
	}
}

// testFiles checks the names of files and sheets, and the option to leave out the byte order mark.
func testFiles(t *testing.T, s *site) {
	for address, want := range map[string]struct{ file, sheet string }{
		"/orders.xlsx": {"orders-2026-11-03.xlsx", "Orders"}, "/questions/margins/xlsx": {"margins-2026-11-03.xlsx", "Sales and margin"},
		"/orders/R1/items/xlsx":                     {"order_items-2026-11-03.xlsx", "Sold items and commissions"},
		"/catalog.xlsx":                             {"catalog-2026-11-03.xlsx", "Listings"},
		"/questions/margins/xlsx?as_of=" + firstRun: {"margins-2026-11-01.xlsx", "Sales and margin"},
	} {
		res, body, err := s.fetch(t.Context(), address)
		harness.Must(t, err)
		book, err := excelize.OpenReader(strings.NewReader(body))
		harness.Must(t, err)
		if got := res.Header.Get("Content-Disposition"); got != fmt.Sprintf("attachment; filename=%q", want.file) || book.GetSheetList()[0] != want.sheet {
			t.Errorf("%s: got %s with the sheets %q, want %s and %s", address, got, book.GetSheetList(), want.file, want.sheet)
		}
	}
	if text := s.get(t, "/orders.csv?bom=no", http.StatusOK); strings.HasPrefix(text, "\ufeff") {
		t.Error("with bom=no the file begins with a byte order mark")
	}
}

// testWrongParameters checks that the form keeps wrong values and shows the mistakes.
func testWrongParameters(t *testing.T, s *site) {
	body := s.get(t, "/questions/price_by_segment?p.min_listings=few&p.currency=%3Cb%3E", http.StatusBadRequest)
	wantTexts(t, body, "The query was not run: a parameter is invalid.", `Minimum listings`, `"few" is not a whole number from 0 on`)
	if !strings.Contains(body, `value="few"`) || !strings.Contains(body, `aria-invalid="true"`) || strings.Contains(body, "<b>") {
		t.Errorf("the form lacks the given values:\n%s", body)
	}
	wantTexts(t, s.get(t, "/questions/price_by_segment?p.colour=red", http.StatusBadRequest),
		`unknown parameter "colour". The parameters are currency, min_listings.`)
	wantTexts(t, s.get(t, "/questions/price_by_segment?currency=USD", http.StatusBadRequest),
		`The address has the parameter "currency" without its prefix Write p.currency in it.`)
	wantTexts(t, s.get(t, "/questions/price_by_segment/csv?p.min_listings=few", http.StatusBadRequest), "is not a whole number")
	wantTexts(t, s.get(t, "/questions/price_by_segment/xls", http.StatusBadRequest), "Unknown format")
}

// testQuestionsAsOf checks that the page and its downloads read the snapshot of the address.
func testQuestionsAsOf(t *testing.T, s *site) {
	body := s.get(t, "/questions/price_by_segment?as_of=20261101T020000Z&p.currency=USD", http.StatusOK)
	wantTexts(t, body, "1,100.00", "--as-of 20261101T020000Z")
	if strings.Contains(body, "1,234.57") {
		t.Error("the page of the first snapshot has a price of the second")
	}
	wantLinks(t, body, "/explore/questions/price_by_segment/csv?as_of=20261101T020000Z&amp;p.currency=USD")
	for _, row := range s.csv(t, "/questions/price_by_segment/csv?as_of=20261101T020000Z&p.currency=USD") {
		if strings.Contains(strings.Join(row, ","), "1234.57") {
			t.Error("the CSV has a price of the second snapshot")
		}
	}
}

// testQuestionCharts checks the charts that the headers of the queries state. A result by date has a chart. A result by
// name has bars in its table. A query without a chart in its header has neither.
func testQuestionCharts(t *testing.T, s *site) {
	for _, c := range []struct{ path, has, lacks string }{
		{"/questions/weekly_throughput", `&#34;Started, published by week&#34;`, "No chart"},
		{"/questions/payables_ageing", `class="share"`, `class="chart"`},
		{"/questions/price_history?p.name=L1&p.currency=USD", `&#34;New price over time&#34;,&#34;kind&#34;:&#34;step&#34;,&#34;unit&#34;:&#34;USD&#34;`, "No chart"},
		{"/questions/price_changes?p.since=2026-01-01", "L1", `class="share"`},
	} {
		body := s.get(t, c.path, http.StatusOK)
		if !strings.Contains(body, c.has) || strings.Contains(body, c.lacks) {
			t.Errorf("%s: want a page with %s and without %s:\n%s", c.path, c.has, c.lacks, body)
		}
	}
}

// testGroupLinks checks that the groups in the result of a named query link to their records.
func testGroupLinks(t *testing.T, s *site) {
	for address, link := range map[string]string{
		"margins?p.by=profile":                  "/explore/profiles/P1",
		"margins?p.by=product":                  "/explore/listings/L1",
		"margins?p.by=writer":                   "/explore/articles?is.writer=Ann&#43;Author",
		"refunds_and_addons?as_of=2026-11-02":   "/explore/outlets/O1?as_of=2026-11-02",
		"delivery?p.by=writer&as_of=2026-11-02": "/explore/articles?is.writer=Ann&#43;Author&amp;as_of=2026-11-02",
	} {
		wantLinks(t, s.get(t, "/questions/"+address, http.StatusOK), link)
	}
	wantTexts(t, s.get(t, "/articles?is.writer=Ann+Author", http.StatusOK), "1 row", "Ten facts")
	if body := s.get(t, "/questions/margins?p.by=month", http.StatusOK); strings.Contains(body, `<td class="s"><a `) {
		t.Error("a month links to a record, want no link")
	}
}
