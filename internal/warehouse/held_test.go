package warehouse_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// holdNight creates a held night and its line in the ledger. The night is held because the check "prices"
// failed.
func holdNight(t *testing.T, w *warehouse.Warehouse, run, tag string) error {
	t.Helper()
	d := beginDraft(t, w, run, tag)
	ledgerRun := ledger.Run{ID: run, Outcome: ledger.Complete, SnapshotAt: d.At,
		Checks: []ledger.CheckResult{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 1}, {Name: "hosts", Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1}}}
	harness.Must(t, d.WriteLedgerCopy(ledgerRun))
	_, err := d.Hold(t.Context(), slices.Clone(tableFiles))
	if err == nil {
		ledgerRun.Outcome, ledgerRun.ExitCode, ledgerRun.SnapshotAt, ledgerRun.Held = ledger.Failed, 1, time.Time{}, true
		harness.Must(t, w.RunLog.Record(ledgerRun))
	}
	return errors.Join(err, d.Discard())
}

// publishHeld publishes the held night. The user accepts the check "prices".
func publishHeld(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	_, err := w.PublishHeld(t.Context(), []string{"prices"}, firstNightAt)
	harness.Must(t, err)
}

// heldRunID returns the run of the held night, or "" if no night is held.
func heldRunID(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	h, _, err := w.Held()
	harness.Must(t, err)
	return h.Manifest.RunID
}

// newestTag returns the tag that the last published night added.
func newestTag(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	all := readTags(t, w)
	return all[len(all)-1]
}

// requireState checks the newest tag that readers see and the run of the held night.
func requireState(t *testing.T, w *warehouse.Warehouse, tag, held string) {
	t.Helper()
	if got := newestTag(t, w); got != tag {
		t.Errorf("readers see %s, want %s", got, tag)
	}
	if got := heldRunID(t, w); got != held {
		t.Errorf("the held night is %q, want %q", got, held)
	}
}

// TestAHeldNightIsPublishedUnchanged publishes a held night in a warehouse that keeps one version.
func TestAHeldNightIsPublishedUnchanged(t *testing.T) {
	w := openWith(t, warehouse.Config{Dir: openNights(t, 1, "one").Folder.Dir(), KeepVersions: 1, DiscardRaw: true})
	harness.Must(t, holdNight(t, w, secondNight, "two"))
	leftOver := path(w, "versions", "."+secondNight+".draft", "of-a-killed-publish")
	harness.Must(t, os.MkdirAll(leftOver, 0o700))
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(secondNight), 0o700))
	requireState(t, w, "one", secondNight)
	h, _, err := w.Held()
	harness.Must(t, err)
	if got := h.FailedChecks(); !slices.Equal(got, []string{"prices"}) {
		t.Errorf("failed checks are %v, want prices", got)
	}
	heldCatalog := harness.MustValue(os.ReadFile(w.Folder.HeldCatalog(secondNight)))
	publishHeld(t, w)
	requireState(t, w, "two", "")
	requireVersions(t, w, secondNight)
	requireNoHeldFiles(t, w)
	if exists(t, path(w, "versions", secondNight, "of-a-killed-publish")) || exists(t, w.Folder.RawPath(secondNight)) {
		t.Error("a file of a killed publish was published, or the stored responses of the night are kept")
	}
	requireNoDamage(t, w)
	publishedCatalog := harness.MustValue(os.ReadFile(w.Folder.VersionCatalog(secondNight)))
	if !slices.Equal(heldCatalog, publishedCatalog) {
		t.Error("the published catalog differs from the held catalog, want the same bytes")
	}
	runs := ledgerRuns(t, w)
	last := runs[len(runs)-1]
	if last.ID != secondNight || last.Outcome != ledger.Complete || last.Held || !slices.Equal(last.Accepted, []string{"prices"}) || !last.AcceptedAt.Equal(firstNightAt) {
		t.Errorf("the ledger has %+v, want a complete run with the accepted check", last)
	}
	if _, err := w.PublishHeld(t.Context(), nil, firstNightAt); !errors.As(err, new(*ledger.UnknownRunError)) {
		t.Errorf("a second publish: got %v, want an UnknownRunError", err)
	}
	publish(t, w, thirdNight, "three")
	requireState(t, w, "three", "")
}

