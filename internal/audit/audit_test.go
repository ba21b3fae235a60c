package audit_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"placementsync/internal/audit"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, statements string, before *query.Before, timeout time.Duration) *query.DB {
	t.Helper()
	path := fixture.NewEmptyCatalog(t).Fill(t, statements)
	db, err := query.Open(t.Context(), path, query.Options{Threads: 1, Timeout: timeout, Before: before})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openSession opens a catalog with two nights for several tests.
func openSession(t *testing.T) fixture.Session {
	t.Helper()
	return fixture.NewEmptyCatalog(t).Open(t, fixture.TwoNights, query.Options{Before: &query.Before{}})
}

func load(t *testing.T, dir string, rules map[string]audit.Rule, private []string, names ...string) audit.Set {
	t.Helper()
	set, err := audit.Load(dir, rules, private)
	if err == nil {
		set, err = set.Choose(names)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestRunAgreesWithPrepare runs shipped checks whose results depend on the run, the private columns, the rules or the
// changed tables. A check fails if the query that Prepare returns has rows. The package queries tests all checks.
func TestRunAgreesWithPrepare(t *testing.T) {
	session := openSession(t)
	for _, name := range []string{
		"changes_without_end/volatile", "fields_renamed/passes", "fields_renamed/similar", "nulls_rose/bounds", "nulls_rose/private",
		"references_lost/bounds", "references_lost/changed", "references_lost/deletions", "rows_out_of_range/newest_nights", "statuses_backwards/private",
	} {
		t.Run(name, func(t *testing.T) {
			c := fixture.ReadCheckTest(t, filepath.Join("..", "..", "queries", "testdata", "checks", name+".test"))
			session.Fill(t, c.Rows)
			check := path.Dir(name)
			set := load(t, "", map[string]audit.Rule{check: {Params: c.Params}}, c.Private, check)
			prepared, values, skipReason, err := set.Prepare(t.Context(), session.DB, check)
			if err != nil || skipReason != "" {
				t.Fatalf("Prepare: got error %v and skip reason %q, want neither", err, skipReason)
			}
			violating, err := session.Collect(t.Context(), prepared, values, math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			results, err := set.Run(t.Context(), session.DB)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(strings.Count(c.Want, "\n") - 1) // without the header
			if violating.Total != want || results[0].Rows != want || (results[0].Outcome == ledger.CheckFailed) != (want > 0) {
				t.Errorf("Prepare has %d rows, and Run has %d rows and the outcome %s (%s), want %d rows", violating.Total, results[0].Rows,
					results[0].Outcome, results[0].Reason, want)
			}
		})
	}
}

// TestOutcomes checks the outcomes of checks that fail, cannot run, or have no data to compare. The time limit is one for all
// queries of a check: each query of too_slow takes less time. Listings have no column guest_email, so a query
// of half_run and no_rows cannot run; the violating rows of the other table must still be reported.
func TestOutcomes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"reads_files":  "-- title: A\n-- severity: hold\nSELECT * FROM read_csv('/etc/passwd')",
		"no_column":    "-- title: A\n-- severity: hold\nSELECT nothing FROM orders",
		"too_slow":     "-- title: A\n-- severity: hold\n-- each: table\nSELECT {name} FROM range(2000) AS a(x), range(2000) AS b(x) WHERE sqrt(a.x + b.x) = 0.5",
		"half_run":     "-- title: A\n-- severity: hold\n-- each: table product_listings orders\nSELECT guest_email IS NULL AS empty, id FROM {table} WHERE id = 'a'",
		"no_rows":      "-- title: A\n-- severity: hold\n-- each: table product_listings orders\nSELECT guest_email FROM {table} WHERE id = 'none'",
		"switched_off": "-- title: A\n-- severity: hold\nSELECT id FROM orders",
		"with_params":  "-- title: A\n-- severity: hold\n-- param: least DECIMAL 5 -- x\nSELECT id, total, repeat('x', 300) AS long FROM orders WHERE total > $least ORDER BY id",
		"compares":     "-- title: A\n-- severity: warn\nSELECT o.id FROM orders AS o JOIN before.orders AS b USING (id) WHERE b.guest_email IS NOT NULL OR b.total > o.total ORDER BY id",
		"earlier_runs": "-- title: A\n-- severity: warn\nSELECT run_id FROM before.meta.runs",
		"two_tables":   "-- title: A\n-- severity: warn\n-- each: table orders order_line_items\nSELECT {name} AS t FROM {table}",
		"unread":       "-- title: A\n-- severity: warn\nSELECT id FROM outlets",
		"rejects":      "-- title: A\n-- severity: warn\nSELECT seq FROM before.meta.rejects",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const rows = `UPDATE meta.streams SET grade = 'carried_forward' WHERE stream = 'outlets';
INSERT INTO meta.streams (run_id, stream, grade) VALUES ('20261101T020000Z', 'outlets', 'exact');
INSERT INTO past.orders (id, total, guest_email) VALUES ('a', 30, 'x@example.com');
INSERT INTO orders (id, total, valid_from) VALUES ('a', 20, tonight());
INSERT INTO orders (id, total, guest_email) VALUES ('b', 10, 'y@example.com'), ('c', 10, NULL), ('d', 10, NULL), ('e', 10, NULL);
INSERT INTO outlets (id) VALUES ('a');
INSERT INTO order_line_items (order_id, position) VALUES ('a', 1), ('a', 2);`
	rules := map[string]audit.Rule{"with_params": {Severity: "warn", Params: map[string]string{"least": "1"}}, "switched_off": {Severity: "off"}}
	for _, q := range load(t, dir, rules, nil).List() {
		if q.Name == "switched_off" {
			t.Error("the set contains a check with the severity off")
		}
	}
	set := load(t, dir, rules, []string{"orders.guest_email"}, "compares", "no_column", "with_params",
		"reads_files", "too_slow", "half_run", "no_rows", "two_tables", "unread", "earlier_runs", "rejects")
	db := open(t, fixture.TwoNights+fixture.GradeAllExact()+rows, &query.Before{Hidden: []string{"orders.guest_email"}}, 400*time.Millisecond)
	results, err := set.Run(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]ledger.CheckResult{}
	for _, r := range results {
		got[r.Name] = r
	}
	long := strings.Repeat("x", 200) + "..."
	for name, want := range map[string]ledger.CheckResult{
		"compares":     {Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1, Sample: []byte(`[{"id":"a"}]`)},
		"no_column":    {Severity: "hold", Outcome: ledger.CheckNotRun},
		"reads_files":  {Severity: "hold", Outcome: ledger.CheckNotRun},
		"too_slow":     {Severity: "hold", Outcome: ledger.CheckNotRun, Reason: "stopped after 400ms"},
		"half_run":     {Severity: "hold", Outcome: ledger.CheckFailed, Reason: "guest_email", Rows: 1, Sample: []byte(`[{"empty":true,"id":"a"}]`)},
		"no_rows":      {Severity: "hold", Outcome: ledger.CheckNotRun, Reason: "guest_email"},
		"two_tables":   {Severity: "warn", Outcome: ledger.CheckFailed, Rows: 7, Sample: []byte(`[{"t":"orders"},{"t":"orders"},{"t":"orders"}]`)},
		"unread":       {Severity: "warn", Outcome: ledger.CheckSkipped},
		"rejects":      {Severity: "warn", Outcome: ledger.CheckSkipped}, // a night replaces the rejects of earlier nights
		"earlier_runs": {Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1, Sample: []byte(`[{"run_id":"20261101T020000Z"}]`)},
		"with_params": {Severity: "warn", Outcome: ledger.CheckFailed, Rows: 5, Sample: []byte(`[{"id":"a","total":20.000000,"long":"` + long + `"},` +
			`{"id":"b","total":10.000000,"long":"` + long + `"},{"id":"c","total":10.000000,"long":"` + long + `"}]`)},
	} {
		result := got[name]
		hasReason := result.Reason != ""
		wantReason := want.Outcome == ledger.CheckNotRun || want.Outcome == ledger.CheckSkipped || want.Reason != ""
		if hasReason != wantReason || !strings.Contains(result.Reason, want.Reason) {
			t.Errorf("%s: the reason is %q, want %q; only checks with a query that did not run have one", name, result.Reason, want.Reason)
		}
		result.Name, result.Title, result.Reason, result.Seconds = "", "", want.Reason, 0
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	oneNight := open(t, `INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('a', '2026-11-01 02:00:00+00');`, &query.Before{}, time.Minute)
	results, err = load(t, dir, nil, nil, "compares").Run(t.Context(), oneNight)
	if err != nil || results[0].Outcome != ledger.CheckSkipped {
		t.Errorf("compares, without an earlier snapshot: got %+v (%v), want skipped", results, err)
	}
}

// TestChangedPrivacyRulesFailNoCheck runs the checks on values that were dropped, hashed or shown again
// because a privacy rule changed. If no rule explains such a change, checks must fail. The macros was and is_now of
// each case return the stored value before and after the change.
func TestChangedPrivacyRulesFailNoCheck(t *testing.T) {
	const rows = `INSERT INTO outlets (id) SELECT 'o' || n FROM range(60) AS t(n);
INSERT INTO past.product_listings (id, name, outlet_id) SELECT 'l' || n, was('L' || n), was('o' || n) FROM range(60) AS t(n);
INSERT INTO product_listings (id, name, outlet_id, valid_from) SELECT 'l' || n, is_now('L' || n), is_now('o' || n), tonight() FROM range(60) AS t(n);
INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier) SELECT 'l' || n, 1, 10 + n, was('USD'), was('standard') FROM range(60) AS t(n);
INSERT INTO product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from) SELECT 'l' || n, 1, 10 + n, is_now('USD'), is_now('standard'), tonight() FROM range(60) AS t(n);
INSERT INTO past.orders (id, status) SELECT 'r' || n, was('paid') FROM range(60) AS t(n);
INSERT INTO orders (id, status, valid_from) SELECT 'r' || n, is_now('paid'), tonight() FROM range(60) AS t(n);
INSERT INTO past.articles (id, live_url, status_prefix) SELECT 'a' || n, 'https://example.com', was('published') FROM range(60) AS t(n);
INSERT INTO articles (id, live_url, status_prefix, valid_from) SELECT 'a' || n, 'https://example.com', is_now('published'), tonight() FROM range(60) AS t(n);`
	private := []string{"product_listings.name", "product_listings.outlet_id", "product_listing_prices.currency", "product_listing_prices.pricing_tier", "orders.status", "articles.status_prefix"}
	session := openSession(t)
	for _, c := range []struct {
		name, was, now string
		private        []string
		want           []string
	}{
		{"dropped", "x", "CAST(NULL AS VARCHAR)", private, nil},
		{"hashed", "x", "sha256(x)", private, nil},
		{"no longer hashed", "sha256(x)", "x", nil, nil},
		{"no longer dropped", "CAST(NULL AS VARCHAR)", "x", nil, nil},
		{"dropped without a privacy rule", "x", "CAST(NULL AS VARCHAR)", nil, []string{"column_emptied", "live_without_published", "nulls_rose", "statuses_backwards"}},
		{"replaced without a privacy rule", "x", "'other'", nil, []string{"attributes_rewritten", "column_emptied", "currency_changed", "live_without_published", "references_lost", "statuses_backwards", "statuses_renamed", "statuses_unknown"}},
	} {
		macros := fmt.Sprintf("CREATE TEMP MACRO was(x) AS %s;\nCREATE TEMP MACRO is_now(x) AS %s;\n", c.was, c.now)
		statements := fixture.GradeAllExact() + fixture.UnchangedTables(rows) + macros + rows
		db := session.DB
		if c.private == nil {
			session.Fill(t, fixture.Tonight+statements)
		} else {
			db = open(t, fixture.TwoNights+statements, &query.Before{Hidden: c.private}, time.Minute)
		}
		results, err := load(t, "", nil, c.private).Run(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, failedChecks(t, results)); diff != "" {
			t.Errorf("%s: failed checks (-want +got):\n%s", c.name, diff)
		}
	}
}

// failedChecks returns the names of the failed checks. All checks must have run.
func failedChecks(t *testing.T, results []ledger.CheckResult) (names []string) {
	t.Helper()
	for _, r := range results {
		if r.Outcome == ledger.CheckFailed {
			names = append(names, r.Name)
		}
		if r.Outcome == ledger.CheckNotRun {
			t.Errorf("%s did not run: %s", r.Name, r.Reason)
		}
	}
	return names
}

// TestSparseTablesFailNoCheck runs all checks on tables without rows, with rows that have only
// keys, with one remaining row, and with one changed order and price. The tables are those that checks name, and one with
// a time in its key.
func TestSparseTablesFailNoCheck(t *testing.T) {
	session := openSession(t)
	const tables = `articles campaign_articles campaigns order_items orders outlet_listing_prices outlet_listings outlets
		product_listing_prices product_listings product_prices article_status_events`
	fill := func(schema string, rowCount int, extraColumn string) string {
		var b strings.Builder
		for _, table := range stream.Tables(stream.All()) {
			if !slices.Contains(strings.Fields(tables), table.Name) {
				continue
			}
			var values []string
			for _, key := range table.Key {
				value := "n"
				if strings.HasSuffix(key, "_at") || key == "timestamp" {
					value = "make_timestamptz(n)"
				}
				values = append(values, value+" AS "+sqltext.Quote(key))
			}
			fmt.Fprintf(&b, "INSERT INTO %s.%s BY NAME SELECT %s%s FROM range(%d) AS t(n);\n", schema, sqltext.Quote(table.Name), strings.Join(values, ", "), extraColumn, rowCount)
		}
		return b.String()
	}
	const validFromTonight = ", tonight() AS valid_from"
	const changedOrderAndPrice = `INSERT INTO past.orders (id, total, status, created_at, date_paid) VALUES ('o', 1, 'paid', '2026-01-01 00:00:00+00', '2026-01-02 00:00:00+00');
INSERT INTO orders (id, total, status, created_at, date_paid, valid_from) VALUES ('o', 100, 'state_paid', '2026-01-03 00:00:00+00', '2026-01-03 00:00:00+00', tonight());
INSERT INTO past.product_prices (product_id, position, unit_amount, currency, pricing_tier) VALUES ('p', 1, 100, 'USD', 'standard');
INSERT INTO product_prices (product_id, position, unit_amount, currency, pricing_tier, valid_from) VALUES ('p', 1, 1, 'EUR', 'standard', tonight());`
	for name, rows := range map[string]string{
		"empty":                       fixture.UnchangedTables(tables),
		"all NULL":                    fixture.UnchangedTables(tables) + fill("past", 60, "") + fill("main", 60, validFromTonight),
		"59 of 60 rows removed":       fixture.UnchangedTables(tables) + fill("past", 60, "") + fill("main", 1, validFromTonight),
		"one changed order and price": fixture.UnchangedTables(changedOrderAndPrice) + changedOrderAndPrice,
	} {
		session.Fill(t, fixture.Tonight+fixture.GradeAllExact()+rows)
		results, err := load(t, "", nil, nil).Run(t.Context(), session.DB)
		if err != nil {
			t.Fatal(err)
		}
		if got := failedChecks(t, results); got != nil {
			t.Errorf("%s: got failed checks %v, want none", name, got)
		}
	}
}

// TestHeadersAreComplete checks that the header of each built-in check contains "Reason:" and "Not detected:",
// and that each parameter has a default and a description.
func TestHeadersAreComplete(t *testing.T) {
	for _, q := range load(t, "", nil, nil).List() {
		if !strings.Contains(q.About, " Reason: ") || !strings.Contains(q.About, " Not detected: ") {
			t.Errorf("%s: the header needs Reason: and Not detected: in about: %s", q.Name, q.About)
		}
		for _, p := range q.Params {
			if p.Default == "" || p.About == "" {
				t.Errorf("%s: parameter %s needs a default and a description", q.Name, p.Name)
			}
		}
	}
}

// TestInvalidRules checks the messages for wrong names and values.
func TestInvalidRules(t *testing.T) {
	all, err := query.LoadChecks("")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	rules := map[string]audit.Rule{
		"price_median_mooved": {},
		"prices_scaled":       {Params: map[string]string{"share": "much", "snapshot": "x", "high": "2"}},
		"host_listed_twice":   {Params: map[string]string{"a": "1"}},
		"statuses_backwards":  {Params: map[string]string{"published": "live"}},
	}
	audit.RefuseFaults(all.List(), rules, func(path string, value any, message string) {
		got = append(got, fmt.Sprintf("%s: %v %s", path, value, message))
	})
	want := []string{
		`host_listed_twice.params.a: <nil> is not a parameter of host_listed_twice: the check has no parameters`,
		`price_median_mooved: <nil> is not a check: did you mean price_median_moved?`,
		`prices_scaled.params.share: much is not valid: parameter "share": "much" is not a number such as 12.50`,
		`prices_scaled.params.snapshot: <nil> is not a parameter of prices_scaled: use one of share, low, high, min_prices, share_small, min_small`,
		`statuses_backwards.params.published: <nil> is not a parameter of statuses_backwards: set statuses.published instead`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// TestUnknownAndUnrunChecks chooses a misspelt check, and reports checks of a snapshot that cannot be opened.
func TestUnknownAndUnrunChecks(t *testing.T) {
	set := load(t, "", nil, nil)
	first := set.List()[0]
	_, err := set.Choose([]string{first.Name, first.Name + "x"})
	if !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), fmt.Sprintf("no check is named %q", first.Name+"x")) ||
		!strings.Contains(err.Error(), first.Name) {
		t.Errorf("a misspelt check: got %v, want a UsageError that suggests %s", err, first.Name)
	}
	results := set.NotRun(errors.New("the catalog is damaged\nat byte 7"))
	if len(results) != len(set.List()) {
		t.Fatalf("got %d results, want one for each of the %d checks", len(results), len(set.List()))
	}
	want := ledger.CheckResult{Name: first.Name, Title: first.Title, Severity: first.Severity, Outcome: ledger.CheckNotRun, Reason: "the catalog is damaged"}
	if diff := cmp.Diff(want, results[0]); diff != "" {
		t.Errorf("result of a check that did not run (-want +got):\n%s", diff)
	}
}
