package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// insertClosedOrder returns SQL that inserts a closed row of orders. from and to are hours of 1 November.
func insertClosedOrder(id string, from, to int) string {
	return fmt.Sprintf("INSERT INTO past.orders (id, valid_from, row_hash, valid_to, run_id) VALUES ('%s', TIMESTAMPTZ '2026-11-01 %02d:00:00+00', 1, TIMESTAMPTZ '2026-11-01 %02d:00:00+00', '$run')", id, from, to)
}

// closedOrders returns the rows of past.orders with the hours in which they begin and end.
func closedOrders(t *testing.T, d *warehouse.Draft) []string {
	t.Helper()
	return queryDraft(t, d, "SELECT id, strftime(valid_from, '%H'), strftime(valid_to, '%H') FROM past.orders ORDER BY ALL")
}

// TestPastIsRestoredUntilTheSnapshot restores past up to the time of an earlier snapshot. Rows that were
// closed after this time must not be restored.
func TestPastIsRestoredUntilTheSnapshot(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	wh, tables := pastWarehouse(t)
	run, _ := publishPast(t, wh, tables, night, insertClosedOrder("a", 1, 2)+";"+insertClosedOrder("b", 1, 3))
	series, err := repair.ReadSeries(t.Context(), wh)
	harness.Must(t, err)
	d, err := wh.BeginFrom(t.Context(), "again", night.AddDate(0, 0, 1), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	for hour, want := range map[int][]string{1: nil, 2: {"a 01 02"}, 3: {"a 01 02", "b 01 03"}} {
		until := time.Date(2026, 11, 1, hour, 0, 0, 0, time.UTC)
		for name, restore := range map[string]func() error{
			"RestorePast": func() error { return load.RestorePast(t.Context(), d, tables, series.Changes, until) },
			"CopyPast":    func() error { return load.CopyPast(t.Context(), d, wh.Folder.VersionCatalog(run), until) },
		} {
			harness.Must(t, restore())
			harness.Must(t, load.RestorePast(t.Context(), d, tables, nil, d.At)) // without files it changes nothing
			if diff := cmp.Diff(want, closedOrders(t, d)); diff != "" {
				t.Errorf("%s until %d o'clock (-want +got):\n%s", name, hour, diff)
			}
			harness.Must(t, d.Exec(t.Context(), "DELETE FROM past.orders"))
		}
	}
}

// TestExactEndsReplaceComputedEnds merges the rows in files of changes into past. The ends of the rows in
// past were computed by comparing snapshots. These ends are too late, because the snapshots can be days
// apart.
func TestExactEndsReplaceComputedEnds(t *testing.T) {
	t.Parallel()
	wh, tables := pastWarehouse(t)
	publishPast(t, wh, tables, night, insertClosedOrder("known", 1, 3)+";"+insertClosedOrder("new", 1, 4)+";"+insertClosedOrder("late", 1, 9))
	series, err := repair.ReadSeries(t.Context(), wh)
	harness.Must(t, err)
	d, err := wh.BeginFrom(t.Context(), "again", night.AddDate(0, 0, 1), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL(insertClosedOrder("known", 1, 7)), sqltext.SQL(insertClosedOrder("overlap", 1, 7)), sqltext.SQL(insertClosedOrder("gap", 1, 7)),
		"INSERT INTO main.orders (id, valid_from, row_hash) VALUES ('overlap', TIMESTAMPTZ '2026-11-01 05:00:00+00', 2), ('gap', TIMESTAMPTZ '2026-11-01 08:00:00+00', 2), "+
			// This row is from the file of an earlier day, and was closed since.
			"('new', TIMESTAMPTZ '2026-11-01 01:00:00+00', 1)"))
	until := night.Add(6 * time.Hour) // 8 o'clock
	harness.Must(t, load.MergePast(t.Context(), d, tables, series.Changes, until))
	if diff := cmp.Diff([]string{"gap 01 07", "known 01 03", "new 01 04", "overlap 01 05"}, closedOrders(t, d)); diff != "" {
		t.Errorf("the past differs (-want +got):\n%s", diff)
	}
	harness.Must(t, load.MergePast(t.Context(), d, tables, nil, until)) // without files it succeeds
}

