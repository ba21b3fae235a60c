package repair_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"placementsync/internal/checksum"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"

	"github.com/google/go-cmp/cmp"
)

// TestRowHashesInParquetAreCompared checks files with signed row hashes, with the unsigned row hashes
// of earlier releases, and with wrong row hashes.
func TestRowHashesInParquetAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		hash         string
		damagedFiles int
	}{
		"signed":                     {string(schema.SignedHash()), 0},
		"unsigned":                   {"row_hash", 0},
		"unsigned, wrong lowest bit": {"18446744073709551614::UBIGINT", 1},
		"signed, wrong sign bit":     {"9223372036854775807", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			d := beginDraft(t, w, firstNight, "one")
			harness.Must(t, d.Exec(t.Context(), "UPDATE main.product_listing_tags SET row_hash = 18446744073709551615",
				sqltext.SQL("COPY (SELECT * REPLACE ("+c.hash+" AS row_hash) FROM main.product_listing_tags) TO "+
					sqltext.Literal(filepath.Join(d.Dir, "product_listing_tags.parquet"))+" (FORMAT parquet)")))
			publish(t, w, d)
			report, err := repair.Check(t.Context(), w, true)
			if err != nil || len(report.Damage) != c.damagedFiles {
				t.Errorf("the check found %+v (%v), want damage of %d files", report.Damage, err, c.damagedFiles)
			}
		})
	}
}

// TestLargeVersionsAreCheckedOnDisk publishes and checks a version whose keys do not fit into the
// memory limit.
func TestLargeVersionsAreCheckedOnDisk(t *testing.T) {
	w := openWith(t, warehouse.Config{Dir: t.TempDir(), MemoryLimit: "32MB"})
	lock, err := w.Lock(firstNight, firstNightAt)
	harness.Must(t, err)
	defer func() { harness.Must(t, lock.Release()) }()
	d := beginDraft(t, w, firstNight, "one")
	file := filepath.Join(d.Dir, "product_listing_tags.parquet")
	harness.Must(t, d.Exec(t.Context(),
		"INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p' || i, 1, 'two', valid_from, 1 FROM main.product_listing_tags, range(800000) t(i)",
		sqltext.SQL("COPY main.product_listing_tags TO "+sqltext.Literal(file)+" (FORMAT parquet)")))
	publish(t, w, d)
	report, err := repair.Check(t.Context(), w, true)
	if err != nil || len(report.Damage) > 0 {
		t.Errorf("the check found %+v (%v), want no damage", report.Damage, err)
	}
	scratchFolders, err := filepath.Glob(filepath.Join(w.Folder.Dir(), "state", ".sealed.*"))
	if err != nil || len(scratchFolders) > 0 {
		t.Errorf("after the check there are the scratch folders %q (%v), want none", scratchFolders, err)
	}
}