func TestAHeldNightIsDiscarded(t *testing.T) {
	w := openNights(t, 2, "one")
	if _, err := w.DiscardHeld(); !errors.As(err, new(*ledger.UnknownRunError)) {
		t.Errorf("without a held night: got %v, want an UnknownRunError", err)
	}
	harness.Must(t, holdNight(t, w, secondNight, "two"))
	run, err := w.DiscardHeld()
	harness.Must(t, err)
	requireState(t, w, "one", "")
	if entries, err := os.ReadDir(filepath.Join(w.Folder.Dir(), "held")); run != secondNight || err != nil || len(entries) > 0 {
		t.Errorf("discarded %s, left %v (%v), want %s and no files", run, entries, err, secondNight)
	}
}

func TestTheNextNightReplacesAHeldNight(t *testing.T) {
	w := openHeld(t)
	harness.Must(t, holdNight(t, w, thirdNight, "three"))
	requireState(t, w, "one", thirdNight)
	if held := w.Folder.Glob(path(w, "held", "*")); len(held) != 1 {
		t.Errorf("the files of %v are kept, want only those of the last held night", held)
	}
	publish(t, w, "20261104T020000Z", "four")
	requireState(t, w, "four", "")
}

func TestAHeldNightOfAnotherBaseIsNotPublished(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	harness.Must(t, holdNight(t, w, thirdNight, "three"))
	rollback(t, w, firstNight)
	want := "it is based on version " + secondNight + ", but readers see version " + firstNight + "; nothing was published: discard it"
	if _, err := w.PublishHeld(t.Context(), []string{"prices"}, firstNightAt); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	requireState(t, w, "one", thirdNight)
	if damaged, fileCount := w.VerifyHeld(t.Context(), false); fileCount != 3 || len(damaged) > 0 {
		t.Errorf("VerifyHeld compared %d files and found the damage %v, want the intact catalog, table and ledger line", fileCount, damaged)
	}
	harness.Must(t, os.Remove(path(w, "held", thirdNight, tagsFile)))
	if damaged, fileCount := w.VerifyHeld(t.Context(), false); fileCount != 3 || len(damaged) != 1 {
		t.Errorf("VerifyHeld compared %d files and found the damage %v, want 3 files and one damaged file", fileCount, damaged)
	}
	// Without the link, the base of the night is unknown, and the night must not be discarded.
	harness.Must(t, os.Remove(link(w)))
	if _, err := w.PublishHeld(t.Context(), nil, firstNightAt); !errors.As(err, new(*warehouse.LostError)) {
		t.Errorf("without the link: got %v, want a LostError, which names the rollback", err)
	}
}

func TestADamagedHeldNightIsNotPublished(t *testing.T) {
	w := openNights(t, 2, "one")
	edit := func(name string, change func(data []byte) []byte) func() error {
		return func() error {
			path := filepath.Join(w.Folder.Dir(), "held", secondNight, name)
			data, err := os.ReadFile(path)
			return errors.Join(err, os.Chmod(path, 0o600), os.WriteFile(path, change(data), 0o600))
		}
	}
	remove := func(name string) func() error {
		return func() error { return os.Remove(filepath.Join(w.Folder.Dir(), "held", secondNight, name)) }
	}
	for name, c := range map[string]struct {
		damage func() error
		// isFoundWithoutData means that verify finds the damage without reading the data.
		isFoundWithoutData bool
	}{
		"a changed byte":  {edit(warehouse.CatalogFile, func(data []byte) []byte { data[len(data)/2] ^= 1; return data }), false},
		"half a catalog":  {edit(warehouse.CatalogFile, func(data []byte) []byte { return data[:len(data)/2] }), true},
		"no Parquet file": {remove("product_listing_tags.parquet"), true},
		"no manifest":     {remove(warehouse.ManifestFile), true},
		"half a manifest": {edit(warehouse.ManifestFile, func(data []byte) []byte { return data[:len(data)/2] }), true},
		"no ledger line":  {remove("run.json"), true},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Must(t, holdNight(t, w, secondNight, "two"))
			harness.Must(t, c.damage())
			for _, readData := range []bool{false, true} {
				report, err := repair.Check(t.Context(), w, readData)
				harness.Must(t, err)
				if isFound := len(report.Damage) == 1 && report.Damage[0].Repair.Kind == repair.DiscardHeld && strings.HasPrefix(report.Damage[0].File, "held/"+secondNight+"/"); isFound != (c.isFoundWithoutData || readData) {
					t.Errorf("read data %t: found %+v, want the damaged night: %t", readData, report.Damage, c.isFoundWithoutData || readData)
				}
			}
			if _, err := w.PublishHeld(t.Context(), []string{"prices"}, firstNightAt); err == nil {
				t.Error("got no error, want an error, because the held night is damaged")
			}
			if got := newestTag(t, w); got != "one" {
				t.Errorf("readers see %s, want one", got)
			}
			harness.MustValue(w.DiscardHeld())
		})
	}
	harness.Must(t, holdNight(t, w, secondNight, "two"))
	harness.Must(t, remove(warehouse.ManifestFile)())
	publish(t, w, thirdNight, "three")
	requireNoHeldFiles(t, w)
}

