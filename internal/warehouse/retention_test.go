package warehouse_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

func TestRetentionKeepsTheLastDayOfEachPeriod(t *testing.T) {
	// 2026-11-01 is a Sunday, the last day of ISO week 44.
	const days = "2026-09-29 2026-09-30 2026-10-15 2026-10-31 2026-11-01 2026-11-02 2026-11-03 2026-11-10"
	for name, c := range map[string]struct {
		days      string
		retention warehouse.Retention
		want      string
	}{
		"without settings, only the newest day":   {days, warehouse.Retention{}, "2026-11-10"},
		"only days with snapshots count":          {days, warehouse.Retention{Daily: 3}, "2026-11-02 2026-11-03 2026-11-10"},
		"the last day of each ISO week":           {days, warehouse.Retention{Weekly: 3}, "2026-11-01 2026-11-03 2026-11-10"},
		"the last day of each month":              {days, warehouse.Retention{Monthly: 3}, "2026-09-30 2026-10-31 2026-11-10"},
		"periods add up":                          {days, warehouse.Retention{Daily: 1, Weekly: 2, Monthly: 2}, "2026-10-31 2026-11-03 2026-11-10"},
		"a number larger than the number of days": {days, warehouse.Retention{Daily: 99}, days},
		"days in any order": {"2026-11-02 2026-10-31 2026-11-10 2026-10-15", warehouse.Retention{Daily: 2, Monthly: 2},
			"2026-10-31 2026-11-02 2026-11-10"},
		// The ISO week of 28 December 2026 to 3 January 2027 has days of two years.
		"a week of two years": {"2026-12-21 2026-12-28 2026-12-31 2027-01-01 2027-01-04", warehouse.Retention{Weekly: 3}, "2026-12-21 2027-01-01 2027-01-04"},
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(c.retention.KeptDays(strings.Fields(c.days))))
			if want := strings.Fields(c.want); !cmp.Equal(got, want) {
				t.Errorf("kept %v, want %v", got, want)
			}
		})
	}
}

// TestTheDefaultRetention keeps days of three years with a snapshot each day.
func TestTheDefaultRetention(t *testing.T) {
	d := config.Default().Retention
	var days []string
	for day := firstNightAt; day.Before(firstNightAt.AddDate(3, 0, 0)); day = day.AddDate(0, 0, 1) {
		days = append(days, day.Format(time.DateOnly))
	}
	kept := slices.Sorted(maps.Keys(warehouse.Retention{Daily: d.Daily, Weekly: d.Weekly, Monthly: d.Monthly}.KeptDays(days)))
	// 2029-10-31 is a Wednesday, so the oldest of twelve weeks ends on 19 August.
	want := []string{"2027-11-30", "2029-08-19", "2029-10-02", "2029-10-31"}
	got := []string{kept[0], kept[slices.IndexFunc(kept, func(day string) bool { return day > "2029-08-01" })], kept[len(kept)-30], kept[len(kept)-1]}
	if !slices.Equal(got, want) {
		t.Errorf("the oldest month, week and day and the newest day are %v, want %v of %v", got, want, kept)
	}
}