func TestCompareVersionsFindsOtherRows(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one", "two")
	otherWarehouse := open(t)
	d := beginDraft(t, otherWarehouse, firstNight, "another value")
	publish(t, otherWarehouse, d)
	earlierRelease := open(t)
	d = beginDraft(t, earlierRelease, firstNight, "one")
	harness.Must(t, d.Exec(t.Context(), "DROP VIEW history."+table, "ALTER TABLE main."+table+" DROP COLUMN extra", "DROP TABLE past."+table))
	publish(t, earlierRelease, d)
	for _, c := range []struct {
		original *warehouse.Warehouse
		run      string
		want     []string
	}{
		{w, firstNight, nil},
		{earlierRelease, firstNight, nil},
		{w, secondNight, []string{"main.product_listing_tags has 1 rows in the restored warehouse, but 2 in the original"}},
		{otherWarehouse, firstNight, []string{"main.product_listing_tags has rows with other values in the restored warehouse than in the original"}},
	} {
		got, err := repair.CompareVersions(t.Context(), w, firstNight, c.original, c.run)
		harness.Must(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("differences from %s (-want +got):\n%s", c.run, diff)
		}
	}
	withClosedRow := open(t)
	d = beginDraft(t, withClosedRow, firstNight, "one")
	harness.Must(t, d.Exec(t.Context(), "INSERT INTO past."+table+" (product_listing_id, position, valid_from, row_hash, valid_to, run_id) VALUES ('p', 1, now(), 1, now(), 'a')",
		"INSERT INTO meta.runs (run_id) VALUES ('of this warehouse')"))
	publish(t, withClosedRow, d)
	got, err := repair.CompareVersions(t.Context(), withClosedRow, firstNight, earlierRelease, firstNight)
	if want := []string{"past.product_listing_tags has 1 rows in the restored warehouse, but no in the original"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the differences from a release without the table past are %q (%v), want %q", got, err, want)
	}
	got, err = repair.CompareVersions(t.Context(), w, firstNight, withClosedRow, firstNight)
	if want := []string{"past.product_listing_tags has 0 rows in the restored warehouse, but 1 in the original"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the differences from a table with a row are %q (%v), want %q", got, err, want)
	}
	damager{t, w}.flip(version2 + warehouse.CatalogFile)
	for restored, original := range map[string]string{firstNight: secondNight, secondNight: firstNight} {
		if _, err := repair.CompareVersions(t.Context(), w, restored, w, original); !errors.As(err, new(*warehouse.DamagedError)) {
			t.Errorf("CompareVersions of %s with %s, of which one is damaged: got %v, want a *DamagedError", restored, original, err)
		}
	}
	if _, err := repair.CompareVersions(t.Context(), w, firstNight, w, "20261109T020000Z"); err == nil {
		t.Error("CompareVersions with a missing version: got no error")
	}
}

// TestOtherValuesAreReported publishes rows that differ from their Parquet file only in a value. The
// reported problem must be that the values differ.
func TestOtherValuesAreReported(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	file := sqltext.Literal(filepath.Join(d.Dir, tagsFile))
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL("COPY (SELECT * REPLACE ('other' AS name) FROM main."+table+") TO "+file+" (FORMAT parquet)")))
	publish(t, w, d)
	report, err := repair.Check(t.Context(), w, true)
	harness.Must(t, err)
	want := []repair.Damage{{File: version1 + tagsFile, Problem: "its rows have other values than the catalog", Affected: "catalog and Parquet disagree on table " + table,
		Repair: repair.Step{Kind: repair.RebuildSeries}}}
	if diff := cmp.Diff(want, report.Damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
	// The file of the newest night has the rows of the night before, and a manifest with its checksum.
	w = clone(t, threeNights(t))
	data, err := os.ReadFile(w.Folder.Path(series2))
	harness.Must(t, errors.Join(err, os.WriteFile(w.Folder.Path(series3), data, 0o600)))
	for _, name := range []string{version3 + "manifest.json", changes3 + ".json", manifest3} {
		damager{t, w}.editManifest(name, func(m *warehouse.Manifest) { m.Tables[0].FileSum = checksum.SumText(tagsFile, data) })
	}
	report, err = repair.Check(t.Context(), w, true)
	harness.Must(t, err)
	want[0].File, want[0].Problem = version3+tagsFile, "it has 2 rows, but the catalog has 3"
	if diff := cmp.Diff(want, report.Damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
}

// endingContext is cancelled after some calls of Err.
type endingContext struct {
	context.Context
	left *int
}

func (c endingContext) Err() error {
	*c.left--
	if *c.left < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// TestAnInterruptedCheckIsAnError interrupts a check at some of its steps. Unread files must not look damaged.
func TestAnInterruptedCheckIsAnError(t *testing.T) {
	w := threeNights(t)
	for calls := 0; ; calls += 15 {
		left := calls
		report, err := repair.Check(endingContext{t.Context(), &left}, w, true)
		if err == nil && len(report.Damage) > 0 {
			t.Errorf("interrupted after %d steps, the check reports %q and no error", calls, describeDamage(report.Damage))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted after %d steps, the check returned %v, want that it was cancelled", calls, err)
		}
	}
}
