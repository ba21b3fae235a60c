package repair_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestAnUnsyncedFileIsNotPlaced injects an error into the fsync of a new file. The file of the series must
// not change.
func TestAnUnsyncedFileIsNotPlaced(t *testing.T) {
	w := open(t)
	m := publish(t, w, beginDraft(t, w, firstNight, "one"))
	fileInSeries := filepath.Join(w.Folder.Dir(), "parquet", "product_listing_tags", "snapshot_date=2026-11-01", "product_listing_tags.parquet")
	contentBefore, err := os.ReadFile(fileInSeries)
	harness.Must(t, err)
	newFile := filepath.Join(t.TempDir(), "new.parquet")
	harness.Must(t, os.WriteFile(newFile, []byte("other bytes"), 0o600))
	_, err = repair.ReplaceFile(openFailingAt(t, w, "before fsync new.parquet"), warehouse.SeriesFile{DayManifest: m, Table: m.Tables[0]}, newFile)
	if !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	if content, err := os.ReadFile(fileInSeries); err != nil || !bytes.Equal(contentBefore, content) {
		t.Errorf("the file of the series was replaced (%v), want it unchanged", err)
	}
}

// TestARepairedFileMayHaveOtherBytes replaces a damaged file by a file with other bytes. If a step is named,
// the first attempt fails at this step, and a second attempt must succeed.
func TestARepairedFileMayHaveOtherBytes(t *testing.T) {
	for _, step := range []string{"", "after rename product_listing_tags.parquet", "before write manifest.json", "before write of the day"} {
		w := open(t)
		m := publish(t, w, beginDraft(t, w, firstNight, "one"))
		fileInVersion := filepath.Join(w.Folder.VersionPath(firstNight), m.Tables[0].File)
		harness.Must(t, os.WriteFile(fileInVersion, []byte("damaged in series and version"), 0o600))
		replace := func(w *warehouse.Warehouse) error {
			result, err := repair.RepairFromCopies(t.Context(), w)
			if err != nil || len(result.Unrepaired) != 1 {
				t.Fatalf("%s: RepairFromCopies did not repair the files %v (%v), want exactly one", step, result.Unrepaired, err)
			}
			file := filepath.Join(t.TempDir(), m.Tables[0].File)
			harness.Must(t, os.WriteFile(file, []byte("the same rows in another order"), 0o600))
			_, err = repair.ReplaceFile(w, result.Unrepaired[0], file)
			return err
		}
		if step != "" {
			if err := replace(openFailingAt(t, w, step)); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: got %v, want EIO", step, err)
			}
		}
		harness.Must(t, replace(w))
		result, err := repair.RepairFromCopies(t.Context(), w)
		if err != nil || len(result.Files)+len(result.Unrepaired) > 0 {
			t.Errorf("%s: after the repair, RepairFromCopies repaired %v and did not repair %v (%v), want no files", step, result.Files, result.Unrepaired, err)
		}
		repaired, err := w.Versions.ReadManifest(firstNight)
		harness.Must(t, err)
		data, err := os.ReadFile(fileInVersion)
		if sum := sha256.Sum256(data); err != nil || repaired.Tables[0].SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the version contains %q (%v), which does not have the checksum of its manifest", step, data, err)
		}
	}
}

// TestANewFileIsPlacedAndLinked replaces a lost file by a file with the same bytes. The manifests
// must keep their checksum. If the lost file has no checksum, the new file must only be moved to the
// series.
func TestANewFileIsPlacedAndLinked(t *testing.T) {
	original := twoNights(t)
	for name, hasChecksum := range map[string]bool{"a known checksum": true, "no checksum": false} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			want, d := contentOf(t, w), damager{t, w}
			day, err := w.Series.ReadDayManifest("2026-11-01", firstNight)
			harness.Must(t, err)
			lost := warehouse.SeriesFile{DayManifest: day, Table: day.Tables[0]}
			d.remove(filepath.Dir(series1))
			if hasChecksum {
				d.remove(version1 + tagsFile)
			} else {
				lost.Table.SHA256 = ""
			}
			file := filepath.Join(t.TempDir(), tagsFile)
			harness.Must(t, os.WriteFile(file, []byte(want[series1]), 0o600))
			sum, err := repair.ReplaceFile(w, lost, file)
			if err != nil || sum.SHA256 != day.Tables[0].SHA256 || sum.File != tagsFile {
				t.Errorf("ReplaceFile returned %+v (%v), want the checksum %s of %s", sum, err, day.Tables[0].SHA256, tagsFile)
			}
			if diff := cmp.Diff(want, contentOf(t, w)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			a, errA := os.Stat(d.path(series1))
			b, errB := os.Stat(d.path(version1 + tagsFile))
			if errA != nil || errB != nil || os.SameFile(a, b) != hasChecksum {
				t.Errorf("the files of series and version are linked: %t (%v, %v), want %t", os.SameFile(a, b), errA, errB, hasChecksum)
			}
		})
	}
	w := clone(t, original)
	if _, err := repair.ReplaceFile(w, warehouse.SeriesFile{}, filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReplaceFile by a missing file: got %v, want ErrNotExist", err)
	}
	// The folder of a removed version is not created again.
	d := damager{t, w}
	day, err := w.Series.ReadDayManifest("2026-11-01", firstNight)
	harness.Must(t, err)
	d.remove(version1, series1)
	file := filepath.Join(t.TempDir(), tagsFile)
	harness.Must(t, os.WriteFile(file, []byte("other bytes"), 0o600))
	sum, err := repair.ReplaceFile(w, warehouse.SeriesFile{DayManifest: day, Table: day.Tables[0]}, file)
	harness.Must(t, err)
	if _, err := os.Stat(d.path(version1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a removed version: got %v, want ErrNotExist", err)
	}
	for _, name := range []string{manifest1, "parquet/.meta/" + firstNight + ".json"} {
		m, err := w.Versions.ReadManifestFile(d.path(name), firstNight)
		if err != nil || m.Tables[0].SHA256 != sum.SHA256 || m.Tables[0].Bytes != int64(len("other bytes")) {
			t.Errorf("%s has %+v (%v), want the new checksum %s", name, m.Tables, err, sum.SHA256)
		}
	}
}

