package repair_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// TestRepairWritesTheManifestOfADayLast records the changes of a repair of all kinds of files. After a power cut at any
// of them the next repair must find what is left to do: a name is made only for a synced file, the manifest of a day
// after its files, and the index after all days.
func TestRepairWritesTheManifestOfADayLast(t *testing.T) {
	w := twoNights(t)
	d, changesFile := damager{t, w}, "parquet/.meta/"+firstNight+".changes"
	d.remove(series1, series2, manifest2, "parquet/.manifests/index.json", changesFile)
	d.flip(version1 + "run.json")
	var changes []string
	recorded := openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, path string) error {
		if change, ok := strings.CutPrefix(name, "before "); ok {
			action, _, _ := strings.Cut(strings.Replace(change, "fsync beside", "fsync-beside", 1), " ")
			changes = append(changes, action+" "+w.Folder.Relative(path))
		}
		return nil
	}})
	if _, err := repair.RepairFromCopies(t.Context(), recorded); err != nil {
		t.Fatal(err)
	}
	written := func(file string) []string {
		return []string{"write " + file, "fsync " + file, "rename " + file, "fsync-beside " + file}
	}
	want := slices.Concat(
		// A damaged copy of a ledger line gets a new checksum in all manifests of its run, that of the day last: until
		// then the next repair finds the old checksum there.
		written(version1+"run.json"), written(version1+"manifest.json"), written("parquet/.meta/"+firstNight+".json"), written(manifest1),
		[]string{"link " + series1, "rename " + series1, "fsync-beside " + series1},
		[]string{"link " + series2, "rename " + series2, "fsync-beside " + series2}, written(manifest2),
		[]string{"copy parquet/.meta/." + firstNight + ".changes.next", "fsync parquet/.meta/." + firstNight + ".changes.next",
			"rename " + changesFile, "fsync-beside " + changesFile},
		written("parquet/.manifests/index.json"),
	)
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes of the repair (-want +got):\n%s", diff)
	}
}
