package trials_test

import (
	"context"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// entryFiles returns the files with the entries of the latest version. The next night recalls the
// records whose hashes equal their entry.
func entryFiles(t *testing.T, dir string) []string {
	t.Helper()
	wh := warehouse.New(warehouse.Config{Dir: dir})
	run, _, err := wh.Versions.Latest()
	must(t, err)
	names, err := filepath.Glob(filepath.Join(dir, "state", "seen", "*."+run))
	must(t, err)
	return names
}

// TestTrialRecalledRecordsGiveSameRows runs the same nights in two warehouses. In one warehouse,
// each night decodes all records. In the other warehouse, a night recalls unchanged records. All
// values and counts must be equal, even after entry files were damaged or lost.
func TestTrialRecalledRecordsGiveSameRows(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	for name, unordered := range sortOrders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareRecalling(t, unordered)
		})
	}
}

func compareRecalling(t *testing.T, unordered bool) {
	world := trialWorld(5)
	world.Listings, world.Unordered = 150, unordered
	h := newHarness(t, world, "product_listings", "outlet_listings", "files", "tags")
	decodingCfg := h.cfg
	decodingCfg.Warehouse.Dir, decodingCfg.MinRecallRecords = t.TempDir(), math.MaxInt
	h.cfg.BatchRows = 20
	h.cfg.Limits.Share, decodingCfg.Limits.Share = 0.9, 0.9
	runInBoth := func(operate func(cfg pipeline.Config) error) {
		t.Helper()
		for _, cfg := range []pipeline.Config{decodingCfg, h.cfg} {
			cfg.Now = func() time.Time { return h.at }
			must(t, operate(cfg))
		}
	}
	night := func() {
		t.Helper()
		h.service.Advance(1)
		h.at = h.service.Now().Add(2 * time.Hour)
		runInBoth(func(cfg pipeline.Config) error { _, err := pipeline.Run(t.Context(), cfg); return err })
		requireSameWarehouse(t, decodingCfg.Warehouse.Dir, h.cfg.Warehouse.Dir)
		db := attachBoth(t, decodingCfg.Warehouse.Dir, h.cfg.Warehouse.Dir)
		defer db.Close()
		requireSameRows(t, db, "meta.drift", "*")
		if len(entryFiles(t, h.cfg.Warehouse.Dir)) == 0 {
			t.Error("the warehouse that recalls records has no entry files, want some")
		}
		if n := len(entryFiles(t, decodingCfg.Warehouse.Dir)); n > 0 {
			t.Errorf("the warehouse that decodes all records has %d entry files, want none", n)
		}
	}
	night()
	night()
	allStreams, entryFileCount := h.cfg.Chosen, len(entryFiles(t, h.cfg.Warehouse.Dir))
	h.cfg.Chosen, decodingCfg.Chosen = []string{"files"}, []string{"files"}
	night()
	if n := len(entryFiles(t, h.cfg.Warehouse.Dir)); n != entryFileCount {
		t.Errorf("the version has %d entry files after a night with one stream, want %d", n, entryFileCount)
	}
	h.cfg.Chosen, decodingCfg.Chosen = allStreams, allStreams
	night() // the previous night did not read the other lists
	for _, path := range entryFiles(t, h.cfg.Warehouse.Dir) {
		data, err := os.ReadFile(path)
		must(t, err)
		data[len(data)/2] ^= 4
		must(t, os.WriteFile(path, data, 0o600))
	}
	night() // the entry files are damaged
	for _, path := range entryFiles(t, h.cfg.Warehouse.Dir) {
		must(t, os.Truncate(path, 60))
	}
	night() // the entry files are truncated, as by a power cut
	must(t, os.RemoveAll(filepath.Join(h.cfg.Warehouse.Dir, "state", "seen")))
	night() // the entry files are lost
	for _, program := range []string{"newer", "newest"} {
		h.cfg.Warehouse.Program, decodingCfg.Warehouse.Program = program, program
		night()
	}
	h.cfg.Build, decodingCfg.Build = "another", "another"
	night()
	h.cfg.Privacy = transform.Privacy{Drop: []string{"product_listings.requirements"}, Hash: []string{"product_listings.outlet_name"}, Key: []byte("k")}
	decodingCfg.Privacy = h.cfg.Privacy
	night()
	night()
	runInBoth(func(cfg pipeline.Config) error {
		wh := warehouseOf(t, cfg)
		versions, err := wh.Versions.List()
		must(t, err)
		_, err = wh.Rollback(versions[len(versions)-2], h.at)
		return err
	})
	night()
	h.at = h.at.Add(time.Second)
	runInBoth(func(cfg pipeline.Config) error { _, err := pipeline.Rebuild(t.Context(), cfg, false); return err })
	night()
	night()
}

// TestNewPrivacyRuleAppliesToUnchangedRecords changes the privacy rules, but not the key of the
// hashes, between nights without changed records.
func TestNewPrivacyRuleAppliesToUnchangedRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t, trialWorld(3), "product_listings", "token")
	h.cfg.Privacy = transform.Privacy{Key: []byte("key"), Hash: []string{"product_listings.outlet_name"}}
	h.goodNight()
	if len(entryFiles(t, h.cfg.Warehouse.Dir)) == 0 {
		t.Fatal("the first night wrote no entry files, want some")
	}
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

// TestStoppedNightRemovesItsEntryFiles stops a night while it reads a list. After that, state/seen
// must contain only the entry files of the published version. Files of the stopped night, of earlier
// unpublished runs and of release 1.0.0 must be removed.
func TestStoppedNightRemovesItsEntryFiles(t *testing.T) {
	h := newHarness(t, trialWorld(3), "product_listings", "token")
	h.cfg.BatchRows = 1
	h.cfg.Fetch.Concurrency = 1
	h.goodNight()
	for _, name := range []string{"20260101T000000Z.product_listings", "product_listings.20260101T000000Z"} {
		must(t, os.WriteFile(h.path("state", "seen", name), []byte("entries"), 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	h.onRequest(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/products/listings") {
			if n++; n == 4 {
				cancel()
			}
		}
	})
	if _, err := h.nightWithContext(ctx); err == nil {
		t.Fatal("the night ended without an error, want it stopped")
	}
	files, err := filepath.Glob(h.path("state", "seen", "*"))
	must(t, err)
	if want := entryFiles(t, h.cfg.Warehouse.Dir); len(want) != 1 || !slices.Equal(files, want) {
		t.Errorf("state/seen contains %q, want only the entry file of the published version, %q", files, want)
	}
}
