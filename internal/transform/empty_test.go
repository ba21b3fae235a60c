package transform_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/transform"
)

// TestEmptyTextIsNULL sends an empty text for a column of each type, in the record, in an object, in an item and as an
// item. The column must be NULL. The text is counted with all converted values, and with "=" also on its own.
func TestEmptyTextIsNULL(t *testing.T) {
	defs := definitions()
	defs["things"] = parseDefinition("things", "id flag:BOOLEAN small:INTEGER big:BIGINT price:DECIMAL(18,6) at:TIMESTAMPTZ owner_since:TIMESTAMPTZ extra:JSON")
	for _, c := range []struct{ stream, body, table, column, path string }{
		{"things", `{"id":"p","flag":""}`, "things", "flag", "flag"},
		{"things", `{"id":"p","small":""}`, "things", "small", "small"},
		{"things", `{"id":"p","big":""}`, "things", "big", "big"},
		{"things", `{"id":"p","price":""}`, "things", "price", "price"},
		{"things", `{"id":"p","at":""}`, "things", "at", "at"},
		{"things", `{"id":"p","owner":{"since":""}}`, "things", "owner_since", "owner.since"},
		{"orders", `[{"id":"p","line_items":[{"price":""}]}]`, "order_line_items", "price", "price"},
		{"products", `{"id":"p","prices":[""]}`, "product_prices", "unit_amount", "unit_amount"},
		{"outlets", `{"id":"p","outlet_channels":[{"id":"c","do_follow_links_allowed":""}]}`, "outlet_channels", "do_follow_links_allowed", "do_follow_links_allowed"},
	} {
		b, err := transform.Compile(streamNamed(t, c.stream), defs)
		if err != nil {
			t.Fatal(err)
		}
		d := b.NewDecoder()
		if _, err := d.Decode([]byte(c.body), transform.Origin{Param: "p"}); err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		findings := d.Findings()
		var drift []string
		for _, f := range findings.Drift {
			drift = append(drift, fmt.Sprintf("%s.%s %s x%d", f.Table, f.Path, f.Kind, f.Count))
		}
		want := []string{c.table + "." + c.path + " converted x1", c.table + "." + c.path + "= converted x1"}
		if diff := cmp.Diff(want, drift); diff != "" || len(findings.Rejects) > 0 {
			t.Errorf("%s: rejects %+v, and other drift (-want +got):\n%s", c.body, findings.Rejects, diff)
		}
		if rows := rowsOf(t, d.Flush())[c.table]; len(rows) != 1 || rows[0][c.column] != "" {
			t.Errorf("%s: the rows are %v, want one with NULL", c.body, rows)
		}
	}
}
