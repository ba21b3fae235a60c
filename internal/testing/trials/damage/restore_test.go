package damage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	queries "placementsync/internal/query"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// TestTrialRestoreEqualsTheOriginal removes all files except parquet/ and state/, and rebuilds the warehouse. The
// backup in docs/guide/recovery.md contains only these two folders. After the rebuild, three things must be the same
// as before: all rows of all tables and views; the results of all named queries, for the newest and for an earlier
// night; and the differences between two nights.
func TestTrialRestoreEqualsTheOriginal(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.TrialWorld(3))
	h.Config.Details, h.Config.LiveDays, h.Config.Recheck = "changed", 45, 7
	h.GoodNight()
	h.GoodNight()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupted by the test"))
	h.FailedNight(stopped, 130)
	for range 3 {
		h.GoodNight()
	}
	before, results := contents(t, h.Path("catalog.duckdb")), queryResults(h, "")
	earlierResults := queryResults(h, "2026-11-04")
	for _, name := range []string{"versions", "raw", "latest", "catalog.duckdb"} {
		testharness.Must(t, os.RemoveAll(h.Path(name)))
	}
	if _, err := h.Night(); !errors.As(err, new(*warehouse.LostError)) {
		t.Fatalf("a night in a warehouse without versions: got the error %v, want a LostError", err)
	}
	r, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	type parts struct {
		Snapshots, WithoutDay int
		HasMeta               bool
		Skipped               int
	}
	if diff := cmp.Diff(parts{Snapshots: 5, HasMeta: true}, parts{r.Snapshots, r.SnapshotsWithoutDay, r.HasMeta, len(r.Skipped)}); diff != "" {
		t.Errorf("the sources of the rebuild (-want +got):\n%s", diff)
	}
	requireContents(t, before, contents(t, h.Path("catalog.duckdb")))
	if diff := cmp.Diff(results, queryResults(h, "")); diff != "" {
		t.Errorf("results of named queries differ (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(earlierResults, queryResults(h, "2026-11-04")); diff != "" {
		t.Errorf("results of named queries as of an earlier night differ (-before +after):\n%s", diff)
	}
	// Remove the versions of the rebuilt warehouse, and rebuild it again.
	testharness.Must(t, os.RemoveAll(h.Path("versions")))
	h.At = h.At.Add(time.Hour)
	_, err = repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	requireContents(t, before, contents(t, h.Path("catalog.duckdb")))
	h.GoodNight()
}

// contents returns the rows of every table and view of a catalog as sorted JSON.
func contents(t *testing.T, file string) map[string][]string {
	t.Helper()
	db := trials.OpenUnmanaged(t, file+"?access_mode=read_only&threads=1")
	defer db.Close()
	all := map[string][]string{}
	for _, row := range trials.Query(t, db, `SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal
		UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal`) {
		name := row[0].String
		rows := []string{}
		for _, result := range trials.Query(t, db, fmt.Sprintf("SELECT to_json(x)::VARCHAR FROM (SELECT * FROM %s) x ORDER BY 1", name)) {
			rows = append(rows, result[0].String)
		}
		all[name] = rows
	}
	return all
}

// requireContents compares the contents of two catalogs.
func requireContents(t *testing.T, want, got map[string][]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s differs (-before +after):\n%s", name, diff)
		}
	}
	if len(want) != len(got) {
		t.Errorf("the catalog has %d tables and views, want %d", len(got), len(want))
	}
}

// queryResults returns the results of all named queries by name. The result of a query with a required parameter is
// its error. If asOf is empty, queryResults also returns the differences between the last two snapshots.
func queryResults(h *trials.Harness, asOf string) map[string]string {
	h.T.Helper()
	db, err := queries.Open(h.T.Context(), h.Path("catalog.duckdb"), queries.Options{MemoryLimit: "256MB", Threads: 1, AsOf: asOf})
	testharness.Must(h.T, err)
	defer db.Close()
	all := queries.List()
	if asOf == "" {
		snapshots, err := db.Snapshots(h.T.Context())
		testharness.Must(h.T, err)
		from, to, err := queries.SnapshotsToCompare(snapshots)
		testharness.Must(h.T, err)
		changes, err := db.Changes(h.T.Context(), queries.Diff{From: from, To: to}, true)
		testharness.Must(h.T, err)
		changes.Name = "changes"
		all = append(all, changes)
	}
	results := map[string]string{}
	for _, q := range all {
		var text bytes.Buffer
		w, err := queries.NewWriter(queries.Output{Format: queries.JSONL}, &text, queries.Screen{})
		testharness.Must(h.T, err)
		if _, err := db.Run(h.T.Context(), q, nil, w); err != nil {
			results[q.Name] = err.Error()
			continue
		}
		results[q.Name] = text.String()
	}
	if len(results) < 36 {
		h.T.Errorf("got the results of %d queries, want at least 36", len(results))
	}
	return results
}
