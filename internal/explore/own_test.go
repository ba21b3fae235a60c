package explore_test

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/explore"
	"placementsync/internal/testing/harness"
)

// userDefinedQueries returns the queries of a user by name.
func userDefinedQueries() map[string]string {
	return map[string]string{
		"hostile": "-- title: <script>alert(1)</script>\n-- about: <img src=x>\n-- param: least COUNT REQUIRED -- <b>least</b>\nSELECT name, '</td><script>' AS \"<u>head</u>\" FROM product_listings WHERE coalesce(domain_authority, 0) >= $least ORDER BY id",
		"slow":    "-- title: Slow\nSELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3",
		"writing": "-- title: Writing\nDROP TABLE product_listings",
		"reading": "-- title: Reading\nSELECT * FROM read_text('/etc/passwd')",
		"twice":   "-- title: Twice\nSELECT 1 AS a, 2 AS a;\n",
		"nulls":   "-- title: Nulls\n-- param: x BIGINT? 5 -- A number.\n-- param: y BIGINT 7 -- A number.\nSELECT coalesce($x, -1) AS x, $y AS y",
		"faulty":  "-- title: Faulty\n-- param: x\nSELECT $x",
		"broken":  "-- title: Broken\nSELECT CAST(name AS INTEGER) AS n FROM product_listings",
		"totals": "-- title: Totals\nSELECT * FROM (VALUES ('a', 1.5, 'USD'), ('b', 2.25, NULL), ('c', 4, 'USD'))" +
			" AS t(what, sale_total, currency)",
		"plan":   "-- title: Plan\nEXPLAIN SELECT 42 AS n",
		"tables": "-- title: Tables\nPRAGMA show_tables",
		"few":    "-- title: Few\n-- param: top COUNT 3 -- rows\nSELECT range AS n FROM range(9) LIMIT $top",
		"limits": "-- title: Limits\nSELECT current_setting('memory_limit') AS m, current_setting('threads') AS t",
		"sales":  "-- title: Sales\n-- chart: bar x=month y=sale_total\nSELECT CAST(DATE '2026-08-01' + INTERVAL (i) MONTH AS DATE) AS month, i AS orders, i * 1000.125 AS sale_total FROM range(150) AS t(i)",
		"lines":  "-- title: Lines\n-- chart: line x=month y=orders by=outlet\nSELECT CAST(DATE '2026-08-01' + INTERVAL (i // 2) MONTH AS DATE) AS month, 'site ' || i % 2 AS outlet, i AS orders FROM range(8) AS t(i)",
		"late":   "-- title: Late\n-- chart: bar x=place y=n\nSELECT 'row ' || i AS place, greatest(i - 120, 0) AS n FROM range(150) AS t(i) ORDER BY i",
		"ids":    "-- title: Ids\n-- heading: n Number of days\nSELECT '4f1d5f0e-9b3c-4a1e-8f55-0c2f9d1b7a10' AS order_item_id, 'R1' AS order_id, 1 AS n, true AS is_late, TIMESTAMPTZ '2026-11-01 02:00:00+00' AS late_at",
		"long": "-- title: Long\nSELECT i AS n, 'x' || i AS text, NULL AS nothing, " +
			"CASE WHEN i = 2400 THEN 'R-1' END AS later, " +
			"NULL::VARCHAR AS outlet_name, CASE WHEN i = 2400 THEN 'O1' END AS outlet_id FROM range(2500) AS t(i) ORDER BY i",
	}
}

// TestUserDefinedQueries checks that queries of the user are listed and run, and that their texts are
// escaped. A query must be stopped at the time limit. A query that writes or reads files must be
// rejected.
func TestUserDefinedQueries(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	for name, text := range userDefinedQueries() {
		harness.Must(t, os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600))
	}
	s := newSiteOf(t, newCatalog(t, "records.sql"), func(cfg *explore.Config) { cfg.Timeout = time.Second })
	s.queriesDir = dir
	t.Run("escaped texts", func(t *testing.T) { testTextsOfOwnQueries(t, s) })
	t.Run("limits", func(t *testing.T) { testLimitsOfOwnQueries(t, s) })
	t.Run("parameters", func(t *testing.T) { testParametersOfOwnQueries(t, s) })
	t.Run("results", func(t *testing.T) { testResultsOfOwnQueries(t, s) })
	t.Run("charts", func(t *testing.T) { testChartsOfOwnQueries(t, s) })
}

func testTextsOfOwnQueries(t *testing.T, s *site) {
	wantTexts(t, s.get(t, "/questions", http.StatusOK), "<script>alert(1)</script> own", "Price by segment", "faulty.sql:2: write a parameter as NAME TYPE DEFAULT")
	body := s.get(t, "/questions/hostile?p.least=50", http.StatusOK)
	wantTexts(t, body, "1 row", "Guest post", "</td><script>", "<u>head</u>", "<b>least</b>")
	for _, bad := range []string{"<script>alert", "<img", "<u>", "<b>"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
}

// testLimitsOfOwnQueries runs queries that write, read files or take too long. After the last one, another must run.
func testLimitsOfOwnQueries(t *testing.T, s *site) {
	wantTexts(t, s.get(t, "/questions/writing", http.StatusBadRequest), "the SQL is refused: it writes")
	wantTexts(t, s.get(t, "/questions/reading", http.StatusBadRequest), "the SQL is refused: it uses files")
	wantTexts(t, s.get(t, "/questions/limits", http.StatusOK), "M T 488.2 MiB 1")
	wantTexts(t, s.get(t, "/questions/slow", http.StatusServiceUnavailable), "The query took too long and was stopped.")
	s.get(t, "/questions/long", http.StatusOK)
	// HEAD returns the headers of a download without running its query.
	res, err := s.Client().Head(s.URL + "/explore/questions/slow/csv")
	harness.Must(t, err)
	harness.Must(t, res.Body.Close())
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Disposition") != `attachment; filename="slow-2026-11-03.csv"` {
		t.Errorf("HEAD returned the status %d and the headers %v, want 200 and the headers of the file", res.StatusCode, res.Header)
	}
}

