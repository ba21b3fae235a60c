package damage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// copyParquetAndState copies parquet/ and state/ of a warehouse.
func copyParquetAndState(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"state", "parquet"} {
		copyTree(t, filepath.Join(from, name), filepath.Join(to, name), false)
	}
}

// nightWithCopies runs a night. From the moment when the link "latest" is switched, it calls
// copyParquetAndState after each step that can change files. It returns the folders of the copies.
func nightWithCopies(h *trials.Harness, at time.Time) (copies []string) {
	h.T.Helper()
	isSwitched, dir := false, h.T.TempDir()
	h.Config.Warehouse.Step = func(name, _ string) error {
		isSwitched = isSwitched || name == "after rename latest"
		if isSwitched && strings.HasPrefix(name, "after ") {
			to := filepath.Join(dir, fmt.Sprintf("%03d", len(copies)))
			copyParquetAndState(h.T, h.Path(""), to)
			copies = append(copies, to)
		}
		return nil
	}
	nightAt(h, at)
	h.Config.Warehouse.Step = nil
	return copies
}

// restoreCopy rebuilds a catalog from a copy, in a new warehouse with the folder dir.
func restoreCopy(h *trials.Harness, copyDir string, skipDamaged bool) (dir string, r repair.RebuildResult, err error) {
	h.T.Helper()
	dir = h.T.TempDir()
	copyParquetAndState(h.T, copyDir, dir)
	cfg := h.Config
	cfg.Warehouse.Dir = dir
	h.At = h.At.Add(time.Hour)
	r, err = repair.Rebuild(h.T.Context(), trials.RepairConfig(cfg), skipDamaged)
	return dir, r, err
}

// TestTrialCopiesOfTheSeriesContainOneNight copies parquet/ and state/ at every step in which a
// night extends parquet/, for the first and for the second night of a day. The catalog rebuilt from a
// copy must have all values of this night or all values of the previous night.
func TestTrialCopiesOfTheSeriesContainOneNight(t *testing.T) {
	first := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	stride := trials.Size(3, 9) // most steps only change the name of a temporary file
	for _, startHours := range [][]time.Duration{{0, 24, 27}, {0, 24, 48}}[:trials.Size(2, 1)] {
		t.Run(fmt.Sprintf("night after %d hours", startHours[2]), func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.TrialWorld(5), "product_listings", "orders")
			var copies []string
			var nights []map[string][]string
			contentsAt := map[time.Time]map[string][]string{}
			for i, hours := range startHours {
				if i < len(startHours)-1 {
					nightAt(h, first.Add(hours*time.Hour))
				} else {
					copies = nightWithCopies(h, first.Add(hours*time.Hour))
				}
				nights = append(nights, contents(t, h.Path("catalog.duckdb")))
				contentsAt[first.Add(hours*time.Hour)] = nights[i]
			}
			before, after := nights[len(nights)-2], nights[len(nights)-1]
			changedTables := 0
			for table := range after {
				if strings.HasPrefix(table, "main.") && !cmp.Equal(before[table], after[table]) {
					changedTables++
				}
			}
			if changedTables < 3 {
				t.Fatalf("the night changed %d tables, want at least 3", changedTables)
			}
			copiesByNight := map[time.Time]int{} // numbers of copies by the time of the restored night
			for i, copyDir := range copies {
				if i%stride != 0 && i != len(copies)-1 {
					continue
				}
				dir, r, err := restoreCopy(h, copyDir, false)
				if err != nil {
					t.Errorf("rebuild from copy %d of %d: %v", i, len(copies), err)
					continue
				}
				copiesByNight[r.Last]++
				want := after
				if r.Last.Equal(first.Add(startHours[len(startHours)-2] * time.Hour)) {
					want = before
				}
				got := contents(t, filepath.Join(dir, "catalog.duckdb"))
				for table, rows := range want {
					// A rebuild that lacks the newest run records the loss in meta.runs.
					if !cmp.Equal(rows, got[table]) && (table != "meta.runs" || r.LostRun == "") {
						t.Errorf("copy %d of %d, restored to %s: %s differs from the table of that night", i, len(copies), r.Last, table)
					}
				}
				if i%(3*stride) != 0 { // verify only some of the restored copies
					testharness.Must(t, os.RemoveAll(dir))
					continue
				}
				cfg := h.Config
				cfg.Warehouse.Dir = dir
				v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
				if err != nil || v.Result() != "whole" {
					t.Errorf("copy %d of %d, restored to %s: verify found %+v, %v, want no damage", i, len(copies), r.Last, v.Damage, err)
				}
				testharness.Must(t, os.RemoveAll(dir))
			}
			t.Logf("copies: %d, restored to %v", len(copies), copiesByNight)
			if len(copiesByNight) != 2 || len(copies) < 15 {
				t.Errorf("%d copies were restored to the nights %v, want at least 15 copies and both nights", len(copies), copiesByNight)
			}
			restoreMixedCopies(h, copies, contentsAt)
		})
	}
}

