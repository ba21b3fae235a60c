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

// perSecond is the request rate of nights in a bubble, where only requests take time.
const perSecond = 10

// boundedHouse is a house whose nights have a bounded time, on the clock of a bubble.
type boundedHouse struct {
	*house
	// asked counts the requests of the last night by path and query. It omits requests that
	// got a 404, which are repeated every night while a list names their id.
	asked map[string]int
	// sent counts all requests of the night.
	sent int
	// took is the duration of the night on that clock.
	took time.Duration
}

func newAllotted(t *testing.T, world sim.Options, names ...string) *boundedHouse {
	t.Helper()
	h := newHouse(t, world, names...)
	h.carrying(45, 0)
	h.cfg.Fetch.BaseURL, h.cfg.Fetch.PageSize, h.cfg.Fetch.Concurrency = "http://127.0.0.1/", 20, 1
	h.cfg.Fetch.RequestsPerSecond, h.cfg.Fetch.Burst = perSecond, 1
	h.cfg.Fetch.Transport = &disorder{service: h.service}
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	return &boundedHouse{house: h}
}

// otherWarehouse returns another warehouse of the same service.
func (a *boundedHouse) otherWarehouse() *boundedHouse {
	h := &house{t: a.t, service: a.service, server: a.server, cfg: a.cfg, at: a.at}
	h.cfg.Warehouse.Dir = a.t.TempDir()
	h.cfg.Now = func() time.Time { return h.at }
	return &boundedHouse{house: h}
}

// requests returns the time needed for n requests.
func requests(n int) time.Duration { return time.Duration(n) * time.Second / perSecond }

// read runs the next night, an hour later, with a bound.
func (a *boundedHouse) read(bound time.Duration) (pipeline.Result, error) {
	a.t.Helper()
	a.at = a.at.Add(time.Hour)
	a.cfg.MaxDuration = bound
	return a.bubble(func(ctx context.Context) (pipeline.Result, error) { return pipeline.Run(ctx, a.cfg) })
}

// bubble runs a night with a virtual clock.
func (a *boundedHouse) bubble(run func(ctx context.Context) (pipeline.Result, error)) (res pipeline.Result, err error) {
	a.t.Helper()
	a.service.ResetRequests()
	synctest.Test(a.t, func(t *testing.T) {
		start := time.Now()
		res, err = run(t.Context())
		a.took = time.Since(start)
	})
	a.asked = map[string]int{}
	a.sent = a.service.Stats().Total
	for _, r := range a.service.Requests() {
		if r.Status != http.StatusNotFound {
			a.asked[r.Path]++
		}
	}
	return res, err
}

// published runs a night that must publish, and be partial if ids are unread.
func (a *boundedHouse) published(bound time.Duration) pipeline.Result {
	a.t.Helper()
	res, err := a.read(bound)
	must(a.t, err)
	left, _ := res.Run.Unread()
	if want := map[bool]ledger.Outcome{false: ledger.Complete, true: ledger.Partial}[left > 0]; res.Run.Outcome != want {
		a.t.Fatalf("night %s left %d and ended %s\n%s", res.Run.ID, left, res.Run.Outcome, reasons(res.Run))
	}
	return res
}

// details returns the requested paths of single records.
func (a *boundedHouse) details() map[string]int {
	lists := map[string]bool{"/auth/token": true}
	for _, s := range a.cfg.Streams {
		if !s.IsDetail() {
			lists[strings.Replace(s.Path, "{team_id}", a.service.TeamID(), 1)] = true
		}
	}
	found := map[string]int{}
	for path, n := range a.asked {
		if bare, _, _ := strings.Cut(path, "?"); !lists[bare] {
			found[path] = n
		}
	}
	return found
}

// requireLists compares the tables of lists without details with the service.
func (a *boundedHouse) requireLists(ref *reference) {
	a.t.Helper()
	var names []string
	for _, t := range stream.Tables(a.cfg.Streams) {
		if !slices.ContainsFunc(stream.FilledBy(a.cfg.Streams, t.Name), func(name string) bool {
			s, _ := stream.Find(a.cfg.Streams, name)
			return s.IsDetail()
		}) {
			names = append(names, t.Name)
		}
	}
	a.requireValues(ref, names...)
}

// largeWorld needs five nights for the ids that a night leaves unread after its lists and
// live details.
func largeWorld() sim.Options { return settledWorld(40) }

// TestTrialLargeCatalogIsWholeAfterFiveNights runs nights in a constant world, where each
// detail must be requested once, and each live one once a night.
func TestTrialLargeCatalogIsWholeAfterFiveNights(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	a := newAllotted(t, largeWorld())
	free := a.otherWarehouse()
	free.published(0)
	once, all := free.details(), free.sent
	free.published(0)
	alive, fixed := free.details(), free.sent
	backlog := all - fixed
	ref := newReference(t, a.service, a.cfg.Streams)
	total := map[string]int{}
	for night := 1; night <= 5; night++ {
		// Until the last night there is no time for rechecks.
		a.cfg.Recheck = map[bool]int{true: 7}[night < 5]
		res := a.published(requests(fixed + backlog/5 + 4))
		t.Logf("night %d: %d requests in %v, %d of %d alive", night, a.sent, a.took, len(alive), len(once))
		a.requireLists(ref)
		for path := range alive {
			if a.asked[path] == 0 {
				t.Errorf("night %d did not request %s, which is live", night, path)
			}
		}
		for path, n := range a.details() {
			total[path] += n
		}
		left, _ := res.Run.Unread()
		if noted := a.one("SELECT sum(unread)::VARCHAR FROM meta.streams WHERE run_id = ?", res.Run.ID); noted != strconv.FormatInt(left, 10) {
			t.Errorf("night %d: meta.streams has %s unread, the ledger %d", night, noted, left)
		}
		if predicted := res.Run.NightsLeft; predicted < int64(4-night) || predicted > int64(6-night) {
			t.Errorf("night %d predicts %d more nights", night, predicted)
		}
		if (left == 0) != (night == 5) {
			t.Fatalf("night %d left %d ids", night, left)
		}
	}
	a.requireValues(ref)
	for path, n := range total {
		if want := max(once[path], 5*alive[path]); n != want {
			t.Errorf("%s was requested %d times in five nights, want %d", path, n, want)
		}
	}
	if len(total) != len(once) {
		t.Errorf("%d details were requested, want %d", len(total), len(once))
	}
}

