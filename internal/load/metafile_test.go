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

	"placementsync/internal/load"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestNewColumnsOfMetaAreWritten writes the changes of a version whose meta has a column and a table that the
// version before lacks.
func TestNewColumnsOfMetaAreWritten(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	wh, tables := pastWarehouse(t)
	at := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	publishPast(t, wh, tables, at, "INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('a', 1, 'same'), ('a', 2, 'filled')")
	d, err := wh.Begin(t.Context(), "second", at.AddDate(0, 0, 1))
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "ALTER TABLE meta.rejects ADD COLUMN new_column VARCHAR", "UPDATE meta.rejects SET new_column = 'x' WHERE seq = 2",
		"CREATE TABLE meta.new_table AS SELECT 'y' AS new_column"))
	newTable := stream.Definition{Name: "new_table", Columns: []stream.Column{{Name: "new_column", Type: stream.Text}}}
	metaDefs := slices.Clone(wh.Schema.MetaDefinitions)
	for i, def := range metaDefs {
		if def.Name == "rejects" {
			metaDefs[i].Columns = slices.Concat(def.Columns, newTable.Columns)
		}
	}
	harness.Must(t, load.WriteMeta(t.Context(), d, append(metaDefs, newTable), tables))
	changes := queryDraft(t, d, "SELECT meta_table, meta_gone, raw, new_column FROM read_parquet("+sqltext.Literal(filepath.Join(d.Dir, warehouse.MetaFile))+") ORDER BY ALL")
	if diff := cmp.Diff([]string{"new_table false y", "rejects false filled x", "rejects true filled"}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestMetaOfAnEarlierReleaseIsRestored restores meta from the file of a release that had neither the table statuses nor
// any column with one of its names. This happens if a backup of that release is restored.
func TestMetaOfAnEarlierReleaseIsRestored(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	wh, _ := pastWarehouse(t)
	earlier := slices.DeleteFunc(slices.Clone(wh.Schema.MetaDefinitions), func(def stream.Definition) bool { return def.Name == "statuses" })
	at := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	d, err := wh.Begin(t.Context(), "first", at)
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('first', 1, 'x')"))
	harness.Must(t, load.WriteMeta(t.Context(), d, earlier, nil))
	want := metaRows(t, d, earlier)
	file := filepath.Join(t.TempDir(), warehouse.MetaFile)
	harness.Must(t, os.Rename(filepath.Join(d.Dir, warehouse.MetaFile), file))

	restored, err := wh.BeginFrom(t.Context(), "second", at.AddDate(0, 0, 1), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, restored.Discard()) }()
	definitions := fmt.Sprint(wh.Schema.MetaDefinitions)
	harness.Must(t, load.RestoreMeta(t.Context(), restored, wh.Schema.MetaDefinitions, []string{file}))
	if diff := cmp.Diff(want, metaRows(t, restored, wh.Schema.MetaDefinitions)); diff != "" {
		t.Errorf("restored meta (-want +got):\n%s", diff)
	}
	if fmt.Sprint(wh.Schema.MetaDefinitions) != definitions {
		t.Error("the tables of meta have lost the columns that the file lacks")
	}
}

func metaRows(t *testing.T, d *warehouse.Draft, metaDefs []stream.Definition) (all []string) {
	t.Helper()
	for _, def := range metaDefs {
		query := fmt.Sprintf("SELECT '%s ' || x::VARCHAR FROM meta.%[1]s x", def.Name)
		err := d.EachRow(t.Context(), []sqltext.SQL{sqltext.SQL(query)}, func(scan func(...any) error) error {
			var row string
			err := scan(&row)
			all = append(all, row)
			return err
		})
		harness.Must(t, err)
	}
	slices.Sort(all)
	return all
}

// pastWarehouse returns a warehouse whose tables have columns of most types.
func pastWarehouse(t *testing.T) (*warehouse.Warehouse, []stream.Table) {
	t.Helper()
	tables := slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool {
		return !slices.Contains([]string{"orders", "order_line_items", "product_listings"}, x.Name)
	})
	wh := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 9, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: tables})
	return wh, tables
}

// publishPast runs the SQL change, in which "$run" is the run id, and publishes a version. It returns the
// run id and all rows of meta and past.
func publishPast(t *testing.T, wh *warehouse.Warehouse, tables []stream.Table, at time.Time, change string) (run string, all []string) {
	t.Helper()
	run = at.Format("20060102T150405Z")
	d, err := wh.Begin(t.Context(), run, at)
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL(strings.ReplaceAll(change, "$run", run))))
	all = slices.Concat(metaRows(t, d, wh.Schema.MetaDefinitions), pastRows(t, d, tables))
	harness.Must(t, load.WriteMeta(t.Context(), d, wh.Schema.MetaDefinitions, tables))
	files, err := load.WriteParquet(t.Context(), d, tables, nil)
	harness.Must(t, err)
	_, err = d.Publish(t.Context(), files)
	harness.Must(t, err)
	return run, all
}

// pastRows returns all rows of past with all values.
func pastRows(t *testing.T, d *warehouse.Draft, tables []stream.Table) (all []string) {
	t.Helper()
	for _, table := range tables {
		harness.Must(t, d.EachRow(t.Context(), []sqltext.SQL{sqltext.SQL(fmt.Sprintf("SELECT '%s ' || x::VARCHAR FROM past.%[1]s x", table.Name))}, func(scan func(...any) error) error {
			var row string
			err := scan(&row)
			all = append(all, row)
			return err
		}))
	}
	slices.Sort(all)
	return all
}