func requireNoHeldFiles(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Join(w.Folder.Dir(), "held")); err != nil || len(entries) > 0 {
		t.Errorf("held/ has %v (%v), want no files", entries, err)
	}
}

func TestPruneRemovesAStaleHeldNight(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	harness.Must(t, holdNight(t, w, thirdNight, "three"))
	if got := prune(t, w, keepAllDays); len(got) > 0 {
		t.Errorf("prune removed %v, want the held night kept", got)
	}
	requireState(t, w, "two", thirdNight)
	rollback(t, w, firstNight)
	want := []string{"held/" + thirdNight}
	if planned, err := w.Pruner.Prune(keepAllDays, firstNightAt, true); err != nil || !slices.Equal(prunedPaths(planned), want) {
		t.Errorf("prune would remove %v (%v), want %v", prunedPaths(planned), err, want)
	}
	requireState(t, w, "one", thirdNight)
	if got := prune(t, w, keepAllDays); !slices.Equal(got, want) {
		t.Errorf("prune removed %v, want %v", got, want)
	}
	requireNoHeldFiles(t, w)
	// The manifest of a held night is damaged, and readers see a later night.
	harness.Must(t, os.MkdirAll(path(w, "held", "20261031T020000Z"), 0o700))
	if got, want := prune(t, w, keepAllDays), []string{"held/20261031T020000Z"}; !slices.Equal(got, want) {
		t.Errorf("prune removed %v, want %v", got, want)
	}
	// The removal of a held night was killed before the first publish.
	w = open(t)
	harness.Must(t, os.MkdirAll(path(w, "held", "."+firstNight+".removed"), 0o700))
	if got := prune(t, w, keepAllDays); len(got) != 1 {
		t.Errorf("prune removed %v, want the rest of the held night", got)
	}
}

// TestANightDoesNotBeginBesideAnUnpublishedVersion fails a publish of the held night before the switch, and then the removal of
// its version. A rollback could publish this version.
func TestANightDoesNotBeginBesideAnUnpublishedVersion(t *testing.T) {
	w := openHeld(t)
	if _, err := openFailingAt(t, w, "before link latest").PublishHeld(t.Context(), []string{"prices"}, firstNightAt); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the publish returned %v, want EIO", err)
	}
	if _, err := openFailingAt(t, w, "before removal of the version").Begin(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2)); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next night began with %v, want EIO", err)
	}
	harness.Must(t, os.Remove(w.Folder.CatalogPath()))
	if _, err := openFailingAt(t, w, "before link catalog.duckdb").Begin(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2)); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next night began with %v, want EIO: readers do not find the catalog", err)
	}
	harness.Must(t, beginDraft(t, w, thirdNight, "three").Discard())
	requireVersions(t, w, firstNight)
}

// TestALedgerLineOfAnotherRunIsNotUsed holds a night with the ledger line of another run.
func TestALedgerLineOfAnotherRunIsNotUsed(t *testing.T) {
	w := openNights(t, 2, "one")
	d := beginDraft(t, w, secondNight, "two")
	harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: thirdNight}))
	_, err := d.Hold(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, errors.Join(err, d.Discard()))
	if h, _, err := w.Held(); !errors.As(err, new(*warehouse.DamagedError)) {
		t.Errorf("got the held run %q (%v), want a *DamagedError", h.Run.ID, err)
	}
}