// TestReadSeriesStartsAtAReplacedFile replaces the file of changes of a run with a file that contains all rows.
// ReadSeries must then ignore earlier files of changes.
func TestReadSeriesStartsAtAReplacedFile(t *testing.T) {
	w := twoNights(t)
	damager{t, w}.remove("parquet/.meta/"+firstNight+".changes", changes2+".changes", changes2+".json", version2+"meta.changes")
	d := beginDraft(t, w, thirdNight, "three")
	defer func() { harness.Must(t, d.Discard()) }()
	if _, err := repair.ReplaceMeta(w, d, secondNight); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReplaceMeta by a missing file: got %v, want ErrNotExist", err)
	}
	harness.Must(t, os.WriteFile(filepath.Join(d.Dir, warehouse.MetaFile), []byte("all rows"), 0o600))
	if _, err := repair.ReplaceMeta(w, d, "20261109T020000Z"); !errors.As(err, new(*warehouse.DamagedError)) {
		t.Errorf("ReplaceMeta of a missing version: got %v, want a *DamagedError", err)
	}
	file, err := repair.ReplaceMeta(w, d, secondNight)
	if err != nil || file != changes2+".changes" {
		t.Errorf("ReplaceMeta returned %q (%v), want %s.changes", file, err, changes2)
	}
	got := contentOf(t, w)
	if got[changes2+".changes"] != "all rows" || got[version2+"meta.changes"] != "all rows" {
		t.Error("the files of changes were not replaced")
	}
	if got[changes2+".json"] == "" {
		t.Error("the manifest beside the changes is missing, want a copy, because the version may be removed later")
	}
	series, err := repair.ReadSeries(t.Context(), w)
	harness.Must(t, err)
	series.Snapshots, series.Damage = nil, nil
	want := repair.Series{Changes: []string{w.Folder.Path(changes2 + ".changes")}, HasPast: true}
	if diff := cmp.Diff(want, series, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the files of changes differ (-want +got):\n%s", diff)
	}
	failing := openFailingAt(t, w, "before fsync meta.changes")
	if _, err := repair.ReplaceMeta(failing, d, secondNight); !errors.Is(err, syscall.EIO) {
		t.Errorf("on a failing disk: got %v, want EIO", err)
	}
}

// TestACopyOfAMissingLedgerLineIsRemoved damages the copied ledger line of a run that the ledger does
// not contain. The repair must remove the copy, and its checksum from the manifests.
func TestACopyOfAMissingLedgerLineIsRemoved(t *testing.T) {
	w := twoNights(t)
	d := damager{t, w}
	d.flip(version2 + "run.json")
	first := contentOf(t, w)[changes1+".json"]
	d.remove(changes1+".json", changes2+".json") // these copies of manifests are repaired after the line
	keepLines(d, 1)
	result, err := repair.RepairFromCopies(t.Context(), w)
	if contentOf(t, w)[changes1+".json"] != first {
		t.Errorf("%s.json was not repaired with its own ledger line", changes1)
	}
	if want := []string{version2 + "run.json", changes1 + ".json", changes2 + ".json"}; err != nil || !slices.Equal(result.Files, want) {
		t.Errorf("RepairFromCopies repaired %v (%v), want %v", result.Files, err, want)
	}
	if _, err := os.Stat(d.path(version2 + "run.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged copy: got %v, want ErrNotExist", err)
	}
	for _, name := range []string{version2 + "manifest.json", manifest2, changes2 + ".json"} {
		m, err := w.Versions.ReadManifestFile(d.path(name), secondNight)
		if err != nil || m.LedgerLine != nil {
			t.Errorf("%s names the copied line %v (%v), want no line", name, m.LedgerLine, err)
		}
	}
}
