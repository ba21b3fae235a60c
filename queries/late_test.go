package queries_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/query"
)

// lateFixture has 70 articles, of which 50 are open, in seven campaigns of three profiles. Article n belongs to
// item n, whose order was paid n days before the snapshot. The promise is 30 days, except for every third item.
// Every fourth article is expected n - 40 days after the snapshot. Every fifth item is refunded.
const lateFixture = `INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r1', '2026-11-01 02:00:00+00');
	INSERT INTO profiles (id, name) SELECT 'p' || n, 'Profile ' || n FROM range(3) AS t(n);
	INSERT INTO campaigns (id, profile_id, name) SELECT 'g' || n, 'p' || n % 3, 'Campaign ' || n FROM range(7) AS t(n);
	INSERT INTO products (id, max_delivery_days) VALUES ('dated', 30), ('open', NULL);
	INSERT INTO orders (id, profile_id) SELECT 'o' || n, 'p' || n FROM range(3) AS t(n);
	INSERT INTO order_items (id, order_id, outlet_id, outlet_name, product_id, date_paid, is_refunded)
		SELECT 'i' || n, 'o' || n % 3, 'k' || n % 4, 'Outlet ' || n % 4, CASE n % 3 WHEN 0 THEN 'open' ELSE 'dated' END,
			TIMESTAMPTZ '2026-11-01 02:00:00+00' - to_days(CAST(n AS INTEGER)), n % 5 = 0 FROM range(70) AS t(n);
	INSERT INTO campaign_articles (id, campaign_id, order_item_id, writer_id, expected_completion_date, live_url)
		SELECT 'a' || n, 'g' || n % 7, 'i' || n, 'w' || n % 2,
			CASE n % 4 WHEN 0 THEN TIMESTAMPTZ '2026-11-01 02:00:00+00' + to_days(CAST(n - 40 AS INTEGER)) END,
			CASE WHEN n % 7 IN (5, 6) THEN 'https://x' END FROM range(70) AS t(n);`

// TestQueriesAgreeOnLateArticles checks that all queries count the same articles as late. The open articles of items
// that are not refunded have a number that is no multiple of 5 and leaves neither 5 nor 6 when divided by 7. The
// numbers above 30 that are no multiple of 3 are 15, the multiples of 4 below 40 are 4, 8, 16, 24, 28, 32 and 36.
func TestQueriesAgreeOnLateArticles(t *testing.T) {
	db := open(t, lateFixture)
	rowsOf := func(name string, values map[string]string) []query.Record {
		t.Helper()
		q, err := query.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := db.Collect(t.Context(), q, values, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		return r.Rows
	}
	sumOf := func(rows []query.Record, columns ...string) (sums []int) {
		for _, column := range columns {
			sum := 0
			for _, row := range rows {
				n, _ := row.Get(column).Number()
				sum += int(n)
			}
			sums = append(sums, sum)
		}
		return sums
	}
	got := map[string][]int{
		"writer_load":       sumOf(rowsOf("writer_load", nil), "past_promise", "past_expected"),
		"campaigns_at_risk": sumOf(rowsOf("campaigns_at_risk", nil), "past_promise", "past_expected"),
	}
	for _, by := range []string{"outlet", "writer", "profile", "channel_type"} {
		got["delivery by "+by] = sumOf(rowsOf("delivery", map[string]string{"by": by}), "open_past_promise", "open_past_expected")
	}
	for _, past := range []string{"promise", "expected"} {
		got["overdue_articles"] = append(got["overdue_articles"], len(rowsOf("overdue_articles", map[string]string{"past": past})))
		figures := slices.DeleteFunc(rowsOf("report_headlines", nil), func(row query.Record) bool {
			return !strings.HasPrefix(row.Get("figure").Text, "Articles past the "+past)
		})
		got["report_headlines"] = append(got["report_headlines"], sumOf(figures, "value")...)
	}
	for name, counts := range got {
		if want := []int{15, 7}; !slices.Equal(counts, want) {
			t.Errorf("%s counts %v articles past the promised and the expected date, want %v", name, counts, want)
		}
	}
}