func TestPruneKeepsTheNewestRunAndDay(t *testing.T) {
	w := open(t)
	runs := []string{"20261001T020000Z", "20261002T020000Z", "20261020T020000Z"}
	for _, run := range runs {
		publish(t, w, run, run)
		raw := w.Folder.RawPath(run)
		harness.Must(t, errors.Join(os.MkdirAll(raw, 0o700), os.WriteFile(filepath.Join(raw, "journal.jsonl"), []byte("12345"), 0o600)))
	}
	retention := warehouse.Retention{RawDays: 7, Daily: 1, Monthly: 1}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	planned, err := w.Pruner.Prune(retention, now, true) // a dry run
	harness.Must(t, err)
	want := []string{"raw/20261001T020000Z", "raw/20261002T020000Z",
		"parquet/.manifests/snapshot_date=2026-10-01.json", "parquet/product_listing_tags/snapshot_date=2026-10-01",
		"parquet/.manifests/snapshot_date=2026-10-02.json", "parquet/product_listing_tags/snapshot_date=2026-10-02"}
	if got := prunedPaths(planned); !cmp.Equal(got, want) {
		t.Fatalf("would remove %v, want %v", got, want)
	}
	if planned[0].Bytes != 5 {
		t.Errorf("the stored responses have %d bytes, want 5", planned[0].Bytes)
	}
	for _, p := range planned {
		if !exists(t, path(w, p.Path)) {
			t.Errorf("the dry run removed %s, want it kept", p.Path)
		}
	}
	if index, err := w.Series.Index(); err != nil || len(index) != 3 {
		t.Errorf("after the dry run the index has %v (%v), want all three days", index, err)
	}
	harness.MustValue(w.Pruner.Prune(retention, now, false))
	for _, p := range planned {
		if exists(t, path(w, p.Path)) {
			t.Errorf("%s exists after the prune", p.Path)
		}
	}
	if got := readTags(t, w); len(got) != 3 {
		t.Errorf("readers of the newest snapshot got %v, want three tags", got)
	}
	if pruned, err := w.Pruner.Prune(retention, now, false); err != nil || len(pruned) != 0 {
		t.Errorf("a second prune removed %v (error %v), want no files", pruned, err)
	}
}

// keepAllDays keeps all days of the tests below. It limits only versions and files that no version needs.
var keepAllDays = warehouse.Retention{RawDays: 99, Daily: 99}

// prune prunes at the time firstNightAt, and returns the removed paths.
func prune(t *testing.T, w *warehouse.Warehouse, r warehouse.Retention) []string {
	t.Helper()
	pruned, err := w.Pruner.Prune(r, firstNightAt, false)
	harness.Must(t, err)
	return prunedPaths(pruned)
}

func prunedPaths(pruned []warehouse.Pruned) []string {
	var all []string
	for _, p := range pruned {
		all = append(all, p.Path)
	}
	return all
}

func TestPruneKeepsARunThatCanBeResumed(t *testing.T) {
	w := openNights(t, 2, "one")
	for _, run := range []string{"20260901T020000Z", "20261001T020000Z", "20261101T020000Z"} {
		harness.Must(t, os.MkdirAll(w.Folder.RawPath(run), 0o700))
	}
	lock, err := w.Lock("20261001T020000Z", firstNightAt)
	harness.Must(t, err)
	defer lock.Release()
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: "20261001T020000Z", StartedAt: firstNightAt}))
	pruned, err := w.Pruner.Prune(warehouse.Retention{Daily: 9}, firstNightAt.AddDate(1, 0, 0), false)
	if got := prunedPaths(pruned); err != nil || !slices.Equal(got, []string{"raw/20260901T020000Z"}) {
		t.Errorf("removed %v (error %v), want the unfinished run and the newest run kept", got, err)
	}
}

