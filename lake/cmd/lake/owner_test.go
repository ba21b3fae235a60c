package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/lake/internal/lake"
)

// makeFilesOld sets the times of all files of the lake to four days ago, so that expire removes
// unreferenced files.
func (h *fixture) makeFilesOld() {
	h.Helper()
	for _, file := range h.filesOfLake() {
		old := time.Now().AddDate(0, 0, -4)
		h.must(os.Chtimes(file, old, old))
	}
}

// registerTable adds a table to the catalog, as the procedure register_table of an engine does.
func (h *fixture) registerTable(namespace, name, metadata string) {
	h.Helper()
	db, err := sql.Open("sqlite", h.path("lake/catalog.db"))
	h.must(err)
	defer db.Close()
	_, err = db.ExecContext(h.Context(), "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('placementsync', ?, ?, ?)",
		namespace, name, "file://"+metadata)
	h.must(err)
}

// copyMetadata writes a copy of a table's metadata with another location.
func (h *fixture) copyMetadata(table string) (path string) {
	h.Helper()
	data, err := os.ReadFile(h.metadataFile("placements_current", table))
	h.must(err)
	locationPrefix := `"location":"file://` + h.path("lake/")
	text := strings.Replace(string(data), locationPrefix+"/placements_current/"+table+`"`, locationPrefix+`/analysts"`, 1)
	if text == string(data) {
		h.Fatalf("the metadata of %s contain no location: %.300s", table, text)
	}
	path = h.path("analysts.metadata.json")
	h.write("analysts.metadata.json", text)
	return path
}

// dataFiles lists the data files that a night added to a table.
func (h *fixture) dataFiles(table, run string) []string {
	h.Helper()
	return slices.DeleteFunc(h.filesOfLake(), func(file string) bool { return !strings.Contains(file, "/placements_current/"+table+"/data/"+run) })
}

// TestSecondCatalogIsRefused publishes into the folder of another catalog. The commands must fail and
// remove no file. With another namespace, publish must succeed.
func TestSecondCatalogIsRefused(t *testing.T) {
	h := newFixture(t, 1)
	run := h.publish()[0].Run
	h.makeFilesOld()
	files := h.filesOfLake()
	for _, section := range []string{"catalog: sqlite, warehouse: ./lake, name: staging", "catalog: 'sqlite:other.db', warehouse: ./lake"} {
		h.configureLake(section)
		for _, command := range []string{"publish", "check"} {
			h.mustFail(1, `names the catalog "placementsync" as the owner`, command)
		}
		h.mustFail(1, "placements_owner.json", "expire")
		if got := h.filesOfLake(); !slices.Equal(got, files) {
			t.Errorf("%s: the folder has %d files, want %d as before", section, len(got), len(files))
		}
	}
	h.configureLake("catalog: sqlite, warehouse: ./lake, namespace: others")
	h.publish()
	h.requireEqualTables(run)
	h.configureLake("catalog: sqlite, warehouse: ./lake")
	h.requireEqualTables(run)
}

// TestLostCatalogIsReported removes the catalog. The next publish must not start a new lake
// beside the existing files.
func TestLostCatalogIsReported(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	h.must(os.Rename(h.path("lake/catalog.db"), h.path("kept.db")))
	second := h.night()
	h.makeFilesOld()
	files := h.filesOfLake()
	h.mustFail(1, "restore the catalog", "publish", "--all")
	h.mustFail(1, "restore the catalog", "expire")
	if got := h.filesOfLake(); !slices.Equal(got, files) {
		t.Errorf("the folder has %d files, want %d as before", len(got), len(files))
	}
	h.must(os.Rename(h.path("kept.db"), h.path("lake/catalog.db")))
	h.requireEqualTables(first)
	h.publish()
	h.requireEqualTables(second)
}

