package torture_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
)

func today() time.Time { return time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC) }

// TestResultsReplaceEarlierOnes stores rows, trials and seasons. A result must replace the earlier result of the same
// fault and rate, of the same name, or of the same seed.
func TestResultsReplaceEarlierOnes(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	const date = "2026-11-01"
	harness.Must(t, store.StoreRows(torture.Row{Fault: "500", Rate: "5 %", Position: 1, Runs: 2}, torture.Row{Fault: "500", Rate: "1 %", Runs: 1}))
	harness.Must(t, store.StoreRows(torture.Row{Fault: "500", Rate: "1 %", Runs: 3}))
	for _, trial := range []torture.Trial{{Name: "Full disk", Runs: 1}, {Name: "Storm/all streams"}, {Name: "Full disk", Runs: 2}} {
		harness.Must(t, store.StoreTrial(trial))
	}
	for _, season := range []torture.Season{{Seed: 10}, {Seed: 2, Nights: 1}, {Seed: 2, Nights: 2, Counts: map[string]int{"kill": 1}}} {
		harness.Must(t, store.StoreSeason(season))
	}
	got, err := store.Read()
	harness.Must(t, err)
	want := torture.Results{
		Faults:  []torture.Row{{Fault: "500", Rate: "1 %", Runs: 3, Date: date}, {Fault: "500", Rate: "5 %", Position: 1, Runs: 2, Date: date}},
		Trials:  []torture.Trial{{Name: "Full disk", Runs: 2, Date: date}, {Name: "Storm/all streams", Date: date}},
		Seasons: []torture.Season{{Seed: 2, Nights: 2, Counts: map[string]int{"kill": 1}, Date: date}, {Seed: 10, Date: date}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the results differ (-want +got):\n%s", diff)
	}
}

func TestStoreWithoutFolderReturnsNoError(t *testing.T) {
	store := torture.Store{Now: today}
	harness.Must(t, store.StoreRows(torture.Row{Fault: "500"}))
	harness.Must(t, store.StoreTrial(torture.Trial{Name: "Storm"}))
}

// TestParallelTrialsAreStored stores trials in parallel, as the trials of several packages do.
func TestParallelTrialsAreStored(t *testing.T) {
	docs := t.TempDir()
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if err := (torture.Store{Docs: docs, Now: today}).StoreTrial(torture.Trial{Name: fmt.Sprint("trial ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := torture.Store{Docs: docs}.Read()
	harness.Must(t, err)
	if len(got.Trials) != 20 {
		t.Errorf("%d trials are stored, want 20", len(got.Trials))
	}
}

// TestStoredResultsPassed checks that no stored result is a failure.
func TestStoredResultsPassed(t *testing.T) {
	all, err := torture.Store{Docs: filepath.Join("..", "..", "..", "docs")}.Read()
	harness.Must(t, err)
	if len(all.Faults) == 0 || len(all.Trials) == 0 || len(all.Seasons) == 0 {
		t.Errorf("got %d faults, %d trials and %d seasons, want results of each kind", len(all.Faults), len(all.Trials), len(all.Seasons))
	}
	for _, r := range all.Faults {
		if r.Wrong+r.Lost > 0 || r.Exact+r.Partial+r.Failed != r.Runs {
			t.Errorf("row %q at rate %q: got %+v, want no wrong night, no lost row, and each night counted once", r.Fault, r.Rate, r)
		}
	}
	for _, trial := range all.Trials {
		if !trial.Passed {
			t.Errorf("the stored result of trial %q is a failure: %s", trial.Name, trial.Outcome)
		}
	}
	for _, s := range all.Seasons {
		if !s.Passed {
			t.Errorf("the stored result of the season with seed %d is a failure", s.Seed)
		}
	}
}
