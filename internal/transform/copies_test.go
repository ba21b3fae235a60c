package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestFullerCopyIsStaged decodes bodies that contain a record twice.
func TestFullerCopyIsStaged(t *testing.T) {
	for name, c := range map[string]struct{ stream, body, table, want, droppedCopy string }{
		"fuller first":   {"things", `[{"id":"a","label":"x","big":1},{"id":"a","label":"y"}]`, "things", "big=1 id=a label=x", `{"id":"a","label":"y"}`},
		"fuller last":    {"things", `[{"id":"a","label":"y"},{"id":"a","label":"x","big":1}]`, "things", "big=1 id=a label=x", `{"id":"a","label":"y"}`},
		"equally full":   {"things", `[{"id":"a","label":"x"},{"id":"a","label":"y"}]`, "things", "id=a label=y", `{"id":"a","label":"x"}`},
		"more parts":     {"things", `[{"id":"a","label":"x","parts":[{"name":"p"}]},{"id":"a","label":"y"}]`, "things", "id=a label=x", `{"id":"a","label":"y"}`},
		"in an envelope": {"things", `{"records":[{"id":"a","big":1},{"id":"a"}],"total_records":2}`, "things", "big=1 id=a", `{"id":"a"}`},
		"a bare value":   {"states", `{"states":[{"name":"Bayern","country":"DE"},"Bayern"]}`, "locations", `extra={"country":"DE"} kind=state name=Bayern`, `"Bayern"`},
		"a link table":   {"profile_orders", `[{"id":"o"},{"id":"o"}]`, "profile_orders", "order_id=o profile_id=p", `{"id":"o"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := decoderOf(t, c.stream)
			page, err := d.Decode([]byte(c.body), transform.Origin{Seq: 1, Param: "p"})
			if err != nil || page.Records != 2 || page.Copies != 1 || len(page.IDs) != 1 || page.RejectedRecords != 0 {
				t.Fatalf("page %+v, error %v; want one record and its copy", page, err)
			}
			all := rowsOf(t, d.Flush())
			var o outcome
			for _, r := range all[c.table] {
				delete(r, stream.RowHash)
				delete(r, stream.Seq)
				o.add(c.table, r)
			}
			if diff := cmp.Diff([]string{c.table + " " + c.want}, o.Rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			// Each list of parts in the bodies has one part.
			if want := strings.Count(c.body, "parts"); len(all["parts"]) != want {
				t.Errorf("%d parts, want %d", len(all["parts"]), want)
			}
			duplicates := slices.DeleteFunc(d.Findings().Drift, func(f transform.Drift) bool { return f.Kind != transform.Duplicate })
			if len(duplicates) != 1 || duplicates[0].Sample != c.droppedCopy || duplicates[0].Count != 1 || duplicates[0].Path != "$record" {
				t.Errorf("drift %+v, want the copy %s", duplicates, c.droppedCopy)
			}
		})
	}
}

// TestManyCopies decodes a body that contains ten records, and then each of them twice more.
func TestManyCopies(t *testing.T) {
	var records []string
	for round, label := range []string{`"x"`, `null`, `"y"`} {
		for i := range 10 {
			records = append(records, fmt.Sprintf(`{"id":"r%d","big":%d,"label":%s}`, i, 10*round+i, label))
		}
	}
	d := decoderOf(t, "things")
	page, err := d.Decode([]byte("["+strings.Join(records, ",")+"]"), transform.Origin{})
	if err != nil || page.Records != 30 || page.Copies != 20 || len(page.IDs) != 10 {
		t.Fatalf("page %+v, error %v; want 10 of 30 records", page, err)
	}
	for i, r := range rowsOf(t, d.Flush())["things"] {
		if r["big"] != fmt.Sprint(20+i) || r["label"] != "y" {
			t.Errorf("row %v, want the last copy", r)
		}
	}
	findings := d.Findings()
	ids := map[uint64]bool{}
	for _, r := range findings.DriftRecords {
		ids[r.Record] = true
	}
	if len(findings.Drift) != 1 || len(findings.DriftRecords) != 20 || len(ids) != 10 {
		t.Errorf("findings %+v, want one kind of drift in 20 copies of 10 records", findings)
	}
	// The copies of one body say nothing about the next body.
	if page, err = d.Decode([]byte(`[{"id":"r1"}]`), transform.Origin{Seq: 1}); err != nil || page.Copies != 0 || d.Rows() != 1 {
		t.Errorf("a later record of the same id: page %+v, %d rows, error %v; want it staged", page, d.Rows(), err)
	}
}
