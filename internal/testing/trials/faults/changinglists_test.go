package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/fetch"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
	"placementsync/internal/transform"
	"placementsync/schema"
)

// changingLists returns the streams whose lists change while they are read.
func changingLists() []string {
	return []string{"outlet_listings", "product_listings", "orders", "order_items", "campaigns", "files", "folders"}
}

// intervals returns numbers n for trials in which one record of a list is inserted and one is
// deleted after every n requests.
func intervals() []int { return []int{1, 2, 3, 5, 8, 13, 21, 34, 50} }

// changingWorld returns a world whose lists change once in each interval, which is a number of
// requests. 0 means no changes.
func changingWorld(seed uint64, interval int, unordered bool) sim.Options {
	return sim.Options{Seed: seed, Token: trials.Token, HistoryDays: 10, Outlets: 20, Listings: 50 + int(seed%40), Profiles: 3, Campaigns: 30,
		Orders: 40, Files: 25, Folders: 15, PageCap: 1000, ChurnEvery: interval, Unordered: unordered}
}

// listRecorder serves the requests for a service and records every state of one list. A state is the sum of the
// hashes of all ids, so it does not depend on the order of the list.
type listRecorder struct {
	service    *sim.Service
	path       string
	initialIDs map[string]bool

	mu      sync.Mutex
	changes [2]int // the numbers of inserts and deletes
	states  map[uint64]bool
}

// newListRecorder returns a listRecorder that has recorded the current state of the list.
func newListRecorder(service *sim.Service, path string) *listRecorder {
	w := &listRecorder{service: service, path: path, states: map[uint64]bool{}, initialIDs: trials.RecordIDs(service, path)}
	w.recordState()
	return w
}

// recordState adds the current state of the list.
func (w *listRecorder) recordState() {
	var state uint64
	for _, raw := range w.service.Records(w.path) {
		// The first id in the JSON is the id of the record.
		_, rest, _ := bytes.Cut(raw, []byte(`"id":"`))
		id, _, _ := bytes.Cut(rest, []byte(`"`))
		state += idHash(string(id))
	}
	w.states[state] = true
}

func idHash(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// RoundTrip handles one request at a time, so that all states are recorded.
func (w *listRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := httptest.NewRecorder()
	w.service.ServeHTTP(rec, r)
	inserted, deleted := w.service.Churned(w.path)
	if changes := [2]int{inserted, deleted}; changes != w.changes {
		w.changes = changes
		w.recordState()
	}
	return rec.Result(), r.Context().Err()
}

// walker reads lists with the client and the decoder, as a night does, but without a warehouse.
type walker struct {
	t        *testing.T
	bindings map[string]*transform.Binding
	streams  []stream.Stream
}

func newWalker(t *testing.T) walker {
	t.Helper()
	defs, _ := schema.Definitions()
	w := walker{t, map[string]*transform.Binding{}, nil}
	for _, name := range changingLists() {
		s, _ := stream.Find(stream.All(), name)
		w.streams = append(w.streams, s)
		binding, err := transform.Compile(s, defs)
		testharness.Must(t, err)
		w.bindings[name] = binding
	}
	return w
}

// walk runs one walk over a list and returns the evidence of the list and the ids of the decoded rows.
func (w walker) walk(s stream.Stream, cfg fetch.Config) (fetch.Evidence, map[string]bool) {
	w.t.Helper()
	cfg.BaseURL, cfg.Token = "http://service.test", func(context.Context) (string, error) { return trials.Token, nil }
	client, err := fetch.New(cfg, nil, slog.New(slog.DiscardHandler))
	testharness.Must(w.t, err)
	defer client.Close()
	var mu sync.Mutex
	rowIDs := map[string]bool{}
	evidence, err := client.Walk(w.t.Context(), s, "", func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
		mu.Lock()
		defer mu.Unlock()
		return w.decodePage(s, r, rowIDs)
	})
	testharness.Must(w.t, err)
	return evidence, rowIDs
}

// decodePage adds the ids of a page to rowIDs.
func (w walker) decodePage(s stream.Stream, r fetch.Response, rowIDs map[string]bool) (stream.PageFacts, error) {
	d := w.bindings[s.Name].NewDecoder()
	page, err := d.Decode(r.Body, transform.Origin{Seq: r.Seq})
	if err != nil {
		return stream.PageFacts{}, err
	}
	for _, b := range d.Flush() {
		if b.Table == s.Root().Name {
			column := b.Rows.Column(b.Rows.Schema().FieldIndices("id")[0]).(*array.String)
			for i := range column.Len() {
				rowIDs[column.Value(i)] = true
			}
		}
		b.Rows.Release()
	}
	return stream.PageFacts{Records: page.Records, IDs: page.IDs, Total: page.Total, TotalPages: page.TotalPages, Next: page.Next,
		Paginated: page.Paginated, First: page.First, Last: page.Last, IsNewestFirst: page.IsNewestFirst, Falls: page.Falls}, nil
}

// checkGrade reads a changing list and checks its grade. With the grade exact, the ids must be a
// state of the list. With any grade above best_effort, they must include all records that existed
// during the whole walk.
func (w walker) checkGrade(service *sim.Service, s stream.Stream, pageSize int) stream.Grade {
	w.t.Helper()
	recorder := newListRecorder(service, s.Path)
	evidence, rowIDs := w.walk(s, fetch.Config{Transport: recorder, PageSize: pageSize})
	var readState uint64
	for id := range rowIDs {
		readState += idHash(id)
	}
	if evidence.Grade == stream.Exact && !recorder.states[readState] {
		w.t.Errorf("%s is graded exact, but the list never had exactly these ids: %+v", s.Name, evidence)
	}
	for id := range survivors(recorder.initialIDs, service, s.Path) {
		if !rowIDs[id] && evidence.Grade != stream.BestEffort {
			w.t.Errorf("%s lacks the record %s, which existed during the whole walk, want the grade best_effort: %+v", s.Name, id, evidence)
		}
	}
	return evidence.Grade
}

