package warehouse_test

import (
	"errors"
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

// runsOf returns the runs of manifests.
func runsOf(manifests []warehouse.Manifest) (runs []string) {
	for _, m := range manifests {
		runs = append(runs, m.RunID)
	}
	return runs
}

// editManifest changes a manifest and seals it again.
func editManifest(t *testing.T, w *warehouse.Warehouse, file string, change func(m *warehouse.Manifest)) {
	t.Helper()
	m := harness.MustValue(w.Versions.ReadManifestFile(file, ""))
	change(&m)
	data, err := checksum.Seal(m)
	harness.Must(t, errors.Join(err, os.WriteFile(file, data, 0o600)))
}

// manifestOf returns the path of the manifest of a version.
func manifestOf(w *warehouse.Warehouse, run string) string {
	return filepath.Join(w.Folder.VersionPath(run), warehouse.ManifestFile)
}

// TestChangesOfMetaFormAChain publishes three nights. Each night stores a file with its changes of the
// schemas meta and past relative to the previous night. MetaChain returns the manifests of these files.
// The test removes the copies of the second manifest one by one. MetaChain must use the remaining
// copies.
func TestChangesOfMetaFormAChain(t *testing.T) {
	w := openFullNights(t, 3, "1", "2", "3")
	if got := contentOf(t, w.Folder.ChangesPath(secondNight)); got != "changes of the schemas meta and past in run "+secondNight {
		t.Errorf("the file of changes in the series contains %q, want the changes of run %s", got, secondNight)
	}
	inVersion := manifestOf(w, secondNight)
	allNights := []string{firstNight, secondNight, thirdNight}
	for _, step := range []struct {
		name   string
		damage func()
		want   []string
	}{
		{"all copies", func() {}, allNights},
		{"without the copy beside the changes", func() { harness.Must(t, os.Remove(w.Folder.RunManifestPath(secondNight))) }, allNights},
		{"with a version manifest that names no changes", func() {
			editManifest(t, w, inVersion, func(m *warehouse.Manifest) { m.Meta = nil })
		}, allNights},
		{"without the version", func() { harness.Must(t, os.Remove(inVersion)) }, allNights},
		{"without any copy", func() { harness.Must(t, os.Remove(w.Folder.DayManifestPath("2026-11-02"))) }, allNights[2:]},
	} {
		step.damage()
		chain, err := w.Series.MetaChain(thirdNight)
		if diff := cmp.Diff(step.want, runsOf(chain)); diff != "" {
			t.Errorf("%s: chain (-want +got):\n%s", step.name, diff)
		}
		var damaged *warehouse.DamagedError
		isComplete := len(step.want) == 3
		if isComplete != (err == nil) || !isComplete && (!errors.As(err, &damaged) || damaged.File != "parquet/.meta/"+secondNight+".json") {
			t.Errorf("%s: got error %v, want no error for a complete chain, and a DamagedError otherwise", step.name, err)
		}
	}
	if chain, err := w.Series.MetaChain(""); err != nil || len(chain) > 0 {
		t.Errorf("the chain of the version \"\" is %v (%v), want none", chain, err)
	}
}

// TestChangesAreAddedAfterAVersionWithoutThem publishes a night without a file of changes, as release 1.0.0 did, and a night
// with one, which is then lost. A rollback adds the missing files of both to the series.
func TestChangesAreAddedAfterAVersionWithoutThem(t *testing.T) {
	w := openNights(t, 2, "one")
	publishFull(t, w, secondNight, "two")
	harness.Must(t, os.RemoveAll(path(w, "parquet", ".meta")))
	rollback(t, w, secondNight)
	if !exists(t, w.Folder.ChangesPath(secondNight)) {
		t.Errorf("the series lacks the changes of %s", secondNight)
	}
}

// TestMetaBaseIsThePreviousVersionIfComplete removes or changes files of the previous version in the
// series. The changes of a draft are relative to the previous version only if the series contains
// the changes that the previous version made in the schemas meta and past.
func TestMetaBaseIsThePreviousVersionIfComplete(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, w *warehouse.Warehouse)
		want   string
	}{
		"all files": {func(*testing.T, *warehouse.Warehouse) {}, firstNight},
		"without the changes": {func(t *testing.T, w *warehouse.Warehouse) {
			harness.Must(t, os.Remove(w.Folder.ChangesPath(firstNight)))
		}, ""},
		"without the manifest": {func(t *testing.T, w *warehouse.Warehouse) {
			harness.Must(t, os.Remove(w.Folder.RunManifestPath(firstNight)))
		},
			""},
		"without changes in the manifest": {func(t *testing.T, w *warehouse.Warehouse) {
			editManifest(t, w, w.Folder.RunManifestPath(firstNight), func(m *warehouse.Manifest) { m.Meta = nil })
		}, ""},
		"without changes of the schema past": {func(t *testing.T, w *warehouse.Warehouse) {
			editManifest(t, w, w.Folder.RunManifestPath(firstNight), func(m *warehouse.Manifest) { m.Meta.HasPast = false })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := openFullNights(t, 2, "one")
			m := harness.MustValue(w.Versions.ReadManifest(firstNight))
			if m.Meta == nil || m.Meta.Base != "" || !m.Meta.HasPast {
				t.Errorf("the manifest of the first night describes the changes as %+v, want no base, and changes of the schema past", m.Meta)
			}
			d := begin(t, w, secondNight)
			c.damage(t, w)
			if got := d.MetaBase(); got != c.want {
				t.Errorf("the base is %q, want %q", got, c.want)
			}
			harness.Must(t, d.Discard())
		})
	}
}

