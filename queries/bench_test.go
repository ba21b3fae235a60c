package queries_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// benchListings is the default number of listings in the benchmark.
// PLACEMENTSYNC_BENCH_LISTINGS overrides it. With a million listings, each named query should take
// less than 2 s, except premium_*: these queries compute a median per segment and take 4 s.
const benchListings = 100_000

// BenchmarkNamedQueries runs each named query with its defaults on a warehouse with a year of
// history.
func BenchmarkNamedQueries(b *testing.B) {
	db, err := query.Open(b.Context(), benchCatalog(b), query.Options{MemoryLimit: "512MB", Settings: config.Default().QuerySettings()})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, q := range query.List() {
		b.Run(q.Name, func(b *testing.B) {
			for b.Loop() {
				w, err := query.NewWriter(query.Output{Format: query.CSV}, io.Discard, query.Screen{})
				if err != nil {
					b.Fatal(err)
				}
				rows, err := db.Run(b.Context(), q, requiredValues(q, "Outlet 7"), w)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(rows), "rows")
			}
		})
	}
}

// requiredValues returns values for the parameters without a default: an amount, a currency, or the
// given id or name.
func requiredValues(q query.Query, idOrName string) map[string]string {
	values := map[string]string{}
	for _, p := range q.Params {
		switch {
		case p.Default == "" && p.Type == "DECIMAL":
			values[p.Name] = "5000"
		case p.Default == "" && p.Name == "currency":
			values[p.Name] = "EUR"
		case p.Default == "":
			values[p.Name] = idOrName
		}
	}
	return values
}

// benchCatalog creates a catalog with the generated rows of testdata/bench.sql.
func benchCatalog(b *testing.B) string {
	b.Helper()
	listings := benchListings
	if value := os.Getenv("PLACEMENTSYNC_BENCH_LISTINGS"); value != "" {
		var err error
		if listings, err = strconv.Atoi(value); err != nil {
			b.Fatal(err)
		}
	}
	script, err := os.ReadFile(filepath.Join("testdata", "bench.sql"))
	if err != nil {
		b.Fatal(err)
	}
	empty, start := fixture.NewEmptyCatalog(b), time.Now()
	path := empty.Fill(b, fmt.Sprintf("SET preserve_insertion_order = false; SET VARIABLE listings = %d; %s; CHECKPOINT", listings, script))
	b.Logf("created a warehouse of %d listings in %.0f s", listings, time.Since(start).Seconds())
	return path
}
