package damage_test

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
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// TestTrialSeriesIsWrittenFromTheCatalog removes the Parquet series (the folder parquet/) or some of
// its files. The catalog is intact, so verify must propose only the repair RebuildSeries, and this repair
// must restore the series.
func TestTrialSeriesIsWrittenFromTheCatalog(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Config.Warehouse.KeepVersions = 2
	for range 4 {
		h.GoodNight()
	}
	before, intactDir := h.HistorySums(), h.Config.Warehouse.Dir
	for name, lost := range map[string][]string{
		"the manifests of a day and its run":    {"parquet/.manifests/snapshot_date=2026-11-02.json", "parquet/.meta/20261102T020000Z.json"},
		"the manifests of all days":             {"parquet/.manifests"},
		"the manifests and changes of all runs": {"parquet/.meta"},
		"a day and its manifest":                {"parquet/orders/snapshot_date=2026-11-02", "parquet/.manifests/snapshot_date=2026-11-02.json"},
		"the whole series":                      {"parquet"},
		"the series and a version":              {"parquet", "versions/20261104T020000Z"},
	} {
		h.Config.Warehouse.Dir = filepath.Join(t.TempDir(), "w")
		copyTree(t, intactDir, h.Config.Warehouse.Dir)
		for _, path := range lost {
			testharness.Must(t, os.RemoveAll(h.Path(path)))
		}
		h.At = h.At.Add(time.Minute)
		v, err := repair.Verify(t.Context(), trials.RepairConfig(h.Config), true)
		testharness.Must(t, err)
		if diff := cmp.Diff([]repair.Step{{Kind: repair.RebuildSeries}}, repair.Plan(v.Damage)); diff != "" || v.Result() != repair.Rebuildable {
			t.Errorf("%s: verify reports %s (-want +got):\n%s", name, v.Result(), diff)
		}
		_, err = repair.RestoreSeries(t.Context(), trials.RepairConfig(h.Config), warehouse.Retention{Daily: 30})
		testharness.Must(t, err)
		if v, err = repair.Verify(t.Context(), trials.RepairConfig(h.Config), true); err != nil || len(v.Damage) > 0 {
			t.Errorf("%s: after the repair verify reports %+v (%v), want no damage", name, v.Damage, err)
		}
		days, err := os.ReadDir(h.Path("parquet", "orders"))
		if err != nil || len(days) != 4 {
			t.Errorf("%s: the series has %d days of orders, want 4 (%v)", name, len(days), err)
		}
		testharness.Must(t, errors.Join(os.RemoveAll(h.Path("versions")), os.RemoveAll(h.Path("latest"))))
		h.At = h.At.Add(time.Minute)
		_, err = repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
		testharness.Must(t, err)
		if diff := cmp.Diff(before, h.HistorySums()); diff != "" {
			t.Errorf("%s: a rebuild from the restored series differs (-before +after):\n%s", name, diff)
		}
	}
}

// TestTrialRebuildRequiresConsentToALoss removes the newest day from the Parquet series. A rebuild
// must fail and publish no version. With AcceptLoss it must publish a version.
func TestTrialRebuildRequiresConsentToALoss(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.GoodNight()
	indexFile := h.Path("parquet", ".manifests", "index.json")
	earlierIndex, err := os.ReadFile(indexFile)
	testharness.Must(t, err)
	h.GoodNight()
	latest := h.LatestRun()
	testharness.Must(t, os.WriteFile(indexFile, earlierIndex, 0o600)) // it does not contain the newest day
	testharness.Must(t, os.Remove(h.Path("parquet", ".manifests", "snapshot_date=2026-11-03.json")))
	days, err := filepath.Glob(h.Path("parquet", "*", "snapshot_date=2026-11-03"))
	testharness.Must(t, err)
	for _, day := range days {
		testharness.Must(t, os.RemoveAll(day))
	}
	// Damage the version too, because the rebuild could copy the lost day from it.
	files, err := filepath.Glob(h.Path("versions", latest, "*.parquet"))
	testharness.Must(t, err)
	for _, file := range append(files, h.Path("versions", latest, "manifest.json")) {
		testharness.Must(t, os.Remove(file))
	}
	h.At = h.At.Add(time.Minute)
	_, err = repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	if err == nil || !strings.Contains(err.Error(), "less data than version "+latest) || !strings.Contains(err.Error(), "runs in meta.runs: 2 now, 1 after the rebuild") ||
		!strings.Contains(err.Error(), "--accept-loss") || h.LatestRun() != latest {
		t.Fatalf("the rebuild ended with %v and latest is %s, want an error about the loss and %s", err, h.LatestRun(), latest)
	}
	h.Config.AcceptLoss = true
	_, err = repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	if h.LatestRun() == latest {
		t.Error("the rebuild with AcceptLoss published no version, want a new one")
	}
}
