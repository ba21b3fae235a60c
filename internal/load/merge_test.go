package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// orderRows returns rows of orders as JSON, from the members of each row by the id of its order.
func orderRows(seq int, members map[string]string) string {
	var orders []string
	for i, id := range slices.Sorted(maps.Keys(members)) {
		orders = append(orders, fmt.Sprintf(`{"id":%q,%s"row_hash":%d,"seq":%[3]d}`, id, members[id], seq+i))
	}
	return strings.Join(orders, ",")
}

// TestValuesOfListAndDetailAreJoined checks for each value whether it comes from the list, the
// detail or the earlier night. In a third night the same responses change nothing.
func TestValuesOfListAndDetailAreJoined(t *testing.T) {
	t.Parallel()
	const notSent, failed, notFound = "", "failed", "404"
	const newOrder, paidOrder, oldOrder = `"status":"new","total":"1",`, `"status":"paid","total":"2",`, `"status":"old","total":"1",`
	const created = `"created_at":"2026-01-02T00:00:00Z",`
	cases := map[string]struct {
		stored       string // the row of the list in the first night
		storedDetail string
		list, detail string // in the second night
		want         string
	}{
		"list and detail agree":        {"", "", paidOrder, paidOrder, "paid 2.000000 <nil> <nil>"},
		"the detail wins":              {"", "", newOrder, paidOrder, "paid 2.000000 <nil> <nil>"},
		"the list fills a NULL":        {"", "", newOrder + created, `"status":null,`, "new 1.000000 02 <nil>"},
		"the list fills an empty text": {"", "", newOrder, `"status":"","total":"2",`, "new 2.000000 <nil> <nil>"},
		"both texts are empty":         {"", "", `"status":"",`, `"status":"",`, " <nil> <nil> <nil>"},
		"an empty text is not NULL":    {"", "", `"status":null,`, `"status":"",`, " <nil> <nil> <nil>"},

		"only the list, omitted values are kept":         {oldOrder + created, "", `"status":"new",`, notSent, "new 1.000000 02 <nil>"},
		"only the list, an empty text replaces no value": {oldOrder, "", `"status":"","total":"5",`, notSent, "old 5.000000 <nil> <nil>"},
		"only the detail, omitted values are kept":       {oldOrder + created, "", notSent, `"total":"4",`, "old 4.000000 02 <nil>"},

		"with list and detail, the earlier night is not used": {oldOrder + created, "", `"total":"2",`, `"status":"new",`, "new 2.000000 <nil> <nil>"},

		"the request for the detail fails": {oldOrder, "", paidOrder, failed, "old 1.000000 <nil> <nil>"},
		"the detail returns 404":           {oldOrder, "", `"status":"new",`, notFound, "new 1.000000 <nil> <nil>"},
		"unknown fields of both": {`"extra":"{\"a\":1.10,\"b\":null}",`, `"extra":"{\"c\":2}",`, `"extra":"{\"a\":2.20}",`, `"extra":"{\"c\":3}",`,
			`<nil> <nil> <nil> {"a":2.20,"c":3}`},
		"unknown fields, only the list": {`"extra":"{\"a\":1.10,\"b\":null}",`, `"extra":"{\"c\":2}",`, `"extra":"{\"a\":2.20}",`, notSent,
			`<nil> <nil> <nil> {"a":2.20,"b":null,"c":2}`},
		"unknown fields, only the detail": {`"extra":"{\"a\":1.10,\"b\":null}",`, `"extra":"{\"c\":2}",`, notSent, `"extra":"{\"c\":3}",`,
			`<nil> <nil> <nil> {"a":1.10,"b":null,"c":3}`},
		"unknown fields of a list without details": {`"extra":"{\"z\":9}",`, "", `"extra":"{\"z\":9}",`, notSent, `<nil> <nil> <nil> {"z":9}`},
	}
	h := newFixture(t, "orders", "order_details")
	night := func(seq int, lists, details map[string]string) load.Change {
		outcomes, sent := map[load.Outcome][]string{}, map[string]string{}
		for id, detail := range details {
			switch detail {
			case failed:
				outcomes[load.Missed] = append(outcomes[load.Missed], id)
			case notFound:
				outcomes[load.NotFound] = append(outcomes[load.NotFound], id)
			default:
				outcomes[load.Answered] = append(outcomes[load.Answered], id)
				sent[id] = detail
			}
		}
		changes, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": orderRows(seq, lists)}},
			"order_details": {coverage: load.ByID, rows: rows{"orders": orderRows(seq+100, sent)}, outcomes: outcomes}}, load.Limits{Rows: 99})
		harness.Must(t, err)
		return changes["orders"]
	}
	stored, storedDetails, lists, details := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	var want []string
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		c := cases[id]
		want = append(want, id+": "+c.want)
		for members, into := range map[*string]map[string]string{&c.stored: stored, &c.storedDetail: storedDetails, &c.list: lists, &c.detail: details} {
			if *members != notSent {
				into[id] = *members
			}
		}
	}
	night(1, stored, storedDetails)
	night(201, lists, details)
	h.requireRows("SELECT id || ':', status, total::VARCHAR, strftime(created_at, '%d'), extra::VARCHAR FROM orders ORDER BY id", want...)
	// Another hash of the same values would add a version of each joined row of every warehouse.
	h.requireRows("SELECT row_hash FROM orders WHERE id = 'the list fills a NULL'", "15877314949465242862")
	if c := night(201, lists, details); c.New+c.Changed+c.Gone != 0 {
		t.Errorf("the same responses in a third night have the changes %+v, want none", c)
	}
}

