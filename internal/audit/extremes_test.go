package audit_test

import (
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// TestExtremeValuesFailNoCheck runs all checks on a snapshot with the largest and smallest values that its
// columns can hold. Each check must run; its result does not matter.
func TestExtremeValuesFailNoCheck(t *testing.T) {
	before := &query.Before{Catalog: fixture.NewEmptyCatalog(t).Fill(t, fixture.ExtremeRows(100))}
	// Kinds of drift and names of tables are extreme texts too, so the last nights get an unknown field and a table that
	// they rewrote.
	const lastNights = `
INSERT INTO meta.drift (table_name, path, kind, first_run, last_run, count) SELECT 'orders', 'notes', 'unknown_field', run_id, run_id, 9223372036854775807 FROM mart.snapshot;
INSERT INTO meta.tables (run_id, table_name, rows, rows_changed)
SELECT run_id, 'orders', 9223372036854775807, 9223372036854775807 FROM (SELECT run_id FROM meta.runs ORDER BY snapshot_at DESC LIMIT 3);`
	db := open(t, fixture.ExtremeRows(300)+lastNights, before, 10*time.Minute)
	results, err := load(t, "", nil, nil).Run(t.Context(), db)
	if err != nil || len(results) == 0 {
		t.Fatalf("got %d results and error %v, want a result of each check", len(results), err)
	}
	for _, r := range results {
		if r.Outcome != ledger.CheckPassed && r.Outcome != ledger.CheckFailed {
			t.Errorf("%s: got the outcome %s (%s), want that it runs", r.Name, r.Outcome, r.Reason)
		}
	}
}
