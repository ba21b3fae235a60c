package trials_test

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
)

// perSecond is the request rate of nights with a time limit. On the virtual clock, only requests
// take time.
const perSecond = 10

// boundedHarness runs nights with a time limit, on the virtual clock of synctest.
type boundedHarness struct {
	*harness
	// requestsByPath counts the requests of the last night by path and query. It leaves out
	// requests with status 404. A night repeats them as long as a list contains their id.
	requestsByPath map[string]int
	// requestCount is the number of all requests of the last night.
	requestCount int
	// duration is the duration of the last night on the virtual clock.
	duration time.Duration
}

func newBoundedHarness(t *testing.T, world sim.Options, names ...string) *boundedHarness {
	t.Helper()
	h := newHarness(t, world, names...)
	h.readChangedDetails(45, 0)
	h.cfg.Fetch.BaseURL, h.cfg.Fetch.PageSize, h.cfg.Fetch.Concurrency = "http://127.0.0.1/", 20, 1
	h.cfg.Fetch.RequestsPerSecond, h.cfg.Fetch.Burst = perSecond, 1
	h.cfg.Fetch.Transport = &randomTransport{service: h.service}
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	return &boundedHarness{harness: h}
}

// otherWarehouse returns another warehouse of the same service.
func (h *boundedHarness) otherWarehouse() *boundedHarness {
	other := &harness{t: h.t, service: h.service, server: h.server, cfg: h.cfg, at: h.at}
	other.cfg.Warehouse.Dir = h.t.TempDir()
	other.cfg.Now = func() time.Time { return other.at }
	return &boundedHarness{harness: other}
}

// timeForRequests returns the time needed for n requests.
func timeForRequests(n int) time.Duration { return time.Duration(n) * time.Second / perSecond }

// boundedNight runs a night an hour later with the time limit bound. 0 means no limit.
func (h *boundedHarness) boundedNight(bound time.Duration) (pipeline.Result, error) {
	h.t.Helper()
	h.at = h.at.Add(time.Hour)
	h.cfg.MaxDuration = bound
	return h.bubble(func(ctx context.Context) (pipeline.Result, error) { return pipeline.Run(ctx, h.cfg) })
}

// bubble runs a night in a bubble of synctest, which has a virtual clock, and counts its requests.
func (h *boundedHarness) bubble(run func(ctx context.Context) (pipeline.Result, error)) (res pipeline.Result, err error) {
	h.t.Helper()
	h.service.ResetRequests()
	synctest.Test(h.t, func(t *testing.T) {
		start := time.Now()
		res, err = run(t.Context())
		h.duration = time.Since(start)
	})
	h.requestsByPath = map[string]int{}
	h.requestCount = h.service.Stats().Total
	for _, r := range h.service.Requests() {
		if r.Status != http.StatusNotFound {
			h.requestsByPath[r.Path]++
		}
	}
	return res, err
}

// publishedNight runs a night that must publish. The outcome must be partial if ids are unread,
// else complete.
func (h *boundedHarness) publishedNight(bound time.Duration) pipeline.Result {
	h.t.Helper()
	res, err := h.boundedNight(bound)
	must(h.t, err)
	left, _ := res.Run.Unread()
	if want := map[bool]ledger.Outcome{false: ledger.Complete, true: ledger.Partial}[left > 0]; res.Run.Outcome != want {
		h.t.Fatalf("night %s left %d ids unread and ended %s, want %s\n%s", res.Run.ID, left, res.Run.Outcome, want, reasons(res.Run))
	}
	return res
}

// requestedDetails counts the requests of the last night that are not for lists, by path and query.
func (h *boundedHarness) requestedDetails() map[string]int {
	lists := map[string]bool{"/auth/token": true}
	for _, s := range h.cfg.Streams {
		if !s.IsDetail() {
			lists[strings.Replace(s.Path, "{team_id}", h.service.TeamID(), 1)] = true
		}
	}
	found := map[string]int{}
	for path, n := range h.requestsByPath {
		if withoutQuery, _, _ := strings.Cut(path, "?"); !lists[withoutQuery] {
			found[path] = n
		}
	}
	return found
}

