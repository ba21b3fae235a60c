package sim_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"placementsync/internal/sim"
)

// discard is a response writer that discards the body.
type discard struct {
	header http.Header
	bytes  int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// BenchmarkListingsPage serves pages of 100 listings from a list of a million. A benchmark of a night
// requests ten thousand such pages.
func BenchmarkListingsPage(b *testing.B) {
	service := sim.New(sim.Options{Listings: 1_000_000, HistoryDays: 1})
	out := &discard{header: http.Header{}}
	number := 0
	b.ReportAllocs()
	for b.Loop() {
		number = number%10_000 + 1
		path := "/products/listings?limit=100&page=" + strconv.Itoa(number)
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Authorization", "Bearer pc_demo")
		service.ServeHTTP(out, request)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/record")
	b.ReportMetric(float64(out.bytes)/float64(b.N)/100, "B/record")
}

// BenchmarkAdvance simulates a day with a million listings, of which 1 % change.
func BenchmarkAdvance(b *testing.B) {
	service := sim.New(sim.Options{
		Listings: 1_000_000, HistoryDays: 1, Outlets: 5_000, ListingChange: 0.01, ListingTurnover: 0.001,
	})
	b.ReportAllocs()
	for b.Loop() {
		service.Advance(1)
	}
}
