package sim_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/sim"
)

// pagedLists returns the top-level lists that have pages in the world of the demo.
func pagedLists() []string {
	return []string{"/outlets", "/products/listings", "/orders", "/order-items", "/campaigns", "/files"}
}

func TestPagesContainAllRecords(t *testing.T) {
	for _, order := range []sim.ListOrder{sim.NewestFirst, sim.Unordered} {
		for _, seed := range []uint64{0, 1} {
			s := serve(t, sim.Options{Seed: seed, Order: order})
			for _, path := range pagedLists() {
				for _, limit := range []int{7, 100} {
					if !sameBytes(s.service.Records(path), s.walk(path, limit)) {
						t.Errorf("order %d, seed %d, %s by %d: pages and records differ", order, seed, path, limit)
					}
				}
			}
		}
	}
}

func TestPageNumbers(t *testing.T) {
	s := serve(t, sim.Options{})
	page := func(n int) *int { return &n }
	for query, want := range map[string]envelope{
		"":                   {TotalRecords: 400, TotalPages: 16, CurrentPage: 1, NextPage: page(2)},
		"limit=100&page=2":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 2, NextPage: page(3), PreviousPage: page(1)},
		"limit=100&page=4":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 4, PreviousPage: page(3)},
		"limit=100&page=5":   {TotalRecords: 400, TotalPages: 4, CurrentPage: 5, PreviousPage: page(4)},
		"limit=100&page=900": {TotalRecords: 400, TotalPages: 4, CurrentPage: 900, PreviousPage: page(899)},
		"limit=5000":         {TotalRecords: 400, TotalPages: 4, CurrentPage: 1, NextPage: page(2)},
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
			t.Errorf("%s: %s", query, diff)
		}
	}
}

func TestPageCapIsSilent(t *testing.T) {
	s := serve(t, sim.Options{PageCap: 10})
	if got := s.page("/orders?limit=100"); len(got.Records) != 10 || got.TotalPages != 20 {
		t.Errorf("%d records of %d pages", len(got.Records), got.TotalPages)
	}
}

