package integrity_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/integrity"
	"placementsync/internal/sqltext"
)

// TestHoldingsAreCounted counts the rows of a version and of a later draft.
func TestHoldingsAreCounted(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	must(t, d.Exec(t.Context(), "INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('a', TIMESTAMPTZ '2026-11-01 02:00:00+00'), "+
		"('b', TIMESTAMPTZ '2026-11-01 03:00:00+00'), ('c', TIMESTAMPTZ '2026-11-02 02:00:00+00'), ('failed', NULL)"))
	publish(t, w, d)
	want := integrity.Holdings{Newest: night.AddDate(0, 0, 1), Days: 2, Runs: 4, Main: map[string]int64{table: 1}, Past: map[string]int64{table: 0}}
	got, err := integrity.CountVersion(t.Context(), w, firstNight)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, version (-want +got):\n%s", err, diff)
	}
	d = beginDraft(t, w, thirdNight, "two")
	defer func() { must(t, d.Discard()) }()
	must(t, d.Exec(t.Context(), "DELETE FROM meta.runs", sqltext.SQL("INSERT INTO past."+table+" (product_listing_id, position, valid_from, row_hash, valid_to, run_id) "+
		"SELECT 'p', i, now(), 1, now(), 'a' FROM range(3) r(i)")))
	want = integrity.Holdings{Main: map[string]int64{table: 2}, Past: map[string]int64{table: 3}}
	got, err = integrity.CountDraft(t.Context(), d)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, draft (-want +got):\n%s", err, diff)
	}
	must(t, d.Exec(t.Context(), "DROP TABLE meta.runs"))
	if got, err = integrity.CountDraft(t.Context(), d); err != nil || got.Runs != 0 || got.Main[table] != 2 {
		t.Errorf("without meta.runs: got %+v (%v), want no runs and 2 rows in main", got, err)
	}
	if _, err := integrity.CountVersion(t.Context(), w, "20261109T020000Z"); err == nil {
		t.Error("CountVersion of a missing version: got no error")
	}
}

// TestLowerCountsAreLosses compares the holdings of two catalogs.
func TestLowerCountsAreLosses(t *testing.T) {
	later := night.Add(time.Hour)
	before := integrity.Holdings{Newest: night, Days: 5, Runs: 7, Main: map[string]int64{"a": 10, "b": 20, "dropped": 1}, Past: map[string]int64{"a": 3, "dropped": 1}}
	for name, c := range map[string]struct {
		after integrity.Holdings
		want  []integrity.HoldingLoss
	}{
		"the same":         {integrity.Holdings{Newest: night, Days: 5, Runs: 7, Main: map[string]int64{"a": 10, "b": 20}, Past: map[string]int64{"a": 3}}, nil},
		"more":             {integrity.Holdings{Newest: night, Days: 6, Runs: 8, Main: map[string]int64{"a": 11, "b": 21, "c": 1}, Past: map[string]int64{"a": 4}}, nil},
		"a later snapshot": {integrity.Holdings{Newest: later, Days: 5, Runs: 7, Main: map[string]int64{"a": 1}, Past: map[string]int64{"a": 3}}, nil},
		"less": {integrity.Holdings{Newest: night, Days: 4, Runs: 6, Main: map[string]int64{"a": 9, "b": 19}, Past: map[string]int64{"a": 2}},
			[]integrity.HoldingLoss{{"days in meta.runs", "5", "4"}, {"runs in meta.runs", "7", "6"}, {"rows of past.a", "3", "2"}, {"rows of main.a", "10", "9"}, {"rows of main.b", "20", "19"}}},
		"an earlier snapshot": {integrity.Holdings{Newest: night.Add(-time.Hour), Days: 5, Runs: 7, Main: map[string]int64{"a": 1}, Past: map[string]int64{"a": 3}},
			[]integrity.HoldingLoss{{"newest snapshot", "2026-11-01T02:00:00Z", "2026-11-01T01:00:00Z"}}},
	} {
		if diff := cmp.Diff(c.want, before.Losses(c.after)); diff != "" {
			t.Errorf("%s: losses (-want +got):\n%s", name, diff)
		}
	}
}
