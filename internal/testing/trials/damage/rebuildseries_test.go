package damage_test

import (
	"errors"
	"os"
	"path/filepath"
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
