package repair_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
)

// TestCatalogsAreCounted counts the rows of a version and of a later draft.
func TestCatalogsAreCounted(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	harness.Must(t, d.Exec(t.Context(), "INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('a', TIMESTAMPTZ '2026-11-01 02:00:00+00'), "+
		"('b', TIMESTAMPTZ '2026-11-01 03:00:00+00'), ('c', TIMESTAMPTZ '2026-11-02 02:00:00+00'), ('failed', NULL)"))
	publish(t, w, d)
	want := repair.CatalogCounts{NewestAt: firstNightAt.AddDate(0, 0, 1), ByName: map[string]int64{"days in meta.runs": 2, "runs in meta.runs": 4, "rows of main." + table: 1, "rows of past." + table: 0}}
	got, err := repair.CountVersion(t.Context(), w, firstNight)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, counts of the version (-want +got):\n%s", err, diff)
	}
	d = beginDraft(t, w, thirdNight, "two")
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "DELETE FROM meta.runs", sqltext.SQL("INSERT INTO past."+table+" (product_listing_id, position, valid_from, row_hash, valid_to, run_id) "+
		"SELECT 'p', i, now(), 1, now(), 'a' FROM range(3) r(i)")))
	want = repair.CatalogCounts{ByName: map[string]int64{"days in meta.runs": 0, "runs in meta.runs": 0, "rows of main." + table: 2, "rows of past." + table: 3}}
	got, err = repair.CountDraft(t.Context(), d)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, counts of the draft (-want +got):\n%s", err, diff)
	}
	harness.Must(t, d.Exec(t.Context(), "DROP TABLE meta.runs"))
	if got, err = repair.CountDraft(t.Context(), d); err != nil || got.ByName["runs in meta.runs"] != 0 || got.ByName["rows of main."+table] != 2 {
		t.Errorf("without meta.runs: got %+v (%v), want no runs and 2 rows in main", got, err)
	}
	if _, err := repair.CountVersion(t.Context(), w, "20261109T020000Z"); err == nil {
		t.Error("CountVersion of a missing version: got no error")
	}
}

// TestLowerCountsAreLosses compares the counts of a catalog with the counts of rebuilt catalogs.
func TestLowerCountsAreLosses(t *testing.T) {
	later := firstNightAt.Add(time.Hour)
	original := repair.CatalogCounts{NewestAt: firstNightAt, ByName: map[string]int64{"days in meta.runs": 5, "runs in meta.runs": 7, "rows of main.a": 10, "rows of main.b": 20, "rows of main.dropped": 1, "rows of past.a": 3, "rows of past.dropped": 1}}
	for name, c := range map[string]struct {
		rebuilt repair.CatalogCounts
		want    []string
	}{
		"equal counts":            {repair.CatalogCounts{NewestAt: firstNightAt, ByName: map[string]int64{"days in meta.runs": 5, "runs in meta.runs": 7, "rows of main.a": 10, "rows of main.b": 20, "rows of past.a": 3}}, nil},
		"higher counts":           {repair.CatalogCounts{NewestAt: firstNightAt, ByName: map[string]int64{"days in meta.runs": 6, "runs in meta.runs": 8, "rows of main.a": 11, "rows of main.b": 21, "rows of main.c": 1, "rows of past.a": 4}}, nil},
		"a later newest snapshot": {repair.CatalogCounts{NewestAt: later, ByName: map[string]int64{"days in meta.runs": 5, "runs in meta.runs": 7, "rows of main.a": 1, "rows of past.a": 3}}, nil},
		"lower counts": {repair.CatalogCounts{NewestAt: firstNightAt, ByName: map[string]int64{"days in meta.runs": 4, "runs in meta.runs": 6, "rows of main.a": 9, "rows of main.b": 19, "rows of past.a": 2}},
			[]string{"days in meta.runs: 5 now, 4 after the rebuild", "rows of main.a: 10 now, 9 after the rebuild", "rows of main.b: 20 now, 19 after the rebuild", "rows of past.a: 3 now, 2 after the rebuild", "runs in meta.runs: 7 now, 6 after the rebuild"}},
		"an earlier newest snapshot": {repair.CatalogCounts{NewestAt: firstNightAt.Add(-time.Hour), ByName: map[string]int64{"days in meta.runs": 5, "runs in meta.runs": 7, "rows of main.a": 1, "rows of past.a": 3}},
			[]string{"newest snapshot: 2026-11-01T02:00:00Z now, 2026-11-01T01:00:00Z after the rebuild"}},
	} {
		if diff := cmp.Diff(c.want, original.Losses(c.rebuilt)); diff != "" {
			t.Errorf("%s: losses (-want +got):\n%s", name, diff)
		}
	}
}