// TestTrialBoundedNightsFollowAMovingWorld runs nights while orders, prices and articles
// change. Each night must have complete lists, also of orders and campaigns with unread
// details, and current values of all articles in progress. When no ids are unread, all
// values must be current.
func TestTrialBoundedNightsFollowAMovingWorld(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	a := newAllotted(t, largeWorld())
	ref := newReference(t, a.service, a.cfg.Streams)
	nights, left := 0, int64(1)
	for ; left > 0; nights++ {
		if nights > 12 {
			t.Fatalf("%d ids are unread after %d nights", left, nights)
		}
		a.service.Advance(1)
		a.at = a.service.Now().Add(time.Hour)
		res := a.published(requests(200))
		left, _ = res.Run.Unread()
		t.Logf("night %d: %d requests in %v, %d left, for %d nights more", nights+1, a.sent, a.took, left, res.Run.NightsLeft)
		a.requireLists(ref)
		a.requireListed("/orders", "orders", "status", "reference_number")
		a.requireListed("/campaigns", "campaigns", "name")
		a.requireInProgress(ref)
	}
	if nights < 3 {
		t.Errorf("everything was read in %d nights, so the test shows nothing", nights)
	}
	a.requireValues(ref)
}

// requireListed compares the values of a list with its table.
func (a *boundedHouse) requireListed(path, table string, columns ...string) {
	a.t.Helper()
	records := a.service.Records(path)
	if n := a.count(table, "TRUE"); n < len(records) || len(records) == 0 {
		a.t.Errorf("%s has %d rows, the list %d", table, n, len(records))
	}
	for _, raw := range records {
		record := decode(string(raw))
		for _, column := range columns {
			want, _ := dig(record, column).(string)
			got := a.one("SELECT coalesce("+column+"::VARCHAR, '') FROM "+table+" WHERE id = ?", dig(record, "id"))
			if got != want {
				a.t.Errorf("%s of %s %v is %q, but %q in the list", column, table, dig(record, "id"), got, want)
			}
		}
	}
}

// requireInProgress checks that the values of articles in progress are current: those without a
// live URL whose campaign changed recently.
func (a *boundedHouse) requireInProgress(ref *reference) {
	a.t.Helper()
	held := ref.now()
	lately := map[string]bool{}
	for _, c := range held["campaigns"] {
		at, err := time.Parse(microseconds, c["updated_at"])
		must(a.t, err)
		lately[c["id"]] = a.at.Sub(at) < 44*24*time.Hour
	}
	of := map[string]string{}
	for _, row := range held["campaign_articles"] {
		of[row["id"]] = row["campaign_id"]
	}
	compared := 0
	for _, e := range ref.once() {
		if e.table != "articles" {
			continue
		}
		got := keyed(e, read(a.t, e, a.catalog(), "main.articles"))
		for key, want := range keyed(e, held["articles"]) {
			if want["live_url"] != "" || !lately[of[want["id"]]] {
				continue
			}
			compared++
			if !cmp.Equal(want, got[key]) {
				a.t.Errorf("article %s (-service +warehouse):\n%s", key, cmp.Diff(want, got[key]))
			}
		}
	}
	if compared == 0 {
		a.t.Error("no article is in progress, so the test shows nothing")
	}
}

// TestTrialDetailsGetAShareOfTheTime gives nights just the time for their
// lists. A quarter of the time must be spent on details, even if live details need more. Every
// id must be read within some nights, and no list may remain unread.
func TestTrialDetailsGetAShareOfTheTime(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	a := newAllotted(t, settledWorld(160))
	a.cfg.Fetch.PageSize = 3
	free := a.otherWarehouse()
	free.published(0)
	wanted := free.details()
	lists := free.sent
	for _, n := range wanted {
		lists -= n
	}
	ref := newReference(t, a.service, a.cfg.Streams)
	read, carried := map[string]bool{}, map[string]int{}
	most := 2*(4*len(wanted)/lists) + 3 // every second night may read only live details
	for night := 1; len(read) < len(wanted); night++ {
		if night > most {
			t.Fatalf("after %d nights %d of %d ids were read", night-1, len(read), len(wanted))
		}
		res, err := a.read(requests(lists))
		must(t, err)
		before := len(read)
		for path := range a.details() {
			read[path] = true
		}
		for _, s := range res.Run.Streams {
			if def, _ := stream.Find(a.cfg.Streams, s.Stream); !def.IsDetail() {
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
		t.Logf("night %d: %d requests in %v, %d ids for the first time, %d left", night, a.sent, a.took, len(read)-before, left)
		if limit := requests(lists) * 3 / 2; a.took > limit {
			t.Errorf("night %d took %v, want at most %v", night, a.took, limit)
		}
	}
	a.published(0)
	a.requireValues(ref)
}
