package torture_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
)

func today() time.Time { return time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC) }

// TestResultsReplaceEarlierOnes stores trials. A result must replace the earlier result of the same name.
func TestResultsReplaceEarlierOnes(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	for _, trial := range []torture.Trial{{Name: "Storm"}, {Name: "Full disk", Runs: 1}, {Name: "Full disk", Runs: 2}} {
		harness.Must(t, store.EndTrial(time.Now(), trial.Name == "Storm", trial))
	}
	got, err := store.Read()
	harness.Must(t, err)
	want := []torture.Trial{{Name: "Full disk", Runs: 2, Passed: true, Date: "2026-11-01"}, {Name: "Storm", Date: "2026-11-01"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(torture.Trial{}, "Seconds")); diff != "" {
		t.Errorf("the results differ (-want +got):\n%s", diff)
	}
}

// TestParallelTrialsAreStored stores trials in parallel, as the trials of several packages do.
func TestParallelTrialsAreStored(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if err := store.EndTrial(today(), false, torture.Trial{Name: fmt.Sprint("trial ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := store.Read()
	harness.Must(t, err)
	if len(got) != 20 {
		t.Errorf("%d trials are stored, want 20", len(got))
	}
}

// TestStoredResultsPassed checks that no stored result is a failure.
func TestStoredResultsPassed(t *testing.T) {
	all, err := torture.Store{Docs: filepath.Join("..", "..", "..", "docs")}.Read()
	harness.Must(t, err)
	if len(all) < 200 {
		t.Errorf("got %d results, want at least 200", len(all))
	}
	for _, trial := range all {
		if !trial.Passed {
			t.Errorf("the stored result of trial %q is a failure: %s", trial.Name, trial.Outcome)
		}
	}
}
