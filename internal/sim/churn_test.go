package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// TestChurnChangesLists reads lists while records are inserted and deleted.
func TestChurnChangesLists(t *testing.T) {
	harness.Slow(t)
	for _, unordered := range []bool{false, true} {
		for _, path := range pagedLists() {
			t.Run(fmt.Sprintf("unordered %t, %s", unordered, path), func(t *testing.T) {
				checkChurn(t, path, sim.Options{Unordered: unordered, ChurnEvery: 2})
			})
		}
	}
}

func checkChurn(t *testing.T, path string, opts sim.Options) {
	t.Helper()
	s := serve(t, opts)
	before := ids(t, s.service.Records(path))
	for range 3 {
		s.readPages(path, 25)
	}
	inserted, deleted := s.service.Churned(path)
	if inserted == 0 || deleted == 0 {
		t.Fatalf("%d inserted, %d deleted, want some of both", inserted, deleted)
	}
	after := ids(t, s.service.Records(path))
	gone := 0
	for _, id := range before {
		if !slices.Contains(after, id) {
			gone++
		}
	}
	if gone == 0 || gone > deleted {
		t.Errorf("%d of the earlier records are gone after %d deletions, want 1 to %d", gone, deleted, deleted)
	}
	if len(after) != len(before)+inserted-deleted {
		t.Errorf("got %d records after the requests, want %d: %d before, %d inserted, %d deleted", len(after), len(before)+inserted-deleted, len(before),
			inserted, deleted)
	}
	if opts.Unordered {
		return
	}
	checkNewestFirst(t, s, path)
	s.service.Advance(30)
	checkNewestFirst(t, s, path)
	if got := len(s.readPages(path, 50)); got == 0 {
		t.Error("the list is empty after 30 days, want records")
	}
}

// checkNewestFirst checks that a list is sorted by created_at, newest first.
func checkNewestFirst(t *testing.T, s testServer, path string) {
	t.Helper()
	records := s.service.Records(path)
	for i := 1; i < len(records); i++ {
		if createdAt(t, records[i-1]).Before(createdAt(t, records[i])) {
			t.Fatalf("record %d is older than record %d, want the newest first", i-1, i)
		}
	}
}

func TestChurnCountsTheRequestsOfEachList(t *testing.T) {
	s := serve(t, sim.Options{ChurnEvery: 5})
	for range 50 {
		s.get("/orders?limit=1")
		s.get("/tags")
	}
	for path, want := range map[string]int{"/orders": 10, "/campaigns": 0, "/tags": 0} { // the list of tags never changes
		if inserted, deleted := s.service.Churned(path); inserted != want || deleted != want {
			t.Errorf("%s: %d inserted, %d deleted, want %d of both", path, inserted, deleted, want)
		}
	}
}

func TestImpossibleInsertsAreNotCounted(t *testing.T) {
	s := serve(t, sim.Options{Profiles: -1, ChurnEvery: 1}) // an order needs a profile
	s.get("/orders")
	if inserted, _ := s.service.Churned("/orders"); inserted != 0 || len(s.service.Records("/orders")) != 0 {
		t.Errorf("%d inserted, want none: there is no profile", inserted)
	}
}

// TestConcurrentUse sends requests while the service is changed. It is for the race detector.
func TestConcurrentUse(t *testing.T) {
	harness.Concurrent(t)
	s := serve(t, sim.Options{ChurnEvery: 2})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			s.service.Advance(1)
			s.service.Records("/orders")
			s.service.RequestsByRoute()
			s.service.SetFaults()
		}
	}()
	for i := range 60 {
		s.get(pagedLists()[i%len(pagedLists())])
	}
	<-done
}
