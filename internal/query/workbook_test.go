package query_test

import (
	"archive/zip"
	"errors"
	"html"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"placementsync/internal/query"
)

// saveWorkbook saves a workbook and returns the shown texts of its sheets by name, the names in order, and the path.
func saveWorkbook(t *testing.T, db *query.DB, b query.Workbook) (texts map[string][][]string, names []string, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "book.xlsx")
	rows, err := db.SaveWorkbook(t.Context(), b, path)
	if err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	texts = map[string][][]string{}
	sheetRows := 0
	for _, name := range book.GetSheetList() {
		if texts[name], err = book.GetRows(name); err != nil {
			t.Fatal(err)
		}
		if name != "Cover" {
			sheetRows += len(texts[name]) - 1 // without the heading
		}
	}
	if rows != int64(sheetRows) {
		t.Errorf("SaveWorkbook returned %d rows, want %d, those of the sheets", rows, sheetRows)
	}
	return texts, book.GetSheetList(), path
}

func monthsQuery() query.Query {
	q := query.Text(`SELECT * FROM (VALUES ('x1', 'EUR', '2026-09', 1234.567::DECIMAL(18, 6), 3), ('x2', 'EUR', '2026-10', 20::DECIMAL(18, 6), 1),
		('x3', 'USD', '2026-09', 7::DECIMAL(18, 6), 2), ('x4', 'EUR', '2026-11', 9::DECIMAL(18, 6), 4)) AS t(order_id, currency, month, sale_total, items) LIMIT $top`)
	q.Params = []query.Param{{Name: "top", Type: "COUNT", Default: "4", About: "maximum number of rows"}}
	return q
}

func TestSheetsOfQueries(t *testing.T) {
	if s := query.NewSheet(query.Query{Title: "T", About: "A"}); s.Chart != nil || s.Title != "T" || s.About != "A" {
		t.Errorf("the sheet of a query without a chart is %+v", s)
	}
	charted := query.NewSheet(query.Query{Chart: &query.Chart{Kind: query.ChartSteps, X: "day", Y: []string{"n"}, By: []string{"tier"}}})
	want := &query.SheetChart{IsLine: true, Category: "day", Values: []string{"n"}, MaxRows: 30, Same: []string{"tier"}}
	if diff := cmp.Diff(want, charted.Chart); diff != "" {
		t.Errorf("chart of a sheet (-want +got):\n%s", diff)
	}
}