// TestUnneededResponsesAreDiscarded runs with and without DiscardRaw. With DiscardRaw, the stored responses of
// the published run and of earlier runs are no longer needed and must be removed. The responses of
// a later run must be kept. Without DiscardRaw, all responses must be kept. After a kill, Recover removes them.
func TestUnneededResponsesAreDiscarded(t *testing.T) {
	const later = "20261102T020000Z"
	for _, discardRaw := range []bool{false, true} {
		w := openWith(t, warehouse.Config{Dir: open(t).Folder.Dir(), DiscardRaw: discardRaw})
		harness.Must(t, os.MkdirAll(w.Folder.RawPath("20261031T020000Z"), 0o700))
		harness.Must(t, w.Pruner.RemoveUnneededResponses()) // before the first publish
		if isUnneeded, err := w.Pruner.AreResponsesUnneeded("20261031T020000Z"); isUnneeded || err != nil {
			t.Errorf("before the first publish, responses are unneeded: %t (%v), want false", isUnneeded, err)
		}
		publish(t, w, "20261101T020000Z", "one")
		for _, run := range []string{"20261101T020000Z", later, "notes"} {
			harness.Must(t, os.MkdirAll(w.Folder.RawPath(run), 0o700))
		}
		for run, want := range map[string]bool{"20261031T020000Z": discardRaw, "20261101T020000Z": discardRaw, "20261101T020000Z-2": discardRaw, later: false, "notes": false} {
			if isUnneeded, err := w.Pruner.AreResponsesUnneeded(run); isUnneeded != want || err != nil {
				t.Errorf("discard %t: the responses of %s are unneeded: %t (%v), want %t", discardRaw, run, isUnneeded, err, want)
			}
		}
		planned, err := w.Pruner.Prune(warehouse.Retention{RawDays: 999, Daily: 9}, firstNightAt, true)
		harness.Must(t, err)
		want := []string{"20261031T020000Z", "20261101T020000Z", later, "notes"}
		if discardRaw {
			if got := prunedPaths(planned); !cmp.Equal(got, []string{"raw/20261031T020000Z", "raw/20261101T020000Z"}) {
				t.Errorf("prune would remove %v, want the runs up to the published one", got)
			}
			failing := openWith(t, warehouse.Config{Dir: w.Folder.Dir(), DiscardRaw: true, Step: failAt("before fsync raw")})
			if err := failing.Pruner.RemoveUnneededResponses(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "remove the stored responses of published runs") {
				t.Errorf("the error on a failing disk is %v, want %v", err, syscall.EIO)
			}
			harness.Must(t, os.MkdirAll(w.Folder.RawPath("20261101T020000Z"), 0o700)) // the run was killed before it removed them
			want = want[2:]
		} else if len(planned) > 0 {
			t.Errorf("prune would remove %v, want no files", prunedPaths(planned))
		}
		harness.Must(t, w.Recover())
		if got, err := w.Folder.RunsWithResponses(); err != nil || !cmp.Equal(got, want) {
			t.Errorf("discard %t: the responses of %v are left (%v), want %v", discardRaw, got, err, want)
		}
	}
}

// TestDiscardWithoutResponsesChangesNothing calls RemoveUnneededResponses without stored responses. It must
// not change the disk.
func TestDiscardWithoutResponsesChangesNothing(t *testing.T) {
	step := func(name, _ string) error {
		t.Errorf("the disk was changed in the step %q, want no change", name)
		return nil
	}
	w := openWith(t, warehouse.Config{Dir: openNights(t, 2, "one").Folder.Dir(), DiscardRaw: true, Step: step})
	harness.Must(t, w.Pruner.RemoveUnneededResponses())
}

// TestResponsesAreKeptForRawDays prunes exactly RawDays after a run, and a second later.
func TestResponsesAreKeptForRawDays(t *testing.T) {
	w := open(t)
	for _, run := range []string{"20261001T020000Z", "20261002T020000Z", "20261003T020000Z", "notes"} {
		harness.Must(t, os.MkdirAll(w.Folder.RawPath(run), 0o700))
	}
	at := time.Date(2026, 10, 8, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		now  time.Time
		want []string
	}{{at, nil}, {at.Add(time.Second), []string{"raw/20261001T020000Z"}}} {
		got, err := w.Pruner.Prune(warehouse.Retention{RawDays: config.Default().Retention.RawDays}, c.now, true)
		if err != nil || !cmp.Equal(prunedPaths(got), c.want) {
			t.Errorf("%s: would remove %v (%v), want %v", c.now, prunedPaths(got), err, c.want)
		}
	}
	// A held night needs its responses, and the newest run is kept.
	harness.Must(t, os.MkdirAll(filepath.Join(w.Folder.Dir(), "held", "20261002T020000Z"), 0o700))
	harness.Must(t, os.RemoveAll(w.Folder.RawPath("notes")))
	got, err := w.Pruner.Prune(warehouse.Retention{}, at.AddDate(1, 0, 0), true)
	if want := []string{"raw/20261001T020000Z"}; err != nil || !cmp.Equal(prunedPaths(got), want) {
		t.Errorf("would remove %v (%v), want %v", prunedPaths(got), err, want)
	}
}

