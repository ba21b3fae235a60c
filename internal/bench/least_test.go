package bench_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// least is the least that a night leaves to DuckDB: rows that are there already,
// from one catalog into another and as sorted Parquet. Nothing is downloaded,
// landed, decoded, proven, compared or verified.
type least struct {
	Catalog, Dir, Report string
}

// spent is what a part of a process took, in seconds.
type spent struct{ Wall, CPU float64 }

// leastDone are the two halves.
type leastDone struct{ Load, Write spent }

// catalogTables are the tables of a catalog of listings, with their keys.
var catalogTables = map[string]string{
	"product_listings":              "id",
	"product_listing_prices":        "product_listing_id, position",
	"product_listing_tags":          "product_listing_id, position",
	"product_listing_includes":      "product_listing_id, position",
	"product_listing_example_links": "product_listing_id, position",
}

// TestLeastChild runs in a process of its own, with DuckDB's own settings for
// memory and threads.
func TestLeastChild(t *testing.T) {
	var l least
	assigned(t, &l)
	db, err := sql.Open("duckdb", "")
	must(t, err)
	db.SetMaxOpenConns(1) // SET belongs to a connection
	run := func(format string, args ...any) {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	run("SET temp_directory = '%s'", filepath.Join(l.Dir, "spill"))
	run("ATTACH '%s' AS night (READ_ONLY)", l.Catalog)
	run("ATTACH '%s' AS copy (STORAGE_VERSION 'v1.1.0')", filepath.Join(l.Dir, "copy.duckdb"))
	var done leastDone
	done.Load = timed(func() {
		for table := range catalogTables {
			run("CREATE TABLE copy.%[1]s AS FROM night.main.%[1]s", table)
		}
		run("CHECKPOINT copy")
	})
	done.Write = timed(func() {
		for table, key := range catalogTables {
			run("COPY (FROM copy.%s ORDER BY %s) TO '%s' (FORMAT parquet, COMPRESSION zstd)", table, key, filepath.Join(l.Dir, table+".parquet"))
		}
	})
	must(t, db.Close())
	leave(t, l.Report, done)
}

func timed(do func()) spent {
	wall, cpu := time.Now(), spentCPU()
	do()
	return spent{time.Since(wall).Seconds(), spentCPU() - cpu}
}

// leastOf measures what DuckDB takes at least for the rows of a catalog.
func leastOf(t *testing.T, catalog string) (done leastDone) {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	report := filepath.Join(dir, "least.json")
	measure(t, again(t, "TestLeastChild", least{catalog, dir, report}))
	collect(t, report, &done)
	return done
}

// leastFindings sets it beside DuckDB alone, the measure of the first night.
func leastFindings(base []usage, runs []leastDone) []figure {
	wall := each(runs, func(l leastDone) float64 { return l.Load.Wall + l.Write.Wall })
	cpu := each(runs, func(l leastDone) float64 { return l.Load.CPU + l.Write.CPU })
	return []figure{
		{What: "copying a night's five tables into another catalog, CPU time", Unit: "s", Runs: each(runs, func(l leastDone) float64 { return l.Load.CPU })},
		{What: "writing them as sorted Parquet, CPU time", Unit: "s", Runs: each(runs, func(l leastDone) float64 { return l.Write.CPU })},
		{What: "these two against DuckDB alone, CPU time", Unit: "x", Runs: pairs(cpu, each(base, func(u usage) float64 { return u.CPU }))},
		{What: "these two against DuckDB alone, wall time", Unit: "x", Runs: pairs(wall, each(base, func(u usage) float64 { return u.Wall }))},
	}
}
