package pipeline_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
)

// deletedCampaignFaults returns faults with which the service answers as after the deletion of a campaign with its
// articles: two faults for the campaign, and one for each article.
func (h *harness) deletedCampaignFaults(id string) []sim.Fault {
	h.t.Helper()
	faults := []sim.Fault{notFoundFault("/campaigns/" + id), {Route: "/campaigns", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		var list struct {
			Records []map[string]any `json:"records"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return nil
		}
		kept := slices.DeleteFunc(list.Records, func(c map[string]any) bool { return c["id"] == id })
		body, err := json.Marshal(map[string]any{"records": kept, "total_records": len(kept), "total_pages": 1, "current_page": 1, "next_page": nil})
		testharness.Must(h.t, err)
		return body
	}}}
	for _, article := range h.listedIDs("/campaigns/" + id + "/articles") {
		faults = append(faults, notFoundFault("/articles/"+article))
	}
	return faults
}

// TestSecondReadingBeginsWithTheLists deletes a campaign with many articles after its articles were listed. The responses
// 404 for its articles contradict the lists. The second reading must begin with the list of campaigns, which no longer
// contains the campaign.
func TestSecondReadingBeginsWithTheLists(t *testing.T) {
	for name, isFirst := range map[string]bool{"the first night": true, "a later night": false} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, campaignWorld(), "campaigns", "campaign_articles", "articles", "tags")
			h.cfg.Limits, h.cfg.Fetch.PageSize = load.Limits{Share: 0.2, Rows: 3}, 100
			if !isFirst {
				h.requireComplete(h.night())
			}
			h.service.Advance(1)
			id := h.largestCampaign()
			faults := h.deletedCampaignFaults(id)
			if len(faults) < 7 {
				t.Fatalf("the largest campaign has %d articles, want at least 5", len(faults)-2)
			}
			isDeleted := false
			hook := func(r *http.Request) {
				if !isDeleted && strings.HasPrefix(r.URL.Path, "/articles/") {
					isDeleted = true
					h.service.SetFaults(faults...)
				}
			}
			h.cfg.Fetch.Concurrency = 1
			h.onRequest.Store(&hook)
			h.service.ResetRequests()
			res, err := h.unchangedNight()
			if routes := h.service.RequestsByRoute(); routes["/campaigns"] < 2 || routes["/tags"] != 1 {
				t.Errorf("the campaigns were read %d times and the tags %d times, want a second reading only of the campaigns",
					routes["/campaigns"], routes["/tags"])
			}
			if !isFirst {
				// The loss is confirmed, and is a deletion of rows that no list contains any longer.
				massDelete := errorOf[*load.MassDeleteError](t, err)
				for _, loss := range massDelete.Losses {
					if loss.NotFound || !massDelete.Reread {
						t.Errorf("run %s ended with %v, want a confirmed deletion", res.Run.ID, err)
					}
				}
				return
			}
			h.requireComplete(res, err)
			h.requireStream(res.Run, "campaign_articles", stream.Exact, "", false)
			h.requireStream(res.Run, "articles", stream.Exact, "", false)
			h.requireLines("SELECT count(*) FROM campaigns WHERE id = '"+id+"'", "0")
			h.requireLines("SELECT count(*) FROM articles WHERE campaign_id = '"+id+"'", "0")
		})
	}
}

// TestSecondReadingReadsTheListsOfALoss omits a campaign from the first reading of its list, and answers 404 for its
// articles. The deletion of the articles must be compared with a second reading of the list.
func TestSecondReadingReadsTheListsOfALoss(t *testing.T) {
	h := newHarness(t, campaignWorld(), "campaigns", "campaign_details", "campaign_articles")
	h.cfg.Limits, h.cfg.Fetch.PageSize, h.cfg.Details = load.Limits{Share: 0.2, Rows: 3}, 100, pipeline.AllDetails
	h.requireComplete(h.night())
	articles := h.singleLine("SELECT count(*) FROM campaign_articles")
	faults := h.deletedCampaignFaults(h.largestCampaign())
	isRead := false
	hook := func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/campaigns/") {
			isRead = true
		} else if isRead && r.URL.Path == "/campaigns" { // the second reading
			h.service.SetFaults()
		}
	}
	h.cfg.Fetch.Concurrency = 1
	h.onRequest.Store(&hook)
	h.service.SetFaults(faults...)
	res := h.requireComplete(h.unchangedNight())
	h.requireStream(res.Run, "campaign_articles", stream.Exact, "", false)
	h.requireLines("SELECT count(*) FROM campaign_articles", articles)
}
