package queries_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"placementsync/internal/query"
)

// TestQueries runs testdata/<query>/*.test. A test is an archive: a line that
// says what it shows, the rows that the tables hold (fixture.sql), the
// parameters (params, name=value a line) and the answer as CSV (want.csv).
func TestQueries(t *testing.T) {
	all, err := query.List()
	if err != nil {
		t.Fatal(err)
	}
	empty := catalog(t)
	for _, q := range all {
		tests, err := filepath.Glob(filepath.Join("testdata", q.Name, "*.test"))
		if err != nil || len(tests) == 0 {
			t.Errorf("query %s has no test in testdata (%v)", q.Name, err)
		}
		for _, path := range tests {
			t.Run(q.Name+"/"+strings.TrimSuffix(filepath.Base(path), ".test"), func(t *testing.T) {
				checkQuery(t, q, path, empty)
			})
		}
	}
}

func checkQuery(t *testing.T, q query.Query, path string, empty []byte) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	db := open(t, files["fixture.sql"], empty)
	got := answer(t, db, q, params(t, files["params"]))
	if diff := cmp.Diff(files["want.csv"], got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

var parameter = regexp.MustCompile(`\$(\w+)`)

func TestQueriesUseExactlyTheParametersThatTheyDeclare(t *testing.T) {
	all, err := query.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		var declared, used []string
		for _, p := range q.Params {
			declared = append(declared, p.Name)
		}
		for _, m := range parameter.FindAllStringSubmatch(q.SQL, -1) {
			used = append(used, m[1])
		}
		slices.Sort(declared)
		slices.Sort(used)
		if diff := cmp.Diff(declared, slices.Compact(used)); diff != "" {
			t.Errorf("%s: declared (-) and used (+) parameters differ:\n%s", q.Name, diff)
		}
	}
}