// TestPruneRemovesChangesThatNoVersionNeeds keeps one version. Prune must keep the changes of earlier
// nights that the chain of this version needs. The third night begins a new chain. Prune must then
// remove the earlier changes.
func TestPruneRemovesChangesThatNoVersionNeeds(t *testing.T) {
	w := openFullNights(t, 1, "one", "two")
	temporary := path(w, "parquet", ".meta", ".temporary")
	harness.Must(t, os.WriteFile(temporary, nil, 0o600))
	if got := prune(t, w, keepAllDays); len(got) > 0 {
		t.Errorf("prune removed %v, want no files, because the second night builds on the first one", got)
	}
	// With a broken chain the needed files are unknown.
	orphan, manifest := path(w, "parquet", ".meta", "20200101T000000Z.changes"), contentOf(t, w.Folder.RunManifestPath(firstNight))
	day := w.Folder.DayManifestPath("2026-11-01")
	harness.Must(t, errors.Join(os.WriteFile(orphan, nil, 0o600), os.Remove(w.Folder.RunManifestPath(firstNight)), os.Rename(day, day+"~")))
	if got := prune(t, w, keepAllDays); len(got) > 0 {
		t.Errorf("with a broken chain prune removed %v, want no files", got)
	}
	harness.Must(t, errors.Join(os.WriteFile(w.Folder.RunManifestPath(firstNight), []byte(manifest), 0o600), os.Rename(day+"~", day)))
	if got, want := prune(t, w, keepAllDays), []string{"parquet/.meta/20200101T000000Z.changes"}; !slices.Equal(got, want) {
		t.Errorf("prune removed %v, want %v", got, want)
	}

	d := beginDraft(t, w, thirdNight, "three")
	harness.Must(t, os.Remove(w.Folder.ChangesPath(secondNight))) // the third night then begins a new chain
	_, err := publishDraft(t, w, d)
	harness.Must(t, err)
	want := []string{"parquet/.meta/" + firstNight + ".changes", "parquet/.meta/" + firstNight + ".json", "parquet/.meta/" + secondNight + ".json"}
	if got := prune(t, w, keepAllDays); !slices.Equal(got, want) {
		t.Errorf("prune removed %v, want %v", got, want)
	}
	if !exists(t, temporary) {
		t.Error("prune removed a temporary file, want it kept")
	}
	harness.Must(t, os.RemoveAll(w.Folder.VersionPath(thirdNight)))
	if got := prune(t, w, keepAllDays); len(got) > 0 {
		t.Errorf("prune removed %v, want no files: a rebuild of the lost version needs them", got)
	}
}

