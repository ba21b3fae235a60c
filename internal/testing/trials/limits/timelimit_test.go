package limits_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// requestsPerSecond is the request rate of nights with a time limit. On the virtual clock, only
// requests take time.
const requestsPerSecond = 10

// limitedHarness runs nights with a time limit, on the virtual clock of synctest.
type limitedHarness struct {
	*trials.Harness
	// requestsByPath counts the requests of the last night by path and query. It leaves out
	// requests with status 404, because each night repeats them while a list contains their id.
	requestsByPath map[string]int
	// requestCount is the number of all requests of the last night.
	requestCount int
	// duration is the duration of the last night on the virtual clock.
	duration time.Duration
}

func newLimitedHarness(t *testing.T, world sim.Options, names ...string) *limitedHarness {
	t.Helper()
	h := trials.NewHarness(t, world, names...)
	h.UseChangedDetails(45, 0)
	h.Config.Fetch.BaseURL, h.Config.Fetch.PageSize, h.Config.Fetch.Concurrency = "http://127.0.0.1/", 20, 1
	h.Config.Fetch.RequestsPerSecond, h.Config.Fetch.Burst = requestsPerSecond, 1
	h.Config.Fetch.Transport = &trials.RandomTransport{Service: h.Service}
	h.NextDay()
	return &limitedHarness{Harness: h}
}

// otherWarehouse returns a harness with the same service and another warehouse.
func (h *limitedHarness) otherWarehouse() *limitedHarness {
	other := &trials.Harness{T: h.T, Service: h.Service, Server: h.Server, Config: h.Config, At: h.At}
	other.Config.Warehouse.Dir = h.T.TempDir()
	other.Config.Now = func() time.Time { return other.At }
	return &limitedHarness{Harness: other}
}

// timeForRequests returns the time needed for n requests.
func timeForRequests(n int) time.Duration { return time.Duration(n) * time.Second / requestsPerSecond }

// limitedNight runs a night an hour later with the time limit timeLimit. 0 means no limit.
func (h *limitedHarness) limitedNight(timeLimit time.Duration) (pipeline.Result, error) {
	h.T.Helper()
	h.At = h.At.Add(time.Hour)
	h.Config.MaxDuration = timeLimit
	return h.runInBubble(func(ctx context.Context) (pipeline.Result, error) { return pipeline.Run(ctx, h.Config) })
}

// runInBubble runs a night in a bubble of synctest, which has a virtual clock, and counts the requests
// of the night.
func (h *limitedHarness) runInBubble(run func(ctx context.Context) (pipeline.Result, error)) (res pipeline.Result, err error) {
	h.T.Helper()
	h.Service.ResetRequests()
	synctest.Test(h.T, func(t *testing.T) {
		start := time.Now()
		res, err = run(t.Context())
		h.duration = time.Since(start)
	})
	h.requestsByPath = map[string]int{}
	h.requestCount = len(h.Service.Requests())
	for _, r := range h.Service.Requests() {
		if r.Status != http.StatusNotFound {
			h.requestsByPath[r.Path]++
		}
	}
	return res, err
}

// publishedNight runs a night that must publish. If ids remain unread, the outcome must be partial,
// otherwise complete.
func (h *limitedHarness) publishedNight(timeLimit time.Duration) pipeline.Result {
	h.T.Helper()
	res, err := h.limitedNight(timeLimit)
	testharness.Must(h.T, err)
	unread, _ := res.Run.Unread()
	if want := map[bool]ledger.Outcome{false: ledger.Complete, true: ledger.Partial}[unread > 0]; res.Run.Outcome != want {
		h.T.Fatalf("night %s left %d ids unread and ended %s, want %s\n%s", res.Run.ID, unread, res.Run.Outcome, want, trials.Reasons(res.Run))
	}
	return res
}

// requestedDetails counts the requests for details in the last night, by path and query.
func (h *limitedHarness) requestedDetails() map[string]int {
	lists := map[string]bool{"/auth/token": true}
	for _, s := range h.Config.Streams {
		if !s.IsDetail() {
			lists[strings.Replace(s.Path, "{team_id}", h.Service.TeamID(), 1)] = true
		}
	}
	details := map[string]int{}
	for path, n := range h.requestsByPath {
		if withoutQuery, _, _ := strings.Cut(path, "?"); !lists[withoutQuery] {
			details[path] = n
		}
	}
	return details
}

// requireLists compares tables with the service. It leaves out tables that streams of details fill.
func (h *limitedHarness) requireLists(ref *trials.Reference) {
	h.T.Helper()
	var names []string
	for _, t := range stream.Tables(h.Config.Streams) {
		if !slices.ContainsFunc(stream.FilledBy(h.Config.Streams, t.Name), func(name string) bool {
			s, _ := stream.Find(h.Config.Streams, name)
			return s.IsDetail()
		}) {
			names = append(names, t.Name)
		}
	}
	h.RequireValues(ref, names...)
}

// largeWorld has so many settled details that TestTrialLargeCatalogIsCompleteAfterSomeNights reads
// them over several nights.
func largeWorld() sim.Options { return trials.SettledWorld(40) }

