package main

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	testfixture "placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// TestReportNamesARenamedClient finds a client by its id and by its name. The title of its report is the name that it
// has now.
func TestReportNamesARenamedClient(t *testing.T) {
	catalog := testfixture.NewEmptyCatalog(t).Fill(t, `
		INSERT INTO past.profiles (id, name, valid_from, valid_to) VALUES ('p', 'Zenith', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00');
		INSERT INTO profiles (id, name, valid_from) VALUES ('p', 'Acme', '2026-11-02 02:00:00+00'),
			('q', 'Twin', '2026-11-02 02:00:00+00'), ('r', 'Twin', '2026-11-02 02:00:00+00');`)
	db, err := query.Open(t.Context(), catalog, query.Options{Threads: 1})
	harness.Must(t, err)
	defer func() { harness.Must(t, db.Close()) }()
	for _, text := range []string{"p", "Acme"} {
		client, err := findClient(t.Context(), &globals{}, db, text)
		if err != nil || client.ID != "p" || client.Name != "Acme" {
			t.Errorf("%q finds the client %q named %q (%v), want p named Acme", text, client.ID, client.Name, err)
		}
	}
	for text, want := range map[string]string{
		"Zenith": `no client profile is named "Zenith": the data has Acme, Twin`,
		"Twin":   `2 client profiles are named "Twin": give the id of one of them`,
	} {
		client, err := findClient(t.Context(), &globals{}, db, text)
		if cli.OutcomeOf(t.Context(), err) != ledger.Misused || err.Error() != want {
			t.Errorf("%q finds the client %+v (%v), want the error %q", text, client, err, want)
		}
	}
}

// TestTrialReportNumbers compares numbers of the report with the results of independent SQL on the
// same warehouse.
func TestTrialReportNumbers(t *testing.T) {
	harness.Long(t)
	config := demoOfThreeNights(t)
	page := mustRun(t, "report", "--config", config, "-o", "-")
	tiles := map[string]string{}
	tilePattern := regexp.MustCompile(`<h3>([^<]*)</h3>\s*<p class="value">([^<]*)`)
	for _, m := range tilePattern.FindAllStringSubmatch(page, -1) {
		tiles[html.UnescapeString(m[1])] = strings.NewReplacer(",", "", "\u2212", "-").Replace(strings.TrimSpace(m[2]))
	}
	for figure, sql := range map[string]string{
		"Product listings":                "select count(*) from product_listings",
		"Outlets":                         "select count(*) from outlets",
		"Unpaid commissions":              "select sum(commission_amount)::decimal(18,2) from order_items where commission_date_paid is null and deleted_at is null and is_refunded is not true and refund_date is null",
		"Articles past the expected date": "select count(*) from articles where live_url is null and expected_completion_date < (select max(snapshot_at) from meta.runs)",
		"Orders paid, 30 days":            "select count(*) from orders where deleted_at is null and date_paid > (select max(snapshot_at) from meta.runs) - interval 30 day",
	} {
		if want := scalar(t, config, sql); tiles[figure] != want {
			t.Errorf("%s is %q on the page, want %q as in SQL", figure, tiles[figure], want)
		}
	}
	if want := scalar(t, config, "select max(run_id) from meta.runs"); !strings.Contains(page, "<code>"+want+"</code>") {
		t.Errorf("the page does not name run %s", want)
	}
}

// scalar returns the value of a query with one row and one column.
func scalar(t *testing.T, config, sql string) string {
	t.Helper()
	var rows []map[string]any
	d := json.NewDecoder(strings.NewReader(mustRun(t, "query", "--config", config, "--format", "json", "select ("+sql+")::varchar as v")))
	if err := d.Decode(&rows); err != nil || len(rows) != 1 {
		t.Fatalf("query %q: got %d rows (%v), want 1", sql, len(rows), err)
	}
	return fmt.Sprint(rows[0]["v"])
}