// TestWorkbook checks the cover, names of sheets, headings, the order of columns and the decimals of amounts.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	sheets := []query.Sheet{
		{Title: "Sales by month", About: "All sales.", Query: monthsQuery()},
		{Title: "sales by month", Query: monthsQuery(), Values: map[string]string{"top": "3"},
			Fields: []query.SheetField{{Column: "month", Heading: "Month"}, {Column: "sale_total", Heading: "Sales"}}},
		{Title: "Not yet", Query: query.Text("SELECT nosuch FROM product_listings")},
		{Title: "Orders", Query: query.Query{SQL: `SELECT 'o1' AS id, 'ON_HOLD' AS order_status,
			DATE '2026-09-01' AS paid_month, DATE '2026-09-05' AS day, TIMESTAMPTZ '2026-09-05 02:00:00+00' AS at`,
			Headings: map[string]string{"order_status": "State of the order"}}},
		{Title: "Pivot", Query: query.Text("PIVOT (SELECT 'a' AS k, 1 AS n) ON k USING sum(n)")},
		{Title: "cover", Query: query.Text("SELECT 1 AS a")},
		{Title: strings.Repeat("é", 40), Query: query.Text("SELECT 1 AS a")},
		{Title: strings.Repeat("é", 40), Query: query.Text("SELECT 2 AS a")},
	}
	long, otherLong := strings.Repeat("é", 31), strings.Repeat("é", 29)+" 2"
	texts, names, path := saveWorkbook(t, db, query.Workbook{Title: "Report", Sheets: sheets})
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for cell, want := range map[string]string{
		"A8": "'Sales by month'!A1", "A9": "'sales by month 2'!A1", "A10": "", "A11": "'Orders'!A1", "A12": "'Pivot'!A1",
	} {
		if _, link, err := book.GetCellHyperLink("Cover", cell); err != nil || link != want {
			t.Errorf("%s of the cover links to %q (%v), want %q", cell, link, err, want)
		}
	}
	if diff := cmp.Diff([]string{"Cover", "Sales by month", "sales by month 2", "Orders", "Pivot", "cover 2", long, otherLong}, names); diff != "" {
		t.Errorf("sheets (-want +got):\n%s", diff)
	}
	const cut = "There may be more rows: the parameter top is 4 (maximum number of rows)."
	want := map[string][][]string{
		"Cover": {{"Report"}, nil, {"Snapshot", "unknown"}, {"Completeness", "complete"}, {"Times", "UTC"}, nil, {"Sheet", "Contents", "Rows", "Note"},
			{"Sales by month", "All sales.", "4", cut}, {"sales by month", "", "3", strings.Replace(cut, "4", "3", 1)},
			{"Not yet", "", "", "This snapshot lacks a table or column that the question reads."},
			{"Orders", "", "1"}, {"Pivot", "", "1", "The completeness of these rows is unknown."}, {"cover", "", "1"},
			{strings.Repeat("é", 40), "", "1"}, {strings.Repeat("é", 40), "", "1"}},
		"cover 2": {{"A"}, {"1"}}, long: {{"A"}, {"1"}}, otherLong: {{"A"}, {"2"}},
		"Pivot": {{"A"}, {"1"}},
		"Sales by month": {{"Currency", "Month", "Sale total", "Items", "Order ID"}, {"EUR", "2026-09", "1,234.57", "3", "x1"},
			{"EUR", "2026-10", "20.00", "1", "x2"}, {"USD", "2026-09", "7.00", "2", "x3"}, {"EUR", "2026-11", "9.00", "4", "x4"}},
		"Orders":           {{"State of the order", "Paid month", "Day", "At", "ID"}, {"On hold", "2026-09", "2026-09-05", "2026-09-05 02:00", "o1"}},
		"sales by month 2": {{"Month", "Sales", "Order ID"}, {"2026-09", "1,234.57", "x1"}, {"2026-10", "20.00", "x2"}, {"2026-09", "7.00", "x3"}},
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}

	missing := query.Workbook{Sheets: []query.Sheet{{Title: "Sales", Query: monthsQuery(), Fields: []query.SheetField{{Column: "nosuch"}}}}}
	_, err = db.SaveWorkbook(t.Context(), missing, path)
	if err == nil || !strings.HasSuffix(err.Error(), `write the sheet "Sales": the query has no column "nosuch"`) {
		t.Errorf("a field without a column: got %v, want an error", err)
	}
	texts, _, _ = saveWorkbook(t, db, query.Workbook{Title: "Report", IsForClient: true, Sheets: sheets[:1]})
	if diff := cmp.Diff([]string{"Currency", "Month", "Sale total", "Items"}, texts["Sales by month"][0]); diff != "" {
		t.Errorf("columns for a client (-want +got):\n%s", diff)
	}
}

// TestWorkbooksForClientsHaveNoReasons saves the orders of a night that had no scope for them.
func TestWorkbooksForClientsHaveNoReasons(t *testing.T) {
	db := openPoorNights(t)
	b := query.Workbook{Title: "Report", Sheets: []query.Sheet{{Title: "Orders", Query: query.Text("SELECT status FROM orders")},
		{Title: "Items", Query: query.Text("SELECT status FROM orders JOIN order_items AS i ON i.order_id = orders.id")}}}
	for isForClient, want := range map[bool]string{false: "orders and order_items were not read: missing scope orders.lists",
		true: "rows of these may be old or missing: order items, orders"} {
		b.IsForClient = isForClient
		texts, _, _ := saveWorkbook(t, db, b)
		if diff := cmp.Diff([][]string{{"Snapshot", "2026-11-02 02:00 UTC"}, {"Completeness", want}}, texts["Cover"][2:4]); diff != "" {
			t.Errorf("the cover, for a client %t (-want +got):\n%s", isForClient, diff)
		}
	}
}

