package enginetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plantedResult is a result that differs from DuckDB's in a known way.
type plantedResult struct {
	Name    string   `json:"name"`
	Catalog string   `json:"catalog"`
	Want    string   `json:"want"`
	Got     string   `json:"got"`
	Ordered bool     `json:"ordered,omitempty"`
	Nearly  []string `json:"nearly,omitempty"`
	// Described is a client's description of its columns, as names with types of Trino.
	Described [][2]string `json:"described,omitempty"`

	// query selects the result. The reported differences must contain the texts in reported. Nil
	// means that no difference may be reported.
	query    string
	reported []string
}

// prices creates the table with which results are compared.
const prices = `CREATE TABLE prices AS SELECT * FROM (VALUES
	('a', 1::BIGINT, 1.50::DECIMAL(18, 2), TIMESTAMPTZ '2026-11-01 02:00:00+00', true, 0.5::DOUBLE),
	('b', 2::BIGINT, 2.50::DECIMAL(18, 2), TIMESTAMPTZ '2026-11-01 02:00:00+00', NULL, 0.25::DOUBLE),
	('c', NULL, NULL, NULL, false, NULL)) AS t(id, place, amount, seen_at, is_kept, share);`

// TestComparisonFindsDifferences compares results with one known difference each. The difference
// must be reported with column and row. Irrelevant differences must not be reported.
func TestComparisonFindsDifferences(t *testing.T) {
	e, dir := findComparer(t), t.TempDir()
	catalog := filepath.Join(dir, "catalog.duckdb")
	execute(t, catalog, "SET TimeZone = 'UTC';"+prices)
	cases := append(equalResults(), append(unequalRows(), unequalColumns()...)...)
	wants := map[string][]string{}
	for i := range cases {
		c := &cases[i]
		c.Catalog, c.Want, c.Got = catalog, "SELECT * FROM prices ORDER BY id", filepath.Join(dir, "got.parquet")
		if c.query != "" {
			c.Got = filepath.Join(dir, strings.ReplaceAll(c.Name, " ", "_")+".parquet")
			execute(t, catalog, "SET TimeZone = 'UTC'; COPY ("+c.query+") TO '"+c.Got+"' (FORMAT parquet)")
		}
		wants[c.Name] = c.reported
	}
	found := map[string]bool{}
	e.runScript(t, "compare_files.py", dir, map[string]any{"planted": cases}, func(r result) {
		found[r.What] = true
		all := strings.Join(r.Differences, "\n")
		if len(wants[r.What]) == 0 && all != "" {
			t.Errorf("%s: differences were reported, want none\n%s", r.What, all)
		}
		for _, want := range wants[r.What] {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is missing in\n%s", r.What, want, all)
			}
		}
	})
	if len(found) != len(cases) {
		t.Errorf("%d of %d results were compared, want all", len(found), len(cases))
	}
}

func equalResults() []plantedResult {
	return []plantedResult{
		{Name: "the same", query: "FROM prices"},
		{Name: "the same in any order", query: "FROM prices ORDER BY id DESC"},
		{Name: "the same in order", Ordered: true, query: "FROM prices ORDER BY id"},
		{Name: "wider numbers", query: "SELECT * REPLACE (place::HUGEINT::BIGINT AS place, amount::DECIMAL(38, 2) AS amount) FROM prices"},
		{Name: "the last digits of a sum", Nearly: []string{"share"}, query: "SELECT * REPLACE (share + 1e-13 AS share) FROM prices"},
		{Name: "the same of a client", Described: trinoDescription("decimal(20,2)"), query: "FROM prices"},
	}
}

// trinoDescription returns the description of prices by a Trino client. amount is the type of
// that column.
func trinoDescription(amount string) [][2]string {
	return [][2]string{{"id", "varchar(1)"}, {"place", "bigint"}, {"amount", amount}, {"seen_at", "timestamp(6) with time zone"}, {"is_kept", "boolean"}, {"share", "double"}}
}

func unequalRows() []plantedResult {
	value := "SELECT * REPLACE ((CASE id WHEN 'b' THEN 2.51 ELSE amount END)::DECIMAL(18, 2) AS amount) FROM prices"
	valueReported := []string{"(id=b, place=2, amount=2.50): column amount is Decimal('2.51'), want Decimal('2.50')"}
	swapped := "FROM prices ORDER BY CASE id WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE id END"
	return []plantedResult{
		{Name: "a value", query: value, reported: append([]string{"row 1 "}, valueReported...)},
		{Name: "a value in order", Ordered: true, query: value + " ORDER BY id", reported: append([]string{"row 2 "}, valueReported...)},
		{Name: "a value beside a nearly equal column", Nearly: []string{"share"}, query: value, reported: append([]string{"row 2 "}, valueReported...)},
		{Name: "a microsecond", query: "SELECT * REPLACE (CASE id WHEN 'a' THEN seen_at + INTERVAL 1 microsecond ELSE seen_at END AS seen_at) FROM prices",
			reported: []string{"row 1 (id=a", "column seen_at is "}},
		{Name: "a NULL where a value is", query: "SELECT * REPLACE (CASE id WHEN 'a' THEN NULL ELSE is_kept END AS is_kept) FROM prices",
			reported: []string{"row 1 (id=a", "column is_kept is None, want True"}},
		{Name: "a value where NULL is", query: "SELECT * REPLACE (coalesce(place, 0) AS place) FROM prices",
			reported: []string{"row 1 (id=c", "column place is 0, want None"}},
		{Name: "a value where NULL is, in a nearly equal column", Nearly: []string{"share"}, query: "SELECT * REPLACE (coalesce(share, 0) AS share) FROM prices",
			reported: []string{"(id=c", "column share is 0.0, want None"}},
		{Name: "more than the last digits", Nearly: []string{"share"}, query: "SELECT * REPLACE (share + 1e-6 AS share) FROM prices",
			reported: []string{"row 1 (id=a", "row 2 (id=b", "column share is 0.500001, want 0.5"}},
		{Name: "an order", Ordered: true, query: swapped, reported: []string{"row 1 (id=a", "column id is 'b', want 'a'", "row 2 (id=b"}},
		{Name: "a missing row", query: "FROM prices WHERE id <> 'b'", reported: []string{"row 1: only DuckDB has: id=b, place=2"}},
		{Name: "an additional row", query: "FROM prices UNION ALL SELECT * REPLACE ('d' AS id) FROM prices WHERE id = 'a'",
			reported: []string{"row 1: only the engine has: id=d, place=1"}},
		{Name: "a row twice", query: "FROM prices UNION ALL FROM prices WHERE id = 'a'", reported: []string{"row 1: only the engine has: id=a"}},
		{Name: "a missing row at the end", Ordered: true, query: "FROM prices WHERE id <> 'c' ORDER BY id", reported: []string{"row 3: only DuckDB has: id=c"}},
		{Name: "no row", query: "FROM prices WHERE false", reported: []string{"row 1: only DuckDB has", "row 2: only DuckDB has", "row 3: only DuckDB has"}},
		{Name: "many rows", query: "SELECT prices.* FROM prices, range(4)", reported: []string{"row 5: only the engine has", "4 more"}},
	}
}

