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

	"placementsync/internal/fetch"
	"placementsync/internal/testing/torture"
)

// movingList inserts and deletes one record in each group of every requests, and records
// the states needed to check a walk.
type movingList struct {
	every     int
	unordered bool
	untotaled bool

	mu       sync.Mutex
	rng      *rand.Rand
	records  []record
	born     int64
	requests int
	phases   [2]int
	start    map[string]bool // existed since the start
	states   map[uint64]bool // sum over the ids of each answered state
}

func newMovingList(seed uint64, every, n int, unordered bool) *movingList {
	l := &movingList{
		every: every, unordered: unordered, rng: rand.New(rand.NewPCG(seed, uint64(every))),
		start: make(map[string]bool), states: make(map[uint64]bool),
	}
	for range n {
		l.insert()
	}
	for _, r := range l.records {
		l.start[r.ID] = true
	}
	l.phases = [2]int{l.rng.IntN(every), l.rng.IntN(every)}
	return l
}

// insert inserts a new record at the head, or anywhere with any date.
func (l *movingList) insert() {
	l.born++
	created, at := l.born, 0
	if l.unordered {
		created, at = l.rng.Int64N(1000), l.rng.IntN(len(l.records)+1)
	}
	l.records = slices.Insert(l.records, at, record{ID: fmt.Sprint("id", l.born), Created: &created})
}

func (l *movingList) remove() {
	if len(l.records) == 0 {
		return
	}
	i := l.rng.IntN(len(l.records))
	delete(l.start, l.records[i].ID)
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
	phase := l.requests % l.every
	l.requests++
	if phase == l.phases[0] {
		l.insert()
	}
	if phase == l.phases[1] {
		l.remove()
	}
	l.states[l.sum()] = true
	from := min((page-1)*limit, len(l.records))
	records := l.records[from:min(from+limit, len(l.records))]
	if l.untotaled {
		json.NewEncoder(w).Encode(records)
		return
	}
	body := map[string]any{"records": records, "total_records": len(l.records), "next_page": nil}
	if page*limit < len(l.records) {
		body["next_page"] = page + 1
	}
	json.NewEncoder(w).Encode(body)
}

func (l *movingList) sum() (sum uint64) {
	for _, r := range l.records {
		sum += hash(r.ID)
	}
	return sum
}

// checkWalk walks a moving list once and checks the grade.
func checkWalk(t *testing.T, l *movingList, pageSize int) fetch.Grade {
	t.Helper()
	cfg := testConfig(l)
	cfg.PageSize = pageSize
	var got collector
	e, err := client(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
	if err != nil {
		t.Fatal(err)
	}
	var union uint64
	for id := range got.ids {
		union += hash(id)
	}
	if e.Grade == fetch.Exact && !l.states[union] {
		t.Errorf("graded exact, but the list never had exactly these ids: %+v", e)
	}
	for id := range l.start {
		if _, found := got.ids[id]; !found && e.Grade != fetch.BestEffort {
			t.Errorf("record %s existed all the time but is missing: %+v", id, e)
		}
	}
	return e.Grade
}

// recordTrial records the results of the walks over one kind of list.
func recordTrial(t *testing.T, begun time.Time, name string, grades map[fetch.Grade]int, walks int) {
	t.Helper()
	share := func(g fetch.Grade) float64 { return 100 * float64(grades[g]) / float64(walks) }
	err := torture.Open(os.Getenv).EndTrial(begun, t.Failed(), torture.Trial{Name: "walks over lists that move, " + name, Runs: walks,
		Fault: "a record enters and one leaves a list of 1 to 150 for every 1 to 50 requests",
		Outcome: fmt.Sprintf("exact %.1f %%, repaired %.1f %%, best_effort %.1f %%; none graded too high",
			share(fetch.Exact), share(fetch.Repaired), share(fetch.BestEffort))})
	if err != nil {
		t.Error(err)
	}
}

func TestMovingListsAreNeverGradedTooHigh(t *testing.T) { walkMoving(t, 4, 1, 3, 8, 20, 50) }

// TestTrialMovingListsAreNeverGradedTooHigh walks more lists. It is not a normal test
// because a walk takes ten times as long with the race detector.
func TestTrialMovingListsAreNeverGradedTooHigh(t *testing.T) {
	requireTrials(t)
	walkMoving(t, 24, 1, 3, 8, 20, 50)
}

func TestTortureMovingListsAreNeverGradedTooHigh(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	var everies []int
	for every := range 50 {
		everies = append(everies, every+1)
	}
	walkMoving(t, 400, everies...)
}

// walkMoving walks lists that change once per every requests, for each number in everies.
func walkMoving(t *testing.T, seeds uint64, everies ...int) {
	worlds := map[string]struct{ unordered, untotaled bool }{
		"newest first":            {},
		"unordered":               {unordered: true},
		"newest first, no totals": {untotaled: true},
		"unordered, no totals":    {unordered: true, untotaled: true},
	}
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			begun, sum := time.Now(), map[fetch.Grade]int{}
			for _, every := range everies {
				grades := map[fetch.Grade]int{}
				for seed := range seeds {
					sizes := rand.New(rand.NewPCG(seed, 1))
					l := newMovingList(seed, every, 1+sizes.IntN(150), world.unordered)
					l.untotaled = world.untotaled
					grade := checkWalk(t, l, 1+sizes.IntN(20))
					grades[grade]++
					sum[grade]++
				}
				t.Logf("one insert and delete per %2d requests: exact %3d, repaired %3d, best_effort %3d of %d", every,
					grades[fetch.Exact], grades[fetch.Repaired], grades[fetch.BestEffort], seeds)
			}
			recordTrial(t, begun, name, sum, int(seeds)*len(everies))
		})
	}
}
