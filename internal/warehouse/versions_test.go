package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestTheVisibleVersionIsNotRemoved drops the version that readers see, an unknown version and an earlier
// version. Only the removal of the earlier version must succeed.
func TestTheVisibleVersionIsNotRemoved(t *testing.T) {
	w := openNights(t, config.Default().Warehouse.KeepVersions, "one", "two", "three")
	for _, dryRun := range []bool{true, false} {
		if err := w.Versions.Drop(thirdNight, dryRun); err == nil || !strings.Contains(err.Error(), "readers see it") {
			t.Errorf("the error of dropping the version that readers see is %v, want that readers see it", err)
		}
		var unknown *ledger.UnknownRunError
		if err := w.Versions.Drop("20261109T020000Z", dryRun); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "the kept versions are "+firstNight+", "+secondNight+", "+thirdNight) {
			t.Errorf("the error of dropping an unknown version is %v, want the kept versions in it", err)
		}
		harness.Must(t, w.Versions.Drop(secondNight, dryRun))
	}
	requireVersions(t, w, firstNight, thirdNight)
	// The third night was built on the removed version, not on the first one.
	if _, err := w.Rollback("", firstNightAt.AddDate(0, 1, 0)); err == nil || !strings.Contains(err.Error(), "is based is not kept") {
		t.Errorf("the error of the rollback is %v, want that the previous version is not kept", err)
	}
	harness.Must(t, w.Versions.VerifyCatalog(thirdNight))
	flipBit(t, w.Folder.VersionCatalog(thirdNight), 70_000)
	for run, file := range map[string]string{thirdNight: "catalog.duckdb", secondNight: "manifest.json"} {
		var damaged *warehouse.DamagedError
		if err := w.Versions.VerifyCatalog(run); !errors.As(err, &damaged) || damaged.File != "versions/"+run+"/"+file {
			t.Errorf("the error of the catalog of %s is %v, want a DamagedError of %s", run, err, file)
		}
	}
}

// TestErrorsOfARollbackWithoutATarget rolls back without versions and from the first version.
func TestErrorsOfARollbackWithoutATarget(t *testing.T) {
	w := open(t)
	if _, err := w.Rollback(firstNight, firstNightAt); err == nil || !strings.HasSuffix(err.Error(), "the kept versions are none") {
		t.Errorf("the error of a rollback without versions is %v, want none in it", err)
	}
	if _, err := w.Rollback("", firstNightAt); err == nil || !strings.Contains(err.Error(), "no version was published; nothing was changed") {
		t.Errorf("the error of a rollback before the first night is %v, want that no version was published", err)
	}
	publish(t, w, firstNight, "one")
	want := "roll back: no version before " + firstNight + " is kept; nothing was changed: the kept versions are " + firstNight
	if _, err := w.Rollback("", firstNightAt); err == nil || err.Error() != want {
		t.Errorf("the error of a rollback from the first version is %v, want %q", err, want)
	}
	publish(t, w, secondNight, "two")
	replaceLink(t, w, firstNight)
	_, wrongLinkErr := w.Rollback("", firstNightAt.AddDate(0, 0, 2))
	harness.Must(t, os.Remove(link(w)))
	_, noLinkErr := w.Rollback("", firstNightAt.AddDate(0, 0, 2))
	for _, err := range []error{wrongLinkErr, noLinkErr} {
		if !errors.As(err, new(*warehouse.LostError)) {
			t.Errorf("with a wrong or missing link: got %v, want a LostError: the version before it is unknown", err)
		}
	}
}

// TestTheNewestVersionsAreKept publishes more versions than are kept. The newest must stay, so that a rollback to the last
// nights is possible.
func TestTheNewestVersionsAreKept(t *testing.T) {
	for keep, want := range map[int][]string{
		0:                                       {secondNight},
		config.Default().Warehouse.KeepVersions: {secondNight, thirdNight, "20261104T020000Z"},
	} {
		w := openNights(t, keep, []string{"one", "two", "three", "four"}[:len(want)+1]...)
		requireVersions(t, w, want...)
	}
}

// TestTheNewestVersionBesideTheLineageIsKept publishes a night after a rollback from the third to the first. Beside the
// two versions on which readers rely, the newest other version stays.
func TestTheNewestVersionBesideTheLineageIsKept(t *testing.T) {
	w := openNights(t, 3, "one", "two", "three")
	rollback(t, w, firstNight)
	publish(t, w, "20261104T020000Z", "four")
	want := []string{firstNight, thirdNight, "20261104T020000Z"}
	requireVersions(t, w, want...)
}