// TestChildRowsOfListAndDetailAreJoined checks the child rows of a record and their values.
func TestChildRowsOfListAndDetailAreJoined(t *testing.T) {
	t.Parallel()
	item := func(position int, name, product string) string {
		return fmt.Sprintf(`"position":%d,"outlet_name":%s,"product_id":%s`, position, name, product)
	}
	stored := []string{item(1, `"full"`, `"p"`), item(2, `"more"`, `"q"`)} // from the detail of the first night
	fromLeanList := []string{item(1, `"lean"`, "null")}
	withoutItems := []string{}
	const full, more = "1 full p", "2 more q"
	cases := map[string]struct {
		list, detail []string // the items in the second night, or nil if the record is not sent
		want         []string
	}{
		"list and detail again":               {fromLeanList, stored, []string{full, more}},
		"the list agrees and omits a value":   {[]string{item(1, `"full"`, "null"), stored[1]}, nil, []string{full, more}},
		"the list has an empty text":          {[]string{item(1, `""`, `"p"`), stored[1]}, nil, []string{full, more}},
		"the list contradicts an item":        {[]string{item(1, `"other"`, "null"), stored[1]}, nil, []string{"1 other <nil>", more}},
		"the list has fewer items":            {stored[:1], nil, []string{full}},
		"the list omits the items":            {withoutItems, nil, []string{full, more}},
		"a new item has an empty text":        {[]string{stored[0], stored[1], item(3, `""`, "null")}, nil, []string{full, more, "3  <nil>"}},
		"only the detail is read":             {nil, []string{item(1, `"new"`, "null")}, []string{"1 new <nil>"}},
		"the list omits the detail's items":   {withoutItems, []string{item(1, `"new"`, "null")}, []string{"1 new <nil>"}},
		"list and detail have different ones": {stored, []string{item(1, `"new"`, "null")}, []string{"1 new <nil>"}},
	}
	h := newFixture(t, "orders", "order_details")
	// records returns the rows of the orders in sent, of which each has the items.
	records := func(seq int, sent map[string][]string) rows {
		members := map[string]string{}
		var items []string
		for i, id := range slices.Sorted(maps.Keys(sent)) {
			members[id] = ""
			for _, it := range sent[id] {
				items = append(items, fmt.Sprintf(`{"order_id":%q,%s,"row_hash":%d,"seq":%[3]d}`, id, it, seq+i))
			}
		}
		return rows{"orders": orderRows(seq, members), "order_line_items": strings.Join(items, ",")}
	}
	night := func(seq int, lists, details map[string][]string) {
		outcomes := map[load.Outcome][]string{load.Answered: slices.Collect(maps.Keys(details))}
		_, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole, rows: records(seq, lists)},
			"order_details": {coverage: load.ByID, rows: records(seq+100, details), outcomes: outcomes}}, load.Limits{Rows: 99})
		harness.Must(t, err)
	}
	firstLists, firstDetails, lists, details := map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}
	var want []string
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		c := cases[id]
		firstLists[id], firstDetails[id] = fromLeanList, stored
		if c.list != nil {
			lists[id] = c.list
		}
		if c.detail != nil {
			details[id] = c.detail
		}
		for _, row := range c.want {
			want = append(want, id+": "+row)
		}
	}
	night(1, firstLists, firstDetails)
	night(201, lists, details)
	const query = "SELECT order_id || ':', position, outlet_name, product_id FROM order_line_items ORDER BY order_id, position"
	h.requireRows(query, want...)
	_, err := h.run(nil, load.Limits{}) // neither list nor details are read
	harness.Must(t, err)
	h.requireRows(query, want...)
}

