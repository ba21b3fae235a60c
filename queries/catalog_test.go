package queries_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// open opens a catalog with the rows that fixtureSQL inserts.
func open(t testing.TB, fixtureSQL string) *query.DB {
	t.Helper()
	path := fixture.NewEmptyCatalog(t).Fill(t, fixtureSQL)
	db, err := query.Open(t.Context(), path, query.Options{Threads: 1, Settings: config.Default().QuerySettings()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// parseParams parses lines of the form name=value.
func parseParams(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			t.Fatalf("the parameter line %q does not have the form name=value", line)
		}
		values[name] = value
	}
	return values
}

// writeResult runs a query and writes its rows with each writer. In contrast to DB.Run, which spools the rows, the query
// is planned only once.
func writeResult(t testing.TB, db *query.DB, q query.Query, values map[string]string, writers ...query.Writer) {
	t.Helper()
	result, err := db.Collect(t.Context(), q, values, math.MaxInt)
	if err != nil {
		t.Fatalf("%s with %v: %v", q.Name, values, err)
	}
	for _, w := range writers {
		err := w.Begin(result.Columns)
		for _, row := range result.Rows {
			err = errors.Join(err, w.Row(row.Values))
		}
		if err := errors.Join(err, w.End()); err != nil {
			t.Fatalf("%s with %v, written by %T: %v", q.Name, values, w, err)
		}
	}
}

// runCSV runs a query and returns its result as CSV with LF line ends.
func runCSV(t testing.TB, db *query.DB, q query.Query, values map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := query.NewWriter(query.Output{Format: query.CSV}, &out, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	writeResult(t, db, q, values, w)
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
