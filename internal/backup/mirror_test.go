package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestOnlyFilesOfABackupAreRestored checks names that the manifest of a backup could contain.
// Only clean names of files in parquet/ and state/ are valid.
func TestOnlyFilesOfABackupAreRestored(t *testing.T) {
	w := warehouse.New(warehouse.Config{Dir: t.TempDir()})
	for _, name := range []string{"", "../x", "/etc/x", "state", "state/", "state/../../x", "state/../latest", "state/./x", "state//x", `state/a\b`,
		"parquet/../versions/r/catalog.duckdb", "parquet/../../x", "versions/r/catalog.duckdb", "state/lock", "state/backup.lock"} {
		if path, err := pathOf(w, name); err == nil {
			t.Errorf("pathOf(%q) returned %s, want an error", name, path)
		}
	}
	for _, name := range []string{"state/runs.jsonl", "parquet/.manifests/2026-11-20.json", "parquet/outlets/2026-11-20/outlets.parquet"} {
		if path, err := pathOf(w, name); err != nil || path != filepath.Join(w.Folder.Dir(), name) {
			t.Errorf("pathOf(%q) returned %s (%v), want the path below the warehouse", name, path, err)
		}
	}
}

// TestFilesOfRunningCommandsAreNotBackedUp lists a warehouse with locks, the cache, a scratch folder and a link.
func TestFilesOfRunningCommandsAreNotBackedUp(t *testing.T) {
	w := warehouse.New(warehouse.Config{Dir: t.TempDir()})
	for _, name := range []string{"state/.sealed.12345.x/past.orders.parquet", "state/lock", "state/backup.lock", "state/seen/list", "state/inbox/one", "parquet/.meta/one"} {
		path := filepath.Join(w.Folder.Dir(), name)
		harness.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		harness.Must(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	harness.Must(t, os.Symlink("/etc/hostname", w.Folder.Path("state", "link"))) // to a file of the user
	files, err := filesOf(w)
	if err != nil || len(files) != 2 || files[0].File != "state/inbox/one" || files[1].File != "parquet/.meta/one" {
		t.Errorf("a backup contains %v (%v), want state/inbox/one and parquet/.meta/one", files, err)
	}
	inFile := warehouse.New(warehouse.Config{Dir: w.Folder.Path("state", "lock")})
	if files, err := listFiles(inFile, "parquet"); err == nil {
		t.Errorf("of a folder that cannot be read a backup contains %v and no error", files)
	}
	harness.Must(t, os.RemoveAll(w.Folder.Path("parquet")))
	if files, err := filesOf(w); err != nil || len(files) != 1 {
		t.Errorf("without a series a backup contains %v (%v), want state/inbox/one", files, err)
	}
}

// writeFiles writes files below the folder of a warehouse. The content of each file is its name.
func writeFiles(t *testing.T, w *warehouse.Warehouse, names ...string) {
	t.Helper()
	for _, name := range names {
		file := w.Folder.Path(name)
		harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), 0o600)))
	}
}

