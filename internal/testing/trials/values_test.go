package trials_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	testharness "placementsync/internal/testing/harness"
)

// TestTrialEveryValueIsStored compares every field of every record of the service with the
// warehouse after each night, in DuckDB and in Parquet. Then it compares the whole history.
func TestTrialEveryValueIsStored(t *testing.T) {
	t.Parallel()
	h := newHarness(t, richWorld())
	ref := newReference(t, h.service, h.cfg.Streams)
	parquet := open(t, "")
	var nights []nightData
	for n := range 3 {
		h.goodNight()
		night := nightData{h.at, ref.currentRows()}
		nights = append(nights, night)
		catalog := h.catalog()
		for _, spec := range ref.uniqueTables() {
			file := fmt.Sprintf("read_parquet('%s')", h.path("latest", spec.table+".parquet"))
			t.Run(fmt.Sprintf("night %d/%s/DuckDB", n+1, spec.table), func(t *testing.T) { checkTable(t, spec, night.rows, catalog, "main."+spec.table) })
			t.Run(fmt.Sprintf("night %d/%s/Parquet", n+1, spec.table), func(t *testing.T) { checkTable(t, spec, night.rows, parquet, file) })
		}
	}
	t.Run("the world changed", func(t *testing.T) { requireChanges(t, nights) })
	checkHistory(t, h, ref, nights)
	checkSeries(t, h, ref, nights)
}

// requireChanges checks that some tables changed between the first and the last night.
func requireChanges(t *testing.T, nights []nightData) {
	lastRows := nights[len(nights)-1].rows
	for _, name := range []string{"product_listings", "product_listing_prices", "orders", "article_statuses", "outlets"} {
		if cmp.Equal(nights[0].rows[name], lastRows[name]) {
			t.Errorf("%s did not change in %d nights, want changed rows", name, len(nights))
		}
	}
}

// checkTable reads the rows of a table, and compares them with the rows in current. tableExpr is the
// SQL table expression to read.
func checkTable(t *testing.T, spec tableSpec, current map[string][]textRow, db *sql.DB, tableExpr string) {
	t.Helper()
	compareRows(t, spec, current, readTable(t, spec, db, tableExpr), tableExpr)
}

// compareRows compares rows of a table with the rows in current. label names the table in
// messages.
func compareRows(t *testing.T, spec tableSpec, current map[string][]textRow, rows []textRow, label string) {
	t.Helper()
	want := rowsByKey(spec, current[spec.table])
	got := rowsByKey(spec, rows)
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
		if diffs++; diffs > maxDiffs {
			t.Fatalf("%s: more than %d rows differ", label, maxDiffs)
		}
		t.Errorf("%s, row %s (-service +warehouse):\n%s", label, key, diff)
	}
}

// rowsByKey returns rows by key. It adds a suffix to the key of a duplicate.
func rowsByKey(spec tableSpec, rows []textRow) map[string]textRow {
	all := map[string]textRow{}
	for _, r := range rows {
		key := keyOf(spec, r)
		for all[key] != nil {
			key += " again"
		}
		all[key] = r
	}
	return all
}

func keyOf(spec tableSpec, r textRow) string {
	var parts []string
	for _, name := range strings.Fields(spec.key) {
		parts = append(parts, r[name])
	}
	return strings.Join(parts, "/")
}

// systemColumns are the columns that the warehouse adds.
func systemColumns() []string { return []string{"valid_from", "valid_to", "row_hash", "run_id"} }

// readTable reads a table as exact text, and checks the names and types of its columns.
func readTable(t *testing.T, spec tableSpec, db *sql.DB, tableExpr string) []textRow {
	t.Helper()
	types := columnTypes(t, db, tableExpr)
	wantTypes := spec.types()
	for name := range types {
		if valid := validTypes(wantTypes[name], tableExpr); !slices.Contains(systemColumns(), name) && !slices.Contains(valid, types[name]) {
			t.Errorf("the type of %s.%s is %s, want one of %q", tableExpr, name, types[name], valid)
		}
	}
	for name := range wantTypes {
		if types[name] == "" && !slices.Contains(spec.mayLack, name) {
			t.Errorf("%s lacks the column %s", tableExpr, name)
		}
	}
	return readTexts(t, spec, db, tableExpr, types)
}

// readTexts reads the columns in types as exact text. It leaves out the columns that the warehouse
// adds.
func readTexts(t *testing.T, spec tableSpec, db *sql.DB, tableExpr string, types map[string]string) []textRow {
	t.Helper()
	wantTypes := spec.types()
	var names, exprs []string
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !slices.Contains(systemColumns(), name) {
			names, exprs = append(names, name), append(exprs, exactTextSQL(name, types[name]))
		}
	}
	rows := query(t, db, "SELECT "+strings.Join(exprs, ", ")+" FROM "+tableExpr)
	all := make([]textRow, len(rows))
	for i, values := range rows {
		all[i] = textRow{}
		for n, v := range values {
			if !v.Valid {
				continue
			}
			if all[i][names[n]] = v.String; slices.Contains(wantTypes[names[n]], "JSON") {
				all[i][names[n]] = canonical(decode(v.String))
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

func columnTypes(t *testing.T, db *sql.DB, tableExpr string) map[string]string {
	t.Helper()
	types := map[string]string{}
	for _, d := range query(t, db, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+tableExpr+")") {
		types[d[0].String] = d[1].String
	}
	return types
}

// exactTextSQL returns the SQL expression that converts a column to text without loss. Times are
// written in UTC, whatever the time zone of the session is.
func exactTextSQL(name, columnType string) string {
	if columnType == "TIMESTAMP WITH TIME ZONE" {
		return fmt.Sprintf("strftime(make_timestamp(epoch_us(%s)), '%%Y-%%m-%%d %%H:%%M:%%S.%%f')", strconv.Quote(name))
	}
	return strconv.Quote(name) + "::VARCHAR"
}

// query returns all rows of a query. All columns of the query must be of type VARCHAR.
func query(t *testing.T, db *sql.DB, text string, args ...any) [][]sql.NullString {
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