// TestClosedRowsAreRemovedFromMain inserts a row of orders into main that is also in past, a row with an
// earlier row version in past, and a row that past lacks. DropClosed must remove only the first row, and only
// if it is called for orders.
func TestClosedRowsAreRemovedFromMain(t *testing.T) {
	t.Parallel()
	wh, _ := pastWarehouse(t)
	d, err := wh.Begin(t.Context(), "draft", night)
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL(insertClosedOrder("closed", 1, 3)), sqltext.SQL(insertClosedOrder("earlier", 1, 3)),
		"INSERT INTO main.orders (id, valid_from, row_hash) SELECT v.id, ('2026-11-01 0' || v.hour || ':00:00+00')::TIMESTAMPTZ, 1 FROM (VALUES ('closed', 1), ('earlier', 3), ('open', 1)) v(id, hour)"))
	for _, c := range []struct {
		table string
		want  []string
	}{{"product_listings", []string{"closed", "earlier", "open"}}, {"orders", []string{"earlier", "open"}}} {
		harness.Must(t, load.DropClosed(t.Context(), d, []string{c.table}))
		if got := queryDraft(t, d, "SELECT id FROM main.orders ORDER BY id"); !slices.Equal(got, c.want) {
			t.Errorf("after removing closed rows of %s, main.orders has %v, want %v", c.table, got, c.want)
		}
	}
}