// TestABackupHasTheFilesOfTheSeriesAndTheState lists the files for a backup. The warehouse has two
// nights, a missing Parquet file, and files that do not belong to a backup.
func TestABackupHasTheFilesOfTheSeriesAndTheState(t *testing.T) {
	f := newFixture(t)
	w := f.config.Warehouse
	const firstNight, secondNight = "20261102T020000Z", "20261103T020000Z"
	var nights []warehouse.Manifest
	for _, run := range []string{firstNight, secondNight} {
		f.night()
		m, err := w.Versions.ReadManifest(run)
		harness.Must(t, err)
		nights = append(nights, m)
	}
	first, second := nights[0], nights[1]
	writeFiles(t, w, "state/inbox/a.log", "state/seen/orders", "state/lock", "state/.temporary",
		"parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet", // the manifest of this day is lost
		"parquet/product_listing_tags/snapshot_date=2026-11-04/product_listing_tags.parquet", // a night is writing this day
		"parquet/.replaced/"+firstNight+"/product_listing_tags.parquet", "parquet/.meta/20261104T020000Z.changes", "parquet/notes.txt",
		"versions/notes.txt", "raw/"+firstNight+"/journal.jsonl")
	harness.Must(t, os.Remove(w.Series.FilePath(first.Tables[0], first.SnapshotAt)))

	sumOf := func(name string) checksum.FileSum {
		data, err := os.ReadFile(w.Folder.Path(name))
		harness.Must(t, err)
		return checksum.SumText(name, data)
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
		sumOf("parquet/.manifests/index.json"), sumOf("parquet/.manifests/snapshot_date=2026-11-02.json"), sumOf("parquet/.manifests/snapshot_date=2026-11-03.json"),
		renamed(first.Meta.FileSum, "parquet/.meta/"+firstNight+".changes"), sumOf("parquet/.meta/" + firstNight + ".json"),
		renamed(second.Meta.FileSum, "parquet/.meta/"+secondNight+".changes"), sumOf("parquet/.meta/" + secondNight + ".json"),
		{File: "parquet/notes.txt"}, {File: "parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet"},
		renamed(second.Tables[0].FileSum, parquetName(second)), renamed(first.Tables[0].FileSum, parquetName(first)),
	}
	got, err := filesOf(w)
	harness.Must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files of the backup differ (-want +got):\n%s", diff)
	}
	if got := ledgerName(w); got != "state/runs.jsonl" {
		t.Errorf("the ledger is %s, want state/runs.jsonl", got)
	}

	// A file is not listed if only a damaged manifest names it, or only a manifest under the name of another day.
	// The files of the other manifests are listed with their checksums.
	harness.Must(t, os.Rename(w.Folder.DayManifestPath("2026-11-03"), w.Folder.DayManifestPath("2026-11-01")))
	writeFiles(t, w, "parquet/.manifests/snapshot_date=2026-10-31.json")
	harness.Must(t, os.Truncate(w.Folder.RunManifestPath(firstNight), 40))
	got, err = filesOf(w)
	harness.Must(t, err)
	if slices.ContainsFunc(got, func(f checksum.FileSum) bool {
		return f.File == parquetName(second) || strings.HasSuffix(f.File, firstNight+".changes")
	}) ||
		!slices.Contains(got, checksum.FileSum{File: "parquet/.meta/" + firstNight + ".json"}) {
		t.Errorf("with damaged manifests the files are %v, want the manifests but not the files that they name", got)
	}
	for _, intact := range []checksum.FileSum{
		renamed(first.Tables[0].FileSum, parquetName(first)),
		renamed(second.Meta.FileSum, "parquet/.meta/"+secondNight+".changes"),
	} {
		if !slices.Contains(got, intact) {
			t.Errorf("with damaged manifests the files are %v, want also %v of an intact manifest", got, intact)
		}
	}

	second.Format++
	harness.Must(t, w.Folder.WriteSealed(filepath.Join(w.Folder.VersionPath(secondNight), warehouse.ManifestFile), second))
	if _, err := filesOf(w); !errors.As(err, new(*warehouse.NewerError)) {
		t.Errorf("the error of a backup of a newer warehouse is %v, want a NewerError", err)
	}
}

// TestCopiesOfASeriesFileAreFound lists the files from which a damaged Parquet file can be copied.
func TestCopiesOfASeriesFileAreFound(t *testing.T) {
	f := newFixture(t)
	w := f.config.Warehouse
	f.night()
	f.night()
	const firstNight, secondNight, tagsFile = "20261102T020000Z", "20261103T020000Z", table + ".parquet"
	writeFiles(t, w, "parquet/.replaced/"+firstNight+"/product_listing_tags.parquet")
	want := []string{w.Folder.Path("parquet", ".replaced", firstNight, tagsFile), filepath.Join(w.Folder.VersionPath(firstNight), tagsFile), filepath.Join(w.Folder.VersionPath(secondNight), tagsFile)}
	if got := copiesOf(w, "parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet"); !slices.Equal(got, want) {
		t.Errorf("the copies are %v, want %v", got, want)
	}
	for _, file := range []string{"parquet/.manifests/index.json", "state/runs.jsonl"} {
		if got := copiesOf(w, file); len(got) > 0 {
			t.Errorf("the copies of %s are %v, want none", file, got)
		}
	}
}