// restoreMixedCopies rebuilds from copies that combine files of two steps, as a slow copy does.
// contentsAt contains the tables at the time of each night. The rebuild must fail or restore one of
// the nights. A failed rebuild is repeated with --skip-damaged. The repeated rebuild may restore older
// tables, with the grade carried_forward.
func restoreMixedCopies(h *trials.Harness, copies []string, contentsAt map[time.Time]map[string][]string) {
	h.T.Helper()
	mixedCopies := trials.Size(8, 3)
	newest := slices.MaxFunc(slices.Collect(maps.Keys(contentsAt)), time.Time.Compare)
	random := rand.New(rand.NewPCG(1, 2))
	refusals := 0
	for range mixedCopies {
		earlier := random.IntN(len(copies) - 1)
		later := earlier + 1 + random.IntN(len(copies)-1-earlier)
		mixedDir := h.T.TempDir()
		isEarly := map[string]bool{} // whether the files of a folder come from the earlier step
		for _, copyDir := range []string{copies[earlier], copies[later]} {
			testharness.Must(h.T, filepath.WalkDir(copyDir, func(path string, entry fs.DirEntry, err error) error {
				name, _ := filepath.Rel(copyDir, path)
				parts := strings.Split(name, string(filepath.Separator))
				if err != nil || entry.IsDir() {
					return err
				}
				folder := parts[0]
				if len(parts) > 1 && folder == "parquet" {
					folder = filepath.Join(parts[:2]...)
				}
				if _, isDecided := isEarly[folder]; !isDecided {
					isEarly[folder] = folder == "state" || random.IntN(2) == 0
				}
				if isEarly[folder] != (copyDir == copies[earlier]) {
					return nil
				}
				return errors.Join(os.MkdirAll(filepath.Join(mixedDir, filepath.Dir(name)), 0o700), os.Link(path, filepath.Join(mixedDir, name)))
			}))
		}
		dir, r, err := restoreCopy(h, mixedDir, false)
		skipDamaged := err != nil
		if skipDamaged {
			refusals++
			if !errors.As(err, new(*repair.SeriesError)) {
				h.T.Errorf("steps %d and %d: got %v, want a SeriesError", earlier, later, err)
				continue
			}
			dir, r, err = restoreCopy(h, mixedDir, true)
			testharness.Must(h.T, err)
		}
		got := contents(h.T, filepath.Join(dir, "catalog.duckdb"))
		want, isNight := contentsAt[r.Last]
		if !isNight {
			h.T.Errorf("steps %d and %d: restored to %s, want the time of a night", earlier, later, r.Last)
			continue
		}
		// If the ledger contains a later night than the restored night, the rebuild must report
		// the loss of that night.
		ledgerText, err := os.ReadFile(filepath.Join(copies[earlier], "state", "runs.jsonl"))
		testharness.Must(h.T, err)
		if hasNewest := strings.Contains(string(ledgerText), newest.Format("20060102T150405Z")); hasNewest && r.Last.Before(newest) && r.LostRun == "" {
			h.T.Errorf("steps %d and %d: restored to %s, but the loss of the night of %s is not reported", earlier, later, r.Last, newest)
		}
		for _, m := range r.Manifest.Tables {
			if table := "main." + m.Name; !cmp.Equal(got[table], want[table]) && (!skipDamaged || m.Grade != "carried_forward") {
				h.T.Errorf("steps %d and %d: %s differs from the night of %s and has the grade %s, want carried_forward", earlier, later, m.Name, r.Last, m.Grade)
			}
		}
		testharness.Must(h.T, os.RemoveAll(dir))
	}
	h.T.Logf("mixed copies: %d, refused without --skip-damaged: %d", mixedCopies, refusals)
}
