package checks_test

import (
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// TestExtremeValuesFailNoCheck runs all checks on a snapshot with the largest and smallest values that its
// columns can hold. Each check must run, with whatever result.
func TestExtremeValuesFailNoCheck(t *testing.T) {
	empty := fixture.NewEmptyCatalog(t)
	before := query.Before{Catalog: empty.Fill(t, fixture.ExtremeRows(200))}
	db := open(t, empty, fixture.ExtremeRows(1500), before, 10*time.Minute)
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
