package enginetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plantedResult is a result that compare.py compares with DuckDB's result. The two results are
// equal, or differ in a known way.
type plantedResult struct {
	Name       string `json:"name"`
	DuckDBPath string `json:"duckdb_path"`
	WantSQL    string `json:"want"`
	GotFile    string `json:"got"`
	// NearlyEqual lists floating-point columns whose last digits may differ.
	NearlyEqual []string `json:"nearly,omitempty"`

	// query selects the rows of the result. Empty means that the result's file is missing. The reported differences
	// must contain the strings in reported. Nil means that no difference may be reported.
	query    string
	reported []string
}

// createPrices creates the table with which results are compared.
const createPrices = `CREATE TABLE prices AS SELECT * FROM (VALUES
	('a', 1::BIGINT, 1.50::DECIMAL(18, 2), TIMESTAMPTZ '2026-11-01 02:00:00+00', true, 0.5::DOUBLE),
	('b', 2::BIGINT, 2.50::DECIMAL(18, 2), TIMESTAMPTZ '2026-11-01 02:00:00+00', NULL, 0.25::DOUBLE),
	('c', NULL, NULL, NULL, false, NULL)) AS t(id, place, amount, seen_at, is_kept, share);`

// TestComparisonFindsDifferences compares the table prices with planted results. Each of them equals
// the table or differs from it in one way. A difference must be reported with its column and row.
// Differences without meaning, such as the order of unordered rows, must not be reported.
func TestComparisonFindsDifferences(t *testing.T) {
	e, dir := findPython(t), t.TempDir()
	duckDBPath := filepath.Join(dir, "catalog.duckdb")
	execute(t, duckDBPath, "SET TimeZone = 'UTC';"+createPrices)
	cases := append(equalResults(), append(unequalRows(), unequalColumns()...)...)
	wants := map[string][]string{}
	for i := range cases {
		c := &cases[i]
		c.DuckDBPath, c.WantSQL, c.GotFile = duckDBPath, "SELECT * FROM prices ORDER BY id", filepath.Join(dir, "got.parquet")
		if c.query != "" {
			c.GotFile = filepath.Join(dir, strings.ReplaceAll(c.Name, " ", "_")+".parquet")
			execute(t, duckDBPath, "SET TimeZone = 'UTC'; COPY ("+c.query+") TO '"+c.GotFile+"' (FORMAT parquet)")
		}
		wants[c.Name] = c.reported
	}
	isCompared := map[string]bool{}
	e.runScript(t, "compare_files.py", dir, map[string]any{"planted": cases}, func(r result) {
		isCompared[r.What] = true
		all := strings.Join(r.Differences, "\n")
		if len(wants[r.What]) == 0 && all != "" {
			t.Errorf("%s: got differences, want none\n%s", r.What, all)
		}
		for _, want := range wants[r.What] {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the differences do not contain %q:\n%s", r.What, want, all)
			}
		}
	})
	if len(isCompared) != len(cases) {
		t.Errorf("compared %d results, want all %d", len(isCompared), len(cases))
	}
}

func equalResults() []plantedResult {
	return []plantedResult{
		{Name: "equal rows", query: "FROM prices"},
		{Name: "equal rows in another order", query: "FROM prices ORDER BY id DESC"},
		{Name: "the last digits of a sum", NearlyEqual: []string{"share"}, query: "SELECT * REPLACE (share + 1e-13 AS share) FROM prices"},
	}
}

