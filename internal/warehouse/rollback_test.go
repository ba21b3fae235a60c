package warehouse_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

func TestRollbackSwitchesReadersAndTheSeries(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	if got := rollback(t, w, ""); got != firstNight {
		t.Fatalf("rolled back to %q, want %s", got, firstNight)
	}
	requireTags(t, w, "one")
	if exists(t, link(w)+".aside") {
		t.Error("the rollback moved the link away: readers had no snapshot for a moment")
	}
	requireSeriesDays(t, w, "2026-11-01")
	if folders := w.Folder.Glob(path(w, "parquet", tagsTable, "*")); len(folders) != 1 {
		t.Errorf("the series has the folders %v, want one", folders)
	}
	rollback(t, w, secondNight)
	requireTags(t, w, "one", "two")
	if _, err := w.Rollback("20270101T000000Z", firstNightAt.AddDate(0, 1, 0)); err == nil || !strings.Contains(err.Error(), "20261101T020000Z") {
		t.Errorf("got %v, want an error that lists the versions", err)
	}
	publish(t, w, "20261103T020000Z", "three")
	requireTags(t, w, "one", "two", "three")
}

// seriesDays returns the days of the table's Parquet files.
func seriesDays(t *testing.T, w *warehouse.Warehouse) []string {
	t.Helper()
	days, err := filepath.Glob(seriesFile(w, "*"))
	harness.Must(t, err)
	for i := range days {
		days[i] = warehouse.DayIn(filepath.Dir(days[i]))
	}
	return days
}

func requireSeriesDays(t *testing.T, w *warehouse.Warehouse, want ...string) {
	t.Helper()
	if got := seriesDays(t, w); !slices.Equal(got, want) {
		t.Errorf("the series has the days %v, want %v", got, want)
	}
}

// rollback rolls back and returns the version that readers then see.
func rollback(t *testing.T, w *warehouse.Warehouse, run string) string {
	t.Helper()
	m, err := w.Rollback(run, firstNightAt.AddDate(0, 1, 0))
	harness.Must(t, err)
	return m.RunID
}

func TestRollbackFollowsTheLineage(t *testing.T) {
	w := openNights(t, 3, "one", "two")
	rollback(t, w, "")
	publish(t, w, "20261103T020000Z", "three")
	requireTags(t, w, "one", "three")
	if got := rollback(t, w, ""); got != "20261101T020000Z" {
		t.Errorf("rolled back to %s, want the version on which the newest version was built", got)
	}
	if _, err := w.Rollback("", firstNightAt.AddDate(0, 1, 0)); err == nil || !strings.Contains(err.Error(), "no version before") {
		t.Errorf("got %v, want an error, because there is no version before the first version", err)
	}
	rollback(t, w, secondNight) // the newest version was not built on this one
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02")
}

func TestAnUndoneRollbackRestoresAllDays(t *testing.T) {
	w := openNights(t, 3, "one", "two", "three")
	rollback(t, w, firstNight)
	requireSeriesDays(t, w, "2026-11-01")
	rollback(t, w, thirdNight)
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02", "2026-11-03")
}

// TestARollbackKeepsTheDaysOfRemovedVersions rolls back in a warehouse that keeps two of three versions. Only the series has
// the day of the first.
func TestARollbackKeepsTheDaysOfRemovedVersions(t *testing.T) {
	w := openNights(t, 2, "one", "two", "three")
	rollback(t, w, secondNight)
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02")
}

func TestRollbackOfACopiedWarehouseRemovesDays(t *testing.T) {
	w := openNights(t, 3, "one", "two")
	// As on a file system without hard links, the series contains copies.
	from, to := filepath.Join(w.Folder.VersionPath(secondNight), tagsFile), seriesFile(w, "2026-11-02")
	info := harness.MustValue(os.Stat(from))
	data, err := os.ReadFile(from)
	harness.Must(t, errors.Join(err, os.Remove(to), os.WriteFile(to, data, 0o600), os.Chtimes(to, info.ModTime(), info.ModTime())))
	rollback(t, w, "")
	requireSeriesDays(t, w, "2026-11-01")
}

// TestRollbackRemovesAnUnfinishedDay rolls back a version whose day has Parquet files, but no manifest and
// no run in the index, because the disk failed after the Parquet files were added. The rollback must
// remove these files. When the rollback is undone, the files must be added again.
func TestRollbackRemovesAnUnfinishedDay(t *testing.T) {
	w := openNights(t, 2, "one")
	manifest := w.Folder.DayManifestPath("2026-11-02")
	harness.Must(t, os.Mkdir(manifest, 0o700))
	if _, err := publishDraft(t, w, beginDraft(t, w, secondNight, "two")); !errors.As(err, new(*warehouse.ExtendError)) {
		t.Fatalf("the second night ended with %v, want an ExtendError", err)
	}
	harness.Must(t, os.Remove(manifest))
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02")
	rollback(t, w, firstNight)
	requireSeriesDays(t, w, "2026-11-01")
	rollback(t, w, secondNight)
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02")
}

