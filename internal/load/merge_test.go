package load_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestValuesOfListAndDetailAreJoined checks for each value whether it comes from the list, the
// detail or the earlier night.
func TestValuesOfListAndDetailAreJoined(t *testing.T) {
	// order returns a row with a text, an amount and a time. none means that the list or detail omits
	// the value.
	order := func(seq int, status, total, created string) string {
		return jsonRow(seq, seq, "id", `"o"`, "status", status, "total", total, "created_at", created)
	}
	const none, missed = "null", "missed"
	for name, c := range map[string]struct {
		stored       string // the list of the first night
		list, detail string // in the second night; if detail is missed, its request fails
		want         string
	}{
		"list and detail agree":        {"", order(1, `"paid"`, `"1"`, none), order(2, `"paid"`, `"1"`, none), "paid 1.000000 <nil>"},
		"the detail wins":              {"", order(1, `"new"`, `"1"`, none), order(2, `"paid"`, `"2"`, none), "paid 2.000000 <nil>"},
		"the list fills a NULL":        {"", order(1, `"new"`, `"1"`, `"2026-01-02T00:00:00Z"`), order(2, none, none, none), "new 1.000000 02"},
		"the list fills an empty text": {"", order(1, `"new"`, `"1"`, none), order(2, `""`, `"2"`, none), "new 2.000000 <nil>"},
		"both texts are empty":         {"", order(1, `""`, none, none), order(2, `""`, none, none), " <nil> <nil>"},
		"an empty text is not NULL":    {"", order(1, none, none, none), order(2, `""`, none, none), " <nil> <nil>"},
		"only the list, omitted values are kept": {order(1, `"old"`, `"1"`, `"2026-01-02T00:00:00Z"`),
			order(3, `"new"`, none, none), "", "new 1.000000 02"},
		"only the list, an empty text replaces no value": {order(1, `"old"`, `"1"`, none), order(3, `""`, `"5"`, none), "", "old 5.000000 <nil>"},
		"only the detail, omitted values are kept": {order(1, `"old"`, `"1"`, `"2026-01-02T00:00:00Z"`),
			"", order(3, none, `"4"`, none), "old 4.000000 02"},
		"with list and detail, the earlier night is not used": {order(1, `"old"`, `"1"`, `"2026-01-02T00:00:00Z"`),
			order(3, none, `"2"`, none), order(4, `"new"`, none, none), "new 2.000000 <nil>"},
		"the request for the detail fails": {order(1, `"old"`, `"1"`, none), order(3, `"new"`, `"2"`, none), missed, "old 1.000000 <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, "orders", "order_details")
			if c.stored != "" {
				_, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": c.stored}}}, load.Limits{})
				harness.Must(t, err)
			}
			inputs := map[string]streamInput{}
			if c.list != "" {
				inputs["orders"] = streamInput{coverage: load.Whole, rows: rows{"orders": c.list}}
			}
			switch c.detail {
			case "": // the night requests no detail
			case missed:
				inputs["order_details"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Missed: {"o"}}}
			default:
				inputs["order_details"] = streamInput{coverage: load.ByID, rows: rows{"orders": c.detail}, outcomes: map[load.Outcome][]string{load.Answered: {"o"}}}
			}
			_, err := h.run(inputs, load.Limits{})
			harness.Must(t, err)
			h.requireRows("SELECT status, total::VARCHAR, strftime(created_at, '%d') FROM orders", c.want)
		})
	}
}

