package faults_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/trials"
)

// TestTrialEveryValueIsStored compares every field of every record of the service with the
// warehouse after each night, in DuckDB and in Parquet. Then it compares the whole history.
func TestTrialEveryValueIsStored(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.RichWorld())
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	parquet := trials.Open(t, "")
	var nights []trials.NightData
	for range 3 {
		h.GoodNight()
		night := trials.NightData{At: h.At, Rows: ref.CurrentRows()}
		nights = append(nights, night)
		for _, spec := range ref.UniqueTables() {
			trials.CheckTable(t, spec, night.Rows, h.Catalog(), "main."+spec.Table)
			trials.CheckTable(t, spec, night.Rows, parquet, "read_parquet('"+h.Path("latest", spec.Table+".parquet")+"')")
		}
	}
	for _, name := range []string{"product_listings", "product_listing_prices", "orders", "article_statuses", "outlets"} {
		if cmp.Equal(nights[0].Rows[name], nights[2].Rows[name]) {
			t.Errorf("%s did not change in 3 nights, want changed rows", name)
		}
	}
	h.RequireHistory(ref, nights)
	h.RequireSeries(ref, nights)
}