// TestTheLineageUsesCopiesOfManifests damages manifests of the second and the third of three versions. The
// lineage of the third version consists of the kept versions on which the third version builds, and the
// third version.
func TestTheLineageUsesCopiesOfManifests(t *testing.T) {
	w := openFullNights(t, 3, "1", "2", "3")
	requireLineage := func(name string, wantErr bool, want ...string) {
		t.Helper()
		lineage, err := w.Versions.Lineage(thirdNight)
		if diff := cmp.Diff(want, runsOf(lineage)); diff != "" || (err != nil) != wantErr {
			t.Errorf("%s: got error %v, want an error: %t; lineage (-want +got):\n%s", name, err, wantErr, diff)
		}
	}
	requireLineage("intact", false, firstNight, secondNight, thirdNight)
	flipBit(t, filepath.Join(w.Folder.VersionPath(secondNight), "manifest.json"), 40)
	requireLineage("a damaged manifest with a copy", false, firstNight, secondNight, thirdNight)
	flipBit(t, w.Folder.RunManifestPath(secondNight), 40)
	requireLineage("a damaged manifest without an intact copy", true, thirdNight)
	flipBit(t, w.Folder.RunManifestPath(secondNight), 40)
	harness.Must(t, os.RemoveAll(w.Folder.VersionPath(secondNight)))
	requireLineage("a removed version with a copy of its manifest", false, firstNight, thirdNight)
	harness.Must(t, os.Remove(w.Folder.RunManifestPath(secondNight)))
	requireLineage("a removed version without a copy of its manifest", false, thirdNight)
	flipBit(t, filepath.Join(w.Folder.VersionPath(thirdNight), "manifest.json"), 40)
	harness.Must(t, os.Remove(w.Folder.RunManifestPath(thirdNight)))
	requireLineage("a damaged manifest without a copy", true)
	harness.Must(t, os.Remove(filepath.Join(w.Folder.VersionPath(thirdNight), "manifest.json")))
	requireLineage("a missing manifest without a copy", true)
}

// TestRefreshesAreSkipped publishes a night, two refreshes and another night. Prune must remove the refreshes before the
// nights, so a rollback of the last night must publish the first night.
func TestRefreshesAreSkipped(t *testing.T) {
	w := openFullNights(t, 5, "one")
	for _, run := range []string{"20261101T030000Z", "20261101T040000Z", secondNight} {
		d := beginDraft(t, w, run, run)
		if run != secondNight {
			d.Kind = ledger.Refresh
		}
		m, err := publishDraft(t, w, d)
		harness.Must(t, err)
		want := firstNight
		if run == "20261101T030000Z" {
			want = "" // Manifest.Night is empty if Manifest.Previous is a night
		}
		if m.Night != want || m.Kind != d.Kind {
			t.Errorf("the manifest of %s has Night %q and Kind %q, want %q and %q", run, m.Night, m.Kind, want, d.Kind)
		}
	}
	prune(t, openWith(t, warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 2}), keepAllDays)
	requireVersions(t, w, firstNight, secondNight)
	if got := rollback(t, w, ""); got != firstNight {
		t.Errorf("rolled back to %s, want the night %s", got, firstNight)
	}
}

// TestARollbackOfARebuiltVersionPublishesTheNightBefore publishes two nights and a rebuilt version,
// which has no previous version in its manifest.
func TestARollbackOfARebuiltVersionPublishesTheNightBefore(t *testing.T) {
	w := openNights(t, 3, "one", "two")
	d, err := w.BeginFrom(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2), "")
	harness.Must(t, err)
	d.Kind, d.Source = ledger.Rebuild, secondNight
	writeTagsFile(t, d)
	harness.Must(t, os.Remove(w.Folder.DayManifestPath("2026-11-01")))
	m, err := publishDraft(t, w, d)
	if index, indexErr := w.Series.Index(); indexErr != nil || index["2026-11-01"] != firstNight {
		t.Errorf("the index is %v (%v), want also the day whose manifest is lost", index, indexErr)
	}
	harness.Must(t, err)
	if m.Previous != "" || !strings.HasPrefix(m.RunID, "20261103") || m.Night != secondNight {
		t.Errorf("the rebuilt version is %+v, want a run of 3 November with the snapshot of %s, without a previous version", m, secondNight)
	}
	if got := rollback(t, w, ""); got != secondNight {
		t.Errorf("rolled back to %s, want %s", got, secondNight)
	}
	harness.Must(t, w.Versions.Drop(firstNight, false))
	if _, err := w.Rollback("", firstNightAt.AddDate(0, 1, 0)); err == nil || !strings.Contains(err.Error(), "is not kept; nothing was changed: name one of the kept versions: "+secondNight) {
		t.Errorf("the error of a rollback to a removed version is %v, want it to name the kept versions", err)
	}
}
