package faults_test

import (
	"maps"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestNightsWithChangingLists runs nights while lists change. If a table lacks a record that
// existed during the whole night, its grade must be best_effort.
func TestNightsWithChangingLists(t *testing.T) {
	for name, unordered := range trials.SortOrders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One record of a list is inserted, and one is deleted, in every 13 requests.
			world := sim.Options{Seed: 3, Token: trials.Token, HistoryDays: 10, Outlets: 20, Listings: 53, Profiles: 3, Campaigns: 30,
				Orders: 40, Files: 25, Folders: 15, PageCap: 1000, ChurnEvery: 13, Unordered: unordered}
			h := trials.NewHarness(t, world, "outlet_listings", "product_listings", "orders", "order_items", "campaigns", "files", "folders")
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
