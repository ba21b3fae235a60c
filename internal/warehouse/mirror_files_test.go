package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// writeFiles writes files below the folder of a warehouse. The content of each file is its name.
func writeFiles(t *testing.T, w *warehouse.Warehouse, names ...string) {
	t.Helper()
	for _, name := range names {
		file := path(w, filepath.FromSlash(name))
		harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), 0o600)))
	}
}

// TestABackupHasTheFilesOfTheSeriesAndTheState lists the files for a backup. The warehouse has two
// nights, a missing Parquet file, and files that do not belong to a backup.
func TestABackupHasTheFilesOfTheSeriesAndTheState(t *testing.T) {
	w := open(t)
	first := publishFull(t, w, firstNight, "one")
	second := publishFull(t, w, secondNight, "two")
	writeFiles(t, w, "state/inbox/a.log", "state/seen/orders", "state/lock", "state/.temporary",
		"parquet/product_listing_tags/snapshot_date=2026-10-31/product_listing_tags.parquet", // the manifest of this day is lost
		"parquet/product_listing_tags/snapshot_date=2026-11-03/product_listing_tags.parquet", // a night is writing this day
		"parquet/.replaced/"+firstNight+"/product_listing_tags.parquet", "parquet/.meta/20261103T020000Z.changes", "parquet/notes.txt",
		"versions/notes.txt", "raw/"+firstNight+"/journal.jsonl")
	lost := seriesFile(w, "2026-11-01")
	harness.Must(t, os.Remove(lost))

	sumOf := func(name string) checksum.FileSum {
		return checksum.SumText(name, []byte(contentOf(t, path(w, filepath.FromSlash(name)))))
	}
	renamed := func(sum checksum.FileSum, name string) checksum.FileSum {
		sum.File = name
		return sum
	}
	parquetName := func(m warehouse.Manifest) string {
		return "parquet/product_listing_tags/snapshot_date=" + warehouse.DayOf(m.SnapshotAt) + "/product_listing_tags.parquet"
	}
	want := []checksum.FileSum{
		{File: "state/inbox/a.log"}, {File: "state/runs.jsonl"},
		sumOf("parquet/.manifests/index.json"), sumOf("parquet/.manifests/snapshot_date=2026-11-01.json"), sumOf("parquet/.manifests/snapshot_date=2026-11-02.json"),
		renamed(first.Meta.FileSum, "parquet/.meta/"+firstNight+".changes"), sumOf("parquet/.meta/" + firstNight + ".json"),
		renamed(second.Meta.FileSum, "parquet/.meta/"+secondNight+".changes"), sumOf("parquet/.meta/" + secondNight + ".json"),
		{File: "parquet/notes.txt"}, {File: "parquet/product_listing_tags/snapshot_date=2026-10-31/product_listing_tags.parquet"},
		renamed(second.Tables[0].FileSum, parquetName(second)), renamed(first.Tables[0].FileSum, parquetName(first)),
	}
	got, err := w.Mirror.Files()
	harness.Must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files of the backup differ (-want +got):\n%s", diff)
	}
	if got := w.Mirror.LedgerFile(); got != "state/runs.jsonl" {
		t.Errorf("the ledger is %s, want state/runs.jsonl", got)
	}

	// A file is not listed if only a damaged manifest names it, or only a manifest under the name of another day.
	harness.Must(t, os.Rename(w.Folder.DayManifestPath("2026-11-02"), w.Folder.DayManifestPath("2026-11-04")))
	flipBit(t, w.Folder.RunManifestPath(firstNight), 40)
	got, err = w.Mirror.Files()
	harness.Must(t, err)
	if slices.ContainsFunc(got, func(f checksum.FileSum) bool {
		return f.File == parquetName(second) || strings.HasSuffix(f.File, firstNight+".changes")
	}) ||
		!slices.Contains(got, checksum.FileSum{File: "parquet/.meta/" + firstNight + ".json"}) {
		t.Errorf("with damaged manifests the files are %v, want the manifests but not the files that they name", got)
	}

	editManifest(t, w, filepath.Join(w.Folder.VersionPath(secondNight), "manifest.json"), func(m *warehouse.Manifest) { m.Format++ })
	if _, err := w.Mirror.Files(); !errors.As(err, new(*warehouse.NewerError)) {
		t.Errorf("the error of a backup of a newer warehouse is %v, want a NewerError", err)
	}
}

