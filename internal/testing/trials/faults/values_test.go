package faults_test

import (
	"fmt"
	"testing"
	"time"

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
	for n := range 3 {
		h.GoodNight()
		night := trials.NightData{At: h.At, Rows: ref.CurrentRows()}
		nights = append(nights, night)
		catalog := h.Catalog()
		for _, spec := range ref.UniqueTables() {
			file := fmt.Sprintf("read_parquet('%s')", h.Path("latest", spec.Table+".parquet"))
			t.Run(fmt.Sprintf("night %d/%s/DuckDB", n+1, spec.Table), func(t *testing.T) { trials.CheckTable(t, spec, night.Rows, catalog, "main."+spec.Table) })
			t.Run(fmt.Sprintf("night %d/%s/Parquet", n+1, spec.Table), func(t *testing.T) { trials.CheckTable(t, spec, night.Rows, parquet, file) })
		}
	}
	t.Run("the world changed", func(t *testing.T) { requireChanges(t, nights) })
	checkHistory(t, h, ref, nights)
	checkSeries(t, h, ref, nights)
}

// requireChanges checks that some tables changed between the first and the last night.
func requireChanges(t *testing.T, nights []trials.NightData) {
	lastRows := nights[len(nights)-1].Rows
	for _, name := range []string{"product_listings", "product_listing_prices", "orders", "article_statuses", "outlets"} {
		if cmp.Equal(nights[0].Rows[name], lastRows[name]) {
			t.Errorf("%s did not change in %d nights, want changed rows", name, len(nights))
		}
	}
}

// checkHistory compares every table with its expected rows at the time of every night, and in the
// last microsecond before the next night. valid_from is inclusive and valid_to exclusive, so both
// times have the same rows. Before the first night, a table must be empty.
func checkHistory(t *testing.T, h *trials.Harness, ref *trials.Reference, nights []trials.NightData) {
	catalog := h.Catalog()
	for n, night := range nights {
		for _, spec := range ref.UniqueTables() {
			t.Run(fmt.Sprintf("history/night %d/%s", n+1, spec.Table), func(t *testing.T) {
				trials.CheckTable(t, spec, night.Rows, catalog, trials.RowsAsOf(spec.Table, night.At))
				if n+1 < len(nights) {
					trials.CheckTable(t, spec, night.Rows, catalog, trials.RowsAsOf(spec.Table, nights[n+1].At.Add(-time.Microsecond)))
				}
				trials.CheckTable(t, spec, nil, catalog, trials.RowsAsOf(spec.Table, nights[0].At.Add(-time.Microsecond)))
			})
		}
	}
}

// checkSeries compares the Parquet files of every night with the expected rows. Later nights must
// not change these files.
func checkSeries(t *testing.T, h *trials.Harness, ref *trials.Reference, nights []trials.NightData) {
	db := trials.Open(t, "")
	for n, night := range nights {
		for _, spec := range ref.UniqueTables() {
			t.Run(fmt.Sprintf("series/night %d/%s", n+1, spec.Table), func(t *testing.T) {
				day := "snapshot_date=" + night.At.Format(time.DateOnly)
				file := h.Path("parquet", spec.Table, day, spec.Table+".parquet")
				trials.CheckTable(t, spec, night.Rows, db, fmt.Sprintf("read_parquet('%s', hive_partitioning = false)", file))
			})
		}
	}
}