// TestTrialLargeCatalogIsCompleteAfterSomeNights runs nights with a time limit. The data of the service does not
// change. Each night must read all lists and leave fewer ids unread than the night before, until all details
// were read.
func TestTrialLargeCatalogIsCompleteAfterSomeNights(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newLimitedHarness(t, largeWorld())
	unlimited := h.otherWarehouse()
	unlimited.publishedNight(0)
	details, firstRequests := unlimited.requestedDetails(), unlimited.requestCount
	unlimited.publishedNight(0)
	liveRequests := unlimited.requestCount
	backlog := firstRequests - liveRequests
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	requested := map[string]bool{} // by path and query
	h.Config.Recheck = 0
	before := int64(len(details))
	for night := 1; before > 0; night++ {
		if night > 7 {
			t.Fatalf("%d ids are unread after %d nights, want none", before, night-1)
		}
		res := h.publishedNight(timeForRequests(liveRequests + backlog/5 + 4))
		unread, _ := res.Run.Unread()
		t.Logf("night %d: %d requests in %v, %d ids unread", night, h.requestCount, h.duration, unread)
		h.requireLists(ref)
		for path := range h.requestedDetails() {
			requested[path] = true
		}
		if unreadInMeta := h.QueryOne("SELECT sum(unread)::VARCHAR FROM meta.streams WHERE run_id = ?", res.Run.ID); unreadInMeta != strconv.FormatInt(unread, 10) {
			t.Errorf("night %d: meta.streams has %s unread ids, want %d as in the ledger", night, unreadInMeta, unread)
		}
		if unread >= before {
			t.Errorf("night %d left %d ids unread, want fewer than %d", night, unread, before)
		}
		before = unread
	}
	h.RequireValues(ref)
	if len(requested) != len(details) {
		t.Errorf("%d different details were requested, want %d", len(requested), len(details))
	}
}

// TestTrialTimeLimitedNightsFollowAChangingWorld runs nights with a time limit while orders, prices
// and articles change. Each night must read all lists completely, even if details of their records
// remain unread, and must read all articles in progress. When no ids are unread, all values must be
// current.
func TestTrialTimeLimitedNightsFollowAChangingWorld(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newLimitedHarness(t, largeWorld())
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	nights, unread := 0, int64(1)
	for ; unread > 0; nights++ {
		if nights > 12 {
			t.Fatalf("%d ids are unread after %d nights", unread, nights)
		}
		h.Service.Advance(1)
		h.At = h.Service.Now().Add(time.Hour)
		res := h.publishedNight(timeForRequests(200))
		unread, _ = res.Run.Unread()
		t.Logf("night %d: %d requests in %v, %d ids unread", nights+1, h.requestCount, h.duration, unread)
		h.requireLists(ref)
		h.requireListValues("/orders", "orders", "status", "reference_number")
		h.requireListValues("/campaigns", "campaigns", "name")
		h.requireArticlesInProgress(ref)
	}
	if nights < 3 {
		t.Errorf("all ids were read in %d nights, so the test shows nothing", nights)
	}
	h.RequireValues(ref)
}

// requireListValues compares some columns of a table with the records of its list.
func (h *limitedHarness) requireListValues(path, table string, columns ...string) {
	h.T.Helper()
	records := h.Service.Records(path)
	if n := h.Count(table, "TRUE"); n < len(records) || len(records) == 0 {
		h.T.Errorf("%s has %d rows, want at least the %d of the list, and at least 1", table, n, len(records))
	}
	for _, raw := range records {
		record := trials.Decode(string(raw))
		for _, column := range columns {
			want, _ := trials.Dig(record, column).(string)
			got := h.QueryOne("SELECT coalesce("+column+"::VARCHAR, '') FROM "+table+" WHERE id = ?", trials.Dig(record, "id"))
			if got != want {
				h.T.Errorf("%s of %s %v is %q, want %q as in the list", column, table, trials.Dig(record, "id"), got, want)
			}
		}
	}
}

// requireArticlesInProgress checks that the values of articles in progress are current. An article
// is in progress if it has no live URL and its campaign changed within 44 days.
func (h *limitedHarness) requireArticlesInProgress(ref *trials.Reference) {
	h.T.Helper()
	current := ref.CurrentRows()
	changedRecently := map[string]bool{}
	for _, c := range current["campaigns"] {
		at, err := time.Parse(trials.MicrosecondLayout, c["updated_at"])
		testharness.Must(h.T, err)
		changedRecently[c["id"]] = h.At.Sub(at) < 44*24*time.Hour
	}
	campaignOf := map[string]string{}
	for _, row := range current["campaign_articles"] {
		campaignOf[row["id"]] = row["campaign_id"]
	}
	compared := 0
	for _, spec := range ref.UniqueTables() {
		if spec.Table != "articles" {
			continue
		}
		got := trials.RowsByKey(spec, trials.ReadTable(h.T, spec, h.Catalog(), "main.articles"))
		for key, want := range trials.RowsByKey(spec, current["articles"]) {
			if want["live_url"] != "" || !changedRecently[campaignOf[want["id"]]] {
				continue
			}
			compared++
			if !cmp.Equal(want, got[key]) {
				h.T.Errorf("article %s (-service +warehouse):\n%s", key, cmp.Diff(want, got[key]))
			}
		}
	}
	if compared == 0 {
		h.T.Error("no article is in progress, so the test shows nothing")
	}
}
