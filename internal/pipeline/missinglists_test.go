package pipeline_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TestMissingLists answers 404 for one id of streams whose responses are lists, on a first night and on a later night.
func TestMissingLists(t *testing.T) {
	h := newHarness(t, smallWorld(), "outlet_listings", "outlet_products", "profiles", "profile_orders")
	lists := slices.DeleteFunc(slices.Clone(h.cfg.Streams), func(s stream.Stream) bool { return !s.HasRowLists() })
	if len(lists) != 2 {
		t.Fatalf("the streams %v have lists, want outlet_products and profile_orders", stream.Names(lists))
	}
	var faults []sim.Fault
	for _, s := range lists {
		faults = append(faults, sim.Fault{Route: s.Path, Times: 1, Kind: sim.FaultStatus, Status: http.StatusNotFound})
	}
	h.service.SetFaults(faults...)
	first := h.requirePartial(h.night())
	for _, list := range lists {
		s := h.requireStream(first.Run, list.Name, stream.BestEffort, "returned 404 although a list contains them; they have no rows from an earlier night", true)
		if s.Failed != 1 || s.RowsOld != 0 {
			t.Errorf("%s in the first night: %+v, want one failed id and no old rows", list.Name, s)
		}
	}
	h.service.SetFaults()
	second := h.requireComplete(h.night())
	oldRows := map[string]string{}
	for i, list := range lists { // all requests for the list of one id, which has rows, fail
		table := list.Root().Name
		id := h.singleLine("SELECT min(" + list.Param + ") FROM " + table)
		oldRows[list.Name] = h.singleLine("SELECT count(*) FROM " + table + " WHERE " + list.Param + " = '" + id + "'")
		before, _, _ := strings.Cut(list.Path, "{")
		faults[i].Path, faults[i].Times = before+id, 0
	}
	h.service.SetFaults(faults...)
	third := h.requireComplete(h.night())
	for _, list := range lists {
		s := h.requireStream(third.Run, list.Name, stream.Bounded, "returned 404 although a list contains them; their rows are kept, and were last read at most 1 night ago", false)
		if fmt.Sprint(s.RowsOld) != oldRows[list.Name] || s.RowsOld == 0 || !s.AgeSince.Equal(second.Run.SnapshotAt) || s.Failed != 0 {
			t.Errorf("%s in the third night: %+v, want %s old rows since %v", list.Name, s, oldRows[list.Name], second.Run.SnapshotAt)
		}
	}
}

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

// TestMissingCampaign answers 404 for a listed campaign, its articles and its status counts, or makes its id in the list
// malformed. Until a night has read the articles of the campaign, the streams of articles are not proven, and neither
// are the streams with ids from them. Afterwards they are bounded by the age of the rows.
func TestMissingCampaign(t *testing.T) {
	missing := func(id string) sim.Fault { return notFoundFault("/campaigns/" + id) }
	malformed := func(id string) sim.Fault {
		return sim.Fault{Route: "/campaigns", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			return bytes.Replace(body, []byte(`"id":"`+id+`"`), []byte(`"id":"`+id[:8]+`..."`), 1)
		}}
	}
	for name, fault := range map[string]func(id string) sim.Fault{"404": missing, "malformed id": malformed} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, campaignWorld(), "order_items", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles",
				"article_comments")
			h.cfg.Details = pipeline.ChangedDetails
			id := h.largestCampaign()
			h.service.SetFaults(fault(id))
			first := h.requirePartial(h.night())
			ofArticles := []string{"campaign_articles", "articles", "article_comments"}
			h.requireStandings(first.Run, ledger.NotProven, append(ofArticles, "campaign_status_counts")...)
			h.requireStandings(first.Run, ledger.Proven, "campaigns", "order_items")
			h.requireStream(first.Run, "campaign_details", stream.Repaired, "1 of 8 ids returned 404 although a list contains them; they have no rows from an earlier night", false)
			h.requireStream(first.Run, "campaign_articles", stream.BestEffort, "1 of 8 ids returned 404 although a list contains them; they have no rows from an earlier night", true)
			h.requireStream(first.Run, "articles", stream.BestEffort, "the ids come from the stream campaign_articles, which is not proven", false)
			for _, table := range first.Manifest.Tables {
				if slices.Contains([]string{"article_statuses", "campaign_article_includes", "articles"}, table.Name) && table.Grade != "best_effort" {
					t.Errorf("the table %s is %s, want best_effort", table.Name, table.Grade)
				}
			}
			h.requireLines("SELECT count(*) FROM campaign_articles WHERE campaign_id = '"+id+"'", "0")
			if name != "404" {
				return
			}

			// With the rows of an earlier night, the streams are bounded.
			h.service.SetFaults()
			h.cfg.Details = pipeline.AllDetails
			second := h.requireComplete(h.night())
			h.requireStandings(second.Run, ledger.Proven, ofArticles...)
			rows := h.singleLine("SELECT count(*) FROM campaign_articles WHERE campaign_id = '" + id + "'")
			h.service.SetFaults(missing(id))
			third := h.requireComplete(h.night())
			s := h.requireStream(third.Run, "campaign_articles", stream.Bounded, "their rows are kept, and were last read at most 1 night ago", false)
			if fmt.Sprint(s.RowsOld) != rows || rows == "0" || !s.AgeSince.Equal(second.Run.SnapshotAt) {
				t.Errorf("campaign_articles: %+v, want %s old rows since %v", s, rows, second.Run.SnapshotAt)
			}
			for _, name := range append(ofArticles, "campaign_status_counts") {
				h.requireStream(third.Run, name, stream.Bounded, "", false)
			}
		})
	}
}