func unequalRows() []plantedResult {
	return []plantedResult{
		{Name: "another value", query: "SELECT * REPLACE ((CASE id WHEN 'b' THEN 2.51 ELSE amount END)::DECIMAL(18, 2) AS amount) FROM prices",
			reported: []string{"row 1 (id=b, place=2, amount=2.50): column amount is Decimal('2.51'), want Decimal('2.50')"}},
		{Name: "a time later by a microsecond", query: "SELECT * REPLACE (CASE id WHEN 'a' THEN seen_at + INTERVAL 1 microsecond ELSE seen_at END AS seen_at) FROM prices",
			reported: []string{"row 1 (id=a", "column seen_at is "}},
		{Name: "NULL instead of a value", query: "SELECT * REPLACE (CASE id WHEN 'a' THEN NULL ELSE is_kept END AS is_kept) FROM prices",
			reported: []string{"row 1 (id=a", "column is_kept is None, want True"}},
		{Name: "a value instead of NULL in a nearly equal column", NearlyEqual: []string{"share"}, query: "SELECT * REPLACE (coalesce(share, 0) AS share) FROM prices",
			reported: []string{"(id=c", "column share is 0.0, want None"}},
		{Name: "a difference beyond the last digits", NearlyEqual: []string{"share"}, query: "SELECT * REPLACE (share + 1e-6 AS share) FROM prices",
			reported: []string{"row 1 (id=a", "row 2 (id=b", "column share is 0.500001, want 0.5"}},
		{Name: "a missing row", query: "FROM prices WHERE id <> 'b'", reported: []string{"row 1: only DuckDB has: id=b, place=2"}},
		{Name: "a repeated row", query: "FROM prices UNION ALL FROM prices WHERE id = 'a'", reported: []string{"row 1: only the engine has: id=a"}},
		{Name: "no rows", query: "FROM prices WHERE false", reported: []string{"row 1: only DuckDB has", "row 2: only DuckDB has", "row 3: only DuckDB has"}},
		{Name: "more differences than are listed", query: "SELECT prices.* FROM prices, range(4)", reported: []string{"row 5: only the engine has", "4 more"}},
	}
}

func unequalColumns() []plantedResult {
	return []plantedResult{
		{Name: "another type", query: "SELECT * REPLACE (amount::DOUBLE AS amount) FROM prices", reported: []string{"column amount is DOUBLE, want DECIMAL(18,2)"}},
		{Name: "a time without a zone", query: "SELECT * REPLACE (seen_at::TIMESTAMP AS seen_at) FROM prices",
			reported: []string{"column seen_at is TIMESTAMP, want TIMESTAMP WITH TIME ZONE"}},
		{Name: "another scale", query: "SELECT * REPLACE (amount::DECIMAL(18, 3) AS amount) FROM prices", reported: []string{"column amount is DECIMAL(18,3), want DECIMAL(18,2)"}},
		{Name: "columns in another order", query: "SELECT place, id, * EXCLUDE (id, place) FROM prices", reported: []string{"columns [('place', 'BIGINT')"}},
		{Name: "a missing file", reported: []string{"the engine failed: ", "got.parquet"}},
	}
}

// TestLakeComparisonNamesTables compares DuckDB with a lake in which one table differs and one is
// missing. The result must name both tables. A lake without rows must be an error.
func TestLakeComparisonNamesTables(t *testing.T) {
	e, dir := findPython(t), t.TempDir()
	filled, empty := filepath.Join(dir, "catalog.duckdb"), filepath.Join(dir, "empty.duckdb")
	execute(t, filled, "SET TimeZone = 'UTC'; CREATE SCHEMA past;"+createPrices+`CREATE TABLE orders AS FROM prices; CREATE TABLE past.orders AS FROM prices;
		COPY (FROM prices) TO '`+dir+`/past.orders.parquet'; COPY (FROM prices WHERE id = 'a') TO '`+dir+`/current.prices.parquet'`)
	compare := func(duckDBPath string) string {
		var lines []string
		job := job{Scratch: dir, Nights: []night{{Run: "night", DuckDBPath: duckDBPath}}}
		e.runScript(t, "compare_files.py", dir, job, func(r result) {
			lines = append(lines, r.What+": "+strings.Join(r.Differences, "; "))
		})
		return strings.Join(lines, "\n")
	}
	got := compare(filled)
	for _, want := range []string{"files: current.prices of night: row 1: only DuckDB has: id=b", "files: current.orders of night: the engine failed: ",
		"files: 1 tables of the newest night equal: "} {
		if !strings.Contains(got, want) {
			t.Errorf("the result does not contain %q:\n%s", want, got)
		}
	}
	execute(t, empty, "CREATE TABLE orders (id VARCHAR); COPY orders TO '"+filepath.Join(dir, "current.orders.parquet")+"'")
	if got := compare(empty); !strings.Contains(got, "no row was compared") {
		t.Errorf("a lake without rows: got %q, want the error \"no row was compared\"", got)
	}
}

// findPython returns a Python with DuckDB and Arrow, for compare.py. It skips the test if there is none.
func findPython(t *testing.T) equipment {
	t.Helper()
	if os.Getenv(folderVar) != "" {
		return equip(t)
	}
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import duckdb, pyarrow.parquet").Run()
	}
	if err != nil {
		t.Skip("skipped: python3 has no duckdb and pyarrow; install them with pip")
	}
	e := equipment{dir: t.TempDir(), python: python}
	e.writeScripts(t)
	return e
}
