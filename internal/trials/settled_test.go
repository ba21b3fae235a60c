package trials_test

import (
	"testing"

	"placementsync/internal/sim"
)

// TestChangedRowWakesItsCampaign lets a campaign that was settled for years show
// one article more, without a new updated_at: its articles are asked for.
func TestChangedRowWakesItsCampaign(t *testing.T) {
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
		t.Errorf("%d campaigns were asked for their articles, the night before %d, want one more", after, before)
	}
}