// TestOwnerFileIsWrittenAfterTheCommit makes one publish fail before the commit, one after the commit, and
// one at the writing of the owner file. The next publish must write the owner file. A publish must fail if
// the owner file is damaged, and succeed after the file is removed.
func TestOwnerFileIsWrittenAfterTheCommit(t *testing.T) {
	h := newFixture(t, 1)
	for _, failingStep := range []string{"before commit catalog", "after commit catalog"} {
		h.failAt(failingStep)
		h.mustFail(1, syscall.EIO.Error(), "publish")
		if _, err := os.Stat(h.path("lake/placements_owner.json")); err == nil {
			t.Errorf("failed %s: the owner file exists", failingStep)
		}
	}
	h.step = func(_, path string) error {
		if strings.HasSuffix(path, "_owner.json") {
			return syscall.EIO
		}
		return nil
	}
	h.mustFail(3, "the night was committed to the lake: run \"placementsync lake publish --all\" again", "publish")
	h.step = nil
	h.mustFail(1, "placements_owner.json is missing", "expire")
	if p := h.publish(); !p[0].AlreadyPublished {
		t.Errorf("the next publish returned %+v, want already published", p)
	}
	h.write("lake/placements_owner.json", "{")
	h.mustFail(1, "placements_owner.json", "publish")
	h.must(os.Remove(h.path("lake/placements_owner.json")))
	h.publish()
	if got := h.run("expire"); got.code != 0 {
		t.Errorf("expire: got %+v, want exit code 0", got)
	}
}

// TestNoFileIsRemovedWithoutAnOwner removes the owner file. A file that this catalog does not know may then be of another catalog.
func TestNoFileIsRemovedWithoutAnOwner(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	other := filepath.Join(filepath.Dir(h.metadataFile("placements_current", "product_listing_prices")), "00000-other.metadata.json")
	h.must(os.WriteFile(other, []byte("{}"), 0o600))
	h.must(os.Remove(h.path("lake/placements_owner.json")))
	h.night()
	before := h.filesOfLake()
	h.publish()
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of another catalog: %v, want it kept", err)
	}
	tablesOf := func(files []string) map[string]bool {
		folders := map[string]bool{}
		for _, file := range files {
			if strings.Contains(file, "placements_current/") && filepath.Ext(file) == ".parquet" {
				folders[filepath.Dir(file)] = true
			}
		}
		return folders
	}
	added := slices.DeleteFunc(h.filesOfLake(), func(file string) bool { return slices.Contains(before, file) })
	if changed, all := tablesOf(added), tablesOf(before); len(changed) >= len(all) {
		t.Errorf("the night wrote the files of %d of %d tables again, want only those of changed tables", len(changed), len(all))
	}
}

// TestExpireKeepsTheFilesOfItsCommit makes all files old while expire commits.
func TestExpireKeepsTheFilesOfItsCommit(t *testing.T) {
	h := newFixture(t, 2)
	h.publish("--all")
	h.keepNights(1)
	h.step = func(name, _ string) error {
		if name == "after commit catalog" {
			h.makeFilesOld()
		}
		return nil
	}
	if got := h.run("expire"); got.code != 0 {
		t.Fatalf("expire: got %+v, want exit code 0", got)
	}
	h.step = nil
	h.requireEqualTables(h.shownRun())
}

// TestExpireKeepsFilesOfOtherTables registers copies of tables in the catalog. expire must keep
// the files to which the copies refer.
func TestExpireKeepsFilesOfOtherTables(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	h.registerTable("placements_current", "listings_frozen", h.copyMetadata("product_listings"))
	h.registerTable("analysts", "prices_frozen", h.metadataFile("placements_current", "product_listing_prices"))
	frozenFiles := map[string][]string{}
	for _, table := range []string{"product_listings", "product_listing_prices"} {
		if frozenFiles[table] = h.dataFiles(table, first); len(frozenFiles[table]) == 0 {
			t.Fatalf("%s has no files", table)
		}
	}
	keptNights := []string{h.night(), h.night()}
	h.publish("--all")
	h.makeFilesOld()
	h.keepNights(2)
	var e lake.Expired
	h.mustSucceed(&e, "expire")
	if want := []string{"placements_current.product_listing_prices"}; !slices.Equal(e.Nights, []string{first}) || !slices.Equal(e.Shared, want) || e.Files == 0 {
		t.Errorf("expired %+v, want the night %s, shared tables %v and some files", e, first, want)
	}
	for table, files := range frozenFiles {
		if got := h.dataFiles(table, first); !slices.Equal(got, files) {
			t.Errorf("%s has the files %v, want %v as before", table, got, files)
		}
	}
	for _, run := range keptNights {
		h.requireEqualTables(run)
	}
}
