package sim_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// pagedLists returns the top-level lists that have pages in the world of the demo.
func pagedLists() []string {
	return []string{"/outlets", "/products/listings", "/orders", "/order-items", "/campaigns", "/files"}
}

func TestPagesContainAllRecords(t *testing.T) {
	harness.Slow(t)
	for _, unordered := range []bool{false, true} {
		for _, seed := range []uint64{0, 1} {
			s := serve(t, sim.Options{Seed: seed, Unordered: unordered})
			for _, path := range pagedLists() {
				for _, limit := range []int{7, 100} {
					if !sameBytes(s.service.Records(path), s.readPages(path, limit)) {
						t.Errorf("unordered %t, seed %d: the pages of %s with limit %d differ from the list", unordered, seed, path, limit)
					}
				}
			}
		}
	}
}

func TestPageNumbers(t *testing.T) {
	s := serve(t, sim.Options{})
	for query, want := range map[string]envelope{
		"":                   {TotalRecords: 400, TotalPages: 16, CurrentPage: 1, NextPage: new(2)},
		"limit=100&page=2":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 2, NextPage: new(3), PreviousPage: new(1)},
		"limit=100&page=4":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 4, PreviousPage: new(3)},
		"limit=100&page=5":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 5, PreviousPage: new(4)},
		"limit=100&page=900": {TotalRecords: 400, TotalPages: 4, CurrentPage: 900, PreviousPage: new(899)},
		"limit=5000":         {TotalRecords: 400, TotalPages: 4, CurrentPage: 1, NextPage: new(2)},
	} {
		got := s.page("/products/listings?" + query)
		wantRecords := 100
		switch {
		case query == "":
			wantRecords = 25
		case got.CurrentPage > 4:
			wantRecords = 0
		}
		if len(got.Records) != wantRecords {
			t.Errorf("%s: %d records, want %d", query, len(got.Records), wantRecords)
		}
		got.Records = nil
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestEmptyListHasNoPages(t *testing.T) {
	s := serve(t, sim.Options{Orders: -1, Listings: -1, Campaigns: -1, Files: -1, Folders: -1})
	for _, path := range pagedLists() {
		got := s.page(path)
		want := envelope{Records: []json.RawMessage{}, CurrentPage: 1}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestInvalidPagesAreBadRequests(t *testing.T) {
	s := serve(t, sim.Options{})
	for _, query := range []string{"limit=0", "limit=-1", "limit=ten", "page=0", "page=1.5"} {
		if got := s.get("/orders?" + query).status; got != http.StatusBadRequest {
			t.Errorf("%s: got status %d, want 400", query, got)
		}
	}
}

// createdAt parses created_at in all formats of the service.
func createdAt(t *testing.T, raw json.RawMessage) time.Time {
	t.Helper()
	var dated struct {
		CreatedAt string `json:"created_at"`
	}
	if err := json.Unmarshal(raw, &dated); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, dated.CreatedAt)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", dated.CreatedAt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestDefaultOrderIsNewestFirstWithTiesByID(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{})
	service.Advance(3)
	ties := 0
	for _, path := range pagedLists() {
		records := service.Records(path)
		for i := 1; i < len(records); i++ {
			a, b := records[i-1], records[i]
			switch createdAt(t, a).Compare(createdAt(t, b)) {
			case -1:
				t.Fatalf("%s: record %d is newer than the record before it, want the newest first", path, i)
			case 0:
				ties++
				if pair := ids(t, []json.RawMessage{a, b}); pair[0] > pair[1] {
					t.Errorf("%s: records %d and %d with equal times are not ordered by id, want the smaller id first", path, i-1, i)
				}
			}
		}
	}
	if ties == 0 {
		t.Error("no two records have the same created_at, want some")
	}
}