// TestChildRowsOfListAndDetailAreJoined checks the child rows of a record and their values.
func TestChildRowsOfListAndDetailAreJoined(t *testing.T) {
	order := func(seq int) string { return jsonRow(seq, seq, "id", `"o"`) }
	item := func(seq, position int, name, product string) string {
		return jsonRow(seq, seq, "order_id", `"o"`, "position", fmt.Sprint(position), "outlet_name", name, "product_id", product)
	}
	both := map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": order(1), "order_line_items": item(1, 1, `"lean"`, "null")}},
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"o"}}, rows: rows{"orders": order(2),
			"order_line_items": item(2, 1, `"full"`, `"p"`) + "," + item(2, 2, `"more"`, `"q"`)}}}
	list := func(items ...string) map[string]streamInput {
		return map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": order(3), "order_line_items": strings.Join(items, ",")}}}
	}
	detail := func(items string) map[string]streamInput {
		return map[string]streamInput{"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"o"}},
			rows: rows{"orders": order(4), "order_line_items": items}}}
	}
	firstNight := newFixture(t, "orders", "order_details")
	_, err := firstNight.run(both, load.Limits{})
	harness.Must(t, err)
	for name, c := range map[string]struct {
		second map[string]streamInput
		want   []string
	}{
		"list and detail again":             {both, []string{"1 full p", "2 more q"}},
		"the list agrees and omits a value": {list(item(3, 1, `"full"`, "null"), item(3, 2, `"more"`, `"q"`)), []string{"1 full p", "2 more q"}},
		"the list has an empty text":        {list(item(3, 1, `""`, `"p"`), item(3, 2, `"more"`, `"q"`)), []string{"1 full p", "2 more q"}},
		"the list contradicts an item":      {list(item(3, 1, `"other"`, "null"), item(3, 2, `"more"`, `"q"`)), []string{"1 other <nil>", "2 more q"}},
		"the list has fewer items":          {list(item(3, 1, `"full"`, `"p"`)), []string{"1 full p"}},
		"the list omits the items":          {list(`{"order_id":"other","position":1,"row_hash":1,"seq":99}`), []string{"1 full p", "2 more q"}},
		"a new item has an empty text":      {list(item(3, 1, `"full"`, `"p"`), item(3, 2, `"more"`, `"q"`), item(3, 3, `""`, "null")), []string{"1 full p", "2 more q", "3  <nil>"}},
		"only the detail is read":           {detail(item(4, 1, `"new"`, "null")), []string{"1 new <nil>"}},
		"another order is only in the list": {map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": order(3) + "," + jsonRow(5, 5, "id", `"p"`),
			"order_line_items": jsonRow(5, 5, "order_id", `"p"`, "position", "1", "outlet_name", `"list"`, "product_id", `"r"`)}},
			"order_details": detail(item(4, 1, `"new"`, "null"))["order_details"]}, []string{"1 new <nil>"}},
		"neither list nor detail was read": {map[string]streamInput{}, []string{"1 full p", "2 more q"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := firstNight.copy(t)
			_, err := h.run(c.second, load.Limits{Rows: 9})
			harness.Must(t, err)
			h.requireRows("SELECT position, outlet_name, product_id FROM order_line_items WHERE order_id = 'o' ORDER BY position", c.want...)
		})
	}
}

