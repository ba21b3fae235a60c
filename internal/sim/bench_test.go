package sim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"placementsync/internal/sim"
)

// discardWriter is a response writer that counts the bytes of bodies and discards them.
type discardWriter struct {
	header http.Header
	bytes  int
}

func (d *discardWriter) Header() http.Header { return d.header }
func (d *discardWriter) WriteHeader(int)     {}
func (d *discardWriter) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// BenchmarkListingsPage serves pages of 100 listings from a list of a million. A night of a
// benchmark requests ten thousand of these pages.
func BenchmarkListingsPage(b *testing.B) {
	const pageSize = 100
	service := sim.New(sim.Options{Listings: 1_000_000, HistoryDays: 1})
	out := &discardWriter{header: http.Header{}}
	page := 0
	b.ReportAllocs()
	for b.Loop() {
		page = page%10_000 + 1
		path := fmt.Sprintf("/products/listings?limit=%d&page=%d", pageSize, page)
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Authorization", "Bearer pc_demo")
		service.ServeHTTP(out, request)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pageSize, "ns/record")
	b.ReportMetric(float64(out.bytes)/float64(b.N)/pageSize, "B/record")
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
