package trials_test

import (
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TestTrialChangedRowMakesItsCampaignLive changes the number of articles of an old campaign in the
// list of campaigns, but not its updated_at. The night must request the articles of the campaign.
func TestTrialChangedRowMakesItsCampaignLive(t *testing.T) {
	t.Parallel()
	world := smallWorld()
	world.HistoryDays, world.SilentChange, world.Campaigns = 2000, -1, 20
	h := newHarness(t, world, "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts")
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(45, 0)
	h.goodNight()
	id := h.queryOne("SELECT min_by(id, updated_at) FROM campaigns")
	before := streamOf(t, h.sameDayNight().Run, "campaign_articles").Fetched
	h.service.SetFaults(sim.Fault{Route: "/campaigns", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		envelope := decode(string(body))
		for _, record := range envelope.(map[string]any)["records"].([]any) {
			if campaign, _ := record.(map[string]any); campaign["id"] == id {
				campaign["total_articles"] = 99
			}
		}
		return []byte(canonical(envelope))
	}})
	if after := streamOf(t, h.sameDayNight().Run, "campaign_articles").Fetched; after != before+1 {
		t.Errorf("the night requested the articles of %d campaigns, want %d, one more than the night before", after, before+1)
	}
}

// TestTrialDetailsOfUnchangedRowsAreBounded changes values that only the details of orders and
// campaigns contain. A table that differs from the service must have a lower grade than exact and
// repaired, and the correct age. Each detail must be read again within streams.recheck nights.
func TestTrialDetailsOfUnchangedRowsAreBounded(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const recheck = 4
	world := richWorld()
	world.SilentChange, world.ListingTurnover, world.ListingChange, world.HiddenDetail = 0.4, -1, -1, true
	world.Campaigns = 40
	h := newHarness(t, world, "orders", "campaigns", "order_details", "campaign_details", "campaign_articles")
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(1, recheck)
	ref := newReference(t, h.service, h.cfg.Streams)
	reads, staleRows := lastReads{}, map[string]int{}
	for night := range 5 {
		res := h.goodNight()
		reads.record(h, res.Run.SnapshotAt)
		requireStreamCounts(h, res, reads)
		stale := countStaleRows(h, ref)
		h.service.ResetRequests()
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
		h.sameDayNight()
	}
	h.requireValues(ref)
}