// TestTheErrorOfAFailedSwitchNamesTheVisibleSnapshot publishes on a disk that fails to replace the link
// "latest", and on a disk that fails to sync the link.
func TestTheErrorOfAFailedSwitchNamesTheVisibleSnapshot(t *testing.T) {
	for step, c := range map[string]struct{ tag, message string }{
		"before link latest":         {"one", "nothing was published; readers keep the last snapshot"},
		"before fsync beside latest": {"two", "readers see the version, but a power cut may undo the switch"},
	} {
		w := openNights(t, 2, "one")
		d := beginDraft(t, openFailingAt(t, w, step), secondNight, "two")
		_, err := d.Publish(t.Context(), slices.Clone(tableFiles))
		if !errors.Is(err, syscall.EIO) || errors.As(err, new(*warehouse.AfterSwitchError)) || errors.As(err, new(*warehouse.UnsyncedSwitchError)) != (c.tag == "two") || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: got %v, want %q", step, err, c.message)
		}
		if got := newestTag(t, w); got != c.tag {
			t.Errorf("%s: readers see %s, want %s", step, got, c.tag)
		}
	}
}

// TestATableWithoutAStreamIsNotPublished publishes files of a table that is not configured.
func TestATableWithoutAStreamIsNotPublished(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	files := slices.Clone(tableFiles)
	files[0].Name = "orders"
	if _, err := d.Publish(t.Context(), files); err == nil || !strings.Contains(err.Error(), `find the key of table "orders": no stream fills it; nothing was published`) {
		t.Errorf("the error of the publish is %v, want that no stream fills the table", err)
	}
	harness.Must(t, d.Discard())
	if latest, ok, err := w.Versions.Latest(); ok || err != nil {
		t.Errorf("readers see %q (%v), want no version", latest, err)
	}
}

// TestAVersionWithoutRowsIsPublished publishes a draft without tables of the schema main, and one with an empty table.
func TestAVersionWithoutRowsIsPublished(t *testing.T) {
	w := open(t)
	d := begin(t, w, firstNight)
	m, err := d.Publish(t.Context(), nil)
	if err != nil || len(m.Tables) > 0 || m.LedgerLine != nil {
		t.Errorf("published %+v (%v), want a version without tables and without a ledger line", m, err)
	}
	d, err = w.Begin(t.Context(), secondNight, firstNightAt.AddDate(0, 0, 1))
	harness.Must(t, err)
	writeTagsFile(t, d)
	m, err = d.Publish(t.Context(), slices.Clone(tableFiles))
	if err != nil || m.Tables[0].Rows != 0 || m.Tables[0].KeyMin != "" || m.Tables[0].KeyMax != "" {
		t.Errorf("published %+v (%v), want a table without rows and keys", m.Tables, err)
	}
}

// TestDuplicateKeysAndMissingRowsAreErrors publishes rows with equal keys, and rows that their Parquet file
// lacks. Publish must return a VerifyError with the number of rows.
func TestDuplicateKeysAndMissingRowsAreErrors(t *testing.T) {
	insert := "INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) SELECT 'q', %s, 'x', now(), 1 FROM range(4) r(i)"
	for name, c := range map[string]struct{ position, parquet, want string }{
		"four rows of two keys":  {"i % 2", "main.product_listing_tags", "2 rows repeat the key of an earlier row: the merge stored them twice, which is a fault of this program, or the disk is damaged"},
		"four rows of four keys": {"i", "main.product_listing_tags", ""},
		"fewer rows in Parquet":  {"i", "(FROM main.product_listing_tags LIMIT 3)", "3 rows in Parquet, 5 in the manifest"},
		"no rows in Parquet":     {"i", "(FROM main.product_listing_tags LIMIT 0)", "0 rows in Parquet, 5 in the manifest"},
	} {
		w := open(t)
		d := beginDraft(t, w, firstNight, "one")
		file := sqltext.Literal(filepath.Join(d.Dir, tagsFile))
		harness.Must(t, d.Exec(t.Context(), sqltext.SQL(strings.Replace(insert, "%s", c.position, 1)), sqltext.SQL("COPY "+c.parquet+" TO "+file+" (FORMAT parquet)")))
		m, err := d.Publish(t.Context(), slices.Clone(tableFiles))
		var verifyErr *warehouse.VerifyError
		switch {
		case c.want == "" && (err != nil || m.Tables[0].Rows != 5 || m.Tables[0].KeyMin != "p" || m.Tables[0].KeyMax != "q"):
			t.Errorf("%s: published %+v (%v), want 5 rows with keys from p to q", name, m.Tables, err)
		case c.want != "" && (!errors.As(err, &verifyErr) || verifyErr.Problem != c.want):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		case c.want != "" && err.Error() != "verify version "+firstNight+": table product_listing_tags: "+c.want+"; nothing was published; readers keep the last snapshot: check the disk, then run placementsync replay "+firstNight:
			t.Errorf("%s: the message is %v", name, err)
		}
		harness.Must(t, d.Discard())
	}
	w := openNights(t, 2, "one")
	d := beginDraft(t, w, secondNight, "two")
	harness.Must(t, os.WriteFile(filepath.Join(d.Dir, tagsFile), []byte("PAR1 and no footer PAR1"), 0o600))
	var verifyErr *warehouse.VerifyError
	if _, err := d.Publish(t.Context(), slices.Clone(tableFiles)); !errors.As(err, &verifyErr) || verifyErr.Table != "(any)" {
		t.Errorf("the error of an unreadable Parquet file is %v, want a VerifyError of any table", err)
	}
	harness.Must(t, d.Discard())
	d = begin(t, w, secondNight)
	_, err := d.CopyUnchanged(tagsTable)
	harness.Must(t, errors.Join(err, d.Exec(t.Context(), sqltext.SQL(strings.Replace(insert, "%s", "i", 1)))))
	if _, err := d.Publish(t.Context(), slices.Clone(tableFiles)); !errors.As(err, &verifyErr) || verifyErr.Problem != "5 rows in the catalog, 1 in the manifest" {
		t.Errorf("the error of a changed table with its old file is %v, want a VerifyError with both numbers of rows", err)
	}
	harness.Must(t, d.Discard())
	requireTags(t, w, "one")
}