// insertClosedRows returns SQL that inserts one row into each table of past. If isFilled is true, each column
// has an unusual value of its type, for example a text with quotes. Otherwise only the columns that must
// not be NULL are set.
func insertClosedRows(defs []stream.Definition, isFilled bool) string {
	var statements []string
	for _, def := range defs {
		var names, values []string
		for _, c := range slices.Concat(def.Columns, stream.SystemColumns(), stream.ClosedColumns()) {
			if !isFilled && !c.NotNull {
				continue
			}
			value, typeName := "", strings.ToUpper(string(c.Type))
			switch {
			case c.Name == "run_id":
				value = "'$run'"
			case strings.HasPrefix(typeName, "DECIMAL"):
				value = "'-123456789012.123456'"
			case typeName == "TIMESTAMPTZ":
				value = "TIMESTAMPTZ '2026-11-01 02:00:00.123456+00'"
			case typeName == "DATE":
				value = "DATE '2026-11-01'"
			case typeName == "DOUBLE":
				value = "0.1::DOUBLE + 0.2::DOUBLE"
			case typeName == "UBIGINT":
				value = "18446744073709551615"
			case typeName == "BIGINT":
				value = "-9223372036854775807"
			case typeName == "INTEGER":
				value = "-2147483647"
			case typeName == "BOOLEAN":
				value = "false"
			case typeName == "VARCHAR", typeName == "JSON":
				value = `'{"a": [1.50, null, "\"", "ü", "it''s"],' || chr(10) || chr(9) || ' "=": ""}'`
			default:
				value = "'no value is known of " + typeName + "'" // the INSERT fails with this message
			}
			names, values = append(names, sqltext.Quote(c.Name)), append(values, value)
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO past.%s (%s) VALUES (%s)", sqltext.Quote(def.Name), strings.Join(names, ", "), strings.Join(values, ", ")))
	}
	return strings.Join(statements, ";\n")
}

// TestMetaAndPastAreTheSumsOfTheirChanges publishes versions that add, change, repeat and remove rows of meta, and that
// close rows. The meta and the past of each version must be restored from the files of changes alone. The closed rows
// have columns of most types, NULLs and duplicates. One version changes nothing.
func TestMetaAndPastAreTheSumsOfTheirChanges(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	wh, tables := pastWarehouse(t)
	var defs []stream.Definition
	for _, table := range tables {
		defs = append(defs, wh.Schema.Definitions[table.Name])
	}
	startedAt := time.Date(2026, 11, 1, 2, 0, 0, 123456000, time.UTC)
	rowCounts := []int{6 + 3, 6 + 9, 6 + 9, 8 + 11} // of meta and of past, in three tables
	for i, change := range []string{
		// The rows of meta.tables and meta.deletions have equal values in the columns that both tables have.
		`INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('a', 1, 'x'), ('a', 1, 'x'), ('a', 2, NULL), ('a', 3, '"q"' || chr(10) || 'ü');
			INSERT INTO meta.tables (run_id, table_name) VALUES ('a', 'orders'); INSERT INTO meta.deletions (run_id, table_name, key) VALUES ('a', 'orders', '1');` +
			insertClosedRows(defs, true),
		`DELETE FROM meta.rejects WHERE seq = 2; DELETE FROM meta.deletions;
			INSERT INTO meta.requests (run_id, stream, latency_p50_ms) VALUES ('b', 's', 0.100001), ('b', 't', 12345678901.999999);` +
			insertClosedRows(defs, false) + ";" + insertClosedRows(defs, false),
		"SELECT 1",
		`UPDATE meta.requests SET latency_p50_ms = NULL WHERE stream = 's'; INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('a', 1, 'x');
			INSERT INTO meta.runs (run_id, started_at) VALUES ('c', TIMESTAMPTZ '2026-11-01 02:00:00.123456+00');
			INSERT INTO past.orders (id, valid_from, row_hash, valid_to, run_id) VALUES
			('', TIMESTAMPTZ '2026-11-01 02:00:00+00', 0, TIMESTAMPTZ '2026-11-02 02:00:00+00', '$run'),
			('NULL', TIMESTAMPTZ '2026-11-01 02:00:00+00', 1, TIMESTAMPTZ '2026-11-02 02:00:00.000001+00', '$run')`,
	} {
		at := startedAt.Add(time.Duration(i) * time.Hour) // all on one day
		run, published := publishPast(t, wh, tables, at, change)
		series, err := repair.ReadSeries(t.Context(), wh)
		harness.Must(t, err)
		if len(series.Changes) != i+1 || !series.HasPast || len(series.DamagedChanges) > 0 {
			t.Fatalf("the files of changes for %s are %v (has past %v), damaged %v, want %d files", run, series.Changes, series.HasPast, series.DamagedChanges, i+1)
		}
		restored, err := wh.BeginFrom(t.Context(), run+"-2", at.AddDate(0, 0, 1), "")
		harness.Must(t, err)
		harness.Must(t, load.RestoreMeta(t.Context(), restored, wh.Schema.MetaDefinitions, series.Changes))
		harness.Must(t, load.RestorePast(t.Context(), restored, tables, series.Changes, at.AddDate(1, 0, 0)))
		got := slices.Concat(metaRows(t, restored, wh.Schema.MetaDefinitions), pastRows(t, restored, tables))
		if diff := cmp.Diff(published, got); diff != "" || len(published) != rowCounts[i] {
			t.Errorf("restored meta and past after change %d, of %d rows (-want +got):\n%s", i, rowCounts[i], diff)
		}
		harness.Must(t, restored.Discard())
	}
}