// TestProvenAbsenceClosesRows checks the deletions of a list with details, for each
// coverage of the list and each outcome of the request for the detail.
func TestProvenAbsenceClosesRows(t *testing.T) {
	order := func(id string) string { return jsonRow(1, 1, "id", quote(id)) }
	line := func(id string) string { return jsonRow(1, 1, "order_id", quote(id), "position", "1") }
	first := map[string]streamInput{
		"orders": {coverage: load.Whole, rows: rows{"orders": order("a") + "," + order("b")}},
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b"}}, rows: rows{
			"orders": jsonRow(2, 2, "id", `"a"`) + "," + jsonRow(3, 3, "id", `"b"`), "order_line_items": line("a") + "," + line("b")}},
	}
	firstNight := newFixture(t, "orders", "order_details")
	_, err := firstNight.run(first, load.Limits{})
	harness.Must(t, err)
	bothOrders := []string{"order b", "order a", "item of b", "item of a"}
	afterDeletion := func(evidence string) []string { return []string{"order a", "item of a", "deleted: " + evidence} }
	// In the second night, the list and the details contain only order a.
	for name, c := range map[string]struct {
		list    load.Coverage
		outcome load.Outcome // the outcome of the request for b, or empty without a request
		want    []string
	}{
		"a proven list, no detail request":        {load.Whole, "", afterDeletion("b absent from a proven walk of orders")},
		"a proven list, and a 404":                {load.Whole, load.NotFound, afterDeletion("b 404 from /orders/{order_id}")},
		"a proven list, detail request failed":    {load.Whole, load.Missed, bothOrders},
		"an unproven list":                        {load.Unproven, "", bothOrders},
		"an unproven list, and a 404":             {load.Unproven, load.NotFound, afterDeletion("b 404 from /orders/{order_id}")},
		"a carried list, and a 404":               {load.Carried, load.NotFound, afterDeletion("b 404 from /orders/{order_id}")},
		"a carried list, detail request failed":   {load.Carried, load.Missed, bothOrders},
		"an unproven list, detail request failed": {load.Unproven, load.Missed, bothOrders},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := firstNight.copy(t)
			outcomes := map[load.Outcome][]string{load.Answered: {"a"}}
			if c.outcome != "" {
				outcomes[c.outcome] = append(outcomes[c.outcome], "b")
			}
			_, err := h.run(map[string]streamInput{"orders": {coverage: c.list, rows: rows{"orders": order("a")}},
				"order_details": {coverage: load.ByID, outcomes: outcomes, rows: rows{"orders": jsonRow(2, 2, "id", `"a"`), "order_line_items": line("a")}}}, load.Limits{Rows: 9})
			harness.Must(t, err)
			query := "SELECT 'order ' || id FROM orders UNION ALL SELECT 'item of ' || order_id FROM order_line_items UNION ALL SELECT 'deleted: ' || key || ' ' || evidence FROM meta.deletions ORDER BY 1 DESC"
			h.requireRows(query, c.want...)
		})
	}
}

// TestRowVersionsFollowOneAnother checks main and past after rows were added, changed, deleted
// and added again.
func TestRowVersionsFollowOneAnother(t *testing.T) {
	h := newFixture(t, "product_listings")
	limits := load.Limits{Rows: 9}
	for i, c := range []struct {
		names string // the first letter of a name is the id of the listing
		want  load.Change
	}{
		{"a1 b1", load.Change{After: 2, New: 2}},
		{"a1 b2", load.Change{Before: 2, After: 2, Changed: 1}},
		{"a1", load.Change{Before: 2, After: 1, Gone: 1}},
		{"a2 b2", load.Change{Before: 1, After: 2, New: 1, Changed: 1}},
		{"a2 b2", load.Change{Before: 2, After: 2}},
	} {
		var listings []string
		for _, name := range strings.Fields(c.names) {
			listings = append(listings, listing(name[:1], name, int(name[1]), i+1))
		}
		changes, err := h.run(wholeList(strings.Join(listings, ","), ""), limits)
		harness.Must(t, err)
		c.want.Table = "product_listings"
		if diff := cmp.Diff(c.want, changes["product_listings"]); diff != "" {
			t.Errorf("night %d (-want +got):\n%s", i+1, diff)
		}
	}
	h.requireRows("SELECT name, strftime(valid_from, '%d'), strftime(valid_to, '%d') FROM history.product_listings ORDER BY name, valid_from",
		"a1 01 04", "a2 04 <nil>", "b1 01 02", "b2 02 03", "b2 04 <nil>")
	h.requireRows("SELECT name, run_id FROM past.product_listings ORDER BY valid_to, name",
		"b1 20261102T020000Z", "b2 20261103T020000Z", "a1 20261104T020000Z")
	h.requireRows("SELECT count(*) FROM meta.deletions", "1")
}

