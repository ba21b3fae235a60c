package trials_test

import (
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/transform"
)

// TestTrialUnchangedRecordsKeepTheirRows runs nights in which most records are unchanged and are not staged. After
// each night, the current rows must be the same as in a new warehouse, whose night stages all records.
func TestTrialUnchangedRecordsKeepTheirRows(t *testing.T) {
	t.Parallel()
	for name, unordered := range sortOrders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := trialWorld(5)
			world.Listings, world.Unordered = 150, unordered
			h := newHarness(t, world, "product_listings", "outlet_listings", "files", "tags")
			h.cfg.BatchRows, h.cfg.Limits.Share = 20, 0.9
			night := func() {
				t.Helper()
				h.goodNight()
				firstNight := h.cfg
				firstNight.Warehouse.Dir, firstNight.Now = t.TempDir(), func() time.Time { return h.at }
				_, err := pipeline.Run(t.Context(), firstNight)
				testharness.Must(t, err)
				db := attachBoth(t, firstNight.Warehouse.Dir, h.cfg.Warehouse.Dir)
				defer db.Close()
				for _, row := range query(t, db, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'want' AND schema_name = 'main'") {
					requireSameRows(t, db, "main."+row[0].String, "* EXCLUDE (valid_from)")
				}
			}
			for range 3 {
				night()
			}
			allStreams := h.cfg.Chosen
			h.cfg.Chosen = []string{"files"}
			h.goodNight()
			h.cfg.Chosen = allStreams
			night() // the previous night did not read the other lists
			h.cfg.Privacy = transform.Privacy{Drop: []string{"product_listings.requirements"}, Hash: []string{"product_listings.outlet_name"}, Key: []byte("k")}
			night()
			night()
			wh := warehouseOf(t, h.cfg)
			versions, err := wh.Versions.List()
			testharness.Must(t, err)
			_, err = wh.Rollback(versions[len(versions)-2], h.at)
			testharness.Must(t, err)
			night()
			h.at = h.at.Add(time.Second)
			_, err = repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
			testharness.Must(t, err)
			night()
		})
	}
}

// TestNewPrivacyRuleAppliesToUnchangedRecords changes the privacy rules, but not the key of the
// hashes, between nights without changed records.
func TestNewPrivacyRuleAppliesToUnchangedRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t, trialWorld(3), "product_listings", "token")
	h.cfg.Privacy = transform.Privacy{Key: []byte("key"), Hash: []string{"product_listings.outlet_name"}}
	h.goodNight()
	before := h.queryOne("SELECT min(website_url) FROM product_listings")
	for _, privacy := range []transform.Privacy{
		{Key: []byte("key"), Hash: []string{"product_listings.outlet_name"}, Drop: []string{"product_listings.website_url"}},
		{Key: []byte("key"), Hash: []string{"product_listings.outlet_name", "product_listings.website_url"}},
	} {
		h.cfg.Privacy = privacy
		h.sameDayNight()
		if got := h.count("product_listings", "website_url = ?", before); got != 0 {
			t.Errorf("%d rows have the private value with the rules %+v, want none", got, privacy)
		}
		if got, isDropped := h.count("product_listings", "website_url IS NOT NULL"), len(privacy.Drop) > 0; (got == 0) != isDropped {
			t.Errorf("%d rows have a value with the rules %+v, want none only if the column is dropped", got, privacy)
		}
	}
}