// TestAVersionBuiltOnItselfEndsTheLineage publishes a version whose manifest names the version itself
// as its night. A rebuild in the same second as its night writes such a manifest.
func TestAVersionBuiltOnItselfEndsTheLineage(t *testing.T) {
	w := openNights(t, 2, "one")
	editManifest(t, w, manifestOf(w, firstNight), func(m *warehouse.Manifest) { m.Night = firstNight })
	publish(t, w, secondNight, "two")
	requireTags(t, w, "one", "two")
	editManifest(t, w, manifestOf(w, firstNight), func(m *warehouse.Manifest) { m.Night, m.Previous = "", firstNight })
	harness.Must(t, os.RemoveAll(filepath.Dir(w.Series.IndexPath())))
	if days, err := w.Series.MissingDays(); err != nil || !slices.Equal(days, []string{"2026-11-02"}) {
		t.Errorf("the missing days are %v (%v), want those up to the wrong manifest", days, err)
	}
}

// TestARollbackEndsInterruptedRuns rolls back while a night can be resumed and a replay was killed. The night built on the
// version before the rollback. A rollback that was killed after the switch must end the night too.
func TestARollbackEndsInterruptedRuns(t *testing.T) {
	const replay = firstNight + "-2"
	for name, rollBack := range map[string]func(w *warehouse.Warehouse) error{
		"a rollback": func(w *warehouse.Warehouse) error {
			harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: replay, Kind: ledger.Replay, StartedAt: firstNightAt, Attempt: 1}))
			_, err := w.Rollback(firstNight, firstNightAt.AddDate(0, 0, 2))
			return err
		},
		"a killed rollback": func(w *warehouse.Warehouse) error {
			harness.Must(t, w.RunLog.Record(ledger.Run{ID: replay, Kind: ledger.Replay, Outcome: ledger.Killed}))
			harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: "20261103T020001Z", Kind: ledger.Rollback, Version: firstNight, StartedAt: firstNightAt, Attempt: 1}))
			replaceLink(t, w, firstNight)
			harness.Must(t, os.Remove(w.Folder.CatalogPath()))
			flipBit(t, filepath.Join(w.Folder.VersionPath(firstNight), tagsFile), 40) // a damaged file must not stop it
			harness.Must(t, os.Remove(seriesFile(w, "2026-11-01")))
			return withLock(t, w, "next", func() error { return nil })
		},
	} {
		w := openNights(t, 2, "one", "two")
		harness.Must(t, os.MkdirAll(w.Folder.RawPath(thirdNight), 0o700))
		harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: thirdNight, StartedAt: firstNightAt, Attempt: 1}))
		harness.Must(t, rollBack(w))
		if u, isResumed, err := w.RunLog.ResumableRun(); isResumed || err != nil {
			t.Errorf("after %s, run %s would be resumed (%v), want no resume", name, u.Run, err)
		}
		runs := ledgerRuns(t, w)
		if ledger.Find(runs, replay).Outcome != ledger.Killed {
			t.Errorf("after %s, the ledger has %+v, want the killed replay", name, runs)
		}
		requireTags(t, w, "one")
	}
	w := openNights(t, 2, "one", "two")
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(thirdNight), 0o700))
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: thirdNight, StartedAt: firstNightAt, Attempt: 1}))
	harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: "20261103T020001Z", Kind: ledger.Rollback, Version: firstNight, StartedAt: firstNightAt, Attempt: 1}))
	harness.Must(t, withLock(t, w, "next", func() error { return nil }))
	if _, isResumed, err := w.RunLog.ResumableRun(); !isResumed || err != nil {
		t.Errorf("after a rollback that was killed before the switch, the night is resumed: %t (%v), want true", isResumed, err)
	}
}

// TestAKilledRollbackIsFinishedLater locks a warehouse with a killed rollback while the series cannot be written, and while
// there is no link. The missing days are then unknown, so a later lock must still find the rollback.
func TestAKilledRollbackIsFinishedLater(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	harness.Must(t, os.Remove(seriesFile(w, "2026-11-02")))
	harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: thirdNight, Kind: ledger.Rollback,
		Version: firstNight, StartedAt: firstNightAt, Attempt: 1}))
	noChange := func() error { return nil }
	requireUnfinished := func(name string) {
		t.Helper()
		if _, isKilled, err := w.RunLog.KilledRollback(); !isKilled || err != nil {
			t.Errorf("%s, the killed rollback is forgotten (%v), and its days stay lost", name, err)
		}
	}
	harness.Must(t, withLock(t, openFailingAt(t, w, "before rename "+tagsFile), "next", noChange))
	requireUnfinished("on a failing disk")
	harness.Must(t, os.Remove(link(w)))
	harness.Must(t, withLock(t, w, "next", noChange))
	requireUnfinished("without the link")
	harness.Must(t, os.Symlink(filepath.Join("versions", secondNight), link(w)))
	harness.Must(t, withLock(t, w, "next", noChange))
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02")
}