// TestAHeldReplayReplacesItsNight holds a replay of the newest night. The replay is built on the version
// before the newest night. Prune must keep the replay, and PublishHeld must publish it.
func TestAHeldReplayReplacesItsNight(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	hold := func(kind, night, base string) {
		at, _ := warehouse.RunTime(night)
		d, err := w.BeginFrom(t.Context(), night+"-2", at, base)
		harness.Must(t, err)
		d.Kind = kind
		writeTagsFile(t, d)
		harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: d.Run, Outcome: ledger.Complete, SnapshotAt: at}))
		_, err = d.Hold(t.Context(), slices.Clone(tableFiles))
		harness.Must(t, errors.Join(err, d.Discard()))
	}
	for _, c := range []struct{ name, kind, night, base string }{
		{"a replay of another night", ledger.Replay, thirdNight, firstNight},
		{"a replay without the earlier nights", ledger.Replay, secondNight, ""},
		{"another night of the same time", "", secondNight, firstNight},
	} {
		hold(c.kind, c.night, c.base)
		if _, err := w.PublishHeld(t.Context(), nil, firstNightAt); err == nil {
			t.Errorf("%s was published, want an error: changes would be lost", c.name)
		}
	}
	hold(ledger.Replay, secondNight, firstNight)
	if got := prune(t, w, keepAllDays); len(got) > 0 {
		t.Errorf("prune removed %v, want the replay kept", got)
	}
	publishHeld(t, w)
	requireState(t, w, "one", "")
	if latest, _, err := w.Versions.Latest(); err != nil || latest != secondNight+"-2" {
		t.Errorf("readers see %s (%v), want the replay", latest, err)
	}
}

// TestARollbackDoesNotPublishAHeldNight kills PublishHeld before it switches the link "latest". A
// rollback to the new version must fail, because the night is still held.
func TestARollbackDoesNotPublishAHeldNight(t *testing.T) {
	w := openHeld(t)
	if _, err := openFailingAt(t, w, "before link latest").PublishHeld(t.Context(), []string{"prices"}, firstNightAt); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	err := withLock(t, w, thirdNight, func() error {
		_, err := w.Rollback(secondNight, firstNightAt)
		return err
	})
	if !errors.As(err, new(*ledger.UnknownRunError)) {
		t.Errorf("the rollback ended with %v, want an UnknownRunError", err)
	}
	requireState(t, w, "one", secondNight)
}

// killStride returns the number of disk operations between two kills in the tests below. Trials can take
// longer, so they kill at each operation.
func killStride() int {
	if !testing.Short() {
		return 1
	}
	return 13
}

// errDiskStopped is the error of a disk that no longer changes, as after a kill.
var errDiskStopped = errors.New("the disk stopped")

// stopDiskAfter opens the warehouse again with a disk on which only the given number of operations
// succeeds. isStopped is set when an operation fails.
func stopDiskAfter(t *testing.T, w *warehouse.Warehouse, steps int) (stopping *warehouse.Warehouse, isStopped *bool) {
	t.Helper()
	isStopped = new(bool)
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(string, string) error {
		if steps--; steps >= 0 {
			return nil
		}
		*isStopped = true
		return errDiskStopped
	}}), isStopped
}

// TestNoStateIsBetweenHeldAndPublished stops the publish of a held night at some of its steps.
// Readers must see the old or the new snapshot, and the night must be held or published. If the night is
// still held, a second publish or the next night must succeed.
func TestNoStateIsBetweenHeldAndPublished(t *testing.T) {
	for steps := 0; ; steps += killStride() {
		w := openHeld(t)
		stopping, isStopped := stopDiskAfter(t, w, steps)
		_, err := stopping.PublishHeld(t.Context(), []string{"prices"}, firstNightAt)
		visibleTag, held := newestTag(t, w), heldRunID(t, w)
		switch {
		case visibleTag == "one" && held == secondNight && err != nil:
			if steps%2 == 0 { // a second publish, or else the next night, must succeed
				publishHeld(t, w)
				requireState(t, w, "two", "")
			} else {
				publish(t, w, thirdNight, "three")
				requireState(t, w, "three", "")
			}
		case visibleTag == "two" && held == "":
			harness.Must(t, withLock(t, w, thirdNight, w.Recover))
			runs := ledgerRuns(t, w)
			if ledgerRun := ledger.Find(runs, secondNight); ledgerRun.Outcome != ledger.Complete || !slices.Equal(ledgerRun.Accepted, []string{"prices"}) {
				t.Errorf("after %d steps the ledger has %+v, want a complete run with the accepted check prices", steps, ledgerRun)
			}
			publish(t, w, thirdNight, "three")
			requireState(t, w, "three", "")
			if entries, _ := os.ReadDir(filepath.Join(w.Folder.Dir(), "held")); len(entries) > 0 {
				t.Errorf("after %d steps held/ has %v, want no files", steps, entries)
			}
		default:
			t.Errorf("after %d steps readers see %s, and %q is held (%v), want the night held or published", steps, visibleTag, held, err)
		}
		versions, err := w.Versions.List()
		if err != nil || len(versions) > 2 {
			t.Errorf("after %d steps the versions are %v (%v), want at most two", steps, versions, err)
		}
		if !*isStopped {
			break
		}
	}
}

