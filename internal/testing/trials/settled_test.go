package trials_test

import (
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/sim"
)

// TestTrialChangedRowMakesItsCampaignLive adds an article to the row of a campaign that was settled
// for years, without a new updated_at: its articles are requested.
func TestTrialChangedRowMakesItsCampaignLive(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	world := smallWorld()
	world.HistoryDays, world.SilentChange, world.Campaigns = 2000, -1, 20
	h := newHouse(t, world, "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts")
	h.cfg.Fetch.PageSize = 100
	h.carrying(45, 0)
	h.goodNight()
	id := h.one("SELECT min_by(id, updated_at) FROM campaigns")
	before := streamOf(t, h.sameDay().Run, "campaign_articles").Fetched
	h.service.SetFaults(sim.Fault{Route: "/campaigns", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		envelope := decode(string(body))
		for _, record := range envelope.(map[string]any)["records"].([]any) {
			if campaign, _ := record.(map[string]any); campaign["id"] == id {
				campaign["total_articles"] = 99
			}
		}
		return []byte(canonical(envelope))
	}})
	if after := streamOf(t, h.sameDay().Run, "campaign_articles").Fetched; after != before+1 {
		t.Errorf("the articles of %d campaigns were requested, and of %d in the night before, want one more", after, before)
	}
}

// TestTrialDetailsOfUnchangedRowsAreBounded changes values that only the details of orders
// and campaigns contain, while their list rows do not change. Tables with such values must
// have a lower grade and a true age, and each detail is read again within the nights of
// streams.recheck.
func TestTrialDetailsOfUnchangedRowsAreBounded(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	const recheck = 4
	world := richWorld()
	world.SilentChange, world.ListingTurnover, world.ListingChange, world.HiddenDetail = 0.4, -1, -1, true
	world.Campaigns = 40
	h := newHouse(t, world, "orders", "campaigns", "order_details", "campaign_details", "campaign_articles")
	h.cfg.Fetch.PageSize = 100
	h.carrying(1, recheck)
	ref := newReference(t, h.service, h.cfg.Streams)
	seen, tried := readings{}, map[string]int{}
	for night := range 5 {
		res := h.goodNight()
		seen.note(h, res.Run.SnapshotAt)
		h.requireTrueStreams(res, seen)
		stale := h.stale(ref)
		h.service.ResetRequests()
		for _, table := range res.Manifest.Tables {
			tried[table.Name] += stale[table.Name]
			if stale[table.Name] > 0 && (table.Grade == string(fetch.Exact) || table.Grade == string(fetch.Repaired)) {
				t.Errorf("night %d: %s is %s and %d rows differ from the service", night, table.Name, table.Grade, stale[table.Name])
			}
		}
	}
	if tried["order_line_items"] == 0 || tried["campaigns"] == 0 {
		t.Errorf("rows with changes only in details: %v, so the test is incomplete", tried)
	}
	for range recheck - 1 {
		h.sameDay()
	}
	h.requireValues(ref)
}
