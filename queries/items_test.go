package queries_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/query"
)

// TestViewsAgreeOnPaymentTime checks that all views use the payment time of an item or, if it is unknown, the
// payment time of its order.
func TestViewsAgreeOnPaymentTime(t *testing.T) {
	db := open(t, `INSERT INTO orders (id, date_paid) VALUES ('o1', '2026-10-02 00:00:00+00');
		INSERT INTO order_items (id, order_id, article_id, date_paid, commission_amount) VALUES
			('i1', 'o1', 'a1', NULL, 1), ('i2', 'o1', 'a2', '2026-10-03 00:00:00+00', 1), ('i3', 'o2', 'a3', NULL, 1);
		INSERT INTO articles (id) VALUES ('a1'), ('a2'), ('a3');`)
	const want = "order_item_id,paid_at\ni1,2026-10-02T00:00:00Z\ni2,2026-10-03T00:00:00Z\ni3,\n"
	for view, column := range map[string]string{
		"sold_items": "paid_at", "order_item_margins": "paid_at", "payables": "order_paid_at", "article_progress": "order_paid_at",
	} {
		q := query.Query{Name: view, SQL: "SELECT order_item_id, " + column + " AS paid_at FROM mart." + view + " ORDER BY order_item_id"}
		if got := runCSV(t, db, q, nil); got != want {
			t.Errorf("%s: got %q, want %q", view, got, want)
		}
	}
}

// rowsWithOutlets has the outlet k0 in rows of all queries that show names of outlets. Only a line item contains its name.
const rowsWithOutlets = `INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r1', '2026-11-01 02:00:00+00'), ('r2', '2026-11-02 02:00:00+00');
	INSERT INTO order_line_items (order_id, position, outlet_id, outlet_name) VALUES ('o', 1, 'k0', 'Times');
	INSERT INTO profiles (id) VALUES ('k0');
	INSERT INTO product_listings (id, outlet_id, country, channel_type, placement_type, domain_authority)
		SELECT 'l' || n, 'k0', 'US', 'WEBSITE', 'MENTION', 40 FROM range(8) AS t(n);
	INSERT INTO past.product_listings (id, outlet_id, valid_from, valid_to) VALUES ('l9', 'k0', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00');
	INSERT INTO past.product_listings (id, outlet_id, country, channel_type, domain_authority, valid_from) VALUES ('l0', 'k0', 'US', 'WEBSITE', 50, '2026-10-01');
	INSERT INTO product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from)
		SELECT 'l' || n, tier, (1 + n) * tier, 'EUR', 'tier ' || tier, '2026-11-02 02:00:00+00' FROM range(8) AS t(n), range(1, 3) AS u(tier);
	INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier) VALUES ('l0', 1, 99, 'EUR', 'tier 1');
	INSERT INTO order_items (id, order_id, product_id, outlet_id, date_paid, sale_price, product_price, vendor_cost)
		VALUES ('i1', 'o', 'gone', 'k0', '2026-10-20', 10, 10, 1), ('i2', 'o', 'gone', 'k0', '2026-10-20', 10, 10, 1);
	INSERT INTO articles (id, expected_completion_date) VALUES ('a1', '2026-10-25');
	INSERT INTO campaign_articles (id, order_item_id) VALUES ('a1', 'i1');`

// TestOutletNamesComeFromAnyTable runs all queries that show names of outlets. If only a line item contains the name,
// all show it. If listings and order items contain a name, they show that one instead of the present name of the outlet,
// except outlet_changes.
func TestOutletNamesComeFromAnyTable(t *testing.T) {
	const storedNames = `INSERT INTO outlets (id, name) VALUES ('k0', 'Present');
		UPDATE product_listings SET outlet_name = 'Times'; UPDATE past.product_listings SET outlet_name = 'Times';
		UPDATE order_items SET outlet_name = 'Times';`
	onlyLine, stored := open(t, rowsWithOutlets), open(t, rowsWithOutlets+storedNames)
	for _, q := range query.All() {
		if !checkOutletNames(t, onlyLine, q, "Times") {
			continue
		}
		want := "Times"
		if q.Name == "outlet_changes" {
			want = "Present"
		}
		checkOutletNames(t, stored, q, want)
	}
}

// checkOutletNames checks that a query shows the same name of each outlet, and reports whether it shows names of outlets.
func checkOutletNames(t *testing.T, db *query.DB, q query.Query, want string) bool {
	t.Helper()
	values := requiredValues(q, "k0")
	if q.Name == "tier_gaps" {
		values["by"] = "listing"
	}
	rows, err := csv.NewReader(strings.NewReader(runCSV(t, db, q, values))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(rows[0], "outlet_name")
	if column < 0 {
		return false
	}
	if len(rows) == 1 {
		t.Errorf("%s has no rows, so that its names of outlets are not tested", q.Name)
	}
	for _, row := range rows[1:] {
		if row[column] != want {
			t.Errorf("%s: got the outlet name %q, want %s", q.Name, row[column], want)
		}
	}
	return true
}