// requireLists compares tables with the service. It leaves out tables that streams of details fill.
func (h *boundedHarness) requireLists(ref *reference) {
	h.t.Helper()
	var names []string
	for _, t := range stream.Tables(h.cfg.Streams) {
		if !slices.ContainsFunc(stream.FilledBy(h.cfg.Streams, t.Name), func(name string) bool {
			s, _ := stream.Find(h.cfg.Streams, name)
			return s.IsDetail()
		}) {
			names = append(names, t.Name)
		}
	}
	h.requireValues(ref, names...)
}

// largeWorld has so many settled details that TestTrialLargeCatalogIsCompleteAfterFiveNights reads
// them over five nights.
func largeWorld() sim.Options { return settledWorld(40) }

// TestTrialLargeCatalogIsCompleteAfterFiveNights runs nights with a time limit. The data of the
// service does not change. Each settled detail must be requested once in all nights, and each live
// detail once a night.
func TestTrialLargeCatalogIsCompleteAfterFiveNights(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newBoundedHarness(t, largeWorld())
	unbounded := h.otherWarehouse()
	unbounded.publishedNight(0)
	details, firstRequests := unbounded.requestedDetails(), unbounded.requestCount
	unbounded.publishedNight(0)
	live, liveRequests := unbounded.requestedDetails(), unbounded.requestCount
	backlog := firstRequests - liveRequests
	ref := newReference(t, h.service, h.cfg.Streams)
	total := map[string]int{}
	h.cfg.Recheck = 7 // but there is no time for rechecks
	for night := 1; night <= 5; night++ {
		if night == 5 {
			h.cfg.Recheck = 0 // because the last night has time left
		}
		res := h.publishedNight(timeForRequests(liveRequests + backlog/5 + 4))
		t.Logf("night %d: %d requests in %v, %d of %d details are live", night, h.requestCount, h.duration, len(live), len(details))
		h.requireLists(ref)
		for path := range live {
			if h.requestsByPath[path] == 0 {
				t.Errorf("night %d did not request %s, which is live", night, path)
			}
		}
		for path, n := range h.requestedDetails() {
			total[path] += n
		}
		left, _ := res.Run.Unread()
		if recorded := h.queryOne("SELECT sum(unread)::VARCHAR FROM meta.streams WHERE run_id = ?", res.Run.ID); recorded != strconv.FormatInt(left, 10) {
			t.Errorf("night %d: meta.streams has %s unread ids, want %d as in the ledger", night, recorded, left)
		}
		if predicted := res.Run.NightsLeft; predicted < int64(4-night) || predicted > int64(6-night) {
			t.Errorf("night %d predicts %d more nights, want about %d", night, predicted, 5-night)
		}
		if (left == 0) != (night == 5) {
			t.Fatalf("night %d left %d ids unread, want none only in night 5", night, left)
		}
	}
	h.requireValues(ref)
	for path, n := range total {
		if want := max(details[path], 5*live[path]); n != want {
			t.Errorf("%s was requested %d times in five nights, want %d", path, n, want)
		}
	}
	if len(total) != len(details) {
		t.Errorf("%d different details were requested, want %d", len(total), len(details))
	}
}

// TestTrialBoundedNightsFollowAChangingWorld runs nights with a time limit while orders, prices and
// articles change. Each night must read all lists completely, including lists of records with
// unread details. It must have the current values of all articles in progress. When no ids are
// unread, all values must be current.
func TestTrialBoundedNightsFollowAChangingWorld(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newBoundedHarness(t, largeWorld())
	ref := newReference(t, h.service, h.cfg.Streams)
	nights, left := 0, int64(1)
	for ; left > 0; nights++ {
		if nights > 12 {
			t.Fatalf("%d ids are unread after %d nights", left, nights)
		}
		h.service.Advance(1)
		h.at = h.service.Now().Add(time.Hour)
		res := h.publishedNight(timeForRequests(200))
		left, _ = res.Run.Unread()
		t.Logf("night %d: %d requests in %v, %d ids unread, for %d nights more", nights+1, h.requestCount, h.duration, left, res.Run.NightsLeft)
		h.requireLists(ref)
		h.requireListValues("/orders", "orders", "status", "reference_number")
		h.requireListValues("/campaigns", "campaigns", "name")
		h.requireArticlesInProgress(ref)
	}
	if nights < 3 {
		t.Errorf("all ids were read in %d nights, so the test shows nothing", nights)
	}
	h.requireValues(ref)
}

