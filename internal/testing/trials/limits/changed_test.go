package limits_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestTrialNightRequestsOnlyPossibleChanges counts the requests of nights that keep the rows of
// unchanged details, and then compares all values with the service. In this world, every change of
// a detail also changes a list.
func TestTrialNightRequestsOnlyPossibleChanges(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SettledWorld(20))
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	last := compareRequestCounts(t, h, func() { ref.CurrentRows() }) // after each night, ref collects the ids in the lists
	h.RequireValues(ref)
	for _, s := range h.Config.Streams {
		counts := trials.StreamOf(t, last.Run, s.Name)
		if s.IsDetail() && s.LiveWith != stream.LiveWithProfile && counts.Carried == 0 || !s.IsDetail() && counts.Carried+counts.Fetched+counts.Rechecked > 0 {
			t.Errorf("%s: fetched %d, carried %d, rechecked %d, want some carried details for a stream of details, and only zeros for a list", s.Name,
				counts.Fetched, counts.Carried, counts.Rechecked)
		}
	}
}

// TestTortureNightRequestsOnlyPossibleChanges counts the requests in a larger world.
func TestTortureNightRequestsOnlyPossibleChanges(t *testing.T) {
	trials.RequireTorture(t)
	h := trials.NewHarness(t, trials.SettledWorld(1))
	h.Config.Warehouse.MemoryLimit = "1GB"
	compareRequestCounts(t, h, func() {})
}

// compareRequestCounts compares the number of requests of later nights with the number of a full
// night. It calls afterNight after each night, and returns the result of the last night.
func compareRequestCounts(t *testing.T, h *trials.Harness, afterNight func()) (last pipeline.Result) {
	t.Helper()
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(45, 7)
	fullRequests, _ := countRequests(h)
	afterNight()
	liveCampaigns := h.Count("campaigns", "updated_at >= (SELECT max(snapshot_at) FROM meta.runs) - INTERVAL 45 DAY")
	campaigns := h.Count("campaigns", "TRUE")
	t.Logf("full night: %d requests; %d of %d campaigns changed within 45 days", fullRequests, liveCampaigns, campaigns)
	if liveShare := float64(liveCampaigns) / float64(campaigns); liveShare < 0.02 || liveShare > 0.09 {
		t.Errorf("%.1f %% of the campaigns are live, want 2 to 9 %%", 100*liveShare)
	}
	// A later night may make at most a quarter of the requests of a full night. Without rechecks it
	// may make at most a tenth.
	for _, c := range []struct{ recheck, divisor int }{{7, 4}, {0, 10}} {
		recheck, maxRequests := c.recheck, fullRequests/c.divisor
		h.UseChangedDetails(45, recheck)
		n, res := countRequests(h)
		afterNight()
		share := changedShare(res, "product_listings")
		t.Logf("recheck %d: %d requests, %.1f %% of the full night; %.2f %% of the listings changed", recheck, n,
			100*float64(n)/float64(fullRequests), 100*share)
		if n > maxRequests {
			t.Errorf("a night with recheck %d made %d requests, want at most %d\n%s", recheck, n, maxRequests, requestSummary(res))
		}
		if share == 0 || share > 0.03 {
			t.Errorf("%.2f %% of the listings changed, want more than 0 and at most 3 %%", 100*share)
		}
		last = res
	}
	return last
}

// countRequests runs a night and counts its requests.
func countRequests(h *trials.Harness) (int, pipeline.Result) {
	h.T.Helper()
	h.Service.ResetRequests()
	res := h.GoodNight()
	return len(h.Service.Requests()), res
}

func changedShare(res pipeline.Result, table string) float64 {
	for _, c := range res.Changes {
		if c.Table == table {
			return float64(c.New+c.Changed+c.Gone) / float64(c.Before)
		}
	}
	return 0
}

func requestSummary(res pipeline.Result) string {
	var b strings.Builder
	for _, s := range res.Run.Streams {
		fmt.Fprintf(&b, "%s: %d requests, fetched %d, carried %d, rechecked %d\n", s.Stream, s.Requests, s.Fetched, s.Carried, s.Rechecked)
	}
	return b.String()
}

// TestTrialArticleOfUnchangedCampaignIsRead looks for articles whose status changed while the
// record of their campaign stayed the same. The night must store the new status.
func TestTrialArticleOfUnchangedCampaignIsRead(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	world := trials.RichWorld()
	world.SilentChange = -1
	h := trials.NewHarness(t, world, "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles", "article_comments")
	// With live days of 1, a campaign is live only because of its articles.
	h.UseChangedDetails(1, 0)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.GoodNight()
	ref.CurrentRows() // collects the ids in the lists of the first night
	records, statuses := h.CampaignRecords(), h.ArticleStatuses()
	res := h.GoodNight()
	h.RequireValues(ref)
	compared := 0
	newRecords, newStatuses := h.CampaignRecords(), h.ArticleStatuses()
	for article, status := range newStatuses {
		campaign := status.Campaign
		if statuses[article] == status || statuses[article] == (trials.ArticleStatus{}) || records[campaign] != newRecords[campaign] {
			continue
		}
		compared++
		if got := h.QueryOne("SELECT status_prefix FROM articles WHERE id = ?", article); got != status.Prefix {
			t.Errorf("article %s of campaign %s has the status %s, want %s", article, campaign, got, status.Prefix)
		}
	}
	if compared == 0 {
		t.Error("no article of an unchanged campaign changed its status, so the test shows nothing")
	}
	if s := trials.StreamOf(t, res.Run, "campaign_details"); s.Carried == 0 {
		t.Errorf("campaign_details: got %+v, want some carried", s)
	}
}

