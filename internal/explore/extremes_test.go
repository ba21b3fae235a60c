package explore_test

import (
	"fmt"
	"net/http"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// TestExtremeValuesFailNoPage opens the pages of a catalog with the largest and smallest values that its columns
// can hold.
func TestExtremeValuesFailNoPage(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	const rowsPerBlock = 12
	s := newSiteOf(t, fixture.NewEmptyCatalog(t).Fill(t, fixture.ExtremeRows(rowsPerBlock)))
	paths := []string{"/report", "/snapshot", "/catalog", "/catalog?currency=C0&sort=price", "/catalog.csv?currency=C0"}
	for _, kind := range []string{"listing", "outlet", "order", "campaign", "article", "profile"} {
		if kind != "listing" { // the page /catalog lists the listings
			paths = append(paths, "/"+kind+"s")
		}
		// The blocks of the largest values, of the smallest, and of opposite values in neighboring columns.
		for _, block := range []int{0, 1, 3} {
			paths = append(paths, fmt.Sprintf("/%ss/k%d", kind, block*rowsPerBlock))
		}
	}
	// The tests of the queries run all of them with such rows. One query of each form of a chart shows whether its page can
	// be drawn.
	forms := map[string]bool{}
	for _, q := range query.All() {
		form := "table"
		if q.Chart != nil {
			form = fmt.Sprint(q.Chart.Kind, len(q.Chart.Y), len(q.Chart.By))
		}
		if !forms[form] {
			forms[form] = true
			paths = append(paths, "/questions/"+q.Name)
		}
	}
	for _, path := range paths {
		s.get(t, path, http.StatusOK)
	}
}