// TestAPrunedDayIsNotReportedAsMissing runs a prune that fails before it removes a day. The index must no longer
// name the day, so that verify does not report the day as missing.
func TestAPrunedDayIsNotReportedAsMissing(t *testing.T) {
	newestDay := warehouse.Retention{RawDays: 9, Daily: 1}
	w := openNights(t, 2, "one", "two", "three")
	failing := openFailingAt(t, w, "before removal of the day")
	pruned, err := failing.Pruner.Prune(newestDay, firstNightAt, false)
	if !errors.Is(err, syscall.EIO) || len(pruned) > 0 || !strings.Contains(err.Error(), "prune "+w.Folder.DayManifestPath("2026-11-01")) {
		t.Errorf("prune removed %v with the error %v, want no files and the error of the disk", pruned, err)
	}
	if index, err := w.Series.Index(); err != nil || len(index) != 1 || index["2026-11-03"] == "" {
		t.Errorf("the index names %v (%v), want only the kept day", index, err)
	}
	if _, err := failing.Pruner.Prune(newestDay, firstNightAt, true); err != nil {
		t.Errorf("the error of a dry run is %v, want none, because a dry run removes no file", err)
	}
	removals := 0
	failing = openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
		if name == "before removal of the day" {
			removals++
		}
		if removals == 2 {
			return syscall.EIO
		}
		return nil
	}})
	pruned, err = failing.Pruner.Prune(newestDay, firstNightAt, false)
	want := []string{"parquet/.manifests/snapshot_date=2026-11-01.json"}
	if !errors.Is(err, syscall.EIO) || !slices.Equal(prunedPaths(pruned), want) {
		t.Errorf("a prune that fails later removed %v (%v), want %v and EIO", prunedPaths(pruned), err, want)
	}
	if got := prune(t, w, newestDay); len(got) != 3 {
		t.Errorf("the next prune removed %v, want the other 3 paths", got)
	}
	harness.Must(t, os.Remove(w.Series.IndexPath()))
	prune(t, w, warehouse.Retention{RawDays: 9})
	if exists(t, w.Series.IndexPath()) {
		t.Error("a prune without an index wrote a new index")
	}
}

// TestAPartlyRemovedVersionIsNotFound runs a prune that fails while it removes the files of a version.
func TestAPartlyRemovedVersionIsNotFound(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	failing := openWith(t, warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 1, Step: failAt("before emptying of the version")})
	_, err := failing.Pruner.Prune(warehouse.Retention{RawDays: 9, Daily: 9}, firstNightAt, false)
	if versions, listErr := w.Versions.List(); !errors.Is(err, syscall.EIO) || listErr != nil || !slices.Equal(versions, []string{secondNight}) {
		t.Errorf("the prune returned %v, and a rollback can choose %v (%v); want EIO, and only %s", err, versions, listErr, secondNight)
	}
	other := openNights(t, 2, "one", "two")
	err = openFailingAt(t, other, "before emptying of the version").Versions.Drop(firstNight, false)
	left, listErr := other.Versions.List()
	if !errors.Is(err, syscall.EIO) || listErr != nil || !slices.Equal(left, []string{secondNight}) {
		t.Errorf("the removal returned %v and left %v (%v), want EIO and only %s", err, left, listErr, secondNight)
	}
	held := path(w, "held", firstNight) // readers see a later night
	harness.Must(t, os.MkdirAll(held, 0o700))
	if _, err := failing.Pruner.Prune(warehouse.Retention{RawDays: 9, Daily: 9}, firstNightAt, false); !errors.Is(err, syscall.EIO) || exists(t, held) {
		t.Errorf("the prune of a held night returned %v, and %s exists: %t; want EIO and no folder", err, held, exists(t, held))
	}
}