// TestNoStateIsBetweenDraftAndHeld stops Draft.Hold at some of its steps. After that,
// the earlier held night, the new night or no night must be held.
func TestNoStateIsBetweenDraftAndHeld(t *testing.T) {
	for steps := 0; ; steps += killStride() {
		w := openHeld(t)
		stopping, isStopped := stopDiskAfter(t, w, steps)
		d, err := stopping.Begin(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2))
		if err == nil {
			err = d.WriteLedgerCopy(ledger.Run{ID: thirdNight, Outcome: ledger.Complete, Checks: []ledger.CheckResult{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed}}})
			if err == nil {
				_, err = d.Hold(t.Context(), slices.Clone(tableFiles))
			}
			_ = d.Discard()
		}
		held := heldRunID(t, w)
		if held != secondNight && held != thirdNight && (held != "" || err == nil) {
			t.Errorf("after %d steps %q is held (%v), want the earlier night, the new night, or no night and an error", steps, held, err)
		}
		harness.Must(t, withLock(t, w, thirdNight, w.Recover))
		runs, readErr := w.RunLog.Runs()
		harness.Must(t, readErr)
		if held == thirdNight && !ledger.Find(runs, thirdNight).Held {
			t.Errorf("after %d steps the ledger has %+v, want the held night %s", steps, runs, thirdNight)
		}
		requireState(t, w, "one", held)
		if !*isStopped {
			break
		}
	}
}

// TestNoStateIsBetweenHeldAndDiscarded stops the removal of a held night at each of its steps. The
// night must be held or removed, and the next night must remove all remaining files.
func TestNoStateIsBetweenHeldAndDiscarded(t *testing.T) {
	for steps := 0; ; steps++ {
		w := openHeld(t)
		stopping, isStopped := stopDiskAfter(t, w, steps)
		_, err := stopping.DiscardHeld()
		if held := heldRunID(t, w); held != secondNight && held != "" || held == "" && steps == 0 || held == secondNight && err == nil {
			t.Errorf("after %d steps %q is held (%v), want %s and an error, or no held night", steps, held, err, secondNight)
		}
		if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
			t.Errorf("after %d steps verify found %+v (%v), want no damage", steps, report.Damage, err)
		}
		publish(t, w, thirdNight, "three")
		requireState(t, w, "three", "")
		requireNoHeldFiles(t, w)
		if !*isStopped {
			break
		}
	}
}

// TestQueryErrorsOfAHeldNightAreExplained passes the error of a query of the held night.
func TestQueryErrorsOfAHeldNightAreExplained(t *testing.T) {
	w := openNights(t, 2, "one")
	cause := errors.New("the query failed")
	if err := w.ExplainHeldErr(cause); err != cause {
		t.Errorf("without a held night: got %v, want the error of the query", err)
	}
	harness.Must(t, holdNight(t, w, secondNight, "two"))
	if err := w.ExplainHeldErr(cause); err != cause || w.ExplainHeldErr(nil) != nil {
		t.Errorf("with an intact held night: got %v, want the error of the query", err)
	}
	flipBit(t, w.Folder.HeldCatalog(secondNight), 70_000)
	want := "read held/" + secondNight + "/catalog.duckdb: " + checksum.WrongSum + "; the held night cannot be used, and readers keep the last snapshot: run placementsync discard, " +
		"and placementsync replay " + secondNight + " to build the night again from its stored responses"
	if err := w.ExplainHeldErr(cause); !errors.Is(err, cause) || err.Error() != want || w.ExplainHeldErr(nil) != nil {
		t.Errorf("with a damaged held night: got %v, want %s", err, want)
	}
}
