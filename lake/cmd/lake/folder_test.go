package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/lake/internal/lake"
)

// tableFolders returns the folders of all tables of the lake.
func (h *fixture) tableFolders() []string {
	h.Helper()
	folders, err := filepath.Glob(h.path("lake/placements_*/*"))
	h.must(err)
	return slices.DeleteFunc(folders, func(folder string) bool { return strings.HasSuffix(folder, ".json") })
}

// metadataFilesIn returns the metadata files in the folder of a table, the newest first. Files with the same
// number are an error, because it is not defined which of them a reader takes.
func (h *fixture) metadataFilesIn(folder string) []string {
	h.Helper()
	files, err := filepath.Glob(folder + "/metadata/*.metadata.json")
	h.must(err)
	number := func(file string) int {
		digits, _, _ := strings.Cut(filepath.Base(file), "-")
		n, err := strconv.Atoi(digits)
		h.must(err)
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
	for i := range files[1:] {
		if number(files[i]) == number(files[i+1]) {
			h.Errorf("%s and %s have the same number", files[i], files[i+1])
		}
	}
	return files
}

// wrongTablesOfFolderReaders returns the tables of which a reader of the folder does not see the committed
// state. Like ClickHouse, this reader takes the metadata file with the highest number.
func (h *fixture) wrongTablesOfFolderReaders() (wrong []string) {
	h.Helper()
	for _, folder := range h.tableFolders() {
		namespace, table := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		if newest := h.metadataFilesIn(folder)[0]; newest != h.metadataFile(namespace, table) {
			wrong = append(wrong, namespace+"."+table)
		}
	}
	return wrong
}

// TestFolderReadersSeeACommittedNight reads the lake as a reader of its folder at each step of a publish. Such a
// reader must see only the earlier night until the first metadata file is renamed, and the new night after the
// publish. A cut file must never have the name of a metadata file.
func TestFolderReadersSeeACommittedNight(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	h.night()
	renamed := 0
	h.step = func(name, _ string) error {
		for _, folder := range h.tableFolders() {
			for _, file := range h.metadataFilesIn(folder) {
				h.readMetadata(file)
			}
		}
		if wrong := h.wrongTablesOfFolderReaders(); len(wrong) != renamed && name != "after commit catalog" && !strings.Contains(name, "removal") {
			t.Errorf("at the step %q readers of the folder see another state of %d tables, want %d: %v", name, len(wrong), renamed, wrong)
		}
		if name == "before rename metadata" {
			renamed++
		}
		return nil
	}
	h.publish()
	h.step = nil
	if tables := len(h.tableFolders()); renamed != tables {
		t.Errorf("renamed %d metadata files, want one for each of %d tables", renamed, tables)
	}
	h.requireCleanFolders()
}

// requireCleanFolders checks that readers of the folder see the committed state of every table, and that no
// table has more metadata files than its log, or temporary files.
func (h *fixture) requireCleanFolders() {
	h.Helper()
	if wrong := h.wrongTablesOfFolderReaders(); len(wrong) > 0 {
		h.Errorf("readers of the folder see another state of %v", wrong)
	}
	for _, folder := range h.tableFolders() {
		files := h.metadataFilesIn(folder)
		var logged []string
		entries, _ := h.readMetadata(files[0])["metadata-log"].([]any) // a new table has none
		for _, entry := range entries {
			logged = append(logged, strings.TrimPrefix(entry.(map[string]any)["metadata-file"].(string), "file://"))
		}
		slices.Reverse(logged)
		if !slices.Equal(files[1:], logged) {
			h.Errorf("%s has the earlier metadata files %v, want those of its log: %v", folder, files[1:], logged)
		}
		if hidden, _ := filepath.Glob(folder + "/metadata/.*"); len(hidden) > 0 {
			h.Errorf("temporary files remain: %v", hidden)
		}
	}
}

// TestPublishAfterAKillRepairsTheFolder kills a publish after it has renamed a part of the metadata files. The
// catalog must show the earlier night. The next publish must show the new night to all readers, and remove
// the files of the killed one.
func TestPublishAfterAKillRepairsTheFolder(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	second := h.night()
	const killedAt = 4
	h.kill("before rename metadata", killedAt)
	if wrong := h.wrongTablesOfFolderReaders(); len(wrong) != killedAt-1 {
		t.Fatalf("after the kill readers of the folder see another state of %v, want %d tables", wrong, killedAt-1)
	}
	if run := h.shownRun(); run != first {
		t.Errorf("the lake shows %s, want %s", run, first)
	}
	h.publish()
	if run := h.shownRun(); run != second {
		t.Errorf("the lake shows %s, want %s", run, second)
	}
	h.requireCleanFolders()
}

// TestFirstPublishAfterAKillRepairsTheFolder is like TestPublishAfterAKillRepairsTheFolder for a lake without an
// earlier night. The catalog then has no table to which the leftover files belong, so they are kept.
func TestFirstPublishAfterAKillRepairsTheFolder(t *testing.T) {
	h := newFixture(t, 1)
	h.kill("before rename metadata", 4)
	h.publish()
	if wrong := h.wrongTablesOfFolderReaders(); len(wrong) > 0 {
		t.Errorf("readers of the folder see another state of %v", wrong)
	}
	h.requireEqualTables(h.shownRun())
}

// TestPublishReplacesACutMetadataFile plants a cut metadata file that is newer than the committed one, although
// the lake shows the newest night. The next publish must write a newer one and remove the cut file.
func TestPublishReplacesACutMetadataFile(t *testing.T) {
	h := newFixture(t, 1)
	run := h.publish()[0].Run
	const cut = "lake/placements_current/product_listings/metadata/00007-cut.metadata.json"
	h.write(cut, `{"format-version":2,"table-uu`)
	if p := h.publish(); p[0].AlreadyPublished || p[0].Replaced+p[0].Appended > 0 {
		t.Errorf("published %+v, want only new metadata", p)
	}
	if _, err := os.Stat(h.path(cut)); err == nil {
		t.Error("the cut file was not removed")
	}
	h.requireCleanFolders()
	h.requireEqualTables(run)
	if p := h.publish(); !p[0].AlreadyPublished {
		t.Errorf("the next publish returned %+v, want already published", p)
	}
}

// TestOldNightsLeaveTheLake publishes more nights than the lake keeps. Tags, snapshots and files of older
// nights must be gone without the command expire, and the kept nights must be readable.
func TestOldNightsLeaveTheLake(t *testing.T) {
	h := newFixture(t, 1)
	h.keepNights(3)
	const nights = 9
	files := make([]int, nights)
	var runs []string
	for i := range nights {
		if i > 0 {
			h.night()
		}
		runs = append(runs, h.publish()[0].Run)
		files[i] = len(h.filesOfLake())
	}
	if s := h.status(); !slices.Equal(s.Nights, runs[nights-3:]) {
		t.Errorf("the lake has the nights %v, want %v", s.Nights, runs[nights-3:])
	}
	for _, run := range runs[nights-3:] {
		h.requireEqualTables(run)
	}
	h.requireCleanFolders()
	for _, table := range h.status().Tables {
		if table.Snapshots > 3 {
			t.Errorf("%s has %d snapshots, want at most 3", table.Table, table.Snapshots)
		}
	}
	for _, run := range runs[:nights-3] {
		if old := h.dataFiles("product_listings", run); len(old) > 0 {
			t.Errorf("the night %s has the files %v, want none", run, old)
		}
	}
	h.makeFilesOld()
	var e lake.Expired
	h.mustSucceed(&e, "expire", "--dry-run")
	if e.Files > 0 || len(e.Nights) > 0 {
		t.Errorf("expire finds %+v, want nothing to remove", e)
	}
}

// TestFilesInUseByCopiesAreKept registers a copy of a table in the catalog. The publish that removes the night of
// the copy must keep all files to which the copy refers.
func TestFilesInUseByCopiesAreKept(t *testing.T) {
	h := newFixture(t, 1)
	h.keepNights(1)
	first := h.publish()[0].Run
	h.registerTable("placements_current", "listings_frozen", h.copyMetadata("product_listings"))
	h.registerTable("analysts", "prices_frozen", h.metadataFile("placements_current", "product_listing_prices"))
	second := h.night()
	h.publish()
	for _, table := range []string{"product_listings", "product_listing_prices"} {
		if len(h.dataFiles(table, first)) == 0 || len(h.dataFiles(table, second)) == 0 {
			t.Errorf("%s has the files %v, want files of both nights", table, h.dataFiles(table, ""))
		}
	}
	removed := 0
	for _, folder := range h.tableFolders() {
		table := filepath.Base(folder)
		if strings.HasPrefix(table, "product_listing") || len(h.dataFiles(table, second)) == 0 {
			continue
		}
		removed++
		if got := h.dataFiles(table, first); len(got) > 0 {
			t.Errorf("%s has the files %v of the removed night", table, got)
		}
	}
	if removed == 0 {
		t.Error("no table without a copy changed, so no removal was checked")
	}
	h.requireEqualTables(second)
}

// TestOldFilesThatCannotBeRemoved makes the removal of old files fail. The night must be in the lake, and
// expire must remove the files.
func TestOldFilesThatCannotBeRemoved(t *testing.T) {
	h := newFixture(t, 1)
	h.keepNights(1)
	first := h.publish()[0].Run
	second := h.night()
	h.failAt("before removal data")
	h.mustFail(3, "the night was committed to the lake: run \"placementsync lake expire\"", "publish")
	h.failAt("")
	h.requireEqualTables(second)
	h.makeFilesOld()
	if got := h.run("expire"); got.code != 0 {
		t.Errorf("expire: got %+v, want exit code 0", got)
	}
	if got := h.dataFiles("product_listings", first); len(got) > 0 {
		t.Errorf("the files %v remain", got)
	}
}

// TestLakeHasThePublishedMode publishes a night without warehouse.published_mode, and the next with it: the
// folders and the catalog must then have the mode, and all files of that night. A new lake must have it as a whole.
func TestLakeHasThePublishedMode(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	unchanged, err := filepath.Glob(h.path("lake/*/*/data")) // of tables without new files; the folders above are private
	h.must(err)
	unchanged = append(append(unchanged, h.filesOfLake()...), h.path("lake"))
	h.night()
	h.publishWithMode("0600", "lake")
	h.requireMode("lake", 0o600, 0o700, unchanged)
	h.publishWithMode("0640", "group")
	h.requireMode("group", 0o640, 0o750, nil)
}

func (h *fixture) publishWithMode(mode, folder string) {
	h.Helper()
	h.write("config.yaml", fmt.Sprintf("warehouse: {dir: ./warehouse, keep_versions: 9, memory_limit: 256MB, threads: 1, published_mode: %q}\n"+
		"lake: {catalog: sqlite, warehouse: %s}\n", mode, h.path(folder)))
	h.publish()
}

// requireMode checks the mode of all files and folders in a folder, except the given ones.
func (h *fixture) requireMode(folder string, file, dir fs.FileMode, except []string) {
	h.Helper()
	h.must(filepath.WalkDir(h.path(folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || slices.Contains(except, path) {
			return err
		}
		want := file
		if e.IsDir() {
			want = dir
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm() != want {
			h.Errorf("%s has the mode %#o, want %#o", path, info.Mode().Perm(), want)
		}
		return err
	}))
}
