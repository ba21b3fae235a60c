package pipeline_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// largestCampaign returns the id of the campaign with the most articles.
func (h *harness) largestCampaign() string {
	h.t.Helper()
	id, most := "", 0
	for _, c := range h.listedIDs("/campaigns") {
		if n := len(h.service.Records("/campaigns/" + c + "/articles")); n > most {
			id, most = c, n
		}
	}
	return id
}

// notFoundFault answers 404 for a record and for its lists.
func notFoundFault(path string) sim.Fault {
	return sim.Fault{Path: path, Kind: sim.FaultStatus, Status: http.StatusNotFound}
}

// campaignWorld has few campaigns, so that one of them has many of the articles.
func campaignWorld() sim.Options {
	world := smallWorld()
	world.Campaigns, world.Orders, world.SilentChange = 8, 20, -1
	return world
}

// requireStandings compares the standing of each stream, for example whether it is proven.
func (h *harness) requireStandings(r ledger.Run, want ledger.Standing, names ...string) {
	h.t.Helper()
	for _, name := range names {
		s := streamOf(h.t, r, name)
		if got := ledger.StandingOf(s.Grade); got != want {
			h.t.Errorf("%s is %s (%s): %s\nwant %s", name, s.Grade, got, s.Reason, want)
		}
	}
}

// TestMissingCampaign answers 404 for a listed campaign, its articles and its status counts. Until a night has read the
// articles of the campaign, the streams of articles are not proven, and neither are the streams with ids from them.
// Afterwards they are bounded by the age of the rows.
func TestMissingCampaign(t *testing.T) {
	h := newHarness(t, campaignWorld(), "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles")
	h.cfg.Details = pipeline.ChangedDetails
	id := h.largestCampaign()
	h.service.SetFaults(notFoundFault("/campaigns/" + id))
	first := h.requirePartial(h.night())
	ofArticles := []string{"campaign_articles", "articles"}
	h.requireStandings(first.Run, ledger.NotProven, append(ofArticles, "campaign_status_counts")...)
	h.requireStandings(first.Run, ledger.Proven, "campaigns")
	h.requireStream(first.Run, "campaign_details", stream.Repaired, "1 of 8 ids returned 404 although a list contains them; they have no rows from an earlier night", false)
	s := h.requireStream(first.Run, "campaign_articles", stream.BestEffort, "1 of 8 ids returned 404 although a list contains them; they have no rows from an earlier night", true)
	if s.Failed != 1 || s.RowsOld != 0 {
		t.Errorf("campaign_articles in the first night: %+v, want one failed id and no old rows", s)
	}
	h.requireStream(first.Run, "articles", stream.BestEffort, "the ids come from the stream campaign_articles, which is not proven", false)
	for _, table := range first.Manifest.Tables {
		if slices.Contains([]string{"article_statuses", "campaign_article_includes", "articles"}, table.Name) && table.Grade != "best_effort" {
			t.Errorf("the table %s is %s, want best_effort", table.Name, table.Grade)
		}
	}
	h.requireLines("SELECT count(*) FROM campaign_articles WHERE campaign_id = '"+id+"'", "0")

	// With the rows of an earlier night, the streams are bounded.
	h.service.SetFaults()
	h.cfg.Details = pipeline.AllDetails
	second := h.requireComplete(h.night())
	h.requireStandings(second.Run, ledger.Proven, ofArticles...)
	rows := h.singleLine("SELECT count(*) FROM campaign_articles WHERE campaign_id = '" + id + "'")
	h.service.SetFaults(notFoundFault("/campaigns/" + id))
	third := h.requireComplete(h.night())
	s = h.requireStream(third.Run, "campaign_articles", stream.Bounded, "their rows are kept, and were last read at most 1 night ago", false)
	if fmt.Sprint(s.RowsOld) != rows || rows == "0" || !s.AgeSince.Equal(second.Run.SnapshotAt) || s.Failed != 0 {
		t.Errorf("campaign_articles: %+v, want %s old rows since %v", s, rows, second.Run.SnapshotAt)
	}
	for _, name := range append(ofArticles, "campaign_status_counts") {
		h.requireStream(third.Run, name, stream.Bounded, "", false)
	}
}