// TestProvenAbsenceClosesRows checks the deletions of a list with details, for each
// coverage of the list and each outcome of the request for the detail.
func TestProvenAbsenceClosesRows(t *testing.T) {
	t.Parallel()
	withItems := func(seq int, ids ...string) rows {
		members := map[string]string{}
		var lines []string
		for _, id := range ids {
			members[id] = ""
			lines = append(lines, jsonRow(seq, seq, "order_id", quote(id), "position", "1"))
		}
		return rows{"orders": orderRows(seq, members), "order_line_items": strings.Join(lines, ",")}
	}
	list := func(coverage load.Coverage, ids ...string) streamInput {
		return streamInput{coverage: coverage, rows: rows{"orders": withItems(1, ids...)["orders"]}}
	}
	all := []string{"failed", "not requested", "read", "removed"} // the requests for their details in the second night
	firstNight := newFixture(t, "orders", "order_details")
	_, err := firstNight.run(map[string]streamInput{"orders": list(load.Whole, all...),
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: all}, rows: withItems(11, all...)}}, load.Limits{})
	harness.Must(t, err)
	const notFound = "deleted: removed 404 from /orders/{order_id}"
	// In the second night, the list and the details contain only one order.
	for name, c := range map[string]struct {
		coverage   load.Coverage
		rowsRemain []string
		deletions  []string
	}{
		"a proven list":    {load.Whole, []string{"failed", "read"}, []string{"deleted: not requested absent from a proven walk of orders", notFound}},
		"an unproven list": {load.Unproven, []string{"failed", "not requested", "read"}, []string{notFound}},
		"a carried list":   {load.Carried, []string{"failed", "not requested", "read"}, []string{notFound}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := firstNight.copy(t)
			_, err := h.run(map[string]streamInput{"orders": list(c.coverage, "read"), "order_details": {coverage: load.ByID, rows: withItems(21, "read"),
				outcomes: map[load.Outcome][]string{load.Answered: {"read"}, load.Missed: {"failed"}, load.NotFound: {"removed"}}}}, load.Limits{Rows: 9})
			harness.Must(t, err)
			h.requireRows("SELECT id FROM orders ORDER BY id", c.rowsRemain...)
			h.requireRows("SELECT order_id FROM order_line_items ORDER BY order_id", c.rowsRemain...)
			h.requireRows("SELECT 'deleted: ' || key || ' ' || evidence FROM meta.deletions ORDER BY key", c.deletions...)
		})
	}
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
