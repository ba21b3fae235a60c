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

	// answer is the SELECT for the result. found are texts that the reported differences must
	// contain. Nil means that no difference may be reported.
	answer string
	found  []string
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
		if c.answer != "" {
			c.Got = filepath.Join(dir, strings.ReplaceAll(c.Name, " ", "_")+".parquet")
			execute(t, catalog, "SET TimeZone = 'UTC'; COPY ("+c.answer+") TO '"+c.Got+"' (FORMAT parquet)")
		}
		wants[c.Name] = c.found
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
		t.Errorf("%d of %d results were compared", len(found), len(cases))
	}
}

func equalResults() []plantedResult {
	return []plantedResult{
		{Name: "the same", answer: "FROM prices"},
		{Name: "the same in any order", answer: "FROM prices ORDER BY id DESC"},
		{Name: "the same in order", Ordered: true, answer: "FROM prices ORDER BY id"},
		{Name: "wider numbers", answer: "SELECT * REPLACE (place::HUGEINT::BIGINT AS place, amount::DECIMAL(38, 2) AS amount) FROM prices"},
		{Name: "the last digits of a sum", Nearly: []string{"share"}, answer: "SELECT * REPLACE (share + 1e-13 AS share) FROM prices"},
		{Name: "the same of a client", Described: trinoDescription("decimal(20,2)"), answer: "FROM prices"},
	}
}

// trinoDescription returns the description of prices by a Trino client. amount is the type of
// that column.
func trinoDescription(amount string) [][2]string {
	return [][2]string{{"id", "varchar(1)"}, {"place", "bigint"}, {"amount", amount}, {"seen_at", "timestamp(6) with time zone"}, {"is_kept", "boolean"}, {"share", "double"}}
}

func unequalRows() []plantedResult {
	value := "SELECT * REPLACE ((CASE id WHEN 'b' THEN 2.51 ELSE amount END)::DECIMAL(18, 2) AS amount) FROM prices"
	valueFound := []string{"(id=b, place=2, amount=2.50): column amount is Decimal('2.51'), want Decimal('2.50')"}
	swapped := "FROM prices ORDER BY CASE id WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE id END"
	return []plantedResult{
		{Name: "a value", answer: value, found: append([]string{"row 1 "}, valueFound...)},
		{Name: "a value in order", Ordered: true, answer: value + " ORDER BY id", found: append([]string{"row 2 "}, valueFound...)},
		{Name: "a value beside one that is nearly", Nearly: []string{"share"}, answer: value, found: append([]string{"row 2 "}, valueFound...)},
		{Name: "a microsecond", answer: "SELECT * REPLACE (CASE id WHEN 'a' THEN seen_at + INTERVAL 1 microsecond ELSE seen_at END AS seen_at) FROM prices",
			found: []string{"row 1 (id=a", "column seen_at is "}},
		{Name: "a NULL where a value is", answer: "SELECT * REPLACE (CASE id WHEN 'a' THEN NULL ELSE is_kept END AS is_kept) FROM prices",
			found: []string{"row 1 (id=a", "column is_kept is None, want True"}},
		{Name: "a value where NULL is", answer: "SELECT * REPLACE (coalesce(place, 0) AS place) FROM prices",
			found: []string{"row 1 (id=c", "column place is 0, want None"}},
		{Name: "a NULL that is nearly", Nearly: []string{"share"}, answer: "SELECT * REPLACE (coalesce(share, 0) AS share) FROM prices",
			found: []string{"(id=c", "column share is 0.0, want None"}},
		{Name: "more than the last digits", Nearly: []string{"share"}, answer: "SELECT * REPLACE (share + 1e-6 AS share) FROM prices",
			found: []string{"row 1 (id=a", "row 2 (id=b", "column share is 0.500001, want 0.5"}},
		{Name: "an order", Ordered: true, answer: swapped, found: []string{"row 1 (id=a", "column id is 'b', want 'a'", "row 2 (id=b"}},
		{Name: "a missing row", answer: "FROM prices WHERE id <> 'b'", found: []string{"row 1: DuckDB has, it has not: id=b, place=2"}},
		{Name: "an additional row", answer: "FROM prices UNION ALL SELECT * REPLACE ('d' AS id) FROM prices WHERE id = 'a'",
			found: []string{"row 1: it has, DuckDB has not: id=d, place=1"}},
		{Name: "a row twice", answer: "FROM prices UNION ALL FROM prices WHERE id = 'a'", found: []string{"row 1: it has, DuckDB has not: id=a"}},
		{Name: "a missing row at the end", Ordered: true, answer: "FROM prices WHERE id <> 'c' ORDER BY id", found: []string{"row 3: DuckDB has, it has not: id=c"}},
		{Name: "no row", answer: "FROM prices WHERE false", found: []string{"row 1: DuckDB has", "row 2: DuckDB has", "row 3: DuckDB has"}},
		{Name: "many rows", answer: "SELECT prices.* FROM prices, range(4)", found: []string{"row 5: it has, DuckDB has not", "4 more"}},
	}
}

func unequalColumns() []plantedResult {
	return []plantedResult{
		{Name: "a type", answer: "SELECT * REPLACE (amount::DOUBLE AS amount) FROM prices", found: []string{"column amount is DOUBLE, want DECIMAL(18,2)"}},
		{Name: "a number as text", answer: "SELECT * REPLACE (place::VARCHAR AS place) FROM prices", found: []string{"column place is VARCHAR, want BIGINT"}},
		{Name: "a time without a zone", answer: "SELECT * REPLACE (seen_at::TIMESTAMP AS seen_at) FROM prices",
			found: []string{"column seen_at is TIMESTAMP, want TIMESTAMP WITH TIME ZONE"}},
		{Name: "a scale", answer: "SELECT * REPLACE (amount::DECIMAL(18, 3) AS amount) FROM prices", found: []string{"column amount is DECIMAL(18,3), want DECIMAL(18,2)"}},
		{Name: "a scale of a client", Described: trinoDescription("decimal(20,1)"), answer: "FROM prices", found: []string{"it fails: column amount is decimal(20,1), want decimal128(18, 2)"}},
		{Name: "a type of a client", Described: trinoDescription("double"), answer: "FROM prices", found: []string{"it fails: column amount is double"}},
		{Name: "a column too many of a client", Described: append(trinoDescription("decimal(18,2)"), [2]string{"more", "bigint"}), answer: "SELECT *, 1 AS more FROM prices",
			found: []string{"it fails: columns ['id'", "'more']"}},
		{Name: "a missing column", answer: "SELECT * EXCLUDE (is_kept) FROM prices", found: []string{"columns [('id', 'VARCHAR')", "want [("}},
		{Name: "columns in another order", answer: "SELECT place, id, * EXCLUDE (id, place) FROM prices", found: []string{"columns [('place', 'BIGINT')"}},
		{Name: "an error", found: []string{"it fails: ", "got.parquet"}},
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
	for _, want := range []string{"files: current.prices of night: row 1: DuckDB has, it has not: id=b", "files: current.orders of night: it fails: ",
		"files: 1 tables of the newest night equal: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	must(t, os.Rename(filepath.Join(dir, "of_empty.parquet"), filepath.Join(dir, "current.orders.parquet")))
	if got := compare(empty); !strings.Contains(got, "no row was compared") {
		t.Errorf("for a lake without rows the result is %s", got)
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
