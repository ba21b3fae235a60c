package warehouse_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestADamagedFileOfAVersionReplacesNoIntactFile damages a file of the newest version in a warehouse
// that was copied without its hard links, so that the file of the series is intact. The next draft
// completes the series and must keep the intact file.
func TestADamagedFileOfAVersionReplacesNoIntactFile(t *testing.T) {
	w := open(t)
	m := publish(t, w, "20261101T020000Z", "one")
	placed := filepath.Join(w.Folder.Dir(), "parquet", "product_listing_tags", "snapshot_date=2026-11-01", "product_listing_tags.parquet")
	intact, err := os.ReadFile(placed)
	must(t, err)
	must(t, os.Remove(placed))
	must(t, os.WriteFile(placed, intact, 0o644))
	must(t, os.Chtimes(placed, night, night)) // a copy without the times of its files
	damaged := append([]byte{}, intact...)
	damaged[len(damaged)/2] ^= 1
	must(t, os.WriteFile(filepath.Join(w.Folder.VersionPath(m.RunID), "product_listing_tags.parquet"), damaged, 0o644))

	d, err := w.BeginFrom(t.Context(), "20261102T020000Z", night.AddDate(0, 0, 1), "")
	must(t, err)
	must(t, d.Discard())
	got, err := os.ReadFile(placed)
	must(t, err)
	if !cmp.Equal(intact, got) {
		t.Error("the intact file of the series was replaced by the damaged one of the version")
	}
	if _, err := os.Stat(filepath.Join(w.Folder.Dir(), "parquet", ".manifests", "index.json")); err != nil {
		t.Error(err)
	}
}