// TestPublicFilesGetTheirMode compares the modes after SetPublicMode, WriteSealed and MakeInbox.
// SetPublicMode must also sync the file.
func TestPublicFilesGetTheirMode(t *testing.T) {
	for configured, want := range map[fs.FileMode]fs.FileMode{0: 0o644 &^ umask(t), 0o640: 0o640} {
		isSynced := false
		w := openWith(t, warehouse.Config{PublishedMode: configured, Step: func(step, _ string) error {
			isSynced = isSynced || step == "before fsync a"
			return nil
		}})
		file, sealed := path(w, "versions", "a"), path(w, "parquet", "x", "b.json")
		harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600), w.Folder.SetPublicMode(file), w.Folder.WriteSealed(sealed, map[string]int{"a": 1})))
		for _, path := range []string{file, sealed} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has %v (%v), want %v", path, info, err, want)
			}
		}
		if !isSynced {
			t.Error("SetPublicMode did not sync the file")
		}
		if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
			t.Errorf("after SetPublicMode the folder contains %v (%v), want only the file", entries, err)
		}
		if err := w.Folder.SetPublicMode(path(w, "versions", "missing")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the error of a missing file is %v, want that it does not exist", err)
		}
		if err := w.Folder.WriteSealed(sealed, func() {}); err == nil || !strings.Contains(contentOf(t, sealed), `"a": 1`) {
			t.Errorf("the error of writing a value that is not JSON is %v, want an error, and the file unchanged", err)
		}
		inbox, err := w.Folder.MakeInbox()
		if info, statErr := os.Stat(inbox); err != nil || statErr != nil || inbox != path(w, "state", "inbox") || info.Mode().Perm() != 0o700 {
			t.Errorf("the inbox is %s with %v (%v, %v), want state/inbox with 0700", inbox, info, err, statErr)
		}
	}
}

// TestTheVisibleVersionIsKeptWithoutItsManifest rolls back, damages the manifest of the visible version, and keeps one version.
func TestTheVisibleVersionIsKeptWithoutItsManifest(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	rollback(t, w, firstNight)
	harness.Must(t, os.WriteFile(manifestOf(w, firstNight), []byte("damaged"), 0o600))
	prune(t, openWith(t, warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 1}), keepAllDays)
	if versions, err := w.Versions.List(); err != nil || !slices.Contains(versions, firstNight) {
		t.Errorf("prune left the versions %v (%v), want %s, which readers see", versions, err, firstNight)
	}
}

// TestARepeatedRunReplacesItsUnpublishedVersion publishes a run whose earlier attempt was killed before the switch.
func TestARepeatedRunReplacesItsUnpublishedVersion(t *testing.T) {
	w := openNights(t, 2, "one")
	harness.Must(t, os.MkdirAll(filepath.Join(w.Folder.VersionPath(secondNight), "of-the-earlier-attempt"), 0o700))
	publish(t, w, secondNight, "two")
	requireTags(t, w, "one", "two")
}
