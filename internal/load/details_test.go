package load_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
)

// TestManyUnknownFieldsAreMerged merges the unknown fields of more records than one batch has. Each record must be
// stored once, with the fields of its list row and of its detail.
func TestManyUnknownFieldsAreMerged(t *testing.T) {
	t.Parallel()
	const count = 4_096 + 2
	ids := slices.Collect(numberedIDs(count))
	order := func(seq int, extra string) string {
		var orders []string
		for i, id := range ids {
			orders = append(orders, jsonRow(seq, count*seq+i, "id", quote(id), "extra", quote(extra)))
		}
		return strings.Join(orders, ",")
	}
	h := newFixture(t, "orders", "order_details")
	_, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole, rows: rows{"orders": order(1, `{"a":1}`)}},
		"order_details": {coverage: load.ByID, rows: rows{"orders": order(2, `{"b":2}`)}, outcomes: map[load.Outcome][]string{load.Answered: ids}}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT count(*), count(DISTINCT id), min(extra::VARCHAR), max(extra::VARCHAR) FROM orders", fmt.Sprintf(`%d %[1]d {"a":1,"b":2} {"a":1,"b":2}`, count))
}

// TestLastCopyOfARepeatedItemIsKept stages an outlet that was read twice, and that contains some channels
// several times, with different links. The links of the last copy of a channel are kept. Of the last copy of one
// channel, the first link was rejected.
func TestLastCopyOfARepeatedItemIsKept(t *testing.T) {
	channel := func(id, handle string) string {
		return fmt.Sprintf(`{"id":%q,"outlet_id":"a","channel_handle":%q,"row_hash":1,"seq":1}`, id, handle)
	}
	link := func(channel string, position int, url string) string {
		return fmt.Sprintf(`{"outlet_channel_id":%q,"position":%d,"url":%q,"row_hash":1,"seq":1}`, channel, position, url)
	}
	h := newFixture(t, "outlets", "outlet_listings")
	_, err := h.run(map[string]streamInput{"outlets": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a"}}, rows: rows{
		"outlets": `{"id":"a","row_hash":2,"seq":0},{"id":"a","row_hash":1,"seq":1}`,
		"outlet_channels": strings.Join([]string{
			channel("c", "early"), channel("c", "late"),
			channel("first link rejected", "early"), channel("first link rejected", "late"),
			channel("one link", "early"), channel("one link", "middle"), channel("one link", "late"),
			channel("once", "only"),
			`{"id":"only in the first reading","outlet_id":"a","row_hash":2,"seq":0}`,
		}, ","),
		"outlet_channel_social_links": strings.Join([]string{
			link("c", 1, "old1"), link("c", 2, "old2"), link("c", 3, "old3"),
			link("c", 1, "new1"), link("c", 2, "new2"),
			link("one link", 1, "old1"), link("one link", 1, "middle1"),
			link("first link rejected", 1, "old1"), link("first link rejected", 3, "old3"),
			link("once", 1, "other"), link("one link", 1, "new1"),
			link("first link rejected", 2, "new2"), link("first link rejected", 4, "new4"),
			`{"outlet_channel_id":"only in the first reading","position":1,"url":"old1","row_hash":2,"seq":0}`,
		}, ","),
	}}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT id, row_hash FROM outlets", "a 1")
	h.requireRows("SELECT id, channel_handle FROM outlet_channels ORDER BY ALL", "c late", "first link rejected late", "once only", "one link late")
	h.requireRows("SELECT outlet_channel_id, position, url FROM outlet_channel_social_links ORDER BY ALL",
		"c 1 new1", "c 2 new2", "first link rejected 2 new2", "first link rejected 4 new4", "once 1 other", "one link 1 new1")
}

// TestSwappedValuesAreAChange changes the hashes of two prices as if their amounts were swapped. The sum of
// the hashes stays the same, but the fingerprint of the listing must change.
func TestSwappedValuesAreAChange(t *testing.T) {
	h := newFixture(t, "product_listings", "products")
	h.planDetails = true
	// The second night swaps the upper halves of the two hashes, 5 and 9.
	const first, second = 5<<32 + 7, 9<<32 + 3
	var fingerprints []string
	for _, hashes := range [][2]int{{first, second}, {first + 4<<32, second - 4<<32}} {
		inputs := wholeList(listing("p1", "a", 1, 1), price("p1", 1, "10", hashes[0], 1)+","+price("p1", 2, "20", hashes[1], 1))
		inputs["products"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"p1"}}}
		_, err := h.run(inputs, load.Limits{Rows: 10})
		harness.Must(t, err)
		fingerprints = append(fingerprints, h.queryRows("SELECT fingerprint FROM meta.details WHERE stream = 'products'")...)
	}
	if len(fingerprints) != 2 || fingerprints[0] == fingerprints[1] {
		t.Errorf("the fingerprints of the two nights are %q, want two different ones", fingerprints)
	}
}