// requireListValues compares some columns of a table with the records of its list.
func (h *boundedHarness) requireListValues(path, table string, columns ...string) {
	h.t.Helper()
	records := h.service.Records(path)
	if n := h.count(table, "TRUE"); n < len(records) || len(records) == 0 {
		h.t.Errorf("%s has %d rows, want at least the %d of the list, and at least 1", table, n, len(records))
	}
	for _, raw := range records {
		record := decode(string(raw))
		for _, column := range columns {
			want, _ := dig(record, column).(string)
			got := h.queryOne("SELECT coalesce("+column+"::VARCHAR, '') FROM "+table+" WHERE id = ?", dig(record, "id"))
			if got != want {
				h.t.Errorf("%s of %s %v is %q, want %q as in the list", column, table, dig(record, "id"), got, want)
			}
		}
	}
}

// requireArticlesInProgress checks that the values of articles in progress are current. An
// article is in progress if it has no live URL and its campaign changed recently.
func (h *boundedHarness) requireArticlesInProgress(ref *reference) {
	h.t.Helper()
	current := ref.currentRows()
	changedRecently := map[string]bool{}
	for _, c := range current["campaigns"] {
		at, err := time.Parse(microseconds, c["updated_at"])
		must(h.t, err)
		changedRecently[c["id"]] = h.at.Sub(at) < 44*24*time.Hour
	}
	campaignOf := map[string]string{}
	for _, row := range current["campaign_articles"] {
		campaignOf[row["id"]] = row["campaign_id"]
	}
	compared := 0
	for _, e := range ref.distinctTables() {
		if e.table != "articles" {
			continue
		}
		got := rowsByKey(e, readTable(h.t, e, h.catalog(), "main.articles"))
		for key, want := range rowsByKey(e, current["articles"]) {
			if want["live_url"] != "" || !changedRecently[campaignOf[want["id"]]] {
				continue
			}
			compared++
			if !cmp.Equal(want, got[key]) {
				h.t.Errorf("article %s (-service +warehouse):\n%s", key, cmp.Diff(want, got[key]))
			}
		}
	}
	if compared == 0 {
		h.t.Error("no article is in progress, so the test shows nothing")
	}
}

// TestTrialDetailsGetAQuarterOfTheTime runs nights whose time limit is only long enough for their
// lists. A quarter of the time must be spent on details. Every id must be read within some nights,
// and no list may remain unread for two nights.
func TestTrialDetailsGetAQuarterOfTheTime(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newBoundedHarness(t, settledWorld(160))
	h.cfg.Fetch.PageSize = 3
	unbounded := h.otherWarehouse()
	unbounded.publishedNight(0)
	wanted := unbounded.requestedDetails()
	lists := unbounded.requestCount
	for _, n := range wanted {
		lists -= n
	}
	ref := newReference(t, h.service, h.cfg.Streams)
	read, carried := map[string]bool{}, map[string]int{}
	maxNights := 2*(4*len(wanted)/lists) + 3 // every second night may read only live details
	for night := 1; len(read) < len(wanted); night++ {
		if night > maxNights {
			t.Fatalf("after %d nights %d of %d ids were read", night-1, len(read), len(wanted))
		}
		res, err := h.boundedNight(timeForRequests(lists))
		must(t, err)
		before := len(read)
		for path := range h.requestedDetails() {
			read[path] = true
		}
		for _, s := range res.Run.Streams {
			if def, _ := stream.Find(h.cfg.Streams, s.Stream); !def.IsDetail() {
				carried[s.Stream]++
				if ledger.WasRead(s.Grade) {
					carried[s.Stream] = 0
				}
				if carried[s.Stream] > 1 {
					t.Errorf("night %d: the list %s was not read for %d nights", night, s.Stream, carried[s.Stream])
				}
			}
		}
		left, _ := res.Run.Unread()
		t.Logf("night %d: %d requests in %v, %d ids read for the first time, %d unread", night, h.requestCount, h.duration, len(read)-before, left)
		if limit := timeForRequests(lists) * 3 / 2; h.duration > limit {
			t.Errorf("night %d took %v, want at most %v", night, h.duration, limit)
		}
	}
	h.publishedNight(0)
	h.requireValues(ref)
}
