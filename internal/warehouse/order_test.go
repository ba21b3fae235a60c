package warehouse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/warehouse"
)

// TestPublishSyncsBeforeReadersDependOnIt records the changes of a second run of a day, which replaces the version and
// the day of the first. After a power cut at any of them, readers and the series must find whole files: a name is
// made only for synced files, and an old file is removed only when no reader needs it.
func TestPublishSyncsBeforeReadersDependOnIt(t *testing.T) {
	folder := openFullNights(t, 1, "one").Folder
	const second = "20261101T030000Z"
	var changes []string
	// The step "before fsync beside of the draft" is recorded as "fsync beside", with the path.
	recordChange := func(step, path string) error {
		change, isBefore := strings.CutPrefix(step, "before ")
		if isBefore {
			changes = append(changes, actionOf(change)+" "+strings.ReplaceAll(folder.Relative(path), second, "RUN"))
		}
		return nil
	}
	w := openWith(t, warehouse.Config{Dir: folder.Dir(), KeepVersions: 1, Step: recordChange})
	publishFull(t, w, second, "two")

	const draft = "versions/.RUN.draft"
	manifest := slices.Index(changes, "write "+draft+"/manifest.json")
	if manifest < 0 {
		t.Fatalf("no manifest was written: %q", changes)
	}
	// The files of a draft are synced at the same time.
	for _, file := range []string{"run.json", "catalog.duckdb", "product_listing_tags.parquet", "meta.changes"} {
		if !slices.Contains(changes[:manifest], "fsync "+draft+"/"+file) {
			t.Errorf("%s was not synced before the manifest with its checksum was written", file)
		}
	}
	rename := slices.Index(changes, "rename "+draft+"/catalog.duckdb")
	if rename < 0 {
		t.Fatalf("the catalog was not renamed: %q", changes)
	}
	if !slices.Contains(changes[rename:], "fsync "+draft+"/catalog.duckdb") {
		t.Error("the catalog was not synced after its last change")
	}
	const day = "parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet"
	want := []string{
		"write " + draft + "/manifest.json", "fsync " + draft + "/manifest.json", "rename " + draft + "/manifest.json",
		"fsync beside " + draft + "/manifest.json",
		"fsync " + draft,
		"removal versions/RUN", "rename versions/RUN", "fsync beside versions/RUN",
		"link latest", "rename latest", "fsync beside latest", // from here on readers see the version
		"copy parquet/.meta/.RUN.changes.next", "fsync parquet/.meta/.RUN.changes.next", "rename parquet/.meta/RUN.changes",
		"fsync beside parquet/.meta/RUN.changes",
		"copy parquet/.meta/.RUN.json.next", "fsync parquet/.meta/.RUN.json.next", "rename parquet/.meta/RUN.json",
		"fsync beside parquet/.meta/RUN.json",
		// The file of the first run is linked before it is replaced.
		"fsync above parquet/.replaced", "fsync above parquet/.replaced/" + firstNight,
		"link parquet/.replaced/" + firstNight + "/product_listing_tags.parquet", "rename parquet/.replaced/" + firstNight + "/product_listing_tags.parquet",
		"fsync beside parquet/.replaced/" + firstNight + "/product_listing_tags.parquet",
		"link " + day, "rename " + day, "fsync beside " + day,
		// The manifest names all files of the day, and the index all days.
		"copy parquet/.manifests/.snapshot_date=2026-11-01.json.next", "fsync parquet/.manifests/.snapshot_date=2026-11-01.json.next",
		"rename parquet/.manifests/snapshot_date=2026-11-01.json", "fsync beside parquet/.manifests/snapshot_date=2026-11-01.json",
		"write parquet/.manifests/index.json", "fsync parquet/.manifests/index.json", "rename parquet/.manifests/index.json",
		"fsync beside parquet/.manifests/index.json",
		"removal parquet/.replaced",
		"removal versions/" + firstNight, "fsync versions", "emptying versions/" + firstNight,
		"write state/runs.jsonl", "fsync state/runs.jsonl",
	}
	if diff := cmp.Diff(want, changes[manifest:]); diff != "" {
		t.Errorf("changes after the files of the draft are complete (-want +got):\n%s", diff)
	}
}

// actionOf returns the action at the beginning of the name of a change.
func actionOf(change string) string {
	for _, action := range []string{"fsync beside", "fsync above"} {
		if strings.HasPrefix(change, action) {
			return action
		}
	}
	action, _, _ := strings.Cut(change, " ")
	return action
}

// TestTheFirstNightLinksTheCatalogBeforeTheSwitch publishes a first night. After a kill between both links, readers would find
// Parquet files but no catalog until the next night.
func TestTheFirstNightLinksTheCatalogBeforeTheSwitch(t *testing.T) {
	w, steps := openRecording(t, open(t))
	publish(t, w, firstNight, "one")
	catalog, latest := slices.Index(*steps, "after fsync beside catalog.duckdb"), slices.Index(*steps, "before link latest")
	if catalog < 0 || catalog > latest {
		t.Errorf("the catalog was linked in step %d and the version in step %d, want the catalog first: %q", catalog, latest, *steps)
	}
}
