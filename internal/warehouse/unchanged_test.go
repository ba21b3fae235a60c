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

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// TestUnchangedFilesAreCopied copies the file of the previous night into a draft. The copy must be
// another file with the same bytes, and the catalog must not be written to a new file.
func TestUnchangedFilesAreCopied(t *testing.T) {
	w := open(t)
	first := publish(t, w, firstNight, "one")
	w, steps := openRecording(t, w)
	d := begin(t, w, secondNight)
	if isCopied, err := d.CopyUnchanged(tagsTable); !isCopied || err != nil {
		t.Fatalf("the file is copied: %t (%v), want true", isCopied, err)
	}
	original, originalErr := os.Stat(filepath.Join(w.Folder.VersionPath(firstNight), tagsFile))
	copied, copyErr := os.Stat(filepath.Join(d.Dir, tagsFile))
	if originalErr != nil || copyErr != nil || os.SameFile(original, copied) {
		t.Errorf("the draft has a link to the file of the first night, want a copy (%v, %v)", originalErr, copyErr)
	}
	m, err := publishDraft(t, w, d)
	harness.Must(t, err)
	if diff := cmp.Diff(first.Tables, m.Tables); diff != "" {
		t.Errorf("the manifest of the second night differs (-first +second):\n%s", diff)
	}
	const catalogRenamed = "after rename of the draft" // the new catalog file in the draft has its final name
	if slices.Contains(*steps, catalogRenamed) {
		t.Error("the unchanged catalog was written to a new file, want the same file")
	}
	publish(t, w, thirdNight, "two")
	if !slices.Contains(*steps, catalogRenamed) {
		t.Error("the changed catalog was not written to a new file, want a new file")
	}
	// Above compactSize, a new file would take longer than the changes.
	editManifest(t, w, filepath.Join(w.Folder.VersionPath(thirdNight), warehouse.ManifestFile), func(m *warehouse.Manifest) { m.Catalog.Bytes = 9 << 20 })
	*steps = nil
	publish(t, w, "20261104T020000Z", "three")
	if slices.Contains(*steps, catalogRenamed) {
		t.Error("a changed catalog of 9 MB was written to a new file, want the same file")
	}
}

func TestDraftsLabelTheirFiles(t *testing.T) {
	d, err := open(t).Begin(t.Context(), firstNight, firstNightAt.In(time.FixedZone("", 3600)))
	harness.Must(t, err)
	want := []warehouse.Label{{Key: "changed_run", Value: firstNight}, {Key: "changed_at", Value: "2026-11-01T02:00:00Z"}, {Key: "schema_version", Value: schema.SchemaVersion()}}
	if diff := cmp.Diff(want, d.Labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	harness.Must(t, d.Discard())
}

// TestFilesOfOtherVersionsAndDamagedFilesAreNotCopied tries to copy files of another program version or schema version, and
// damaged files. The draft must contain none of these files.
func TestFilesOfOtherVersionsAndDamagedFilesAreNotCopied(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(t *testing.T, w *warehouse.Warehouse, file string)
		program string
		table   string
	}{
		"another program version": {program: "newer", table: tagsTable},
		"a table without a file":  {table: "orders"},
		"a flipped bit":           {func(t *testing.T, _ *warehouse.Warehouse, file string) { flipBit(t, file, 40) }, "", tagsTable},
		"a missing file":          {func(t *testing.T, _ *warehouse.Warehouse, file string) { harness.Must(t, os.Remove(file)) }, "", tagsTable},
		"a folder instead of the file": {func(t *testing.T, _ *warehouse.Warehouse, file string) {
			harness.Must(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700)))
		}, "", tagsTable},
		"another schema version": {func(t *testing.T, w *warehouse.Warehouse, _ string) {
			editManifest(t, w, manifestOf(w, firstNight), func(m *warehouse.Manifest) { m.Schema = "other" })
		}, "", tagsTable},
	} {
		t.Run(name, func(t *testing.T) {
			w := openNights(t, 2, "one")
			if c.change != nil {
				c.change(t, w, filepath.Join(w.Folder.VersionPath(firstNight), tagsFile))
			}
			w = openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Program: c.program})
			d := begin(t, w, secondNight)
			defer func() { harness.Must(t, d.Discard()) }()
			if isCopied, err := d.CopyUnchanged(c.table); isCopied || err != nil {
				t.Errorf("the file is copied: %t (%v), want false", isCopied, err)
			}
			if exists(t, filepath.Join(d.Dir, tagsFile)) {
				t.Error("the draft contains the file, want no file")
			}
		})
	}
}

// TestFailedCopyIsAnError copies an intact file on a failing disk.
func TestFailedCopyIsAnError(t *testing.T) {
	w := openNights(t, 2, "one")
	d := begin(t, openFailingAt(t, w, "before copy "+tagsFile), secondNight)
	defer func() { harness.Must(t, d.Discard()) }()
	isCopied, err := d.CopyUnchanged(tagsTable)
	if isCopied || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "copy the unchanged "+tagsFile) {
		t.Errorf("the file is copied: %t (%v), want false and EIO", isCopied, err)
	}
}
