package load_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// queryDraft runs a query on a draft and returns its rows as text.
func queryDraft(t *testing.T, d *warehouse.Draft, query string) (lines []string) {
	t.Helper()
	harness.Must(t, d.EachRow(t.Context(), []sqltext.SQL{sqltext.SQL("SELECT concat_ws(' ', *COLUMNS(*)) FROM (" + query + ")")}, func(scan func(...any) error) error {
		var line string
		err := scan(&line)
		lines = append(lines, line)
		return err
	}))
	return lines
}

// runSnapshots runs nights with the given names of listings and returns the Parquet files of the nights, as if a
// rebuild had written them. The first letter of a name is the id of the listing.
func (h *fixture) runSnapshots(nights ...string) (all []warehouse.Snapshot) {
	h.t.Helper()
	for i, names := range nights {
		var rows []string
		for n, name := range strings.Fields(names) {
			rows = append(rows, listing(name[:1], name, int(name[1]), n+1))
		}
		_, err := h.run(wholeList(strings.Join(rows, ","), ""), load.Limits{Rows: 9})
		harness.Must(h.t, err)
		run, _, err := h.w.Versions.Latest()
		harness.Must(h.t, err)
		kept := filepath.Join(h.t.TempDir(), "listings.parquet")
		data, err := os.ReadFile(h.file("product_listings"))
		harness.Must(h.t, err)
		harness.Must(h.t, os.WriteFile(kept, data, 0o600))
		manifest := warehouse.Manifest{RunID: "rebuilt", Kind: ledger.Rebuild, Night: run, SnapshotAt: night.AddDate(0, 0, i)}
		all = append(all, warehouse.Snapshot{Manifest: manifest, Files: map[string]string{"product_listings": kept}})
	}
	return all
}