func unequalColumns() []plantedResult {
	return []plantedResult{
		{Name: "a type", query: "SELECT * REPLACE (amount::DOUBLE AS amount) FROM prices", reported: []string{"column amount is DOUBLE, want DECIMAL(18,2)"}},
		{Name: "a number as text", query: "SELECT * REPLACE (place::VARCHAR AS place) FROM prices", reported: []string{"column place is VARCHAR, want BIGINT"}},
		{Name: "a time without a zone", query: "SELECT * REPLACE (seen_at::TIMESTAMP AS seen_at) FROM prices",
			reported: []string{"column seen_at is TIMESTAMP, want TIMESTAMP WITH TIME ZONE"}},
		{Name: "a scale", query: "SELECT * REPLACE (amount::DECIMAL(18, 3) AS amount) FROM prices", reported: []string{"column amount is DECIMAL(18,3), want DECIMAL(18,2)"}},
		{Name: "a scale of a client", Described: trinoDescription("decimal(20,1)"), query: "FROM prices", reported: []string{"the engine failed: column amount is decimal(20,1), want decimal128(18, 2)"}},
		{Name: "a type of a client", Described: trinoDescription("double"), query: "FROM prices", reported: []string{"the engine failed: column amount is double"}},
		{Name: "a column too many of a client", Described: append(trinoDescription("decimal(18,2)"), [2]string{"more", "bigint"}), query: "SELECT *, 1 AS more FROM prices",
			reported: []string{"the engine failed: columns ['id'", "'more']"}},
		{Name: "a missing column", query: "SELECT * EXCLUDE (is_kept) FROM prices", reported: []string{"columns [('id', 'VARCHAR')", "want [("}},
		{Name: "columns in another order", query: "SELECT place, id, * EXCLUDE (id, place) FROM prices", reported: []string{"columns [('place', 'BIGINT')"}},
		{Name: "an error", reported: []string{"the engine failed: ", "got.parquet"}},
	}
}

// TestComparisonOfALakeNamesTheTable compares lakes with different and missing tables. The
// result must name these tables. A lake without rows must be an error.
func TestComparisonOfALakeNamesTheTable(t *testing.T) {
	e, dir := findComparer(t), t.TempDir()
	catalog, empty := filepath.Join(dir, "catalog.duckdb"), filepath.Join(dir, "empty.duckdb")
	execute(t, catalog, "SET TimeZone = 'UTC'; CREATE SCHEMA past;"+prices+`CREATE TABLE orders AS FROM prices; CREATE TABLE past.orders AS FROM prices;
		COPY (FROM prices) TO '`+dir+`/past.orders.parquet'; COPY (FROM prices WHERE id = 'a') TO '`+dir+`/current.prices.parquet'`)
	execute(t, empty, "CREATE TABLE orders (id VARCHAR); COPY orders TO '"+filepath.Join(dir, "current.orders.parquet")+"'")
	compare := func(catalog string) string {
		var lines []string
		job := job{Scratch: dir, Nights: []version{{Run: "night", Catalog: catalog}}}
		e.runScript(t, "compare_files.py", dir, job, func(r result) {
			lines = append(lines, r.What+": "+strings.Join(r.Differences, "; "))
		})
		return strings.Join(lines, "\n")
	}
	must(t, os.Rename(filepath.Join(dir, "current.orders.parquet"), filepath.Join(dir, "of_empty.parquet")))
	got := compare(catalog)
	for _, want := range []string{"files: current.prices of night: row 1: only DuckDB has: id=b", "files: current.orders of night: the engine failed: ",
		"files: 1 tables of the newest night equal: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	must(t, os.Rename(filepath.Join(dir, "of_empty.parquet"), filepath.Join(dir, "current.orders.parquet")))
	if got := compare(empty); !strings.Contains(got, "no row was compared") {
		t.Errorf("for a lake without rows the result is %q, want the error \"no row was compared\"", got)
	}
}

// findComparer returns a Python with DuckDB and Arrow. It skips the test if there is none.
func findComparer(t *testing.T) equipment {
	t.Helper()
	if os.Getenv(foldersVar) != "" {
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
