package warehouse_test

import (
	"path/filepath"
	"slices"
	"testing"

	"placementsync/internal/dictionary"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

// TestFingerprintsInParquetAreCompared verifies files in which the fingerprint is signed,
// unsigned as earlier programs wrote it, or another.
func TestFingerprintsInParquetAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		hash   string
		damage int
	}{
		"signed":      {string(dictionary.SignedHash()), 0},
		"unsigned":    {"row_hash", 0},
		"another":     {"18446744073709551614::UBIGINT", 1},
		"another bit": {"9223372036854775807", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			d := draft(t, w, firstNight, "one")
			must(t, d.Exec(t.Context(), "UPDATE main.product_listing_tags SET row_hash = 18446744073709551615",
				"COPY (SELECT * REPLACE ("+c.hash+" AS row_hash) FROM main.product_listing_tags) TO "+
					sqltext.Literal(filepath.Join(d.Dir, "product_listing_tags.parquet"))+" (FORMAT parquet)"))
			m, err := d.Publish(t.Context(), slices.Clone(files))
			must(t, err)
			must(t, w.Ledger.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
			found, err := w.Checker.Check(t.Context(), true)
			if err != nil || len(found.Damage) != c.damage {
				t.Errorf("verify found %+v (%v)", found.Damage, err)
			}
		})
	}
}

// TestVerificationSpills verifies a version with more keys than its memory holds, when it
// is published and when every byte is read.
func TestVerificationSpills(t *testing.T) {
	w := openWith(t, warehouse.Config{MemoryLimit: "32MB"})
	lock, err := w.Lock(firstNight, night)
	must(t, err)
	defer func() { must(t, lock.Release()) }()
	d := draft(t, w, firstNight, "one")
	file := filepath.Join(d.Dir, "product_listing_tags.parquet")
	must(t, d.Exec(t.Context(),
		"INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p' || i, 1, 'two', valid_from, 1 FROM main.product_listing_tags, range(2000000) t(i)",
		"COPY main.product_listing_tags TO "+sqltext.Literal(file)+" (FORMAT parquet)"))
	m, err := d.Publish(t.Context(), slices.Clone(files))
	must(t, err)
	must(t, w.Ledger.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	found, err := w.Checker.Check(t.Context(), true)
	if err != nil || len(found.Damage) > 0 {
		t.Errorf("verify found %+v (%v)", found.Damage, err)
	}
	left, err := filepath.Glob(filepath.Join(w.Folder.Dir(), "state", ".sealed.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q stay behind (%v)", left, err)
	}
}