// TestHistoryIsRebuiltFromSnapshots reads listings in five nights, in which they are added, changed, deleted and added again.
// It rebuilds their history from the files of all nights, and from the files of some nights.
func TestHistoryIsRebuiltFromSnapshots(t *testing.T) {
	h := newFixture(t, "product_listings")
	all := h.runSnapshots("a1 b1 c1", "a1 b2 c1", "a2 c2", "a2 b2 c2", "a2 b2 c1")
	const versionsQuery = `SELECT name, strftime(valid_from, '%d') AS since, strftime(valid_to, '%d') AS until FROM history.product_listings ORDER BY name, valid_from`
	const closingRunsQuery = "SELECT name, run_id FROM past.product_listings ORDER BY 1"
	history := []string{"a1 01 03", "a2 03", "b1 01 02", "b2 02 03", "b2 04", "c1 01 03", "c1 05", "c2 03 05"}
	closingRuns := []string{"a1 20261103T020000Z", "b1 20261102T020000Z", "b2 20261103T020000Z", "c1 20261103T020000Z", "c2 20261105T020000Z"}
	h.requireRows("SELECT concat_ws(' ', *COLUMNS(*)) FROM ("+versionsQuery+")", history...)
	h.requireRows(closingRunsQuery, closingRuns...)
	for name, c := range map[string]struct {
		nights          []int
		want            []string
		wantClosingRuns []string
	}{
		"all nights": {[]int{0, 1, 2, 3, 4}, history, closingRuns},
		// The files contain valid_from, but do not show that b2 was missing between the two nights, and that c
		// had other values.
		"the first and the last": {[]int{0, 4}, []string{"a1 01 03", "a2 03", "b1 01 04", "b2 04", "c1 01 05", "c1 05"},
			[]string{"a1 20261103T020000Z", "b1 20261104T020000Z", "c1 20261105T020000Z"}},
		"only the last": {[]int{4}, []string{"a2 03", "b2 04", "c1 05"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := h.w.BeginFrom(t.Context(), "again", night.AddDate(0, 1, 0), "")
			harness.Must(t, err)
			defer func() { harness.Must(t, d.Discard()) }()
			for _, i := range c.nights {
				harness.Must(t, load.ApplySnapshot(t.Context(), d, h.w.Schema.Tables, all[i]))
			}
			if diff := cmp.Diff(c.want, queryDraft(t, d, versionsQuery)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			requireClosingRuns := func() {
				t.Helper()
				got := queryDraft(t, d, closingRunsQuery)
				if diff := cmp.Diff(c.wantClosingRuns, got); diff != "" {
					t.Errorf("runs that closed rows (-want +got):\n%s", diff)
				}
			}
			if len(c.nights) == len(all) { // otherwise they are known only after the correction
				requireClosingRuns()
			}
			for _, s := range all {
				r := ledger.Run{ID: s.SourceRun(), StartedAt: s.SnapshotAt, SnapshotAt: s.SnapshotAt}
				harness.Must(t, load.WriteRun(t.Context(), d, r))
			}
			harness.Must(t, load.CorrectClosingRuns(t.Context(), d, h.w.Schema.Tables))
			requireClosingRuns()
		})
	}
}

// TestReplacedValuesHaveNoVersionInARebuild rebuilds history from the files of two nights. In the second night only
// an ignored column had another value, which made no version.
func TestReplacedValuesHaveNoVersionInARebuild(t *testing.T) {
	h := newFixture(t, "product_listings")
	h.ignored = []string{"product_listings.name"}
	all := h.runSnapshots("a1", "a2")
	h.requireRows("SELECT name, strftime(valid_from, '%d'), valid_to FROM history.product_listings", "a2 01 <nil>")
	d, err := h.w.BeginFrom(t.Context(), "again", night.AddDate(0, 1, 0), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	for _, snapshot := range all {
		harness.Must(t, load.ApplySnapshot(t.Context(), d, h.w.Schema.Tables, snapshot))
	}
	if diff := cmp.Diff([]string{"a2 01"}, queryDraft(t, d, "SELECT name, strftime(valid_from, '%d'), valid_to FROM history.product_listings")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestSnapshotsOfEarlierProgramsAreApplied rebuilds history from files. Some files have unsigned
// fingerprints, because earlier versions of the program wrote them.
func TestSnapshotsOfEarlierProgramsAreApplied(t *testing.T) {
	// Only the highest bit of a fingerprint changes: for a in the second night, for b in the third.
	nights := []string{
		"('a', 1, 1), ('b', 18446744073709551615, 1)",
		"('a', 9223372036854775809, 2), ('b', 18446744073709551615, 1)",
		"('a', 9223372036854775809, 2), ('b', 9223372036854775807, 3)",
	}
	want := []string{"a 1 01 02", "a 9223372036854775809 02", "b 18446744073709551615 01 03", "b 9223372036854775807 03"}
	h := newFixture(t, "product_listings")
	for name, nightsOfEarlierProgram := range map[string][]int{"the first file": {0}, "the last file": {2}, "all files": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			d, err := h.w.BeginFrom(t.Context(), "again", night.AddDate(0, 1, 0), "")
			harness.Must(t, err)
			defer func() { harness.Must(t, d.Discard()) }()
			for i, rows := range nights {
				hash, file := string(schema.SignedHash()), filepath.Join(t.TempDir(), "listings.parquet")
				if slices.Contains(nightsOfEarlierProgram, i) {
					hash = "row_hash"
				}
				harness.Must(t, d.Exec(t.Context(), sqltext.SQL(fmt.Sprintf(`COPY (SELECT id, %s AS row_hash, ('2026-11-0' || day || ' 02:00:00+00')::TIMESTAMPTZ AS valid_from
					FROM (SELECT id, row_hash::UBIGINT AS row_hash, day FROM (VALUES %s) AS v(id, row_hash, day))) TO %s`, hash, rows, sqltext.Literal(file)))))
				harness.Must(t, load.ApplySnapshot(t.Context(), d, h.w.Schema.Tables, warehouse.Snapshot{Manifest: warehouse.Manifest{RunID: fmt.Sprint(i), SnapshotAt: night.AddDate(0, 0, i)},
					Files: map[string]string{"product_listings": file}}))
			}
			got := queryDraft(t, d, `SELECT id, row_hash, strftime(valid_from, '%d'), NULL FROM main.product_listings
				UNION ALL SELECT id, row_hash, strftime(valid_from, '%d'), strftime(valid_to, '%d') FROM past.product_listings ORDER BY 1, 3`)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEarlierDayIsWrittenFromHistory writes the file of an earlier day again and compares it
// with the original.
func TestEarlierDayIsWrittenFromHistory(t *testing.T) {
	h := newFixture(t, "product_listings")
	all := h.runSnapshots("a1 b1", "a1 b2", "a2")
	listings := h.streams[0].Root()
	for i, want := range [][]string{{"a1 01", "b1 01"}, {"a1 01", "b2 02"}, {"a2 03"}} {
		d, err := h.w.Begin(t.Context(), "rebuild", night.AddDate(0, 1, 0))
		harness.Must(t, err)
		manifest := all[i].Manifest
		file := warehouse.SeriesFile{DayManifest: manifest, Table: warehouse.ManifestTable{Rows: int64(len(want))}}
		harness.Must(t, load.WriteDay(t.Context(), d, listings, file))
		written := sqltext.Literal(filepath.Join(d.Dir, "product_listings.parquet"))
		if diff := cmp.Diff(want, queryDraft(t, d, "SELECT name, strftime(valid_from, '%d') FROM read_parquet("+written+") ORDER BY 1")); diff != "" {
			t.Errorf("day %d (-want +got):\n%s", i+1, diff)
		}
		original := sqltext.Literal(all[i].Files["product_listings"])
		const difference = "(FROM read_parquet(%[1]s) EXCEPT FROM read_parquet(%[2]s)) UNION ALL (FROM read_parquet(%[2]s) EXCEPT FROM read_parquet(%[1]s))"
		if differentRows := queryDraft(t, d, fmt.Sprintf(difference, original, written)); len(differentRows) > 0 {
			t.Errorf("the written file of day %d differs from the original in the rows %v, want equal rows", i+1, differentRows)
		}
		const labels = "SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata(%s) ORDER BY 1"
		wantLabels := queryDraft(t, d, fmt.Sprintf(labels, original))
		if diff := cmp.Diff(wantLabels, queryDraft(t, d, fmt.Sprintf(labels, written))); diff != "" {
			t.Errorf("the run and the time in the file of day %d (-original +written):\n%s", i+1, diff)
		}
		file.Table.Rows = -1 // unknown
		harness.Must(t, load.WriteDay(t.Context(), d, listings, file))
		file.Table.Rows = int64(len(want)) + 1
		if err := load.WriteDay(t.Context(), d, listings, file); err == nil || !strings.Contains(err.Error(), "history has") {
			t.Errorf("with another row count in the manifest, WriteDay returned %v, want an error about the history", err)
		}
		last := warehouse.SeriesFile{DayManifest: all[2].Manifest, Table: warehouse.ManifestTable{Rows: 1}}
		if err := load.WriteDay(t.Context(), d, listings, last); err != nil {
			t.Errorf("the last day after day %d: %v", i+1, err)
		}
		harness.Must(t, d.Discard())
	}
}

// TestMetaOfAnotherCatalogIsCopied copies meta from the catalog of a published version. The version lacks
// the table "later".
func TestMetaOfAnotherCatalogIsCopied(t *testing.T) {
	h := newFixture(t, "product_listings")
	h.setFindings([]stream.Reject{{Stream: "product_listings", Table: "product_listings", Key: "a", Column: "name", Raw: "1"}}, nil, nil)
	_, err := h.run(wholeList(listing("a", "x", 1, 1), ""), load.Limits{})
	harness.Must(t, err)
	run, _, err := h.w.Versions.Latest()
	harness.Must(t, err)
	d, err := h.w.BeginFrom(t.Context(), "again", night.Add(24*time.Hour), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "ALTER TABLE meta.rejects DROP COLUMN reason", "CREATE TABLE meta.later AS SELECT 'kept' AS name"))
	harness.Must(t, load.CopyMeta(t.Context(), d, h.w.Folder.VersionCatalog(run)))
	if diff := cmp.Diff([]string{"kept"}, queryDraft(t, d, "FROM meta.later")); diff != "" {
		t.Errorf("the table that the version lacks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"20261101T020000Z a name 1"}, queryDraft(t, d, "SELECT run_id, key, column_name, raw FROM meta.rejects")); diff != "" {
		t.Errorf("rejects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"20261101T020000Z"}, queryDraft(t, d, "SELECT run_id FROM meta.runs")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if err := load.CopyMeta(t.Context(), d, filepath.Join(h.dir, "none.duckdb")); err == nil {
		t.Error("CopyMeta accepted a missing catalog")
	}
}
