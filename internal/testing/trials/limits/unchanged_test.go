package limits_test

import (
	"fmt"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/transform"
)

// TestTrialUnchangedRecordsKeepTheirRows runs nights in which most records are unchanged and are not staged. After
// each night, the current rows must be the same as in a new warehouse, whose night stages all records.
func TestTrialUnchangedRecordsKeepTheirRows(t *testing.T) {
	t.Parallel()
	for _, unordered := range []bool{true, false}[:trials.Size(2, 1)] {
		t.Run(fmt.Sprintf("unordered %t", unordered), func(t *testing.T) {
			t.Parallel()
			world := trials.TrialWorld(5)
			world.Listings, world.Unordered = 150, unordered
			h := trials.NewHarness(t, world, "product_listings", "outlet_listings", "files", "tags")
			h.Config.BatchRows, h.Config.Limits.Share = 20, 0.9
			night := func() {
				t.Helper()
				h.GoodNight()
				firstNight := h.Config
				firstNight.Warehouse.Dir, firstNight.Now = t.TempDir(), func() time.Time { return h.At }
				_, err := pipeline.Run(t.Context(), firstNight)
				testharness.Must(t, err)
				db := trials.AttachBoth(t, firstNight.Warehouse.Dir, h.Config.Warehouse.Dir)
				defer db.Close()
				for _, row := range trials.Query(t, db, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'want' AND schema_name = 'main'") {
					trials.RequireSameRows(t, db, "main."+row[0].String, "* EXCLUDE (valid_from)")
				}
			}
			for range trials.Size(3, 2) {
				night()
			}
			allStreams := h.Config.Chosen
			h.Config.Chosen = []string{"files"}
			h.GoodNight()
			h.Config.Chosen = allStreams
			night() // the previous night did not read the other lists
			h.Config.Privacy = transform.Privacy{Drop: []string{"product_listings.requirements"}, Hash: []string{"product_listings.outlet_name"}, Key: []byte("k")}
			night()
			night()
			wh := trials.WarehouseOf(h.Config)
			versions, err := wh.Versions.List()
			testharness.Must(t, err)
			_, err = wh.Rollback(versions[len(versions)-2], h.At)
			testharness.Must(t, err)
			night()
			h.At = h.At.Add(time.Second)
			_, err = repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
			testharness.Must(t, err)
			night()
		})
	}
}