// TestTrialRechecksFindSilentChanges changes settled records. No list shows these changes. The
// rechecks must find and count all changes within the configured number of nights.
func TestTrialRechecksFindSilentChanges(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	const recheck = 3
	world := trials.RichWorld()
	world.HistoryDays, world.SilentChange, world.ListingTurnover, world.ListingChange = 2000, 0.4, -1, -1
	names := []string{"outlet_listings", "campaigns", "outlets", "campaign_articles", "articles"}
	h := trials.NewHarness(t, world, names...)
	h.UseChangedDetails(45, recheck)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.GoodNight()
	nights := []pipeline.Result{h.GoodNight()}
	if stale := countStaleRows(h, ref); stale["outlets"] == 0 || stale["articles"] == 0 || stale["outlet_listings"] > 0 || stale["campaigns"] > 0 {
		t.Fatalf("stale rows: got %v, want stale outlets and articles and no other stale rows", stale)
	}
	for range recheck - 1 {
		nights = append(nights, h.SameDayNight())
	}
	h.RequireValues(ref)
	requireRechecks(h, nights, "outlets", world.Outlets)
	requireRechecks(h, nights, "articles", h.Count("articles", "TRUE"))
}

// countStaleRows counts the rows of every table that differ from the service.
func countStaleRows(h *trials.Harness, ref *trials.Reference) map[string]int {
	h.T.Helper()
	current, catalog, stale := ref.CurrentRows(), h.Catalog(), map[string]int{}
	for _, spec := range ref.UniqueTables() {
		want, got := trials.RowsByKey(spec, current[spec.Table]), trials.RowsByKey(spec, trials.ReadTable(h.T, spec, catalog, "main."+spec.Table))
		for key := range want {
			if !cmp.Equal(want[key], got[key]) {
				stale[spec.Table]++
			}
		}
	}
	return stale
}

// requireRechecks checks that the nights together recheck each settled detail of a stream once, and
// that meta.streams and the ledger contain the same counts. details is the number of all details.
// The world must not change between the nights.
func requireRechecks(h *trials.Harness, nights []pipeline.Result, name string, details int) {
	h.T.Helper()
	rechecked, settled := int64(0), int64(0)
	for _, res := range nights {
		s := trials.StreamOf(h.T, res.Run, name)
		if s.Fetched+s.Carried != int64(details) {
			h.T.Errorf("%s: fetched %d, carried %d, want %d in total", name, s.Fetched, s.Carried, details)
		}
		settled = s.Rechecked + s.Carried
		rechecked += s.Rechecked
		counts := h.QueryOne("SELECT concat_ws(' ', fetched, carried, rechecked) FROM meta.streams WHERE run_id = ? AND stream = ?", res.Run.ID, name)
		if want := fmt.Sprint(s.Fetched, s.Carried, s.Rechecked); counts != want {
			h.T.Errorf("%s: meta.streams has the counts %s, want %s as in the ledger", name, counts, want)
		}
	}
	if rechecked != settled || settled == 0 {
		h.T.Errorf("%s: %d rechecks in all nights, want one for each of %d settled details", name, rechecked, settled)
	}
}

func TestTrialUnchangedNightWritesNoHistory(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld())
	h.GoodNight()
	for _, details := range []pipeline.Details{pipeline.ChangedDetails, pipeline.AllDetails} {
		h.UseChangedDetails(45, 2)
		h.Config.Details = details
		for _, c := range h.SameDayNight().Changes {
			if c.New+c.Changed+c.Gone != 0 || c.Before != c.After {
				t.Errorf("details %s: got %+v, want no changes", details, c)
			}
			if n := h.Count("past."+c.Table, "TRUE"); n != 0 {
				t.Errorf("details %s: %d rows in past.%s, want 0", details, n, c.Table)
			}
		}
		if n := h.Count("meta.deletions", "TRUE"); n != 0 {
			t.Errorf("details %s: %d deletions, want 0", details, n)
		}
	}
}

// TestDetailsOfAnUnreadListAreRead lets the service return HTML instead of the list that shows which
// details changed. The night must read all details.
func TestDetailsOfAnUnreadListAreRead(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), "product_listings", "products")
	h.UseChangedDetails(45, 0)
	h.GoodNight()
	h.Service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultHTML})
	res := h.PartialNight()
	if s := trials.StreamOf(t, res.Run, "products"); s.Carried != 0 || s.Fetched == 0 || s.Grade != stream.BestEffort {
		t.Errorf("products: got %+v, want all fetched, none carried, and best_effort", s)
	}
}

// TestTrialNightsWithTheLowestMemoryLimit runs nights with the lowest memory limit that a
// configuration may set. A small catalog is enough for this test, because the memory for planning
// and merging depends only on the number of tables.
func TestTrialNightsWithTheLowestMemoryLimit(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, sim.Options{Token: trials.Token})
	h.Config.Warehouse.MemoryLimit, h.Config.Fetch.PageSize = "160MB", 100
	h.GoodNight()
	h.GoodNight()
}
