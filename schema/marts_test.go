package schema_test

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
	"placementsync/schema"
)

// TestMarts runs queries/testdata/mart/<view>/*.test. A test is a txtar archive: a comment, the rows of the tables
// (fixture.sql), and all rows of the view, sorted by all columns (want.csv). Tests of the package queries compare the
// views for other engines with the same rows.
func TestMarts(t *testing.T) {
	session := fixture.NewEmptyCatalog(t).Open(t, "", query.Options{})
	for _, v := range schema.MartViews() {
		tests, err := filepath.Glob(filepath.Join("..", "queries", "testdata", "mart", v.Name, "*.test"))
		if err != nil || len(tests) == 0 {
			t.Errorf("the view %s has no test (%v)", v.Name, err)
		}
		for _, path := range tests {
			t.Run(v.Name+"/"+strings.TrimSuffix(filepath.Base(path), ".test"), func(t *testing.T) {
				archive, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				parts := map[string]string{}
				for _, f := range archive.Files {
					parts[f.Name] = string(f.Data)
				}
				session.Fill(t, parts["fixture.sql"])
				if diff := gocmp.Diff(parts["want.csv"], readView(t, session, v.Name)); diff != "" {
					t.Errorf("rows of the view (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// readView returns the rows of a view as CSV with LF line ends.
func readView(t *testing.T, session fixture.Session, view string) string {
	t.Helper()
	rows, err := session.Collect(t.Context(), query.Query{Name: view, SQL: "FROM mart." + view + " ORDER BY ALL"}, nil, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := query.NewWriter(query.Output{Format: query.CSV}, &out, query.Screen{})
	if err == nil {
		err = w.Begin(rows.Columns)
	}
	for _, row := range rows.Rows {
		if err == nil {
			err = w.Row(row.Values)
		}
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