// TestCopiesOfASeriesFileAreFound lists the files from which a damaged Parquet file can be copied.
func TestCopiesOfASeriesFileAreFound(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one", "two")
	writeFiles(t, w, "parquet/.replaced/"+firstNight+"/product_listing_tags.parquet")
	want := []string{path(w, "parquet", ".replaced", firstNight, tagsFile), filepath.Join(w.Folder.VersionPath(firstNight), tagsFile), filepath.Join(w.Folder.VersionPath(secondNight), tagsFile)}
	if got := w.Mirror.Copies("parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet"); !slices.Equal(got, want) {
		t.Errorf("the copies are %v, want %v", got, want)
	}
	for _, file := range []string{"parquet/.manifests/index.json", "state/runs.jsonl"} {
		if got := w.Mirror.Copies(file); len(got) > 0 {
			t.Errorf("the copies of %s are %v, want none", file, got)
		}
	}
}

// TestRestoredFilesAppearWhole restores files of a backup, and compares their modes. If a second restore of a
// file fails, the file must be unchanged.
func TestRestoredFilesAppearWhole(t *testing.T) {
	const parquet, state = "parquet/orders/snapshot_date=2026-11-01/orders.parquet", "state/inbox/a.log"
	for publishedMode, want := range map[fs.FileMode]map[string]fs.FileMode{
		0:     {parquet: 0o644 &^ umask(t), state: 0o600},
		0o640: {parquet: 0o640, state: 0o600},
	} {
		w := openWith(t, warehouse.Config{PublishedMode: publishedMode})
		for file, mode := range want {
			harness.Must(t, w.Mirror.Restore(file, func(f *os.File) error {
				_, err := f.WriteString("restored")
				return err
			}))
			info, err := os.Stat(path(w, filepath.FromSlash(file)))
			if err != nil || info.Mode().Perm() != mode || contentOf(t, path(w, filepath.FromSlash(file))) != "restored" {
				t.Errorf("%s has %v (%v), want the mode %v and the content restored", file, info, err, mode)
			}
			fillErr := errors.New("the connection was reset")
			if err := w.Mirror.Restore(file, func(f *os.File) error {
				_, err := f.WriteString("half")
				return errors.Join(err, fillErr)
			}); !errors.Is(err, fillErr) {
				t.Errorf("the error of restoring %s is %v, want %v", file, err, fillErr)
			}
			if got := contentOf(t, path(w, filepath.FromSlash(file))); got != "restored" {
				t.Errorf("after a failure %s contains %q, want restored", file, got)
			}
		}
		if err := w.Mirror.Restore("versions/a", func(*os.File) error { return nil }); err == nil || exists(t, path(w, "versions")) {
			t.Errorf("the error of restoring a file outside of parquet/ and state/ is %v, want an error and no file", err)
		}
	}
}

// umask returns the bits that the umask of the process removes from the mode of a new file.
func umask(t *testing.T) fs.FileMode {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a")
	f, err := os.OpenFile(file, os.O_CREATE, 0o666)
	harness.Must(t, err)
	info, err := f.Stat()
	harness.Must(t, errors.Join(err, f.Close()))
	return 0o666 &^ info.Mode().Perm()
}

// TestARestoreDestroysNoWarehouse checks that a backup can only be restored into a folder without
// published snapshots, or after a complete restore of the same backup.
func TestARestoreDestroysNoWarehouse(t *testing.T) {
	published := ledger.Run{ID: firstNight, Outcome: ledger.Complete, SnapshotAt: firstNightAt}
	for name, c := range map[string]struct {
		runs       []ledger.Run
		hasVersion bool
		isRestored bool
		isAllowed  bool
	}{
		"an empty folder":                        {nil, false, false, true},
		"a folder with a version":                {nil, true, true, false},
		"a ledger with a published run":          {[]ledger.Run{published}, false, false, false},
		"the ledger of the backup":               {[]ledger.Run{published}, false, true, true},
		"a ledger with only a failed run":        {[]ledger.Run{{ID: firstNight, Outcome: ledger.Failed}}, false, false, true},
		"a version and the ledger of the backup": {[]ledger.Run{published}, true, true, false},
	} {
		w := open(t)
		for _, r := range c.runs {
			harness.Must(t, w.RunLog.Record(r))
		}
		if c.hasVersion {
			harness.Must(t, os.MkdirAll(w.Folder.VersionPath(firstNight), 0o700))
		}
		err := w.Mirror.CheckEmpty(c.isRestored)
		if (err == nil) != c.isAllowed || err != nil && (!strings.Contains(err.Error(), w.Folder.Dir()) || !strings.Contains(err.Error(), "nothing was changed")) {
			t.Errorf("%s: got error %v, want no error: %t", name, err, c.isAllowed)
		}
	}
}