func TestEmptyListHasNoPages(t *testing.T) {
	s := serve(t, sim.Options{Orders: -1, Listings: -1, Campaigns: -1, Files: -1, Folders: -1})
	for _, path := range pagedLists() {
		got := s.page(path)
		want := envelope{Records: []json.RawMessage{}, CurrentPage: 1}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestInvalidPagesAreBadRequests(t *testing.T) {
	s := serve(t, sim.Options{})
	for _, query := range []string{"limit=0", "limit=-1", "limit=ten", "page=0", "page=1.5"} {
		if got := s.get("/orders?" + query).status; got != http.StatusBadRequest {
			t.Errorf("%s: status %d", query, got)
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
	service := sim.New(sim.Options{})
	service.Advance(3)
	ties := 0
	for _, path := range pagedLists() {
		records := service.Records(path)
		for i := 1; i < len(records); i++ {
			a, b := records[i-1], records[i]
			switch createdAt(t, a).Compare(createdAt(t, b)) {
			case -1:
				t.Fatalf("%s: record %d is newer than its predecessor", path, i)
			case 0:
				ties++
				if pair := ids(t, []json.RawMessage{a, b}); pair[0] > pair[1] {
					t.Errorf("%s: a tie at %d is not ordered by id", path, i)
				}
			}
		}
	}
	if ties == 0 {
		t.Error("no records with equal created_at found")
	}
}

func TestSortByAndOrderBy(t *testing.T) {
	s := serve(t, sim.Options{})
	for _, field := range []string{"id", "created_at", "updated_at"} {
		for _, direction := range []string{"asc", "desc"} {
			page := s.page(fmt.Sprintf("/orders?limit=100&sort_by=%s&order_by=%s", field, direction))
			sorted := slices.IsSortedFunc(page.Records, func(a, b json.RawMessage) int {
				by := compareField(t, field, a, b)
				if direction == "desc" {
					by = -by
				}
				return by
			})
			if !sorted && !(field == "id" && direction == "desc") {
				t.Errorf("sort_by=%s, order_by=%s is not sorted", field, direction)
			}
		}
	}
	newest := s.page("/orders?limit=100").Records
	if got := s.page("/orders?limit=100&sort_by=no_such_field").Records; !sameBytes(newest, got) {
		t.Error("an unknown sort field changes the order")
	}
}

func compareField(t *testing.T, field string, a, b json.RawMessage) int {
	t.Helper()
	if field == "id" {
		pair := ids(t, []json.RawMessage{a, b})
		return cmp.Compare(pair[0], pair[1])
	}
	swap := func(raw json.RawMessage) json.RawMessage {
		out, err := json.Marshal(map[string]any{"created_at": record(t, raw)[field]})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return createdAt(t, swap(a)).Compare(createdAt(t, swap(b)))
}

func TestFilters(t *testing.T) {
	s := serve(t, sim.Options{})
	listings := s.service.Records("/products/listings")
	some := record(t, listings[0])["id"].(string)
	disclaimer := record(t, s.service.Records("/outlet-disclaimers")[0])["id"].(string)
	for name, tc := range map[string]struct {
		query string
		all   bool // whether all records match
	}{
		"a scalar":                        {"filters[country]=Germany", false},
		"one value":                       {"filters[channel_types][0]=NEWSLETTER", false},
		"two values":                      {"filters[placement_types][0]=QUOTE&filters[placement_types][1]=MENTION", false},
		"a tag":                           {"filters[tags][0]=" + url.QueryEscape("Crypto/Web3"), false},
		"a product":                       {"filters[product_ids][0]=" + some, false},
		"a disclaimer":                    {"filters[disclaimer_ids][0]=" + disclaimer, false},
		"bare brackets are ignored":       {"filters[country][]=Germany&filters[tags][]=Food", true},
		"a list without index is ignored": {"filters[tags]=Food", true},
		"an unknown key is ignored":       {"filters[colour]=red", true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/outlets", "/products/listings"} {
				all := len(s.service.Records(path))
				got := s.page(path + "?" + tc.query).TotalRecords
				if tc.all != (got == all) {
					t.Errorf("%s: %d of %d", path, got, all)
				}
			}
		})
	}
}

func TestFilteredRecordsMatch(t *testing.T) {
	s := serve(t, sim.Options{})
	got := s.page("/products/listings?limit=100&filters[country]=Germany&filters[channel_types][0]=NEWSLETTER&filters[channel_types][1]=PODCAST")
	want := 0
	for _, raw := range s.service.Records("/products/listings") {
		row := record(t, raw)
		if row["country"] == "Germany" && slices.Contains([]any{"NEWSLETTER", "PODCAST"}, row["channel_type"]) {
			want++
		}
	}
	if want == 0 || got.TotalRecords != want || len(got.Records) != want {
		t.Errorf("%d records, want %d", got.TotalRecords, want)
	}
}

func TestEnvelopeOption(t *testing.T) {
	first := func(body []byte) string { return string(body[:min(12, len(body))]) }
	for envelope, want := range map[sim.Envelope]byte{
		sim.EnvelopePaginated: '{', sim.EnvelopeArray: '[', sim.EnvelopeRecords: '{',
	} {
		s := serve(t, sim.Options{Envelope: envelope})
		for pattern, paths := range samplePaths(t, s.service, 1) {
			if !slices.Contains([]string{"/order-items", "/tags", "/folders", "/campaigns/{id}/articles"}, pattern) {
				continue
			}
			body := s.get(paths[0]).body
			var page envelopeFields
			_ = json.Unmarshal(body, &page)
			if body[0] != want || (page.TotalRecords != nil) != (envelope == sim.EnvelopePaginated) {
				t.Errorf("envelope %d: GET %s begins %s", envelope, pattern, first(body))
			}
		}
		if body := s.get("/orders").body; body[0] != '{' {
			t.Errorf("envelope %d changes a format that the spec shows", envelope)
		}
	}
}

// envelopeFields distinguishes an absent total from zero.
type envelopeFields struct {
	TotalRecords *int `json:"total_records"`
}

func TestPageUntotalled(t *testing.T) {
	whole := serve(t, sim.Options{Envelope: sim.EnvelopeArray})
	if got := len(recordsIn(t, whole.get("/order-items?limit=10&page=2").body)); got != len(whole.service.Records("/order-items")) {
		t.Errorf("%d records, want all", got)
	}
	cut := serve(t, sim.Options{Envelope: sim.EnvelopeArray, PageUntotalled: true})
	all := cut.service.Records("/order-items")
	got := recordsIn(t, cut.get("/order-items?limit=10&page=2").body)
	if !sameBytes(all[10:20], got) {
		t.Error("page 2 does not contain records 11 to 20")
	}
	if got := recordsIn(t, cut.get("/order-items?limit=10&page=9999").body); len(got) != 0 {
		t.Errorf("%d records beyond the end", len(got))
	}
}
