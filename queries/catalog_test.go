package queries_test

import (
	"bytes"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// open opens a catalog with the rows that fixtureSQL inserts.
func open(t testing.TB, fixtureSQL string, empty fixture.EmptyCatalog) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), empty.Fill(t, fixtureSQL), query.Options{Threads: 1, Settings: config.Default().QuerySettings()})
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

// runCSV runs a query and returns its result as CSV with LF line ends.
func runCSV(t testing.TB, db *query.DB, q query.Query, values map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := query.NewWriter(query.Output{Format: query.CSV}, &out, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Run(t.Context(), q, values, w); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
