package load_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
)

// TestFailedBatchPreventsTheMerge adds a batch whose INSERT fails. DuckDB then drops the transaction with
// all earlier batches, and COMMIT returns no error. Finish and Merge must report the failure.
func TestFailedBatchPreventsTheMerge(t *testing.T) {
	h := newRaceFixture(t, "product_listings")
	ctx, s := t.Context(), h.openStage()
	harness.Must(t, s.AddRows(ctx, "product_listings", "product_listings", h.batch("product_listings", listing("a", "a", 1, 1))))
	if err := s.AddRows(ctx, "product_listings", "product_listings", batchWithTextForNumber(t, h)); err == nil {
		t.Fatal("Add accepted a text in a column of numbers")
	}
	if err := s.FinishStream(ctx, h.streams[0], load.Whole); err == nil || !strings.Contains(err.Error(), "commit the staged rows") {
		t.Errorf("Finish returned %v, want an error of the commit", err)
	}
	if _, err := s.Merge(ctx, map[string]load.Coverage{"product_listings": load.Whole}, load.Limits{}); err == nil {
		t.Error("Merge succeeded without the lost rows")
	}
}

// batchWithTextForNumber returns a batch with a text in a column of numbers. DuckDB accepts the batch and
// fails to convert the text.
func batchWithTextForNumber(t *testing.T, h *fixture) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	for _, c := range h.w.Schema.Definitions["product_listings"].Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	for _, name := range []string{"row_hash", "seq"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64})
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil),
		strings.NewReader(`[{"id":"e","min_delivery_days":"soon","row_hash":1,"seq":1}]`))
	harness.Must(t, err)
	return b
}
