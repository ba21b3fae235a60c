package trials_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// blockSeries replaces the folder of a table in parquet/ by a file, so that the Parquet file of a
// night cannot be written. unblock restores the folder.
func blockSeries(h *harness, table string) (unblock func()) {
	h.t.Helper()
	folder, saved := h.path("parquet", table), h.path("..", filepath.Base(h.path(""))+"-saved")
	testharness.Must(h.t, os.Rename(folder, saved))
	testharness.Must(h.t, os.WriteFile(folder, nil, 0o600))
	return func() {
		testharness.Must(h.t, os.Remove(folder))
		testharness.Must(h.t, os.Rename(saved, folder))
	}
}

// TestTrialUnwritableSeriesMakesTheNightPartial runs nights that cannot write a table to parquet/.
// The nights must end with exit code 3 and the reason. The command "verify" must report the
// incomplete days, and retention must keep the versions of these days. The next night, or the command
// "rebuild --series", must write the missing files.
func TestTrialUnwritableSeriesMakesTheNightPartial(t *testing.T) {
	t.Parallel()
	repairs := map[string]func(h *harness){
		"the next night": func(h *harness) { h.goodNight() },
		"rebuild --series": func(h *harness) {
			_, err := repair.RestoreSeries(h.t.Context(), repairConfig(h.cfg), warehouse.Retention{Daily: 30})
			testharness.Must(h.t, err)
		},
	}
	for name, run := range repairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, smallWorld(), fewStreams()...)
			h.cfg.Warehouse.KeepVersions = 1
			h.goodNight()
			unblock := blockSeries(h, "orders")
			var days []string
			for range 2 {
				res := h.partialNight()
				days = append(days, h.at.UTC().Format(time.DateOnly))
				if want := "extend the Parquet series by " + strings.Join(days, ", ") + ": "; !strings.Contains(res.Run.Error, want) || !strings.Contains(res.Run.Error, "orders") {
					t.Errorf("the error of the night is %q, want %q and the table orders", res.Run.Error, want)
				}
			}
			wh := warehouseOf(t, h.cfg)
			if _, err := wh.Pruner.Prune(warehouse.Retention{Daily: 9}, h.at, false); err != nil {
				t.Error(err)
			}
			if runs := ledgerRuns(t, h); runs[len(runs)-1].Outcome != ledger.Partial {
				t.Errorf("the newest run in the ledger is %+v, want the outcome partial", runs[len(runs)-1])
			}
			missing, err := wh.Series.MissingDays()
			testharness.Must(t, err)
			if diff := cmp.Diff(days, missing); diff != "" {
				t.Errorf("missing days (-want +got):\n%s", diff)
			}
			v, err := repair.Verify(t.Context(), repairConfig(h.cfg), true)
			testharness.Must(t, err)
			for _, day := range days {
				if !slices.ContainsFunc(v.Damage, func(d repair.Damage) bool {
					return strings.Contains(d.File, day) && !d.Lost && d.Repair.Kind == repair.RebuildSeries
				}) {
					t.Errorf("verify reports %+v, want damage of the day %s that \"rebuild --series\" repairs", v.Damage, day)
				}
			}
			if len(v.Notes) > 0 {
				t.Errorf("verify reports the notes %q, want none", v.Notes)
			}
			unblock()
			run(h)
			if v, err := repair.Verify(t.Context(), repairConfig(h.cfg), true); err != nil || v.Result() != repair.Whole {
				t.Errorf("after the repair verify reports %+v, %v, want no damage", v.Damage, err)
			}
			for _, day := range days {
				for _, table := range h.cfg.Warehouse.Tables {
					if _, err := os.Stat(h.path("parquet", table.Name, "snapshot_date="+day, table.Name+".parquet")); err != nil {
						t.Error(err)
					}
				}
			}
			before := contents(t, h.path("catalog.duckdb"))
			rebuildFromSeries(h)
			requireContents(t, before, contents(t, h.path("catalog.duckdb")))
			// All files are written, so the next night removes the older versions.
			h.goodNight()
			if kept, err := fs.Glob(os.DirFS(h.path("versions")), "2*"); err != nil || len(kept) != 1 {
				t.Errorf("the versions %v are kept, want 1 (%v)", kept, err)
			}
		})
	}
}
