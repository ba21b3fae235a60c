package integrity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"placementsync/internal/integrity"
	"placementsync/internal/warehouse"
)

// TestAnUnsyncedFileIsNotPlaced makes the fsync of a new file fail. The file of the series must
// not change.
func TestAnUnsyncedFileIsNotPlaced(t *testing.T) {
	w := open(t)
	m := publish(t, w, beginDraft(t, w, firstNight, "one"))
	placed := filepath.Join(w.Folder.Dir(), "parquet", "product_listing_tags", "snapshot_date=2026-11-01", "product_listing_tags.parquet")
	before, err := os.ReadFile(placed)
	must(t, err)
	again := filepath.Join(t.TempDir(), "again.parquet")
	must(t, os.WriteFile(again, []byte("other bytes"), 0o600))
	_, err = integrity.NewMender(openFailingAt(t, w, "before fsync again.parquet")).Replace(warehouse.SeriesFile{Day: m, Table: m.Tables[0]}, again)
	if !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	if after, err := os.ReadFile(placed); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file of the series was replaced (%v)", err)
	}
}

// TestAMendedFileMayHaveOtherBytes repairs a file whose replacement has the same rows in another
// order. The repair fails once at each step and is repeated.
func TestAMendedFileMayHaveOtherBytes(t *testing.T) {
	for _, step := range []string{"", "after rename product_listing_tags.parquet", "before write manifest.json", "before write of the day"} {
		w := open(t)
		m := publish(t, w, beginDraft(t, w, firstNight, "one"))
		version := filepath.Join(w.Folder.VersionPath(firstNight), m.Tables[0].File)
		must(t, os.WriteFile(version, []byte("damaged under both names"), 0o600))
		mend := func(w *warehouse.Warehouse) error {
			done, err := integrity.NewMender(w).MendCopies(t.Context())
			if err != nil || len(done.Left) != 1 {
				t.Fatalf("%s: files left: %v, %v", step, done.Left, err)
			}
			file := filepath.Join(t.TempDir(), m.Tables[0].File)
			must(t, os.WriteFile(file, []byte("the same rows in another order"), 0o600))
			_, err = integrity.NewMender(w).Replace(done.Left[0], file)
			return err
		}
		if step != "" {
			if err := mend(openFailingAt(t, w, step)); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: got %v, want EIO", step, err)
			}
		}
		must(t, mend(w))
		done, err := integrity.NewMender(w).MendCopies(t.Context())
		if err != nil || len(done.Files)+len(done.Left) > 0 {
			t.Errorf("%s: a second repair mended %v and left %v (%v)", step, done.Files, done.Left, err)
		}
		repaired, err := w.Versions.ReadManifest(firstNight)
		must(t, err)
		data, err := os.ReadFile(version)
		if sum := sha256.Sum256(data); err != nil || repaired.Tables[0].SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the version has %q (%v), its manifest another checksum", step, data, err)
		}
	}
}
