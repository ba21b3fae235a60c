package trials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestTrialSeriesIsWrittenFromTheCatalog removes the Parquet series (the folder parquet/) or some of
// its files. The catalog is intact, so verify must propose only the repair RebuildSeries, and this repair
// must restore the series.
func TestTrialSeriesIsWrittenFromTheCatalog(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.Warehouse.KeepVersions = 2
	for range 4 {
		h.goodNight()
	}
	before, intactDir := h.historySums(), h.cfg.Warehouse.Dir
	for name, lost := range map[string][]string{
		"the manifests of a day and its run":    {"parquet/.manifests/snapshot_date=2026-11-02.json", "parquet/.meta/20261102T020000Z.json"},
		"the manifests of all days":             {"parquet/.manifests"},
		"the manifests and changes of all runs": {"parquet/.meta"},
		"a day and its manifest":                {"parquet/orders/snapshot_date=2026-11-02", "parquet/.manifests/snapshot_date=2026-11-02.json"},
		"the whole series":                      {"parquet"},
		"the series and a version":              {"parquet", "versions/20261104T020000Z"},
	} {
		h.cfg.Warehouse.Dir = filepath.Join(t.TempDir(), "w")
		copyTree(t, intactDir, h.cfg.Warehouse.Dir)
		for _, path := range lost {
			testharness.Must(t, os.RemoveAll(h.path(path)))
		}
		h.at = h.at.Add(time.Minute)
		v, err := repair.Verify(t.Context(), repairConfig(h.cfg), true)
		testharness.Must(t, err)
		if diff := cmp.Diff([]repair.Step{{Kind: repair.RebuildSeries}}, repair.Plan(v.Damage)); diff != "" || v.Result() != repair.Rebuildable {
			t.Errorf("%s: verify reports %s (-want +got):\n%s", name, v.Result(), diff)
		}
		_, err = repair.RestoreSeries(t.Context(), repairConfig(h.cfg), warehouse.Retention{Daily: 30})
		testharness.Must(t, err)
		if v, err = repair.Verify(t.Context(), repairConfig(h.cfg), true); err != nil || len(v.Damage) > 0 {
			t.Errorf("%s: after the repair verify reports %+v (%v), want no damage", name, v.Damage, err)
		}
		days, err := os.ReadDir(h.path("parquet", "orders"))
		if err != nil || len(days) != 4 {
			t.Errorf("%s: the series has %d days of orders, want 4 (%v)", name, len(days), err)
		}
		testharness.Must(t, errors.Join(os.RemoveAll(h.path("versions")), os.RemoveAll(h.path("latest"))))
		h.at = h.at.Add(time.Minute)
		_, err = repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
		testharness.Must(t, err)
		if diff := cmp.Diff(before, h.historySums()); diff != "" {
			t.Errorf("%s: a rebuild from the restored series differs (-before +after):\n%s", name, diff)
		}
	}
}

// TestTrialRebuildRequiresConsentToALoss removes the newest day from the Parquet series. A rebuild
// must fail and publish no version. With AcceptLoss it must publish a version.
func TestTrialRebuildRequiresConsentToALoss(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.goodNight()
	indexFile := h.path("parquet", ".manifests", "index.json")
	earlierIndex, err := os.ReadFile(indexFile)
	testharness.Must(t, err)
	h.goodNight()
	latest := h.latestRun()
	testharness.Must(t, os.WriteFile(indexFile, earlierIndex, 0o600)) // it does not contain the newest day
	testharness.Must(t, os.Remove(h.path("parquet", ".manifests", "snapshot_date=2026-11-03.json")))
	days, err := filepath.Glob(h.path("parquet", "*", "snapshot_date=2026-11-03"))
	testharness.Must(t, err)
	for _, day := range days {
		testharness.Must(t, os.RemoveAll(day))
	}
	// Damage the version too, because the rebuild could copy the lost day from it.
	files, err := filepath.Glob(h.path("versions", latest, "*.parquet"))
	testharness.Must(t, err)
	for _, file := range append(files, h.path("versions", latest, "manifest.json")) {
		testharness.Must(t, os.Remove(file))
	}
	h.at = h.at.Add(time.Minute)
	_, err = repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	if err == nil || !strings.Contains(err.Error(), "less data than version "+latest) || !strings.Contains(err.Error(), "runs in meta.runs: 2 now, 1 after the rebuild") ||
		!strings.Contains(err.Error(), "--accept-loss") || h.latestRun() != latest {
		t.Fatalf("the rebuild ended with %v and latest is %s, want an error about the loss and %s", err, h.latestRun(), latest)
	}
	h.cfg.AcceptLoss = true
	_, err = repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if h.latestRun() == latest {
		t.Error("the rebuild with AcceptLoss published no version, want a new one")
	}
}