func testParametersOfOwnQueries(t *testing.T, s *site) {
	form := s.get(t, "/questions/hostile", http.StatusOK)
	wantTexts(t, form, "Fill in Least, which has no default.")
	const required = `name="p.least" value="" placeholder="required" autocomplete="off" inputmode="decimal" required`
	if !strings.Contains(form, required) {
		t.Errorf("the form lacks %s", required)
	}
	// An empty field is NULL if the parameter takes NULL, and otherwise its default.
	for address, row := range map[string]string{"nulls": "X Y 5 7", "nulls?p.x=&p.y=": "X Y −1 7", "nulls?p.x=2&p.y=3": "X Y 2 3"} {
		wantTexts(t, s.get(t, "/questions/"+address, http.StatusOK), row)
	}
	wantTexts(t, s.get(t, "/questions/few?p.top=many", http.StatusBadRequest), `"many" is not a whole number from 0 on`,
		"The query was not run: a parameter is invalid.")
	if body := s.get(t, "/questions/nulls?p.y=few", http.StatusBadRequest); strings.Contains(body, "Save as my question") {
		t.Error("the page offers to save a question with an invalid parameter")
	}
}

func testResultsOfOwnQueries(t *testing.T, s *site) {
	wantTexts(t, s.get(t, "/questions/twice", http.StatusOK), "A A 1 1 2")
	wantTexts(t, s.get(t, "/questions/plan", http.StatusOK), "1 row", "42")
	wantTexts(t, s.get(t, "/questions/plan/csv", http.StatusOK),
		"explain_key,explain_value physical_plan") // it cannot be a subquery
	wantTexts(t, s.get(t, "/questions/broken", http.StatusBadRequest), "The query failed: ", "Could not convert string")
	wantTexts(t, s.get(t, "/questions/totals?sort=-sale_total", http.StatusOK),
		"c 4.00 USD a 1.50 USD b 2.25 (no currency)", "Total 2.25 (no currency) Total 5.50 USD")
	wantTexts(t, s.get(t, "/questions/few?q=2", http.StatusOK), "0 rows") // no column contains texts
	wantTexts(t, s.get(t, "/questions/tables", http.StatusOK), "orders", "profiles")
	// A record has its name or number in place of its id. Other ids are last, behind a button.
	wantTexts(t, s.get(t, "/questions/ids", http.StatusOK), "Order Number of days Late Late at Order item ID PO-17 1 yes 2026-11-01 02:00 Copy id")
	wantTexts(t, s.get(t, "/questions/few?sort=secret", http.StatusBadRequest), `the table has no column "secret"`)
	s.get(t, "/questions/few/csv?sort=secret", http.StatusBadRequest)
	// The columns later and outlet have a value on another page.
	wantTexts(t, s.get(t, "/questions/long", http.StatusOK), "2,500 rows, 1 to 100", "N Text Later Outlet 0 x0 – –",
		"No value in any row: nothing.")
	if last := s.get(t, "/questions/long?page=25", http.StatusOK); !strings.Contains(last, `<td class="code" data-label="Later"><bdi>R-1</bdi>`) {
		t.Error("the id can break at its hyphen")
	}
	if rows := len(s.csv(t, "/questions/long/csv")); rows != 2501 {
		t.Errorf("the CSV has %d lines, want 2501", rows)
	}
}

func testChartsOfOwnQueries(t *testing.T, s *site) {
	// The chart shows the rows of all pages of the table. Each bar links to its row in the table.
	sales := html.UnescapeString(s.get(t, "/questions/sales", http.StatusOK))
	for _, want := range []string{"Sale total by month", `"2026-08","2026-09"`, `"1,000.13","2,000.25"`, `"texts":["0.00"`, `"2039-01"]`, `"?max.month=2026-09-01&min.month=2026-09-01#table"`} {
		if !strings.Contains(sales, want) {
			t.Errorf("the chart lacks %s:\n%s", want, sales)
		}
	}
	wantTexts(t, s.get(t, "/questions/sales?max.month=2026-09-01&min.month=2026-09-01", http.StatusOK), "1 row", "2026-09 1 1,000.13")
	lines := html.UnescapeString(s.get(t, "/questions/lines", http.StatusOK))
	if want := `"?is.outlet=site+1&max.month=2026-09-01&min.month=2026-09-01#table"`; !strings.Contains(lines, want) {
		t.Errorf("the chart lacks %s:\n%s", want, lines)
	}
	wantTexts(t, s.get(t, "/questions/lines?is.outlet=site+1&max.month=2026-09-01&min.month=2026-09-01", http.StatusOK), "1 row", "2026-09 site 1 3")
	if late := s.get(t, "/questions/late", http.StatusOK); strings.Contains(late, "negative values") {
		t.Error("the page reports negative values, want none: the first rows are 0 and the later rows are positive")
	}
}