// TestTrialChangingListsAreNotGradedTooHigh is the short form of TestTortureChangingLists.
func TestTrialChangingListsAreNotGradedTooHigh(t *testing.T) {
	trials.SkipIfShort(t)
	readChangingLists(t, 2)
}

// TestTortureChangingLists reads lists that change while they are read, and checks their grades.
func TestTortureChangingLists(t *testing.T) {
	trials.RequireTorture(t)
	readChangingLists(t, 200)
}

// readChangingLists reads every changing list, for each sort order, interval and seed. It logs
// the shares of the grades.
func readChangingLists(t *testing.T, seeds uint64) {
	for name, unordered := range trials.SortOrders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWalker(t)
			walks, totalGrades := 0, map[stream.Grade]int{}
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "changing lists, " + name, Runs: walks,
					Procedure: "one insert and one delete per 1 to 50 requests, while client and decoder read the list",
					Outcome: fmt.Sprintf("exact %.1f %%, repaired %.1f %%, best_effort %.1f %%; none graded too high",
						percent(totalGrades[stream.Exact], walks), percent(totalGrades[stream.Repaired], walks), percent(totalGrades[stream.BestEffort], walks))}
			})
			for _, interval := range intervals() {
				grades, intervalWalks := map[stream.Grade]int{}, 0
				for seed := range seeds {
					service := sim.New(changingWorld(seed, interval, unordered))
					for _, s := range w.streams {
						grade := w.checkGrade(service, s, 4+int(seed%9))
						grades[grade]++
						totalGrades[grade]++
						intervalWalks++
						walks++
					}
				}
				t.Logf("one insert and one delete per %2d requests: exact %5.1f %%, repaired %5.1f %%, best_effort %5.1f %% of %d walks",
					interval, percent(grades[stream.Exact], intervalWalks), percent(grades[stream.Repaired], intervalWalks), percent(grades[stream.BestEffort], intervalWalks), intervalWalks)
			}
		})
	}
}

func percent(n, all int) float64 { return 100 * float64(n) / float64(all) }

// TestNightsWithChangingLists runs nights while lists change. If a table lacks a record that
// existed during the whole night, its grade must be best_effort.
func TestNightsWithChangingLists(t *testing.T) {
	for name, unordered := range trials.SortOrders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, changingWorld(3, 13, unordered), changingLists()...)
			h.Config.AllowMassDelete = true
			h.At = h.Service.Now()
			for range 2 {
				initialIDs := map[string]map[string]bool{}
				for _, s := range h.Config.Streams {
					initialIDs[s.Path] = trials.RecordIDs(h.Service, s.Path)
				}
				res := h.SameDayNight()
				for _, s := range h.Config.Streams {
					requireSurvivors(h, stream.Grade(trials.StreamOf(t, res.Run, s.Name).Grade), s, initialIDs[s.Path])
				}
			}
		})
	}
}

// survivors returns the initial ids of a list that are still listed. Every complete reading of the list
// contains them, because the service never lists a deleted record again.
func survivors(initialIDs map[string]bool, service *sim.Service, path string) map[string]bool {
	ids := trials.RecordIDs(service, path)
	maps.DeleteFunc(ids, func(id string, _ bool) bool { return !initialIDs[id] })
	return ids
}

func requireSurvivors(h *trials.Harness, grade stream.Grade, s stream.Stream, initialIDs map[string]bool) {
	h.T.Helper()
	rowIDs := map[string]bool{}
	for _, r := range trials.Query(h.T, h.Catalog(), "SELECT id FROM "+s.Root().Name) {
		rowIDs[r[0].String] = true
	}
	for id := range survivors(initialIDs, h.Service, s.Path) {
		if !rowIDs[id] && grade != stream.BestEffort {
			h.T.Errorf("%s is graded %s but lacks the record %s, which existed during the whole night", s.Name, grade, id)
		}
	}
}

// TestRequestsForAnUnchangedList counts the requests for a list. A list of one page needs one
// request. A longer list that is sorted newest first needs one request for each page and one more.
// Any other list needs two passes.
func TestRequestsForAnUnchangedList(t *testing.T) {
	for name, unordered := range trials.SortOrders() {
		t.Run(name, func(t *testing.T) {
			w := newWalker(t)
			world := changingWorld(1, 0, unordered)
			world.Envelope = sim.EnvelopePaginated
			service := sim.New(world)
			for _, s := range w.streams {
				records := len(service.Records(s.Path))
				for _, pageSize := range []int{4, 7, records} {
					service.ResetRequests()
					evidence, _ := w.walk(s, fetch.Config{Transport: newListRecorder(service, s.Path), PageSize: pageSize})
					pages := (records + pageSize - 1) / pageSize
					want := 2 * pages
					switch {
					case pages == 1:
						want = 1
					case !unordered:
						want = pages + 1
					}
					if got := len(service.Requests()); got != want || evidence.Grade != stream.Exact {
						t.Errorf("%s: %d requests for %d pages, want %d: %+v", s.Name, got, pages, want, evidence)
					}
				}
			}
		})
	}
}
