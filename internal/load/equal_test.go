package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
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
		harness.Must(t, err)
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
		id := "id"
		if table == "order_line_items" {
			id = "order_id"
		}
		h.requireRows("SELECT "+id+" FROM past."+table+" ORDER BY ALL", changed...)
		if c := changes[table]; c.Changed != int64(len(changed)) {
			t.Errorf("%s has %+v, want %d changed", table, c, len(changed))
		}
	}
	h.requireRows("SELECT extra::VARCHAR FROM files WHERE id = 'members in another order'", cases["members in another order"].old)
}

// TestSignaturesAndIgnoredColumnsAreNoChange reads files with new signatures in their URLs, and with other values in
// ignored columns. The newest URLs and ignored values are stored, also in the Parquet file, without a version.
func TestSignaturesAndIgnoredColumnsAreNoChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "files")
	h.ignored = []string{"files.size", "files.size.unit", "files.extra.seen", "files.extra.by.at"}
	type file struct {
		url   string
		size  int
		extra string
	}
	cases := map[string]struct {
		old, new  file
		isChanged bool
	}{
		"a new signature":          {file{url: "https://x/f?X-Amz-Date=1&v=2&X-Amz-Signature=a#p"}, file{url: "https://x/f?X-Amz-Date=2&v=2&X-Amz-Signature=b#p"}, false},
		"signatures of others":     {file{url: "https://x/f?X-Goog-Date=1&sig=a&se=1"}, file{url: "https://x/f?Expires=1&Signature=b&token=3"}, false},
		"another parameter":        {file{url: "https://x/f?v=1&sig=a"}, file{url: "https://x/f?v=2&sig=a"}, true},
		"another fragment":         {file{url: "https://x/f?sig=a#p"}, file{url: "https://x/f?sig=a#q"}, true},
		"a text that is no URL":    {file{extra: `{"u":"really?sig=1"}`}, file{extra: `{"u":"really?sig=2"}`}, true},
		"parts of an ignored name": {file{extra: `{"se":{"en":1}}`}, file{extra: `{"se":{"en":2}}`}, true},
		"another file":             {file{url: "https://x/f?sig=a"}, file{url: "https://x/g?sig=a"}, true},
		"signatures in JSON":       {file{extra: `{"l":[{"logo":"https://x/l?token=1"},{"u":"https://x/l?sig=1"}]}`}, file{extra: `{"l":[{"logo":"https://x/l?token=2"},{"u":"https://x/l?sig=2"}]}`}, false},
		"a token of another URL":   {file{extra: `{"u":"https://x/l?token=1"}`}, file{extra: `{"u":"https://x/l?token=2"}`}, true},
		"an ignored column":        {file{size: 1}, file{size: 2}, false},
		"its first value":          {file{}, file{size: 3}, false},
		"an ignored member":        {file{extra: `{"seen":1,"a":1}`}, file{extra: `{"a":1,"seen":2}`}, false},
		"an ignored inner member":  {file{extra: `{"by":{"at":1,"n":"x"}}`}, file{extra: `{"by":{"at":2,"n":"x"}}`}, false},
		"a new ignored member":     {file{}, file{extra: `{"seen":2}`}, false},
		"a member with more":       {file{extra: `{"seen_by":1}`}, file{extra: `{"seen_by":2}`}, true},
		"members in another order": {file{extra: `{"a":1,"b":2}`}, file{extra: `{"b":2,"a":1}`}, false},
		"ignored and other values": {file{size: 1, extra: `{"a":1}`}, file{size: 2, extra: `{"a":2}`}, true},
	}
	names := slices.Sorted(maps.Keys(cases))
	night := func(hash int, version func(id string) file) load.Change {
		var files []string
		for i, id := range names {
			f := version(id)
			size, extra := "null", "null"
			if f.size > 0 {
				size = strconv.Itoa(f.size)
			}
			if f.extra != "" {
				extra = quote(f.extra)
			}
			files = append(files, jsonRow(hash+i, i+1, "id", quote(id), "file_url", quote(f.url), "size", size, "extra", extra))
		}
		changes, err := h.run(map[string]streamInput{"files": {coverage: load.Whole, rows: rows{"files": strings.Join(files, ",")}}}, load.Limits{})
		harness.Must(t, err)
		return changes["files"]
	}
	night(100, func(id string) file { return cases[id].old })
	change := night(200, func(id string) file { return cases[id].new })
	var changed []string
	for _, id := range names {
		if cases[id].isChanged {
			changed = append(changed, id)
		}
	}
	if change.Changed != int64(len(changed)) || change.Replaced != int64(len(names)-len(changed)-1) {
		t.Errorf("the files have %+v, want %d changed and all others replaced, except the one in another order", change, len(changed))
	}
	h.requireRows("SELECT extra::VARCHAR FROM files WHERE id = 'members in another order'", cases["members in another order"].old.extra)
	h.requireRows("SELECT id FROM past.files ORDER BY id", changed...)
	const query = `SELECT size, extra->>'seen', extra->'by'->>'at' FROM %[1]s
			WHERE id IN ('an ignored column', 'its first value', 'an ignored member', 'an ignored inner member')
		UNION ALL SELECT file_url, NULL, NULL FROM %[1]s WHERE id = 'a new signature'
		UNION ALL SELECT extra->'l'->0->>'logo', extra->'l'->1->>'u', NULL FROM %[1]s WHERE id = 'signatures in JSON' ORDER BY ALL`
	want := []string{"2 <nil> <nil>", "3 <nil> <nil>", cases["a new signature"].new.url + " <nil> <nil>",
		"https://x/l?token=2 https://x/l?sig=2 <nil>", "<nil> 2 <nil>", "<nil> <nil> 2"}
	h.requireRows(fmt.Sprintf(query, "files"), want...)
	h.requireRows(fmt.Sprintf(query, "read_parquet('"+h.file("files")+"')"), want...)
	if change := night(200, func(id string) file { return cases[id].new }); change.Changed+change.Replaced > 0 {
		t.Errorf("the same files in the next night have %+v, want no change", change)
	}
}
