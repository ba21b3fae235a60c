package torture_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/torture"
)

func today() time.Time { return time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC) }

func TestRowReplacesRowOfSameFaultAndRate(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	a := torture.Row{Fault: "500", Rate: "1 %", Runs: 1, Date: "2026-11-01"}
	b := torture.Row{Fault: "500", Rate: "5 %", Position: 1, Runs: 2, Date: "2026-11-01"}
	must(t, store.StoreRows(b, a))
	a.Runs = 3
	must(t, store.StoreRows(a))
	got, err := store.Rows()
	must(t, err)
	if diff := cmp.Diff([]torture.Row{a, b}, got); diff != "" {
		t.Errorf("the rows differ (-want +got):\n%s", diff)
	}
}

func TestTrialReplacesTrialOfSameName(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	for _, trial := range []torture.Trial{{Name: "Full disk", Runs: 1}, {Name: "Storm/all streams"}, {Name: "Full disk", Runs: 2}} {
		must(t, store.StoreTrial(trial))
	}
	got, err := store.Trials()
	must(t, err)
	want := []torture.Trial{{Name: "Full disk", Runs: 2, Date: "2026-11-01"}, {Name: "Storm/all streams", Date: "2026-11-01"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trials differ (-want +got):\n%s", diff)
	}
}

func TestSeasonReplacesSeasonOfSameSeed(t *testing.T) {
	store := torture.Store{Docs: t.TempDir(), Now: today}
	for _, season := range []torture.Season{{Seed: 10}, {Seed: 2, Nights: 1}, {Seed: 2, Nights: 2, Counts: map[string]int{"kill": 1}}} {
		must(t, store.StoreSeason(season))
	}
	got, err := store.Seasons()
	must(t, err)
	want := []torture.Season{{Seed: 2, Nights: 2, Counts: map[string]int{"kill": 1}, Date: "2026-11-01"}, {Seed: 10, Date: "2026-11-01"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the seasons differ (-want +got):\n%s", diff)
	}
}

func TestStoreWithoutFolderReturnsNoError(t *testing.T) {
	store := torture.Store{Now: today}
	must(t, store.StoreRows(torture.Row{Fault: "500"}))
	must(t, store.StoreTrial(torture.Trial{Name: "Storm"}))
}