// TestWorkbookCharts checks that a chart has the rows up to the limit, and that one row and rows with several currencies
// have no chart.
func TestWorkbookCharts(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	for name, c := range map[string]struct {
		chart    query.SheetChart
		currency string // of the third row
		want     []string
	}{
		"one currency": {query.SheetChart{Category: "month", Values: []string{"sale_total", "items"}, MaxRows: 9, Same: []string{"currency"}}, "EUR",
			[]string{"barChart>", "<legend>", "Sales: EUR", "'Sales'!$C$1", "'Sales'!$B$2:$B$5", "'Sales'!$C$2:$C$5", "'Sales'!$D$1", "'Sales'!$B$2:$B$5", "'Sales'!$D$2:$D$5"}},
		"two currencies":       {query.SheetChart{Category: "month", Values: []string{"sale_total"}, MaxRows: 9}, "USD", nil},
		"two other currencies": {query.SheetChart{Category: "month", Values: []string{"sale_total"}, MaxRows: 9}, "USD AS other_currency", nil},
		"two groups":           {query.SheetChart{Category: "month", Values: []string{"items"}, MaxRows: 9, Same: []string{"month"}}, "EUR", nil},
		"all rows":             {query.SheetChart{IsLine: true, Category: "month", Values: []string{"items"}, MaxRows: 9}, "EUR", []string{"lineChart>", "Sales: EUR", "'Sales'!$D$1", "'Sales'!$B$2:$B$5", "'Sales'!$D$2:$D$5"}},
		"two rows":             {query.SheetChart{Category: "month", Values: []string{"items"}, MaxRows: 2}, "EUR", []string{"barChart>", "Sales: EUR (2 of 4 rows)", "'Sales'!$D$1", "'Sales'!$B$2:$B$3", "'Sales'!$D$2:$D$3"}},
		"a row":                {query.SheetChart{Category: "month", Values: []string{"items"}, MaxRows: 1}, "EUR", nil},
		"no column":            {query.SheetChart{Category: "week", Values: []string{"items"}, MaxRows: 2}, "EUR", nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := monthsQuery()
			currency, column, isOther := strings.Cut(c.currency, " AS ")
			q.SQL = strings.ReplaceAll(q.SQL, "USD", currency)
			if isOther {
				q.SQL = strings.Replace(q.SQL, "order_id, currency", "order_id, "+column, 1)
			}
			book := query.Workbook{Sheets: []query.Sheet{{Title: "Sales", Query: q, Chart: &c.chart}}}
			if c.chart.Category == "week" {
				const want = `: write the sheet "Sales": the chart has the column "week", but not the sheet`
				if _, err := db.SaveWorkbook(t.Context(), book, filepath.Join(t.TempDir(), "book.xlsx")); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("got the error %v, want %q", err, want)
				}
				return
			}
			_, _, path := saveWorkbook(t, db, book)
			if diff := cmp.Diff(c.want, chartReferences(t, path)); diff != "" {
				t.Errorf("references of the chart (-want +got):\n%s", diff)
			}
		})
	}
}

// chartReferences returns the kind and the title of the first chart of a workbook and its references to cells, or nil if
// there is no chart.
func chartReferences(t *testing.T, path string) (references []string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	file, err := archive.Open("xl/charts/chart1.xml")
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"lineChart>", "barChart>", "<legend>"} {
		if strings.Contains(string(text), kind) {
			references = append(references, kind)
		}
	}
	for _, m := range regexp.MustCompile(`<(?:f|a:t)>([^<]*)</`).FindAllSubmatch(text, -1) {
		references = append(references, html.UnescapeString(string(m[1])))
	}
	return references
}
