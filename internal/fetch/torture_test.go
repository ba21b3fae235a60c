package fetch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
)

// movingList is a list that changes: it inserts one record and deletes one record in every
// changeEvery requests. The fields permanent and states are for the check of a walk.
type movingList struct {
	changeEvery int
	unordered   bool
	noTotals    bool
	sorts       bool // an unordered list is sorted newest first if a request asks for it
	failing     bool // one in twelve requests for a later page fails

	mu       sync.Mutex
	rng      *rand.Rand
	records  []record
	inserted int64 // number of inserts so far
	requests int
	phases   [2]int // positions of the insert and the delete among changeEvery requests
	// permanent contains the ids of the initial records that have not been deleted.
	permanent map[string]bool
	// states contains a checksum of the ids of the whole list at each response.
	states map[uint64]bool
}

func newMovingList(seed uint64, changeEvery, n int, unordered, sorts bool) *movingList {
	l := &movingList{
		changeEvery: changeEvery, unordered: unordered, sorts: sorts, rng: rand.New(rand.NewPCG(seed, uint64(changeEvery))),
		permanent: make(map[string]bool), states: make(map[uint64]bool),
	}
	for range n {
		l.insert()
	}
	for _, r := range l.records {
		l.permanent[r.ID] = true
	}
	l.phases = [2]int{l.rng.IntN(changeEvery), l.rng.IntN(changeEvery)}
	return l
}

// insert inserts a new record at the head. In an unordered list, the position is random, and also the date unless
// requests can ask for an order.
func (l *movingList) insert() {
	l.inserted++
	created, at := l.inserted, 0
	if l.unordered {
		at = l.rng.IntN(len(l.records) + 1)
	}
	if l.unordered && !l.sorts {
		created = l.rng.Int64N(1000)
	}
	l.records = slices.Insert(l.records, at, record{ID: fmt.Sprint("id", l.inserted), Created: &created})
}

func (l *movingList) remove() {
	if len(l.records) == 0 {
		return
	}
	i := l.rng.IntN(len(l.records))
	delete(l.permanent, l.records[i].ID)
	l.records = slices.Delete(l.records, i, i+1)
}

func (l *movingList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	l.mu.Lock()
	// Parallel requests are handled in random order.
	yields := l.rng.IntN(8)
	l.mu.Unlock()
	for range yields {
		runtime.Gosched()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	phase := l.requests % l.changeEvery
	l.requests++
	if phase == l.phases[0] {
		l.insert()
	}
	if phase == l.phases[1] {
		l.remove()
	}
	l.states[l.idSum()] = true
	if l.failing && page > 1 && l.rng.IntN(12) == 0 {
		w.WriteHeader(http.StatusNotImplemented) // is not retried
		return
	}
	all := l.records
	if l.sorts && r.URL.Query().Get("sort_by") != "" {
		all = slices.SortedFunc(slices.Values(all), newestFirst)
	}
	from := min((page-1)*limit, len(all))
	records := all[from:min(from+limit, len(all))]
	if l.noTotals {
		json.NewEncoder(w).Encode(records)
		return
	}
	body := map[string]any{"records": records, "total_records": len(l.records), "next_page": nil}
	if page*limit < len(l.records) {
		body["next_page"] = page + 1
	}
	json.NewEncoder(w).Encode(body)
}

func (l *movingList) idSum() (sum uint64) {
	for _, r := range l.records {
		sum += hashID(r.ID)
	}
	return sum
}

// checkWalk walks a moving list once and checks the grade.
func checkWalk(t *testing.T, l *movingList, pageSize int) stream.Grade {
	t.Helper()
	cfg := testConfig(l)
	cfg.PageSize = pageSize
	var got collector
	s := sniffedStream
	s.Sorts = l.sorts
	e, err := newClient(t, cfg, nil).Walk(t.Context(), s, "", got.read)
	harness.Must(t, err)
	var readSum uint64
	for id := range got.ids {
		readSum += hashID(id)
	}
	if e.Grade == stream.Exact && !l.states[readSum] {
		t.Errorf("graded exact, but the list never had exactly these ids: %+v", e)
	}
	for id := range l.permanent {
		if _, found := got.ids[id]; !found && e.Grade != stream.BestEffort {
			t.Errorf("record %s existed all the time but is missing: %+v", id, e)
		}
	}
	return e.Grade
}

// recordTrial records the results of the walks over one kind of list.
func recordTrial(t *testing.T, startedAt time.Time, name string, grades map[stream.Grade]int, walks int) {
	t.Helper()
	share := func(g stream.Grade) float64 { return 100 * float64(grades[g]) / float64(walks) }
	err := torture.Open(os.Getenv).EndTrial(startedAt, t.Failed(), torture.Trial{Name: "walks over lists that move, " + name, Runs: walks,
		Procedure: "one insert and one delete per 1 to 50 requests, in a list of 1 to 150 records",
		Outcome: fmt.Sprintf("exact %.1f %%, repaired %.1f %%, best_effort %.1f %%; no grade too high",
			share(stream.Exact), share(stream.Repaired), share(stream.BestEffort))})
	if err != nil {
		t.Error(err)
	}
}

// TestMovingListsAreNeverGradedTooHigh walks more lists without -short.
func TestMovingListsAreNeverGradedTooHigh(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 4
	}
	walkMovingLists(t, seeds, 1, 3, 8, 20, 50)
}

func TestTortureMovingListsAreNeverGradedTooHigh(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	var intervals []int
	for i := range 50 {
		intervals = append(intervals, i+1)
	}
	const seeds = 400
	walkMovingLists(t, seeds, intervals...)
}

// walkMovingLists walks lists with one insert and one delete per interval. An interval is counted in
// requests. For each interval and kind of list, walkMovingLists walks one list per seed.
func walkMovingLists(t *testing.T, seeds uint64, intervals ...int) {
	lists := map[string]struct{ unordered, noTotals, sorts, failing bool }{
		"newest first":                 {},
		"unordered":                    {unordered: true},
		"newest first, no totals":      {noTotals: true},
		"unordered, no totals":         {unordered: true, noTotals: true},
		"unordered, sorted on request": {unordered: true, sorts: true},
		"newest first, failing pages":  {failing: true},
		"unordered, failing pages":     {unordered: true, failing: true},
	}
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			startedAt, allGrades := time.Now(), map[stream.Grade]int{}
			for _, interval := range intervals {
				grades := map[stream.Grade]int{}
				for seed := range seeds {
					sizes := rand.New(rand.NewPCG(seed, 1))
					l := newMovingList(seed, interval, 1+sizes.IntN(150), list.unordered, list.sorts)
					l.noTotals, l.failing = list.noTotals, list.failing
					grade := checkWalk(t, l, 1+sizes.IntN(20))
					grades[grade]++
					allGrades[grade]++
				}
				t.Logf("one insert and delete per %2d requests: exact %3d, repaired %3d, best_effort %3d of %d", interval,
					grades[stream.Exact], grades[stream.Repaired], grades[stream.BestEffort], seeds)
			}
			recordTrial(t, startedAt, name, allGrades, int(seeds)*len(intervals))
		})
	}
}