// TestDetailsAreStoredForTheNextNight checks meta.details after each outcome. Another stream has read a detail with one of
// the ids.
func TestDetailsAreStoredForTheNextNight(t *testing.T) {
	h := newFixture(t, "product_listings", "products")
	h.planDetails = true
	h.afterMerge = func(_ *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, d.Exec(t.Context(), "INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('order_details', 'b', '202610', '2026-10-01 02:00:00+00')"))
		h.afterMerge = nil
	}
	list := wholeList(listing("a", "x", 1, 1)+","+listing("b", "x", 2, 2)+","+listing("c", "x", 3, 3)+","+listing("d", "x", 4, 4), "")
	inputs := func(coverage load.Coverage, outcomes map[load.Outcome][]string) map[string]streamInput {
		return map[string]streamInput{"product_listings": list["product_listings"], "products": {coverage: coverage, outcomes: outcomes}}
	}
	// run_id[7:8] is the day of the run.
	const detailsQuery = "SELECT id, run_id[7:8], strftime(read_at, '%d'), strftime(failed_at, '%d'), fingerprint IS NULL FROM meta.details ORDER BY id, stream DESC"
	const other = "b  01 <nil> true" // the detail of the other stream, whose run id has no day
	_, err := h.run(inputs(load.ByID, map[load.Outcome][]string{load.Answered: {"a", "b", "c"}}), load.Limits{})
	harness.Must(t, err)
	h.requireRows(detailsQuery, "a 01 01 <nil> false", "b 01 01 <nil> false", other, "c 01 01 <nil> false")
	_, err = h.run(inputs(load.ByID, map[load.Outcome][]string{load.Answered: {"a"}, load.Missed: {"b"}, load.NotFound: {"c", "d"}}), load.Limits{})
	harness.Must(t, err)
	// d was never read: its 404 is settled. c was, so the next night confirms its 404.
	h.requireRows(detailsQuery, "a 02 02 <nil> false", "b 01 01 02 false", other, "d 02 02 <nil> false")
	_, err = h.run(inputs(load.Carried, map[load.Outcome][]string{load.Answered: {"a"}}), load.Limits{})
	harness.Must(t, err)
	h.requireRows(detailsQuery, "a 02 02 <nil> false", "b 01 01 02 false", other, "d 02 02 <nil> false")
	_, err = h.run(inputs(load.ByID, map[load.Outcome][]string{load.Answered: {"b"}}), load.Limits{})
	harness.Must(t, err)
	h.requireRows(detailsQuery, "a 02 02 <nil> false", "b 04 04 <nil> false", other, "d 02 02 <nil> false")
}

// TestLoadingLowersTheMemoryLimit reads DuckDB's memory limit while rows are loaded, and during the
// merge. The configured limit is 270 MB. While rows are loaded, the limit is 256 MB (244.1 MiB), one thread is used,
// and nothing is compressed. The merge compresses the rows, on all threads.
func TestLoadingLowersTheMemoryLimit(t *testing.T) {
	h := newFixture(t, "product_listings")
	var loading, merging string
	readSettings := func(d *warehouse.Draft, to *string) {
		const settings = "current_setting('memory_limit'), current_setting('threads'), current_setting('force_compression')"
		harness.Must(t, d.DB.QueryRowContext(t.Context(), "SELECT concat_ws(', ', "+settings+")").Scan(to))
	}
	h.beforeMerge = func(_ *load.Stage, d *warehouse.Draft) { readSettings(d, &loading) }
	h.afterMerge = func(_ *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		readSettings(d, &merging)
	}
	_, err := h.run(wholeList(listing("a", "a1", 1, 1), ""), load.Limits{})
	harness.Must(t, err)
	got := []string{loading, merging}
	if diff := cmp.Diff([]string{"244.1 MiB, 1, uncompressed", "257.4 MiB, 2, auto"}, got); diff != "" {
		t.Errorf("the settings while rows are loaded, and in the merge (-want +got):\n%s", diff)
	}
}
