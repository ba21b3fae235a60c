package limits_test

import (
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestTrialDetailsOfUnchangedRowsAreBounded changes values that only the details of orders and
// campaigns contain. A table that differs from the service must have a lower grade than exact and
// repaired, and the correct age. Each detail must be read again within streams.recheck nights.
func TestTrialDetailsOfUnchangedRowsAreBounded(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	const recheck = 4
	world := trials.RichWorld()
	world.SilentChange, world.ListingTurnover, world.ListingChange, world.HiddenDetail = 0.4, -1, -1, true
	world.Campaigns = 40
	h := trials.NewHarness(t, world, "orders", "campaigns", "order_details", "campaign_details", "campaign_articles")
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(1, recheck)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	reads, staleRows := lastReads{}, map[string]int{}
	for night := range 5 {
		res := h.GoodNight()
		reads.record(h, res.Run.SnapshotAt)
		requireStreamCounts(h, res, reads)
		stale := countStaleRows(h, ref)
		h.Service.ResetRequests()
		for _, table := range res.Manifest.Tables {
			staleRows[table.Name] += stale[table.Name]
			if stale[table.Name] > 0 && (table.Grade == stream.Exact || table.Grade == stream.Repaired) {
				t.Errorf("night %d: %s is graded %s, but %d rows differ from the service", night, table.Name, table.Grade, stale[table.Name])
			}
		}
	}
	if staleRows["order_line_items"] == 0 || staleRows["campaigns"] == 0 {
		t.Errorf("got the stale rows %v, want some in order_line_items and campaigns", staleRows)
	}
	for range recheck - 1 {
		h.SameDayNight()
	}
	h.RequireValues(ref)
}