// TestMetaDescribesEarlierSnapshots reads the snapshots, row counts and grades of earlier runs from
// meta, and lowers grades.
func TestMetaDescribesEarlierSnapshots(t *testing.T) {
	t.Parallel()
	wh, _ := pastWarehouse(t)
	d, err := wh.Begin(t.Context(), "draft", night.AddDate(0, 0, 9))
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	// run returns SQL that inserts a run and its number of orders, which is the length of its id.
	run := func(id, kind, outcome, at string) string {
		snapshot := "NULL"
		if at != "" {
			snapshot = "TIMESTAMPTZ '2026-11-" + at + ":00:00+00'"
		}
		return fmt.Sprintf("INSERT INTO meta.runs (run_id, kind, outcome, snapshot_at) VALUES ('%s', %s, '%s', %s); INSERT INTO meta.tables (run_id, table_name, rows) VALUES ('%[1]s', 'orders', %[5]d)",
			id, kind, outcome, snapshot, len(id))
	}
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL(strings.Join([]string{
		run("a", "'night'", "complete", "01 02"),
		run("aa", "NULL", "partial", "01 03"),
		run("ab", "'night'", "complete", "01 03"),
		run("b", "'refresh'", "partial", "02 02"),
		run("rebuilt", "'rebuild'", "complete", "02 04"),
		run("back", "'rollback'", "complete", "02 05"),
		run("failed", "'night'", "failed", "02 06"),
		run("c", "NULL", "complete", "03 00"),       // early programs wrote no kind
		run("late", "'night'", "complete", "03 01"), // after the time up to which snapshots are read
		"INSERT INTO meta.runs (run_id, outcome, snapshot_at) VALUES ('rolled back', 'complete', TIMESTAMPTZ '2026-11-02 09:00:00+00')",
		"INSERT INTO meta.tables (run_id, table_name, rows) VALUES ('a', 'tags', NULL), ('a', 'files', 0)",
		"INSERT INTO meta.streams (run_id, stream, grade, reason, rows, rows_old, age_since) VALUES ('a', 'orders', 'exact', NULL, 7, 0, NULL), ('a', 'tags', 'exact', NULL, 3, 0, NULL), " +
			"('a', 'files', 'bounded', 'why', 4, 1, TIMESTAMPTZ '2026-10-01 02:00:00+00'), ('a', 'webhooks', NULL, NULL, 0, 0, NULL), ('aa', 'orders', 'exact', NULL, 8, 0, NULL)"}, "; "))))
	snapshots, err := load.LastSnapshotsOfDays(t.Context(), d, time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC))
	harness.Must(t, err)
	var got []string
	for id, at := range snapshots {
		got = append(got, id+" "+at.UTC().Format("02 15"))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"ab 01 03", "b 02 02", "c 03 00"}) {
		t.Errorf("the last snapshots are %v, want the snapshots of the runs ab, b and c", got)
	}
	rows, err := load.RowCounts(t.Context(), d, "a")
	if err != nil || !maps.Equal(rows, map[string]int64{"orders": 1, "files": 0}) {
		t.Errorf("the row counts are %v (%v), want 1 of orders and 0 of files", rows, err)
	}
	harness.Must(t, load.CarryStreams(t.Context(), d, "a", []string{"orders", "files"}, night, "its file is lost"))
	grades, err := load.Grades(t.Context(), d, "a")
	if err != nil || !cmp.Equal(grades, map[string]stream.GradeReason{"orders": {Grade: stream.CarriedForward, Reason: "its file is lost"},
		"files": {Grade: stream.CarriedForward, Reason: "its file is lost"}, "tags": {Grade: stream.Exact}}) {
		t.Errorf("the grades are %+v (%v), want orders and files carried forward with a reason, and tags exact", grades, err)
	}
	want := []string{"a files its file is lost 4 2026-10-01", "a orders its file is lost 7 2026-11-01", "a tags 0", "a webhooks 0", "aa orders 0"}
	if diff := cmp.Diff(want, queryDraft(t, d, "SELECT run_id, stream, reason, rows_old, age_since::DATE FROM meta.streams ORDER BY ALL")); diff != "" {
		t.Errorf("meta.streams differs (-want +got):\n%s", diff)
	}
	harness.Must(t, d.Exec(t.Context(), "INSERT INTO meta.details (stream, id, read_at) SELECT s, 'day ' || n, TIMESTAMPTZ '2026-11-01 02:00:00+00' + INTERVAL (n - 1) DAY FROM range(1, 3) r(n), (VALUES ('orders'), ('files')) v(s)"))
	harness.Must(t, load.ForgetDetails(t.Context(), d, []string{"orders"}, night))
	if diff := cmp.Diff([]string{"files day 1", "files day 2", "orders day 1"}, queryDraft(t, d, "SELECT stream, id FROM meta.details ORDER BY ALL")); diff != "" {
		t.Errorf("the details that were read before the lost rows differ (-want +got):\n%s", diff)
	}
	harness.Must(t, d.Exec(t.Context(), "DROP TABLE meta.streams"))
	if err := load.CarryStreams(t.Context(), d, "a", []string{"orders"}, night, "x"); err == nil || !strings.Contains(err.Error(), "lower the grades of [orders]") {
		t.Errorf("without meta.streams CarryStreams returned %v, want an error about the grades of orders", err)
	}
}

// TestASnapshotReplacesOnlyItsTables applies a snapshot that names no file of orders, and a snapshot
// whose file of orders does not exist. The rows of orders must be kept both times.
func TestASnapshotReplacesOnlyItsTables(t *testing.T) {
	t.Parallel()
	wh, tables := pastWarehouse(t)
	d, err := wh.Begin(t.Context(), "draft", night)
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "INSERT INTO main.orders (id, valid_from, row_hash) VALUES ('a', TIMESTAMPTZ '2026-11-01 02:00:00+00', 1)"))
	harness.Must(t, load.ApplySnapshot(t.Context(), d, tables, warehouse.Snapshot{Manifest: warehouse.Manifest{RunID: "b", SnapshotAt: night.AddDate(0, 0, 1)}}))
	err = load.ApplySnapshot(t.Context(), d, tables, warehouse.Snapshot{Manifest: warehouse.Manifest{RunID: "b", SnapshotAt: night.AddDate(0, 0, 1)}, Files: map[string]string{"orders": "missing.parquet"}})
	if err == nil || !strings.Contains(err.Error(), "apply table orders of the snapshot of 2026-11-02") {
		t.Errorf("the error of a missing file is %v, want it to name the table and the day", err)
	}
	if got := queryDraft(t, d, "SELECT id FROM main.orders"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the rows of orders are %v, want a", got)
	}
}
