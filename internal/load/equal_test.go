package load_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/load"
)

// TestEqualJSONIsNoChange reads records whose JSON values are written in another way, in a table with joined
// details and in one without. The stored values stay.
func TestEqualJSONIsNoChange(t *testing.T) {
	t.Parallel()
	type values struct {
		old, new  string
		isChanged bool
	}
	cases := map[string]values{
		"members in another order":           {`{"a":1,"b":{"c":1,"d":2}}`, `{"b":{"d":2,"c":1},"a":1}`, false},
		"members in objects in a list":       {`{"l":[{"a":1,"b":2}]}`, `{"l":[{"b":2,"a":1}]}`, false},
		"items in another order":             {`{"l":[{"a":1},{"a":2}],"t":["x","y"]}`, `{"l":[{"a":2},{"a":1}],"t":["y","x"]}`, false},
		"another escape":                     {`{"a":"\u00e9\/"}`, `{"a":"é/"}`, false},
		"a pair of numbers in another order": {`{"l":[1.5,2]}`, `{"l":[2,1.5]}`, true},
		"another value":                      {`{"a":1,"b":2}`, `{"a":2,"b":1}`, true},
		"an item occurs once more":           {`{"l":["x","y"]}`, `{"l":["x","y","y"]}`, true},
		"a number is a text":                 {`{"a":1}`, `{"a":"1"}`, true},
		"no value":                           {`{"a":1}`, "", true},
		"the first value":                    {"", `{"a":1}`, true},
	}
	names := slices.Sorted(maps.Keys(cases))
	h := newFixture(t, "orders", "order_details", "files")
	night := func(night int, textOf func(values) string) map[string]load.Change {
		row := func(id, column string, seq int, pairs ...string) string {
			text := "null"
			if json := textOf(cases[id]); json != "" {
				text = quote(json)
			}
			return jsonRow(100*night+seq, seq, append([]string{column, text}, pairs...)...)
		}
		var orders, items, files []string
		for i, id := range names {
			orders = append(orders, row(id, "metadata", i+1, "id", quote(id)))
			items = append(items, row(id, "extra", i+1, "order_id", quote(id), "position", "1"))
			files = append(files, row(id, "extra", i+1, "id", quote(id)))
		}
		list := rows{"orders": strings.Join(orders, ",")}
		detail := rows{"orders": list["orders"], "order_line_items": strings.Join(items, ",")}
		changes, err := h.run(map[string]streamInput{
			"orders":        {coverage: load.Whole, rows: list},
			"order_details": {coverage: load.ByID, rows: detail, outcomes: map[load.Outcome][]string{load.Answered: names}},
			"files":         {coverage: load.Whole, rows: rows{"files": strings.Join(files, ",")}},
		}, load.Limits{})
		must(t, err)
		return changes
	}
	night(1, func(v values) string { return v.old })
	changes := night(2, func(v values) string { return v.new })
	var changed []string
	for _, id := range names {
		if cases[id].isChanged {
			changed = append(changed, id)
		}
	}
	for _, table := range []string{"orders", "order_line_items", "files"} {
		id := map[bool]string{true: "order_id", false: "id"}[table == "order_line_items"]
		h.requireRows("SELECT "+id+" FROM past."+table+" ORDER BY ALL", changed...)
		if c := changes[table]; c.Changed != int64(len(changed)) {
			t.Errorf("%s has %+v, want %d changed", table, c, len(changed))
		}
	}
	h.requireRows("SELECT extra::VARCHAR FROM files WHERE id = 'members in another order'", cases["members in another order"].old)
}
