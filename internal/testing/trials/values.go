package trials

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	testharness "placementsync/internal/testing/harness"
)

// NightData contains the expected rows of all tables at the time of a night.
type NightData struct {
	At   time.Time
	Rows map[string][]TextRow
}

// RequireHistory compares every table with its expected rows at the time of every night, and in the last microsecond
// before the next night. valid_from is inclusive and valid_to exclusive, so both times have the same rows. Before the
// first night, a table must be empty.
func (h *Harness) RequireHistory(ref *Reference, nights []NightData) {
	h.T.Helper()
	check := func(at time.Time, rows map[string][]TextRow) {
		for _, spec := range ref.UniqueTables() {
			CheckTable(h.T, spec, rows, h.Catalog(), fmt.Sprintf("%s_at(TIMESTAMPTZ '%s+00')", spec.Table, at.UTC().Format(MicrosecondLayout)))
		}
	}
	check(nights[0].At.Add(-time.Microsecond), nil)
	for n, night := range nights {
		check(night.At, night.Rows)
		if n+1 < len(nights) {
			check(nights[n+1].At.Add(-time.Microsecond), night.Rows)
		}
	}
}

// RequireSeries compares the Parquet files of each night with the expected rows of that night. Later nights must
// not change these files.
func (h *Harness) RequireSeries(ref *Reference, nights []NightData) {
	h.T.Helper()
	db := Open(h.T, "")
	for _, night := range nights {
		for _, spec := range ref.UniqueTables() {
			file := h.Path("parquet", spec.Table, "snapshot_date="+night.At.Format(time.DateOnly), spec.Table+".parquet")
			CheckTable(h.T, spec, night.Rows, db, "read_parquet('"+file+"', hive_partitioning = false)")
		}
	}
}

// CheckTable reads the rows of a table, and compares them with the rows in current. tableExpr is the
// SQL table expression to read.
func CheckTable(t *testing.T, spec TableSpec, current map[string][]TextRow, db *sql.DB, tableExpr string) {
	t.Helper()
	CompareRows(t, spec, current, ReadTable(t, spec, db, tableExpr), tableExpr)
}

// CompareRows compares rows of a table with the rows in current. label names the table in messages.
func CompareRows(t *testing.T, spec TableSpec, current map[string][]TextRow, rows []TextRow, label string) {
	t.Helper()
	want := RowsByKey(spec, current[spec.Table])
	got := RowsByKey(spec, rows)
	keys := slices.Sorted(maps.Keys(want))
	for key := range got {
		if _, ok := want[key]; !ok {
			keys = append(keys, key)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s has %d rows, want %d as in the service", label, len(got), len(want))
	}
	const maxDiffs = 5
	diffs := 0
	for _, key := range keys {
		diff := cmp.Diff(want[key], got[key])
		if diff == "" {
			continue
		}
		diffs++
		if diffs > maxDiffs {
			t.Fatalf("%s: more than %d rows differ", label, maxDiffs)
		}
		t.Errorf("%s, row %s (-service +warehouse):\n%s", label, key, diff)
	}
}

// RowsByKey returns rows by key. It adds a suffix to the key of a duplicate.
func RowsByKey(spec TableSpec, rows []TextRow) map[string]TextRow {
	all := map[string]TextRow{}
	for _, r := range rows {
		key := KeyOf(spec, r)
		for all[key] != nil {
			key += " again"
		}
		all[key] = r
	}
	return all
}

// KeyOf returns the key of a row as one text.
func KeyOf(spec TableSpec, r TextRow) string {
	var parts []string
	for _, name := range strings.Fields(spec.Key) {
		parts = append(parts, r[name])
	}
	return strings.Join(parts, "/")
}

// uncomparedColumns are the columns that the warehouse adds, and those that it derives from do_follow_links_allowed. The
// tests of package transform compare the derived values with a second decoder.
func uncomparedColumns() []string {
	return []string{"valid_from", "valid_to", "row_hash", "run_id", "do_follow_links_allowed", "do_follow_links_unlimited", "do_follow_links_limit"}
}

// ReadTable reads a table as exact text, and checks the names and types of its columns.
func ReadTable(t *testing.T, spec TableSpec, db *sql.DB, tableExpr string) []TextRow {
	t.Helper()
	types := map[string]string{}
	for _, d := range Query(t, db, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+tableExpr+")") {
		types[d[0].String] = d[1].String
	}
	wantTypes := spec.Types()
	for name := range types {
		if valid := validTypes(wantTypes[name], tableExpr); !slices.Contains(uncomparedColumns(), name) && !slices.Contains(valid, types[name]) {
			t.Errorf("the type of %s.%s is %s, want one of %q", tableExpr, name, types[name], valid)
		}
	}
	for name := range wantTypes {
		if types[name] == "" && !slices.Contains(spec.MayLack, name) {
			t.Errorf("%s lacks the column %s", tableExpr, name)
		}
	}
	var names, exprs []string
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !slices.Contains(uncomparedColumns(), name) {
			names, exprs = append(names, name), append(exprs, exactTextSQL(name, types[name]))
		}
	}
	rows := Query(t, db, "SELECT "+strings.Join(exprs, ", ")+" FROM "+tableExpr)
	all := make([]TextRow, len(rows))
	for i, values := range rows {
		all[i] = TextRow{}
		for n, v := range values {
			switch {
			case !v.Valid:
			case slices.Contains(wantTypes[names[n]], "JSON"):
				all[i][names[n]] = Canonical(Decode(v.String))
			default:
				all[i][names[n]] = v.String
			}
		}
	}
	return all
}

// validTypes returns the valid types of a column in the table expression tableExpr. types are the valid
// types in DuckDB. In Parquet files, JSON has the type VARCHAR.
func validTypes(types []string, tableExpr string) []string {
	if strings.Contains(tableExpr, ".parquet") && slices.Contains(types, "JSON") {
		return []string{"VARCHAR"}
	}
	return types
}

// exactTextSQL returns the SQL expression that converts a column to text without loss. Times are
// written in UTC, in each time zone of the session.
func exactTextSQL(name, columnType string) string {
	if columnType == "TIMESTAMP WITH TIME ZONE" {
		return fmt.Sprintf("strftime(make_timestamp(epoch_us(%s)), '%%Y-%%m-%%d %%H:%%M:%%S.%%f')", strconv.Quote(name))
	}
	return strconv.Quote(name) + "::VARCHAR"
}

// Query returns all rows of a query. All columns of the query must be of type VARCHAR.
func Query(t *testing.T, db *sql.DB, text string, args ...any) [][]sql.NullString {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	testharness.Must(t, err)
	var all [][]sql.NullString
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		testharness.Must(t, rows.Scan(into...))
		all = append(all, values)
	}
	testharness.Must(t, rows.Err())
	return all
}
