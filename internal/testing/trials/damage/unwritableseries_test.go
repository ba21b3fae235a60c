package damage_test

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
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// blockSeries replaces the folder of a table in parquet/ by a file, so that the Parquet file of a
// night cannot be written. unblock restores the folder.
func blockSeries(h *trials.Harness, table string) (unblock func()) {
	h.T.Helper()
	folder, saved := h.Path("parquet", table), h.Path("..", filepath.Base(h.Path(""))+"-saved")
	testharness.Must(h.T, os.Rename(folder, saved))
	testharness.Must(h.T, os.WriteFile(folder, nil, 0o600))
	return func() {
		testharness.Must(h.T, os.Remove(folder))
		testharness.Must(h.T, os.Rename(saved, folder))
	}
}

// TestTrialUnwritableSeriesMakesTheNightPartial runs nights that cannot write a table to parquet/.
// The nights must end with exit code 3 and the reason. The command "verify" must report the
// incomplete days, and retention must keep the versions of these days. The next night, or the command
// "rebuild --series", must write the missing files.
func TestTrialUnwritableSeriesMakesTheNightPartial(t *testing.T) {
	t.Parallel()
	repairs := map[string]func(h *trials.Harness){
		"the next night": func(h *trials.Harness) { h.GoodNight() },
		"rebuild --series": func(h *trials.Harness) {
			_, err := repair.RestoreSeries(h.T.Context(), trials.RepairConfig(h.Config), warehouse.Retention{Daily: 30})
			testharness.Must(h.T, err)
		},
	}
	for name, run := range repairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
			h.Config.Warehouse.KeepVersions = 1
			h.GoodNight()
			unblock := blockSeries(h, "orders")
			var days []string
			for range 2 {
				res := h.PartialNight()
				days = append(days, h.At.UTC().Format(time.DateOnly))
				if want := "extend the Parquet series by " + strings.Join(days, ", ") + ": "; !strings.Contains(res.Run.Error, want) || !strings.Contains(res.Run.Error, "orders") {
					t.Errorf("the error of the night is %q, want %q and the table orders", res.Run.Error, want)
				}
			}
			wh := trials.WarehouseOf(h.Config)
			if _, err := wh.Pruner.Prune(warehouse.Retention{Daily: 9}, h.At, false); err != nil {
				t.Error(err)
			}
			if runs := trials.LedgerRuns(t, h); runs[len(runs)-1].Outcome != ledger.Partial {
				t.Errorf("the newest run in the ledger is %+v, want the outcome partial", runs[len(runs)-1])
			}
			missing, err := wh.Series.MissingDays()
			testharness.Must(t, err)
			if diff := cmp.Diff(days, missing); diff != "" {
				t.Errorf("missing days (-want +got):\n%s", diff)
			}
			v, err := repair.Verify(t.Context(), trials.RepairConfig(h.Config), true)
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
			if v, err := repair.Verify(t.Context(), trials.RepairConfig(h.Config), true); err != nil || v.Result() != repair.Whole {
				t.Errorf("after the repair verify reports %+v, %v, want no damage", v.Damage, err)
			}
			for _, day := range days {
				for _, table := range h.Config.Warehouse.Tables {
					if _, err := os.Stat(h.Path("parquet", table.Name, "snapshot_date="+day, table.Name+".parquet")); err != nil {
						t.Error(err)
					}
				}
			}
			before := contents(t, h.Path("catalog.duckdb"))
			rebuildFromSeries(h)
			requireContents(t, before, contents(t, h.Path("catalog.duckdb")))
			// All files are written, so the next night removes the older versions.
			h.GoodNight()
			if kept, err := fs.Glob(os.DirFS(h.Path("versions")), "2*"); err != nil || len(kept) != 1 {
				t.Errorf("the versions %v are kept, want 1 (%v)", kept, err)
			}
		})
	}
}
